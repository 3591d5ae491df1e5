// SPDX-License-Identifier: ISC
/*
 * Reading a control file. Before "end:" everything must be right: the envelope
 * was durable before the message was answered for. What follows may have been
 * cut or holed by a power failure, line by line: a record that cannot be read
 * was never written, and a block of map records with such a line is none.
 */
#include "base/panic.h"
#include "mail/address.h"
#include "queue/control.h"
#include "queue/record.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	HEAD_ID = 1,
	HEAD_STAGE = 2,
	HEAD_BORN = 4,
	HEAD_FROM = 8,
	HEAD_SIZE = 16,
	HEAD_ALL = 31,
	HEAD_RECEIVED = 32
};

struct reader {
	struct queue_control *control;
	struct mail_envelope *envelope;
	int64_t born_us;
	unsigned seen;                /* of the head's records */
	struct queue_delivery *block; /* owned; map records so far */
	size_t block_count;
	size_t block_capacity;
	struct queue_delivery **by_number; /* in the arena */
};

/* Cuts the next word off *REST. */
static bool take_word(struct str *rest, struct str *word_out)
{
	return str_split(rest, ' ', word_out) && word_out->length > 0;
}

static bool take_u32(struct str *rest, uint32_t *value_out)
{
	struct str word;
	uint64_t value;

	if (!take_word(rest, &word) || !str_to_u64(word, &value) || value < 1 || value > UINT32_MAX)
		return false;
	*value_out = (uint32_t)value;
	return true;
}

/* "<ADDRESS>", then the end or a space. */
static bool take_address(struct str *rest, struct str *address_out)
{
	struct str inside;
	ptrdiff_t end;

	if (rest->length < 2 || rest->data[0] != '<')
		return false;
	inside = str_skip(*rest, 1);
	end = queue_address_end(inside);
	if (end < 0 || end > MAIL_ADDRESS_MAX)
		return false;
	*address_out = str_slice(inside.data, (size_t)end);
	*rest = str_skip(inside, (size_t)end + 1);
	if (rest->length == 0)
		return true;
	if (rest->data[0] != ' ')
		return false;
	*rest = str_skip(*rest, 1);
	return true;
}

/* "NAME=VALUE" */
static bool take_parameter(struct str *rest, struct str *name_out, struct str *value_out)
{
	struct str word;

	return rest->length > 0 && take_word(rest, &word) && str_split(&word, '=', name_out) &&
	       (*value_out = word).length > 0;
}

static bool parse_notify(struct str value, unsigned *notify)
{
	struct str word;

	while (str_split(&value, ',', &word)) {
		if (str_equal(word, STR("success")))
			*notify |= MAIL_NOTIFY_SUCCESS;
		else if (str_equal(word, STR("failure")))
			*notify |= MAIL_NOTIFY_FAILURE;
		else if (str_equal(word, STR("delay")))
			*notify |= MAIL_NOTIFY_DELAY;
		else if (str_equal(word, STR("never")))
			*notify |= MAIL_NOTIFY_NEVER;
		else
			return false;
	}
	return true;
}

static bool read_from(struct reader *reader, struct str value)
{
	struct mail_envelope *envelope = reader->envelope;
	struct str name;

	if (!take_address(&value, &envelope->sender))
		return false;
	while (value.length > 0) {
		struct str parameter;

		if (!take_parameter(&value, &name, &parameter))
			return false;
		if (str_equal(name, STR("envid")))
			envelope->envid = parameter;
		else if (str_equal(name, STR("ret")) && str_equal(parameter, STR("full")))
			envelope->ret = MAIL_RET_FULL;
		else if (str_equal(name, STR("ret")) && str_equal(parameter, STR("hdrs")))
			envelope->ret = MAIL_RET_HEADERS;
		else if (str_equal(name, STR("ret")))
			return false;
	}
	return true;
}

static bool read_to(struct reader *reader, struct str value)
{
	struct mail_envelope *envelope = reader->envelope;
	struct mail_recipient *recipient;
	struct str address;
	struct str name;
	uint32_t number;
	uint32_t last = 0;

	if (envelope->recipient_count > 0)
		last = envelope->recipients[envelope->recipient_count - 1].number;
	if (!take_u32(&value, &number) || number <= last || !take_address(&value, &address) ||
	    address.length == 0)
		return false;
	recipient = mail_envelope_add(envelope, STR(""));
	recipient->number = number;
	recipient->address = address;
	while (value.length > 0) {
		struct str parameter;

		if (!take_parameter(&value, &name, &parameter))
			return false;
		if (str_equal(name, STR("orcpt")))
			recipient->original = parameter;
		else if (str_equal(name, STR("notify")) &&
			 !parse_notify(parameter, &recipient->notify))
			return false;
	}
	return true;
}

static bool see(struct reader *reader, unsigned record)
{
	bool is_first = (reader->seen & record) == 0;

	reader->seen |= record;
	return is_first;
}

