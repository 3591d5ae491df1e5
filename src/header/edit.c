// SPDX-License-Identifier: ISC
#include "header/edit.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "header/authors.h"
#include "header/field.h"
#include "header/lines.h"
#include "mail/address.h"
#include <errno.h>
#include <stdlib.h>

enum part {
	PART_FIELD, /* kept until it is complete */
	PART_PASS,  /* the rest of a field that is too long */
	PART_DROP,  /* likewise */
	PART_BODY,
};

struct header_edit {
	struct header_edit_settings settings;
	struct arena *arena;
	enum part part;
	bool is_in_line; /* the last byte did not end a line */
	bool has_begun;  /* there was a field */
	struct buffer field;
	struct header_lines lines;
	size_t from_count, sender_count;
	bool has_date, has_id;
	bool is_signed;
	bool has_changed;      /* a field that somebody may have signed */
	size_t added;          /* bytes, to fields */
	struct str id;         /* that was added */
	struct buffer only;    /* the field under way with one reading; empty: as it is */
	struct str field_name; /* of the authors being read */
	struct header_authors found;
	struct str addresses[HEADER_AUTHORS_MAX], fields[HEADER_AUTHORS_MAX];
};

struct header_edit *header_edit_new(const struct header_edit_settings *settings,
				    struct arena *arena)
{
	struct header_edit *edit = memory_alloc_zero(1, sizeof *edit);

	edit->settings = *settings;
	edit->arena = arena;
	return edit;
}

void header_edit_free(struct header_edit *edit)
{
	if (edit == NULL)
		return;
	buffer_clear(&edit->field);
	buffer_clear(&edit->only);
	header_lines_clear(&edit->lines);
	free(edit);
}

static void emit_header_text(struct header_edit *edit, struct str text, struct buffer *out)
{
	if (edit->settings.repairs)
		header_lines_take(&edit->lines, text, out);
	else
		buffer_append_str(out, text);
}

/* --- authors --- */

static void set_fault(struct header_edit *edit, enum header_edit_fault fault, struct str name,
		      struct str text)
{
	if (edit->found.fault != HEADER_EDIT_GOOD)
		return;
	text.length = text.length < HEADER_BAD_MAX ? text.length : HEADER_BAD_MAX;
	edit->found.fault = fault;
	edit->found.field = arena_copy_str(edit->arena, name);
	edit->found.text = arena_copy_str(edit->arena, text);
}

static int add_author(void *context, struct str address)
{
	struct header_edit *edit = context;

	for (size_t i = 0; i < edit->found.count; i++)
		if (str_equal(edit->addresses[i], address))
			return 0;
	if (edit->found.count == COUNT_OF(edit->addresses))
		return -E2BIG;
	edit->fields[edit->found.count] = edit->field_name;
	edit->addresses[edit->found.count++] = arena_copy_str(edit->arena, address);
	return 0;
}

static void read_authors(struct header_edit *edit, const struct header_field *field)
{
	const struct header_addresses_rules rules = {edit->settings.domain, MAIL_ADDRESS_UTF8};
	struct buffer list CLEANUP(buffer_clear) = {0};
	struct str bad = STR("");
	int error;

	edit->field_name = arena_copy_str(edit->arena, field->name);
	error = header_authors_read(field->body, &rules, add_author, edit, &list, &bad);
	if (error == -E2BIG)
		set_fault(edit, HEADER_EDIT_LARGE, field->name, STR(""));
	else if (error < 0)
		set_fault(edit, bad.length > 0 ? HEADER_EDIT_BAD : HEADER_EDIT_NONE, field->name,
			  bad);
	else if (list.length > 0)
		buffer_append_format(&edit->only, STR_FORMAT ":" STR_FORMAT "\r\n",
				     STR_ARGUMENTS(field->name), STR_ARGUMENTS(buffer_view(&list)));
}

/* Whether it says that bytes of the message are signed. */
static bool is_signature(const struct header_field *field)
{
	static const struct str type = STR("multipart/signed");
	struct str value = field->body;

	while (value.length > 0 && (unsigned char)value.data[0] <= ' ')
		value = str_skip(value, 1);
	if (str_equal_nocase(field->name, STR("dkim-signature")))
		return true;
	return str_equal_nocase(field->name, STR("content-type")) && value.length >= type.length &&
	       str_equal_nocase(str_slice(value.data, type.length), type);
}

