// SPDX-License-Identifier: ISC
/* Reads a message's header fields as they pass: counts Received fields, keeps the first Message-ID,
 * for the log, and the marks of mail that comes back (header/loop.h). */
#include "smtp/header.h"
#include <string.h>

static const struct str received = STR("Received:");
static const struct str message_id = STR("Message-ID:");

/* Whether the line begins with NAME. */
static bool is_field_of_name(const struct smtp_header *h, struct str name)
{
	return h->position >= name.length &&
	       str_equal_nocase(str_slice(h->start, name.length), name);
}

static void begin_smtp_header_line(struct smtp_header *h, char first)
{
	h->is_value = h->is_value && (first == ' ' || first == '\t');
	if (h->is_value) { /* a continuation line begins no field */
		h->start[0] = first;
		h->position = sizeof h->start;
	} else if (h->id_length > 0) {
		h->has_id = true;
	}
}

static void keep_value(struct smtp_text *t, const char *data, size_t length)
{
	struct smtp_header *h = &t->header;

	if (h->has_id)
		return;
	if (h->id == NULL)
		h->id = arena_alloc(t->arena, SMTP_MESSAGE_ID_MAX);
	if (length > SMTP_MESSAGE_ID_MAX - h->id_length)
		length = SMTP_MESSAGE_ID_MAX - h->id_length;
	if (length > 0)
		memcpy(h->id + h->id_length, data, length);
	h->id_length += length;
}

void smtp_header_take(struct smtp_text *t, const char *data, size_t length)
{
	struct smtp_header *h = &t->header;
	size_t before;
	size_t copied;

	if (length == 0)
		return;
	if (h->position == 0)
		begin_smtp_header_line(h, data[0]);
	before = h->position;
	copied = sizeof h->start - before < length ? sizeof h->start - before : length;
	memcpy(h->start + before, data, copied);
	h->position += copied;
	if (h->is_value) {
		keep_value(t, data, length);
	} else if (before < message_id.length && is_field_of_name(h, message_id)) {
		h->is_value = true;
		before = message_id.length - before;
		keep_value(t, data + before, length - before);
	}
}

/* One mark too many is a hop. */
static void take_mark(struct smtp_text *t, uint64_t mark)
{
	struct smtp_header *h = &t->header;

	if (h->loop == NULL)
		h->loop = arena_alloc(t->arena, sizeof *h->loop);
	h->loop->has_resent = h->has_resent;
	if (!header_loop_add(h->loop, mark))
		h->hops++;
}

static void take_smtp_header_field(struct smtp_text *t)
{
	struct smtp_header *h = &t->header;
	uint64_t mark;

	switch (h->start[0]) {
	case 'R':
	case 'r':
	case 'X':
	case 'x':
		break;
	default: /* most fields */
		return;
	}
	if (is_field_of_name(h, received)) {
		h->hops++;
		return;
	}
	switch (header_loop_parse(str_slice(h->start, h->position), &mark)) {
	case HEADER_LOOP_MARK:
		take_mark(t, mark);
		break;
	case HEADER_LOOP_RESENT:
		h->has_resent = true;
		break;
	case HEADER_LOOP_NONE:
		break;
	}
}

void smtp_header_end_line(struct smtp_text *t)
{
	struct smtp_header *h = &t->header;

	if (h->position == 0)
		h->is_over = true;
	else
		take_smtp_header_field(t);
	h->position = 0;
}

struct str smtp_text_message_id(const struct smtp_text *t)
{
	struct str own = str_trim(str_slice(t->header.id, t->header.id_length));

	return own.length > 0 || t->edit == NULL ? own : header_edit_message_id(t->edit);
}

bool smtp_text_loops(const struct smtp_text *t, struct hash_key key, struct str address)
{
	return t->header.loop != NULL && header_loop_has(t->header.loop, key, address);
}

bool smtp_text_loops_everywhere(const struct smtp_text *t, struct hash_key key,
				const struct mail_envelope *envelope)
{
	for (size_t i = 0; i < envelope->recipient_count; i++)
		if (!smtp_text_loops(t, key, envelope->recipients[i].address))
			return false;
	return true;
}