/* One record between "stagepost 1" and "end:". */
static bool read_head(struct reader *reader, struct str name, struct str value)
{
	struct mail_envelope *envelope = reader->envelope;

	if (str_equal(name, STR("to")))
		return read_to(reader, value);
	if (str_equal(name, STR("id")))
		return see(reader, HEAD_ID) && mail_id_parse(value, &envelope->id) &&
		       envelope->id.number > 0;
	if (str_equal(name, STR("stage")))
		return see(reader, HEAD_STAGE) && mail_stage_parse(value, &envelope->stage);
	if (str_equal(name, STR("born")))
		return see(reader, HEAD_BORN) && timestamp_parse(value, &reader->born_us);
	if (str_equal(name, STR("from")))
		return see(reader, HEAD_FROM) && read_from(reader, value);
	if (str_equal(name, STR("size")))
		return see(reader, HEAD_SIZE) && str_to_u64(value, &envelope->size);
	if (str_equal(name, STR("received"))) {
		envelope->received = value;
		return see(reader, HEAD_RECEIVED);
	}
	return true;
}

static bool head_is_whole(const struct reader *reader)
{
	return (reader->seen & HEAD_ALL) == HEAD_ALL && reader->envelope->recipient_count > 0 &&
	       reader->envelope->id.born_us == reader->born_us;
}

/* "NAME: VALUE" or "NAME:" */
static bool split_record(struct str line, struct str *name_out, struct str *value_out)
{
	ptrdiff_t colon = str_find(line, ':');

	if (colon <= 0 || !queue_text_is_clean(line))
		return false;
	*name_out = str_slice(line.data, (size_t)colon);
	*value_out = str_skip(line, (size_t)colon + 1);
	if (!queue_word_is_clean(*name_out))
		return false;
	if (value_out->length == 0)
		return true;
	if (value_out->data[0] != ' ')
		return false;
	*value_out = str_skip(*value_out, 1);
	return true;
}

