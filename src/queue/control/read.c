// SPDX-License-Identifier: ISC
/*
 * Reading a control file. Before "end:" everything must be right: the envelope was durable before
 * the message was accepted.
 */
#include "mail/package.h"
#include "queue/control/checksum.h"
#include "queue/control/control.h"
#include "queue/control/record.h"
#include "queue/control/trigger_name.h"
#include <errno.h>
#include <stdlib.h>

enum {
	HEAD_ID = 1,
	HEAD_STAGE = 2,
	HEAD_BORN = 4,
	HEAD_FROM = 8,
	READ_HEAD_SIZE = 16,
	HEAD_ALL = 31,
	HEAD_RECEIVED = 32,
	HEAD_TRIGGER = 64,
	HEAD_HANDED = 128,
	HEAD_ORIGIN = 256,
	HEAD_VIA = 512,
	HEAD_HELD = 1024,
	HEAD_OF_NODES = HEAD_HANDED | HEAD_ORIGIN | HEAD_VIA
};

static bool parse_notify_words(struct str value, unsigned *notify)
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

static bool parse_ret_word(struct str value, enum mail_ret *ret)
{
	bool is_full = str_equal(value, STR("full"));

	*ret = is_full ? MAIL_RET_FULL : MAIL_RET_HEADERS;
	return is_full || str_equal(value, STR("hdrs"));
}

static bool parse_nonempty_word(struct str value, struct str *word)
{
	*word = value;
	return value.length > 0;
}

/* Unknown words are from a newer version: skipped. */
static bool read_from_option(struct mail_envelope *envelope, struct str name, struct str value)
{
	if (str_equal(name, STR("ret")))
		return parse_ret_word(value, &envelope->ret);
	if (str_equal(name, STR("envid")))
		return parse_nonempty_word(value, &envelope->envid);
	if (str_equal(name, STR("priority")))
		return mail_priority_parse(value, &envelope->priority);
	if (str_equal(name, STR("by")))
		return mail_deadline_parse(value, &envelope->deadline);
	if (str_equal(name, STR("release")))
		return timestamp_parse(value, &envelope->release_us) &&
		       envelope->release_us % SECOND_US == 0;
	if (str_equal(name, STR("binarymime")))
		envelope->binary = true;
	if (str_equal(name, STR("smtputf8")))
		envelope->utf8 = true;
	if (str_equal(name, STR("requiretls")))
		envelope->require_tls = true;
	return true;
}

static bool read_from(struct control_reader *reader, struct str value)
{
	struct str name;
	struct str option;

	if (!record_address(&value, &reader->envelope->sender))
		return false;
	while (value.length > 0)
		if (!record_option(&value, &name, &option) ||
		    !read_from_option(reader->envelope, name, option))
			return false;
	return true;
}

static bool read_to_option(struct mail_recipient *recipient, struct str name, struct str value)
{
	if (str_equal(name, STR("notify")))
		return parse_notify_words(value, &recipient->notify);
	if (str_equal(name, STR("orcpt")))
		return parse_nonempty_word(value, &recipient->original);
	return true;
}

static bool read_to(struct control_reader *reader, struct str value)
{
	struct mail_envelope *envelope = reader->envelope;
	struct mail_recipient *recipient;
	struct str address;
	struct str name;
	struct str option;
	uint32_t number;
	uint32_t last = 0;

	if (envelope->recipient_count > 0)
		last = envelope->recipients[envelope->recipient_count - 1].number;
	if (!record_number(&value, &number) || number <= last ||
	    !record_address(&value, &address) || address.length == 0)
		return false;
	recipient = mail_envelope_add(envelope, STR(""));
	recipient->number = number;
	recipient->address = address;
	while (value.length > 0)
		if (!record_option(&value, &name, &option) ||
		    !read_to_option(recipient, name, option))
			return false;
	return true;
}

