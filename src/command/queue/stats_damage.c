// SPDX-License-Identifier: ISC
/* What "stagepost queue stats" says about damage. */
#include "base/text/json.h"
#include "command/queue/damage.h"
#include "queue/listing/listing.h"

enum { SHOWN_MAX = 100 }; /* differences */

struct damage_list {
	bool is_json;
	unsigned count;
	struct buffer text;
};

static void add_difference_to_stats(void *context, const char *path,
				    const struct queue_difference *difference)
{
	struct damage_list *list = context;

	if (list->count++ >= SHOWN_MAX)
		return;
	if (list->is_json && list->count > 1)
		buffer_append_byte(&list->text, ',');
	if (list->is_json) {
		command_damage_print_json(&list->text, path, difference);
		return;
	}
	command_damage_print(&list->text, path, difference);
	buffer_append_byte(&list->text, '\n');
}

static void print_found(struct buffer *out, const struct listing_damage *found, struct str list)
{
	if (found->messages > 0)
		buffer_append_format(out, "%-40s %10llu\n", "damaged",
				     (unsigned long long)found->messages);
	buffer_append_str(out, list);
}

static void print_found_json(struct buffer *out, const struct listing_damage *found,
			     struct str list)
{
	json_field_number(out, "damaged", found->messages);
	json_field(out, "damage");
	buffer_append_byte(out, '[');
	buffer_append_str(out, list);
	buffer_append_byte(out, ']');
}

int command_stats_damage(struct buffer *out, bool is_json, struct queue_store *store,
			 bool with_data)
{
	struct damage_list list = {.is_json = is_json};
	struct listing_damage found;
	int result = listing_damage(store, with_data, add_difference_to_stats, &list, &found);

	if (result == 0 && is_json)
		print_found_json(out, &found, buffer_view(&list.text));
	else if (result == 0)
		print_found(out, &found, buffer_view(&list.text));
	buffer_clear(&list.text);
	return result;
}
