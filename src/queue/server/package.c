// SPDX-License-Identifier: ISC
/* A package that is to be committed: whether its text is what it says. */
#include "base/panic.h"
#include "queue/control/checksum.h"
#include "queue/server/internal.h"
#include <errno.h>

enum { NUMBERS_MAX = 32 * 1024 }; /* bytes, so that they fit into a packet */

/* The text of a package, which comes without checksums. */
struct package_text {
	size_t head;           /* bytes up to "end:" */
	struct buffer checked; /* with checksums; that of the data is not known yet */
	struct queue_control *control;
};

static void clear_package_text(struct package_text *text)
{
	buffer_clear(&text->checked);
	queue_control_free(text->control);
}

static struct str records_of(const struct package_text *text)
{
	return str_skip(buffer_view(&text->checked), text->head + QUEUE_CHECKSUM_HEAD_SIZE);
}

static bool add_checksums(struct str all, struct package_text *text)
{
	struct mail_id id;
	size_t records;

	text->head = queue_control_envelope_length(all);
	if (text->head == 0 || !queue_checksum_is_used(all) || !queue_control_read_id(all, &id))
		return false;
	buffer_append(&text->checked, all.data, text->head);
	queue_checksum_add_head(&text->checked, buffer_view(&text->checked), 0);
	records = text->checked.length;
	buffer_append_str(&text->checked, str_skip(all, text->head));
	if (all.length > text->head && all.data[all.length - 1] != '\n')
		return false;
	queue_checksum_add_records(&text->checked, records, id.born_us);
	return true;
}

/* queue_control_write_tried() makes such records. */
static bool is_record_of_tried(struct str line)
{
	static const struct str names[] = {STR("said: "), STR("wait: "), STR("delayed: ")};

	for (size_t i = 0; i < COUNT_OF(names); i++)
		if (str_starts_with(line, names[i]))
			return true;
	return false;
}

/* A map or none, and what was tried: all deliveries are to be done. */
static bool has_only_map_and_tried(const struct package_text *text)
{
	const struct queue_control *control = text->control;
	size_t of_map = control->is_mapped ? control->delivery_count + 1 : 0;
	struct str rest = records_of(text);
	struct str line;

	if (control->is_mended || control->damaged > 0)
		return false;
	for (size_t i = 0; rest.length > 0 && str_split(&rest, '\n', &line); i++) {
		if (i + 1 < of_map && !str_starts_with(line, STR("map: ")))
			return false;
		if (i + 1 == of_map && !str_starts_with(line, STR("mapped: ")))
			return false;
		if (i >= of_map && !is_record_of_tried(line))
			return false;
	}
	return true;
}

/* Whether the handed record says NODE and a package whose first delivery is the message's. */
static bool is_package_of_node(const struct queue_control *control, struct str node,
			       struct str *name_out)
{
	uint32_t first = control->is_mapped ? control->deliveries[0].number
					    : control->envelope->recipients[0].number;
	struct mail_package package;
	struct str of;

	return control->envelope->handed.length > 0 && control->envelope->via <= MAIL_VIA_MAX &&
	       mail_package_split(control->envelope->handed, &of, name_out) &&
	       str_equal(of, node) && mail_package_parse(*name_out, &package) &&
	       (package.first == 0 || package.first == first);
}

static int check_package(const struct server_held *held, const struct package_text *text,
			 struct str node, struct str *name_out)
{
	const struct mail_envelope *envelope = text->control->envelope;

	if (envelope->id.number != held->number || !has_only_map_and_tried(text) ||
	    !is_package_of_node(text->control, node, name_out))
		return -EBADMSG;
	return envelope->recipient_count > server_recipients_max(held->client) ? -E2BIG : 0;
}

static int read_package(struct server_held *held, struct package_text *text)
{
	int result;

	if (!add_checksums(buffer_view(&held->text), text))
		return -EBADMSG;
	result = queue_control_parse(buffer_view(&text->checked), &text->control, NULL);
	return result < 0 ? -EBADMSG : 0;
}

static int begin_package(struct server_held *held, const struct package_text *text,
			 struct server_node *node)
{
	struct queue_package package = {.node = str_from(node->name),
					.stage = text->control->envelope->stage,
					.records = records_of(text)};
	struct buffer numbers CLEANUP(buffer_clear) = {0};
	struct mail_package name;
	int result = check_package(held, text, package.node, &package.name);

	if (result == 0 && mail_package_parse(package.name, &name) && name.first > 0)
		queue_handed_numbers(text->control, &numbers);
	if (numbers.length > NUMBERS_MAX)
		result = -E2BIG;
	package.numbers = buffer_view(&numbers);
	return result == 0 ? queue_handed_begin(held->message, &package) : result;
}

int server_package_begin(struct server_held *held, const struct server_package *package)
{
	struct server_node *node = server_node_find(held->client, package);
	struct package_text text CLEANUP(clear_package_text) = {0};
	int result = node != NULL ? read_package(held, &text) : -ESTALE;

	if (result == 0)
		result = begin_package(held, &text, node);
	if (result < 0)
		return result;
	held->stage = text.control->envelope->stage;
	held->id = text.control->envelope->id;
	held->node = node;
	node->committing++;
	/* what follows the envelope is added after the checksum of the data */
	held->client->text_bytes -= held->text.length - text.head;
	buffer_reset(&held->text);
	buffer_append(&held->text, buffer_data(&text.checked), text.head);
	return 0;
}

void server_package_end(struct server_held *held, int result)
{
	if (held->node == NULL)
		return;
	held->node->committing--;
	held->node = NULL;
	queue_handed_end(held->client->server->intake, held->number, result);
}