static bool see_head_record(struct control_reader *reader, unsigned record)
{
	bool is_first = (reader->seen & record) == 0;

	reader->seen |= record;
	return is_first;
}

/* What two nodes say of a message that one handed over to the other. */
static bool read_node_record(struct control_reader *reader, struct str name, struct str value)
{
	struct mail_envelope *envelope = reader->envelope;

	if (str_equal(name, STR("handed"))) {
		envelope->handed = value;
		return see_head_record(reader, HEAD_HANDED) &&
		       mail_package_split(value, NULL, NULL);
	}
	if (str_equal(name, STR("origin"))) {
		envelope->origin = value;
		return see_head_record(reader, HEAD_ORIGIN) &&
		       mail_package_split(value, NULL, NULL);
	}
	return see_head_record(reader, HEAD_VIA) && record_number(&value, &envelope->via) &&
	       value.length == 0;
}

/* One record between "stagepost 1" and "end:". */
static bool read_head_record(struct control_reader *reader, struct str name, struct str value)
{
	struct mail_envelope *envelope = reader->envelope;

	if (str_equal(name, STR("to")))
		return read_to(reader, value);
	if (str_equal(name, STR("id")))
		return see_head_record(reader, HEAD_ID) && mail_id_parse(value, &envelope->id) &&
		       envelope->id.number > 0;
	if (str_equal(name, STR("stage")))
		return see_head_record(reader, HEAD_STAGE) &&
		       mail_stage_parse(value, &envelope->stage);
	if (str_equal(name, STR("born")))
		return see_head_record(reader, HEAD_BORN) &&
		       timestamp_parse(value, &reader->born_us);
	if (str_equal(name, STR("from")))
		return see_head_record(reader, HEAD_FROM) && read_from(reader, value);
	if (str_equal(name, STR("size")))
		return see_head_record(reader, READ_HEAD_SIZE) &&
		       str_to_u64(value, &envelope->size);
	if (str_equal(name, STR("trigger"))) {
		envelope->trigger = value;
		return see_head_record(reader, HEAD_TRIGGER) && queue_trigger_name_is_valid(value);
	}
	if (str_equal(name, STR("received"))) {
		envelope->received = value;
		return see_head_record(reader, HEAD_RECEIVED);
	}
	if (str_equal(name, STR("held"))) {
		envelope->is_held = true;
		return see_head_record(reader, HEAD_HELD) && value.length == 0;
	}
	if (str_equal(name, STR("handed")) || str_equal(name, STR("origin")) ||
	    str_equal(name, STR("via")))
		return read_node_record(reader, name, value);
	return true;
}

static bool head_is_whole(const struct control_reader *reader)
{
	unsigned of_nodes = reader->seen & HEAD_OF_NODES;

	return (reader->seen & HEAD_ALL) == HEAD_ALL && reader->envelope->recipient_count > 0 &&
	       (of_nodes == 0 || of_nodes == HEAD_OF_NODES) &&
	       reader->envelope->id.born_us == reader->born_us;
}

static bool read_control_format(struct str line, unsigned *format_out)
{
	*format_out = str_equal(line, STR("stagepost 2")) ? 2 : 1;
	return *format_out == 2 || str_equal(line, STR("stagepost 1"));
}

/* Reads up to "end:"; *TEXT becomes what follows. */
static int read_envelope_records(struct control_reader *reader, struct str *text,
				 unsigned *line_number)
{
	struct str line;
	struct str name;
	struct str value;

	*line_number = 1;
	if (!control_next_line(text, &line))
		return -ENODATA;
	if (!read_control_format(line, &reader->control->format))
		return str_starts_with(line, STR("stagepost ")) ? -EPROTO : -EBADMSG;
	while (control_next_line(text, &line)) {
		(*line_number)++;
		if (str_equal(line, STR("end:")))
			return head_is_whole(reader) ? 0 : -EBADMSG;
		if (!record_split(line, &name, &value) || !read_head_record(reader, name, value))
			return -EBADMSG;
	}
	return -ENODATA;
}

