// SPDX-License-Identifier: ISC
/* Reads a message's header fields as they pass: counts Received fields, and keeps the first
 * Message-ID, for the log. */
#include "smtp/header.h"
#include <string.h>

enum { RECEIVED, MESSAGE_ID };

static const struct str names[SMTP_HEADER_NAMES] = {STR("received:"), STR("message-id:")};

enum { LONGEST_NAME = 11 };

static void match_byte(struct smtp_header *h, char byte)
{
	for (size_t i = 0; i < COUNT_OF(names); i++)
		if (h->matched[i] == h->position && h->position < names[i].length &&
		    str_equal_nocase(str_slice(&byte, 1),
				     str_slice(names[i].data + h->position, 1)))
			h->matched[i]++;
	h->position++;
}

static bool is_field(const struct smtp_header *h, size_t name)
{
	return h->matched[name] == names[name].length;
}

static void begin_line(struct smtp_header *h, char first)
{
	h->is_value = h->is_value && (first == ' ' || first == '\t');
	if (h->is_value)
		h->position = LONGEST_NAME; /* a continuation line begins no field */
	else if (h->id_length > 0)
		h->has_id = true;
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
	size_t done = 0;

	if (h->position == 0 && length > 0)
		begin_line(h, data[0]);
	while (done < length && h->position < LONGEST_NAME)
		match_byte(h, data[done++]);
	if (is_field(h, MESSAGE_ID))
		h->is_value = true;
	if (h->is_value)
		keep_value(t, data + done, length - done);
}

void smtp_header_end_line(struct smtp_text *t)
{
	struct smtp_header *h = &t->header;

	if (h->position == 0)
		h->is_over = true;
	if (is_field(h, RECEIVED))
		h->hops++;
	h->position = 0;
	memset(h->matched, 0, sizeof h->matched);
}

struct str smtp_text_message_id(const struct smtp_text *t)
{
	struct str own = str_trim(str_slice(t->header.id, t->header.id_length));

	return own.length > 0 || t->edit == NULL ? own : header_edit_message_id(t->edit);
}
