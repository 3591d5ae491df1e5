// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/fuzz_text.c - any bytes made safe: as xtext, as JSON, as a header's text, in a
 * manual page; and UTF-8, identifiers and times read.
 */
#include "base/panic.h"
#include "base/text/json.h"
#include "base/text/mdoc.h"
#include "base/text/utf8.h"
#include "base/timestamp.h"
#include "input.h"
#include "mail/envelope.h"
#include "mail/text/text.h"
#include "mail/text/xtext.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_xtext(struct str text)
{
	struct buffer encoded = {0};
	struct buffer decoded = {0};

	mail_xtext_append(&encoded, text);
	for (struct str rest = buffer_view(&encoded); rest.length > 0;) {
		uint64_t byte = (unsigned char)rest.data[0];
		size_t length = 1;

		if (byte <= ' ' || byte > '~' || byte == '=')
			panic("xtext with %u", (unsigned)byte);
		if (byte == '+') {
			length = 3;
			if (rest.length < 3 || !str_to_u64_hex(str_slice(rest.data + 1, 2), &byte))
				panic("xtext ends within a character");
		}
		buffer_append_byte(&decoded, (char)byte);
		rest = str_skip(rest, length);
	}
	check_equal(buffer_view(&decoded), text, "text and xtext");
	(void)mail_xtext_is_valid(text);
	buffer_clear(&encoded);
	buffer_clear(&decoded);
}

static void append_code_point(struct buffer *out, uint32_t code)
{
	if (code < 0x80) {
		buffer_append_byte(out, (char)code);
		return;
	}
	if (code < 0x800) {
		buffer_append_byte(out, (char)(0xc0 | code >> 6));
	} else {
		if (code < 0x10000) {
			buffer_append_byte(out, (char)(0xe0 | code >> 12));
		} else {
			buffer_append_byte(out, (char)(0xf0 | code >> 18));
			buffer_append_byte(out, (char)(0x80 | (code >> 12 & 0x3f)));
		}
		buffer_append_byte(out, (char)(0x80 | (code >> 6 & 0x3f)));
	}
	buffer_append_byte(out, (char)(0x80 | (code & 0x3f)));
}

/* What is called a character is the shortest form of one that exists. */
static void check_utf8(struct str text)
{
	while (text.length > 0) {
		size_t length = utf8_length(text);
		struct buffer again = {0};

		if (length > text.length || length > 4)
			panic("a character of %zu bytes", length);
		if (length > 0) {
			uint32_t code = utf8_code_point(text);

			if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
				panic("U+%X is no character", code);
			append_code_point(&again, code);
			check_equal(buffer_view(&again), str_slice(text.data, length),
				    "characters");
		}
		buffer_clear(&again);
		text = str_skip(text, length > 0 ? length : 1);
	}
}

static char unescape(struct str *rest)
{
	char byte = rest->data[1];
	uint64_t code = 0;

	if (byte == 'u') {
		if (rest->length < 6 || !str_to_u64_hex(str_slice(rest->data + 2, 4), &code) ||
		    code > 0x7f)
			panic("an escape is malformed");
		*rest = str_skip(*rest, 4);
		byte = (char)code;
	} else if (byte == 'n') {
		byte = '\n';
	} else if (byte != '"' && byte != '\\') {
		panic("an escape that JSON does not have");
	}
	*rest = str_skip(*rest, 2);
	return byte;
}

static void check_json(struct str text)
{
	struct buffer json = {0};
	struct buffer decoded = {0};
	struct buffer wanted = {0};
	struct str rest;

	json_append_text(&json, text);
	if (json.length < 2 || buffer_data(&json)[0] != '"' ||
	    buffer_data(&json)[json.length - 1] != '"')
		panic("a JSON text without its quotes");
	for (rest = str_slice(buffer_data(&json) + 1, json.length - 2); rest.length > 0;) {
		unsigned char c = (unsigned char)rest.data[0];

		if (c == '"' || c < ' ' || utf8_length(rest) == 0 || (c == '\\' && rest.length < 2))
			panic("a JSON text with a raw %u", c);
		if (c == '\\') {
			buffer_append_byte(&decoded, unescape(&rest));
		} else {
			buffer_append_byte(&decoded, rest.data[0]);
			rest = str_skip(rest, 1);
			while (rest.length > 0 && ((unsigned char)rest.data[0] & 0xc0) == 0x80) {
				buffer_append_byte(&decoded, rest.data[0]);
				rest = str_skip(rest, 1);
			}
		}
	}
	for (size_t length; text.length > 0; text = str_skip(text, length > 0 ? length : 1)) {
		length = utf8_length(text);
		buffer_append_str(&wanted,
				  length > 0 ? str_slice(text.data, length) : STR("\xef\xbf\xbd"));
	}
	check_equal(buffer_view(&decoded), buffer_view(&wanted), "text and JSON");
	buffer_clear(&json);
	buffer_clear(&decoded);
	buffer_clear(&wanted);
}

/* No line is a request, and every backslash begins one of the three escapes of ours. */
static void check_mdoc(struct str text)
{
	struct buffer copy = {0};
	struct buffer out = {0};
	struct str rest;
	struct str line;

	buffer_append_str(&copy, text);
	for (size_t i = 0; i < copy.length; i++)
		if ((unsigned char)buffer_data(&copy)[i] < ' ')
			buffer_data(&copy)[i] = '_'; /* it is given plain text */
	buffer_append_byte(&copy, '\0');
	mdoc_append_text(&out, buffer_data(&copy));
	rest = buffer_view(&out);
	while (rest.length > 0 && str_split(&rest, '\n', &line))
		if (line.length > 0 && (line.data[0] == '.' || line.data[0] == '\''))
			panic("a request in a text");
	for (size_t i = 0; i < out.length; i++)
		if (buffer_data(&out)[i] == '\\' &&
		    (i + 1 == out.length || memchr("e-&", buffer_data(&out)[++i], 3) == NULL))
			panic("an escape in a text");
	buffer_clear(&copy);
	buffer_clear(&out);
}

static void check_header_text(struct str text)
{
	struct buffer out = {0};

	mail_text_append(&out, text, MAIL_TEXT_ASCII);
	buffer_append_byte(&out, '\n');
	check_printable_lines(buffer_view(&out));
	if (out.length != text.length + 1 ||
	    memchr(buffer_data(&out), '\n', out.length) != buffer_data(&out) + text.length)
		panic("a text for a header is more than one line");
	buffer_clear(&out);
}

/* What is read is what is written of it. */
static void check_values(struct str text)
{
	char time_text[TIMESTAMP_SIZE];
	char id_text[MAIL_ID_SIZE];
	struct mail_id again;
	struct mail_id id;
	int64_t time_us;
	int64_t time_again;

	if (mail_id_parse(text, &id)) {
		mail_id_format(id, id_text);
		if (!mail_id_parse(str_from(id_text), &again) || again.number != id.number ||
		    again.born_us != id.born_us)
			panic("an identifier became another one: %s", id_text);
	}
	if (timestamp_parse(text, &time_us)) {
		timestamp_format(time_us, time_text);
		if (!timestamp_parse(str_from(time_text), &time_again) || time_us != time_again)
			panic("a time became another one: %s", time_text);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = {(const char *)data, size};

	check_xtext(text);
	check_utf8(text);
	check_json(text);
	check_mdoc(text);
	check_header_text(text);
	check_values(text);
	return 0;
}
