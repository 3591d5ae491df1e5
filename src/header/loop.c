// SPDX-License-Identifier: ISC
#include "header/loop.h"
#include "mail/localpart.h"
#include "mail/unicode.h"
#include <string.h>

static const struct str field_name = STR("X-Stagepost-Loop:");
static const struct str version = STR("v1 ");
static const struct str resent = STR("Resent-");

enum { DIGITS = 16 };

static bool starts_with_nocase(struct str line, struct str start)
{
	return line.length >= start.length &&
	       str_equal_nocase(str_slice(line.data, start.length), start);
}

enum header_loop_line header_loop_parse(struct str line, uint64_t *mark_out)
{
	struct str value;

	if (line.length > 0 && line.data[line.length - 1] == '\r')
		line.length--;
	if (starts_with_nocase(line, resent))
		return HEADER_LOOP_RESENT;
	if (!starts_with_nocase(line, field_name))
		return HEADER_LOOP_NONE;
	value = str_trim(str_skip(line, field_name.length));
	if (!str_starts_with(value, version) || value.length != version.length + DIGITS ||
	    !str_to_u64_hex(str_skip(value, version.length), mark_out))
		return HEADER_LOOP_NONE;
	return HEADER_LOOP_MARK;
}

bool header_loop_add(struct header_loop *loop, uint64_t mark)
{
	if (loop->count == HEADER_LOOP_MAX)
		return false;
	loop->marks[loop->count++] = mark;
	if (!loop->has_resent)
		loop->above_resent = loop->count;
	return true;
}

void header_loop_read(struct header_loop *loop, struct str header)
{
	struct str line;

	while (str_split(&header, '\n', &line) && line.length > 0 && line.data[0] != '\r') {
		uint64_t mark;

		switch (header_loop_parse(line, &mark)) {
		case HEADER_LOOP_MARK:
			(void)header_loop_add(loop, mark);
			break;
		case HEADER_LOOP_RESENT:
			loop->has_resent = true;
			break;
		case HEADER_LOOP_NONE:
			break;
		}
	}
}

bool header_loop_has_key(struct hash_key key)
{
	return (key.low | key.high) != 0;
}

/* What a mark is of. */
struct text {
	char bytes[2 * (MAIL_DOMAIN_MAX + 2)];
	size_t length;
};

static void append_marked(struct text *text, struct str piece)
{
	size_t room = sizeof text->bytes - text->length;
	size_t length = piece.length < room ? piece.length : room;

	memcpy(text->bytes + text->length, piece.data, length);
	text->length += length;
}

static uint64_t mark_of(struct hash_key key, enum header_loop_way way, struct str address)
{
	struct mail_parts parts = mail_parts_of(address);
	struct text text = {{(char)way}, 1};
	struct mail_localpart local;
	struct mail_domain domain;

	(void)mail_domain_form(parts.domain, &domain);
	if (mail_localpart_parse(parts.local, &local) == 0)
		append_marked(&text, mail_localpart_whole(&local));
	else
		append_marked(&text, parts.local);
	append_marked(&text, STR("@"));
	append_marked(&text, mail_domain_view(&domain));
	return hash_keyed(key, text.bytes, text.length);
}

void header_loop_append(struct hash_key key, enum header_loop_way way, struct str address,
			const char *end, struct buffer *out)
{
	char digits[DIGITS];
	uint64_t mark;

	if (!header_loop_has_key(key))
		return;
	mark = mark_of(key, way, address);
	for (size_t i = DIGITS; i > 0; i--, mark >>= 4)
		digits[i - 1] = "0123456789abcdef"[mark & 0xf];
	buffer_append_str(out, field_name);
	buffer_append_byte(out, ' ');
	buffer_append_str(out, version);
	buffer_append(out, digits, sizeof digits);
	buffer_append_string(out, end);
}

static bool has_one_of(const struct header_loop *loop, uint64_t one, uint64_t other)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < loop->count; i++) {
		if (loop->marks[i] != one && loop->marks[i] != other)
			continue;
		if (i < loop->above_resent || ++found == HEADER_LOOP_RESENT_MAX)
			return true;
	}
	return false;
}

bool header_loop_has(const struct header_loop *loop, struct hash_key key, struct str address)
{
	return loop->count > 0 && header_loop_has_key(key) &&
	       has_one_of(loop, mark_of(key, HEADER_LOOP_DELIVERED, address),
			  mark_of(key, HEADER_LOOP_LED_ON, address));
}

bool header_loop_closes(const struct header_loop *loop, struct hash_key key, struct str address,
			struct str via)
{
	uint64_t delivered;

	if (via.length == 0)
		return header_loop_has(loop, key, address);
	if (loop->count == 0 || !header_loop_has_key(key))
		return false;
	delivered = mark_of(key, HEADER_LOOP_DELIVERED, address);
	return header_loop_has(loop, key, via) || has_one_of(loop, delivered, delivered);
}