/* The record for the envelope and the data, which becomes part of the head. What a client has just
 * written has none yet, and nothing after it. */
static int read_sum(struct control_reader *reader, struct str *text)
{
	struct queue_control *control = reader->control;
	struct str line;

	if (control->format == 1) /* but not one that a disk has made of format 2 */
		return str_starts_with(*text, STR("sum: ")) ? -EBADMSG : 0;
	if (text->length == 0)
		return 0;
	if (!control_next_line(text, &line))
		return -ENODATA;
	if (!queue_checksum_read_head(line, control->head, &control->data_checksum))
		return -EBADMSG;
	control->has_checksum = true;
	control->head = str_slice(control->head.data, control->head.length + line.length + 1);
	if (text->length > 0) /* there are records */
		reader->of_birth = queue_checksum_of_birth(reader->born_us);
	return 0;
}

static void read_progress_line(struct control_reader *reader, struct str line)
{
	if (reader->control->format == 1) {
		control_read_progress(reader, line);
		return;
	}
	if (control_is_cut(line))
		return;
	if (!queue_checksum_take(&line, reader->of_birth)) {
		reader->block_lost++;
		reader->unreadable++;
		return;
	}
	control_note_durable(reader, line);
	control_read_progress(reader, line);
}

/* Reads what follows the envelope, and the LINES lines of that. A power failure takes the end of a
 * file; the map, which comes first, was synced before the message was at S5. */
static void read_progress_records(struct control_reader *reader, struct str text, unsigned lines)
{
	struct queue_control *control = reader->control;
	bool has_records = control->has_checksum && text.length > 0;
	struct str line;

	reader->records = text;
	while (control_next_line(&text, &line))
		read_progress_line(reader, line);
	control_judge_unreadable(reader, lines + 1);
	if (has_records && !control->is_mapped) {
		control->damaged++;
		control_end_map(reader);
	}
	/* a later process must not take what a power failure has cut for damage; and where what was
	 * cut may have been the only record of what was durable, there must be one again */
	control->must_be_whole = reader->unreadable > 0 || control->damaged > 0 ||
				 (has_records && !control->has_mark && text.length > 0);
	if (reader->map_lost > 0)
		control_mend_map(control, reader->map_lost, reader->highest);
}

static int parse_control_text(struct str text, bool is_queued, struct queue_control **control_out,
			      unsigned *line_out)
{
	struct control_reader reader = {.is_queued = is_queued};
	struct str all;
	unsigned line_number;
	int result;

	if (text.length > QUEUE_CONTROL_MAX)
		return -EBADMSG;
	reader.envelope = mail_envelope_new();
	reader.control = arena_alloc(reader.envelope->arena, sizeof *reader.control);
	reader.control->envelope = reader.envelope;
	reader.control->size = text.length;
	all = text = arena_copy_str(reader.envelope->arena, text);
	result = read_envelope_records(&reader, &text, &line_number);
	if (result < 0) {
		if (line_out != NULL)
			*line_out = line_number;
		mail_envelope_free(reader.envelope);
		return result;
	}
	reader.control->head = str_slice(all.data, all.length - text.length);
	result = read_sum(&reader, &text);
	if (result < 0) {
		if (line_out != NULL)
			*line_out = line_number + 1;
		mail_envelope_free(reader.envelope);
		return result;
	}
	read_progress_records(&reader, text, line_number + reader.control->has_checksum);
	free(reader.block);
	free(reader.said);
	*control_out = reader.control;
	return 0;
}

int queue_control_parse(struct str text, struct queue_control **control_out, unsigned *line_out)
{
	return parse_control_text(text, false, control_out, line_out);
}

int queue_control_parse_queued(struct str text, struct queue_control **control_out,
			       unsigned *line_out)
{
	return parse_control_text(text, true, control_out, line_out);
}