/* IS_WHOLE: otherwise it is too long. */
static void note_field(struct header_edit *edit, const struct header_field *field, bool is_whole)
{
	bool is_from = str_equal_nocase(field->name, STR("from"));
	bool is_sender = str_equal_nocase(field->name, STR("sender"));
	bool is_resent = str_equal_nocase(field->name, STR("resent-from")) ||
			 str_equal_nocase(field->name, STR("resent-sender"));

	edit->has_date |= str_equal_nocase(field->name, STR("date"));
	edit->has_id |= str_equal_nocase(field->name, STR("message-id"));
	edit->from_count += is_from;
	edit->sender_count += is_sender;
	edit->is_signed |= is_signature(field);
	if (!edit->settings.has_authors || (!is_from && !is_sender && !is_resent))
		return;
	if (edit->from_count > 1 || edit->sender_count > 1)
		set_fault(edit, HEADER_EDIT_SEVERAL, field->name, STR(""));
	else if (!is_whole)
		set_fault(edit, HEADER_EDIT_LARGE, field->name, STR(""));
	else
		read_authors(edit, field);
}

/* --- fields --- */

static bool is_removed(const struct header_edit *edit, struct str name)
{
	return edit->settings.completes && header_field_is_private(name);
}

/* FIELD is to become CHANGED, which may be too much. */
static bool may_grow(struct header_edit *edit, const struct header_field *field,
		     const struct header_field *changed)
{
	size_t before = field->whole.length;
	size_t grown = changed->whole.length > before ? changed->whole.length - before : 0;

	if (grown > HEADER_ADDED_MAX - edit->added) {
		if (edit->settings.has_authors)
			set_fault(edit, HEADER_EDIT_LARGE, field->name, STR(""));
		return false;
	}
	edit->added += grown;
	return true;
}

static void emit_field(struct header_edit *edit, const struct header_field *field,
		       struct buffer *out)
{
	struct buffer completed CLEANUP(buffer_clear) = {0};
	struct buffer encoded CLEANUP(buffer_clear) = {0};
	struct header_field current = *field;
	bool has_changed = edit->only.length > 0;

	if (has_changed)
		(void)header_field_parse(buffer_view(&edit->only), &current);
	if (edit->settings.completes) {
		header_field_complete(&current, edit->settings.domain, &completed);
		(void)header_field_parse(buffer_view(&completed), &current);
	}
	if (edit->settings.repairs && !edit->settings.allows_utf8 &&
	    header_field_is_8bit(&current)) {
		header_field_encode(&current, &encoded);
		has_changed = true;
		(void)header_field_parse(buffer_view(&encoded), &current);
	}
	if (may_grow(edit, field, &current)) {
		emit_header_text(edit, current.whole, out);
		edit->has_changed |= has_changed;
	} else {
		emit_header_text(edit, field->whole, out);
	}
	buffer_reset(&edit->only);
}

static void add_missing(struct header_edit *edit, struct buffer *out)
{
	const struct header_edit_settings *settings = &edit->settings;
	struct buffer text CLEANUP(buffer_clear) = {0};
	char date[TIMESTAMP_HEADER_SIZE];
	char id[MAIL_ID_SIZE];
	size_t before;

	if (!settings->completes)
		return;
	timestamp_format_header(settings->id.born_us, date);
	mail_id_format(settings->id, id);
	if (!edit->has_date)
		buffer_append_format(&text, "Date: %s\r\n", date);
	if (edit->from_count == 0 && settings->from.length > 0)
		buffer_append_format(&text, "From: " STR_FORMAT "\r\n",
				     STR_ARGUMENTS(settings->from));
	if (!edit->has_id) {
		buffer_append_string(&text, "Message-ID: ");
		before = text.length;
		buffer_append_format(&text, "<%s@" STR_FORMAT ">", id,
				     STR_ARGUMENTS(settings->hostname));
		edit->id = arena_copy_str(edit->arena, str_skip(buffer_view(&text), before));
		buffer_append(&text, "\r\n", 2);
	}
	emit_header_text(edit, buffer_view(&text), out);
}

/* At the first line that is no part of a field. */
static void end_edited_header(struct header_edit *edit, struct buffer *out)
{
	edit->part = PART_BODY;
	add_missing(edit, out);
}

