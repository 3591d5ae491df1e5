// SPDX-License-Identifier: ISC
/* Counts the messages and files in each place of the queue, and finds the oldest. */
#include "mail/text/text.h"
#include "os/file/file.h"
#include "queue/listing/listing.h"
#include "queue/update.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct counting {
	struct queue_store *store;
	struct listing_count count;
	enum queue_folder folder;
	const char *name;
	int64_t oldest_us;
	struct listing_count unchecked; /* messages of format 1 */
	int (*each)(void *context, const struct listing_count *count);
	void *context;
};

/* "stagepost 2\nid: NUMBER-BIRTH\n" */
static bool read_birth(const struct counting *counting, uint64_t number, int64_t *born_us_out,
		       bool *is_format_1_out)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	enum mail_stage stage;
	bool is_queued = counting->folder == QUEUE_TODO &&
			 mail_stage_parse(str_from(counting->name), &stage);
	struct mail_id id;
	struct str rest;
	struct str line;

	if (queue_update_read(counting->store, is_queued ? &stage : NULL, number, &text) < 0)
		return false;
	rest = buffer_view(&text);
	if (!str_split(&rest, '\n', &line) || !str_split(&rest, '\n', &line) ||
	    !str_starts_with(line, STR("id: ")) || !mail_id_parse(str_skip(line, 4), &id))
		return false;
	*born_us_out = id.born_us;
	*is_format_1_out = str_starts_with(buffer_view(&text), STR("stagepost 1\n"));
	/* at S4 the file may have been reused meanwhile: only then is what was read in doubt,
	 * and it only matters if it would be the oldest */
	return !is_queued || (counting->oldest_us != 0 && id.born_us >= counting->oldest_us) ||
	       queue_update_is_still(counting->store, &stage, id) == 1;
}

static int count_stored_message(void *context, uint64_t number)
{
	struct counting *counting = context;
	int directory = queue_store_directory(counting->store);
	char path[QUEUE_PATH_SIZE];
	struct os_file_info info = {.size = 0};
	bool is_format_1 = false;
	int64_t born_us;

	counting->count.messages++;
	if (counting->folder == QUEUE_TODO)
		queue_store_path(counting->store, QUEUE_TODO, counting->name, number, path);
	else
		queue_store_path(counting->store, QUEUE_MESS, NULL, number, path);
	if (os_file_info_at(directory, path, &info) == 0)
		counting->count.bytes += info.size;
	if (counting->folder != QUEUE_TODO && counting->folder != QUEUE_INFO)
		return 0;
	if (read_birth(counting, number, &born_us, &is_format_1) &&
	    (counting->oldest_us == 0 || born_us < counting->oldest_us))
		counting->oldest_us = born_us;
	if (is_format_1) {
		counting->unchecked.messages++;
		counting->unchecked.bytes += info.size;
	}
	return 0;
}

static int tell_stage_count(struct counting *counting)
{
	int result = counting->each(counting->context, &counting->count);

	counting->count = (struct listing_count){.messages = 0};
	return result;
}

/* The place is named TITLE, followed by NAME if it has one. */
static int count_place(struct counting *counting, enum queue_folder folder, const char *title,
		       const char *name)
{
	int result;

	counting->folder = folder;
	counting->name = name;
	snprintf(counting->count.name, sizeof counting->count.name, "%s%s%s", title,
		 name != NULL ? " " : "", name != NULL ? name : "");
	result = queue_store_each(counting->store, folder, name, count_stored_message, NULL,
				  counting);
	return result < 0 ? result : tell_stage_count(counting);
}

static int count_service(void *context, const char *name)
{
	if (!queue_service_is_valid(str_from(name)))
		return 0;
	return count_place(context, QUEUE_LOCAL, "local", name);
}

struct spares {
	int directory;
	struct listing_count spare;
	struct listing_count fresh;
};

static int count_spare(void *context, const char *name)
{
	struct spares *spares = context;
	struct listing_count *count = name[0] == 'm' ? &spares->spare : &spares->fresh;
	struct os_file_info info;
	char path[QUEUE_PATH_SIZE];

	snprintf(path, sizeof path, "pid/%s", name);
	if (os_file_info_at(spares->directory, path, &info) == 0) {
		count->messages++;
		count->bytes += info.size;
	}
	return 0;
}

static int count_spares(struct counting *counting)
{
	struct spares spares = {
		.directory = queue_store_directory(counting->store),
		.spare.name = "spare files",
		.fresh.name = "new files",
	};
	int result = os_file_list(spares.directory, "pid", count_spare, &spares);

	if (result == 0)
		result = counting->each(counting->context, &spares.spare);
	return result == 0 ? counting->each(counting->context, &spares.fresh) : result;
}

int listing_count(struct queue_store *store,
		  int (*each)(void *context, const struct listing_count *count), void *context,
		  int64_t *oldest_us)
{
	struct counting counting = {
		.store = store, .unchecked.name = "of format 1", .each = each, .context = context};
	int result = 0;

	for (unsigned stage = 0; result == 0 && stage < MAIL_STAGE_COUNT; stage++)
		result = count_place(&counting, QUEUE_TODO, "queued", mail_stage_name(stage));
	if (result == 0)
		result = count_place(&counting, QUEUE_INFO, "preprocessed", NULL);
	if (result == 0)
		result = count_place(&counting, QUEUE_REMOTE, "remote", NULL);
	if (result == 0)
		result = os_file_list(queue_store_directory(store), "local", count_service,
				      &counting);
	if (result == 0)
		result = count_place(&counting, QUEUE_BOUNCE, "bounce", NULL);
	if (result == 0)
		result = count_spares(&counting);
	if (result == 0 && counting.unchecked.messages > 0)
		result = each(context, &counting.unchecked);
	*oldest_us = counting.oldest_us;
	return result;
}

static int count_name(void *context, uint64_t number)
{
	uint64_t *count = context;

	(void)number;
	(*count)++;
	return 0;
}

int listing_count_messages(struct queue_store *store, uint64_t *count_out)
{
	uint64_t count = 0;
	int result = queue_store_each(store, QUEUE_INFO, NULL, count_name, NULL, &count);

	for (unsigned stage = 0; result == 0 && stage < MAIL_STAGE_COUNT; stage++)
		result = queue_store_each(store, QUEUE_TODO, mail_stage_name(stage), count_name,
					  NULL, &count);
	if (result == 0)
		*count_out = count;
	return result;
}