static bool has_recipient(const struct mail_envelope *envelope, uint32_t number)
{
	size_t low = 0;
	size_t high = envelope->recipient_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (envelope->recipients[middle].number == number)
			return true;
		if (envelope->recipients[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

static bool parse_map(const struct reader *reader, struct str value,
		      struct queue_delivery *delivery)
{
	struct str word;

	*delivery = (struct queue_delivery){0};
	if (!take_u32(&value, &delivery->recipient) ||
	    !has_recipient(reader->envelope, delivery->recipient) || !take_word(&value, &word))
		return false;
	delivery->number = delivery->recipient;
	if (str_equal(word, STR("local"))) {
		delivery->route = QUEUE_ROUTE_LOCAL;
		if (!take_word(&value, &delivery->service) ||
		    !queue_service_is_valid(delivery->service))
			return false;
	} else if (str_equal(word, STR("remote"))) {
		delivery->route = QUEUE_ROUTE_REMOTE;
	} else if (str_equal(word, STR("none"))) {
		delivery->route = QUEUE_ROUTE_NONE;
	} else {
		return false;
	}
	if (value.length > 0 && value.data[0] != '<' && !take_u32(&value, &delivery->number))
		return false;
	return take_address(&value, &delivery->address) && delivery->address.length > 0 &&
	       value.length == 0;
}

static void read_map(struct reader *reader, struct str value)
{
	struct queue_delivery delivery;

	if (!parse_map(reader, value, &delivery)) {
		reader->block_count = 0;
		return;
	}
	if (reader->block_count == reader->block_capacity) {
		reader->block_capacity =
			reader->block_capacity > 0 ? reader->block_capacity * 2 : 8;
		reader->block = memory_resize(reader->block,
					      reader->block_capacity * sizeof *reader->block);
	}
	reader->block[reader->block_count++] = delivery;
}

static int compare_numbers(const void *a, const void *b)
{
	const struct queue_delivery *const *first = a;
	const struct queue_delivery *const *second = b;

	return ((*first)->number > (*second)->number) - ((*first)->number < (*second)->number);
}

/* Takes the last COUNT map records as the map, unless a number comes twice. */
static void accept_map(struct reader *reader, size_t count)
{
	struct arena *arena = reader->envelope->arena;
	struct queue_control *control = reader->control;
	struct queue_delivery *deliveries = arena_alloc(arena, count * sizeof *deliveries + 1);
	struct queue_delivery **sorted = arena_alloc(arena, count * sizeof *sorted + 1);

	for (size_t i = 0; i < count; i++) {
		deliveries[i] = reader->block[reader->block_count - count + i];
		sorted[i] = &deliveries[i];
	}
	qsort(sorted, count, sizeof *sorted, compare_numbers);
	for (size_t i = 1; i < count; i++)
		if (sorted[i - 1]->number == sorted[i]->number)
			return;
	control->deliveries = deliveries;
	control->delivery_count = count;
	control->is_mapped = true;
	reader->by_number = sorted;
}

static void read_mapped(struct reader *reader, struct str value)
{
	struct str name;
	struct str parameter;
	uint64_t count = UINT64_MAX;

	while (value.length > 0) {
		if (!take_parameter(&value, &name, &parameter) ||
		    (str_equal(name, STR("count")) && !str_to_u64(parameter, &count))) {
			count = UINT64_MAX;
			break;
		}
	}
	if (count > 0 && count <= reader->block_count)
		accept_map(reader, (size_t)count);
	reader->block_count = 0;
}

static struct queue_delivery *find_delivery(const struct reader *reader, uint32_t number)
{
	struct queue_delivery wanted = {.number = number};
	struct queue_delivery *key = &wanted;
	struct queue_delivery **found;

	if (!reader->control->is_mapped)
		return NULL;
	found = bsearch(&key, reader->by_number, reader->control->delivery_count, sizeof key,
			compare_numbers);
	return found != NULL ? *found : NULL;
}

/* "until=TIME" and perhaps "trigger=NAME" at the start of *REST. */
static bool take_wait(struct str *rest, struct queue_delivery *delivery)
{
	struct str name;
	struct str value;

	if (!take_parameter(rest, &name, &value) || !str_equal(name, STR("until")) ||
	    !timestamp_parse(value, &delivery->until_us))
		return false;
	delivery->trigger = STR("");
	if (!str_starts_with(*rest, STR("trigger=")))
		return true;
	return take_parameter(rest, &name, &delivery->trigger);
}

static void read_outcome(struct reader *reader, enum queue_outcome outcome, struct str value)
{
	struct queue_delivery *delivery;
	struct queue_delivery changed;
	struct str time;
	uint32_t number;

	if (!take_u32(&value, &number))
		return;
	delivery = find_delivery(reader, number);
	if (delivery == NULL)
		return;
	changed = *delivery;
	changed.outcome = outcome;
	changed.until_us = 0;
	changed.trigger = STR("");
	if (!take_word(&value, &time) || !timestamp_parse(time, &changed.changed_us))
		return;
	if (outcome == QUEUE_WAIT && !take_wait(&value, &changed))
		return;
	if (!take_word(&value, &changed.status))
		return;
	if (str_equal(changed.status, STR("-")))
		changed.status = STR("");
	changed.text = value.length > 0 ? value : STR("");
	changed.attempts += outcome == QUEUE_WAIT;
	*delivery = changed;
}

/* One record after "end:". */
static void read_progress(struct reader *reader, struct str line)
{
	struct str name;
	struct str value;

	if (!split_record(line, &name, &value)) {
		reader->block_count = 0;
		return;
	}
	if (str_equal(name, STR("map")) && !reader->control->is_mapped)
		read_map(reader, value);
	else if (str_equal(name, STR("mapped")) && !reader->control->is_mapped)
		read_mapped(reader, value);
	else if (str_equal(name, STR("done")))
		read_outcome(reader, QUEUE_DONE, value);
	else if (str_equal(name, STR("wait")))
		read_outcome(reader, QUEUE_WAIT, value);
	else if (str_equal(name, STR("fail")))
		read_outcome(reader, QUEUE_FAIL, value);
}

/* The next line of *TEXT; false when there is none with its newline. */
static bool next_line(struct str *text, struct str *line_out)
{
	ptrdiff_t end = str_find(*text, '\n');

	if (end < 0)
		return false;
	*line_out = str_slice(text->data, (size_t)end);
	*text = str_skip(*text, (size_t)end + 1);
	return true;
}

/* Reads up to "end:"; *TEXT becomes what follows. */
static int read_envelope(struct reader *reader, struct str *text, unsigned *line_number)
{
	struct str line;
	struct str name;
	struct str value;

	*line_number = 1;
	if (!next_line(text, &line))
		return -ENODATA;
	if (!str_equal(line, STR("stagepost 1")))
		return str_starts_with(line, STR("stagepost ")) ? -EPROTO : -EBADMSG;
	while (next_line(text, &line)) {
		(*line_number)++;
		if (str_equal(line, STR("end:")))
			return head_is_whole(reader) ? 0 : -EBADMSG;
		if (!split_record(line, &name, &value) || !read_head(reader, name, value))
			return -EBADMSG;
	}
	return -ENODATA;
}

int queue_control_parse(struct str text, struct queue_control **control_out, unsigned *line_out)
{
	struct reader reader = {0};
	unsigned line_number;
	struct str line;
	int result;

	if (text.length > QUEUE_CONTROL_MAX)
		return -EBADMSG;
	reader.envelope = mail_envelope_new();
	reader.control = arena_alloc(reader.envelope->arena, sizeof *reader.control);
	reader.control->envelope = reader.envelope;
	text = arena_copy_str(reader.envelope->arena, text);
	result = read_envelope(&reader, &text, &line_number);
	if (result < 0) {
		if (line_out != NULL)
			*line_out = line_number;
		mail_envelope_free(reader.envelope);
		return result;
	}
	while (next_line(&text, &line))
		read_progress(&reader, line);
	free(reader.block);
	*control_out = reader.control;
	return 0;
}