/* What is kept is no field: the body has begun without an empty line. Other programs may read on,
 * and would find authors there that were not read here. */
static void begin_body(struct header_edit *edit, struct buffer *out)
{
	end_edited_header(edit, out);
	if (edit->settings.completes || edit->settings.has_authors)
		emit_header_text(edit, STR("\r\n"), out);
	emit_header_text(edit, buffer_view(&edit->field), out);
}

/* The separator of a mailbox file, which some programs write first; procmail and formail quote
 * it. */
static bool is_mbox_from_line(const struct header_edit *edit)
{
	struct str line = buffer_view(&edit->field);

	return edit->settings.completes && !edit->has_begun &&
	       (str_starts_with(line, STR("From ")) || str_starts_with(line, STR(">From ")));
}

/* What is kept of a field, which is complete if IS_WHOLE. */
static void end_edited_field(struct header_edit *edit, bool is_whole, struct buffer *out)
{
	struct header_field field;

	if (edit->field.length == 0) {
		edit->part = PART_FIELD;
		return;
	}
	if (!header_field_parse(buffer_view(&edit->field), &field)) {
		if (!is_mbox_from_line(edit))
			begin_body(edit, out);
		else if (!is_whole)
			edit->part = PART_DROP;
		buffer_reset(&edit->field);
		return;
	}
	edit->has_begun = true;
	note_field(edit, &field, is_whole);
	edit->part = is_removed(edit, field.name) ? PART_DROP : PART_PASS;
	if (edit->part == PART_PASS && is_whole)
		emit_field(edit, &field, out);
	else if (edit->part == PART_PASS)
		emit_header_text(edit, field.whole, out);
	if (is_whole)
		edit->part = PART_FIELD;
	buffer_reset(&edit->field);
}

/* --- the message --- */

/* What is kept of a field is judged at the same byte, however the message comes in pieces. */
static void take_field_part(struct header_edit *edit, struct str text, struct buffer *out)
{
	size_t room = HEADER_FIELD_MAX + 1 - edit->field.length;

	if (edit->part == PART_FIELD) {
		struct str kept = str_slice(text.data, text.length < room ? text.length : room);

		buffer_append_str(&edit->field, kept);
		text = str_skip(text, kept.length);
		if (edit->field.length > HEADER_FIELD_MAX)
			end_edited_field(edit, false, out);
	}
	if (edit->part == PART_PASS || edit->part == PART_BODY)
		emit_header_text(edit, text, out);
}

/* Takes a line, or what there is of it, that belongs to the header; nothing if the body begins. */
static size_t take_header_line(struct header_edit *edit, struct str text, struct buffer *out)
{
	ptrdiff_t feed = str_find(text, '\n');
	size_t length = feed >= 0 ? (size_t)feed + 1 : text.length;

	if (!edit->is_in_line && text.data[0] != ' ' && text.data[0] != '\t') {
		end_edited_field(edit, true, out);
		if (edit->part != PART_BODY && text.data[0] == '\r')
			end_edited_header(edit, out);
		if (edit->part == PART_BODY)
			return 0;
	}
	edit->is_in_line = feed < 0;
	take_field_part(edit, str_slice(text.data, length), out);
	return length;
}

void header_edit_take(struct header_edit *edit, struct str text, struct buffer *out)
{
	while (text.length > 0 && edit->part != PART_BODY)
		text = str_skip(text, take_header_line(edit, text, out));
	if (text.length > 0)
		emit_header_text(edit, text, out);
}

void header_edit_end(struct header_edit *edit, struct buffer *out)
{
	if (edit->part != PART_BODY)
		end_edited_field(edit, true, out);
	if (edit->part != PART_BODY)
		end_edited_header(edit, out);
	header_lines_end(&edit->lines, out);
}

struct str header_edit_message_id(const struct header_edit *edit)
{
	return edit->id.data != NULL ? edit->id : STR("");
}

bool header_edit_has_broken_signature(const struct header_edit *edit)
{
	return edit->is_signed && (edit->lines.breaks > 0 || edit->has_changed);
}

struct header_authors header_edit_authors(const struct header_edit *edit)
{
	struct header_authors found = edit->found;

	found.addresses = edit->addresses;
	found.fields = edit->fields;
	return found;
}
