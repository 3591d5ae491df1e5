// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/fuzz_seven_bit.c - a message on its way to a host that takes 7 bits.
 *
 * The first byte is the size of the pieces it is given in, the others are the message. In pieces
 * and whole it becomes the same, twice. What it becomes needs no conversion, has 8-bit bytes only
 * where the message has them in header fields, and no part less. A message that is one text
 * without a header of its own decodes to what it was. As a binary message it becomes lines.
 */
#include "base/panic.h"
#include "input.h"
#include "mail/seven_bit/seven_bit.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct str piece_of(struct str message, size_t from, size_t step)
{
	size_t left = message.length - from;

	return str_slice(message.data + from, left < step ? left : step);
}

/* How many parts there may be: each but the first follows a boundary. */
static size_t count_parts(struct str message)
{
	size_t count = 1;
	struct str line;

	while (str_split(&message, '\n', &line))
		count += str_starts_with(line, STR("--"));
	return count;
}

static enum mail_seven_bit_need convert(struct str message, bool is_binary, size_t step,
					struct buffer *out)
{
	struct mail_seven_bit *converter = mail_seven_bit_new();
	size_t added = MAIL_SEVEN_BIT_PART_ADDED * count_parts(message) + 8192;
	enum mail_seven_bit_need need;

	if (is_binary)
		mail_seven_bit_set_binary(converter);
	for (size_t i = 0; i < message.length; i += step)
		mail_seven_bit_scan(converter, piece_of(message, i, step));
	need = mail_seven_bit_scanned(converter);
	for (int pass = 0; pass < 2 && need == MAIL_SEVEN_BIT_CONVERT; pass++) {
		buffer_reset(out);
		for (size_t i = 0; i < message.length; i += step) {
			struct str piece = piece_of(message, i, step);

			mail_seven_bit_convert(converter, piece, out);
			if (out->length > 4 * (i + piece.length) + added)
				panic("%zu bytes became %zu", i + piece.length, out->length);
		}
		mail_seven_bit_converted(converter, out);
	}
	mail_seven_bit_free(converter);
	return need;
}

static size_t count_high(struct str text)
{
	size_t count = 0;

	for (size_t i = 0; i < text.length; i++)
		count += (unsigned char)text.data[i] > 0x7f;
	return count;
}

static unsigned digit_of(char c)
{
	return (unsigned)(c <= '9' ? c - '0' : c - 'A' + 10);
}

/* RFC 2045 section 6.7, of what we write. */
static void decode_quoted(struct str text, struct buffer *out)
{
	for (size_t i = 0; i < text.length; i++) {
		if (text.data[i] != '=') {
			buffer_append_byte(out, text.data[i]);
			continue;
		}
		if (text.length - i < 3)
			panic("an escape is cut");
		if (memcmp(text.data + i, "=\r\n", 3) != 0)
			buffer_append_byte(out, (char)(digit_of(text.data[i + 1]) << 4 |
						       digit_of(text.data[i + 2])));
		i += 2;
	}
}

static void check_short_lines(struct str text)
{
	struct str line;

	while (text.length > 0) {
		(void)str_split(&text, '\n', &line);
		if (line.length > 77)
			panic("a line of %zu bytes", line.length);
	}
}

/* TEXT after a header that says no more than that it is text. */
static void check_text(struct str text)
{
	static const char header[] = "Content-Type: text/plain\r\nMIME-Version: 1.0\r\n";
	static const char added[] = "Content-Transfer-Encoding: quoted-printable\r\n\r\n";
	struct buffer message = {0};
	struct buffer out = {0};
	struct buffer decoded = {0};

	buffer_append_string(&message, header);
	buffer_append_string(&message, "\r\n");
	buffer_append_str(&message, text);
	if (convert(buffer_view(&message), false, message.length, &out) == MAIL_SEVEN_BIT_CONVERT) {
		struct str body = str_skip(buffer_view(&out), strlen(header) + strlen(added));

		check_equal(str_slice(out.memory, out.length - body.length),
			    STR("Content-Type: text/plain\r\nMIME-Version: 1.0\r\n"
				"Content-Transfer-Encoding: quoted-printable\r\n\r\n"),
			    "the header");
		check_short_lines(body);
		decode_quoted(body, &decoded);
		check_equal(buffer_view(&decoded), text, "the text and what it decodes to");
	} else if (count_high(text) > 0) {
		panic("8-bit text is not converted");
	}
	buffer_clear(&message);
	buffer_clear(&out);
	buffer_clear(&decoded);
}

/* It becomes lines without anything else, once. */
static void check_binary(struct str message, size_t step)
{
	struct buffer whole = {0};
	struct buffer pieces = {0};
	struct buffer again = {0};
	enum mail_seven_bit_need need = convert(message, true, message.length + 1, &whole);

	if (need != convert(message, true, step, &pieces))
		panic("whole and in pieces differ");
	if (need == MAIL_SEVEN_BIT_CONVERT) {
		check_equal(buffer_view(&whole), buffer_view(&pieces), "whole and in pieces");
		if (convert(buffer_view(&whole), true, whole.length, &again) != MAIL_SEVEN_BIT_NONE)
			panic("what it became is binary");
	}
	buffer_clear(&whole);
	buffer_clear(&pieces);
	buffer_clear(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buffer whole = {0};
	struct buffer pieces = {0};
	struct buffer again = {0};
	struct str message;
	enum mail_seven_bit_need need;

	if (size == 0)
		return 0;
	message = str_slice((const char *)data + 1, size - 1);
	need = convert(message, false, message.length + 1, &whole);
	if (need != convert(message, false, 1 + (data[0] & 63), &pieces))
		panic("whole and in pieces differ");
	if (need == MAIL_SEVEN_BIT_CONVERT) {
		check_equal(buffer_view(&whole), buffer_view(&pieces), "whole and in pieces");
		if (count_high(buffer_view(&whole)) >= count_high(message))
			panic("nothing was converted");
		if (convert(buffer_view(&whole), false, whole.length, &again) !=
		    MAIL_SEVEN_BIT_NONE)
			panic("what it became must be converted");
	} else if (need != MAIL_SEVEN_BIT_NONE && count_high(message) == 0) {
		panic("7-bit data cannot be sent");
	}
	check_text(message);
	check_binary(message, 1 + (data[0] & 63));
	buffer_clear(&whole);
	buffer_clear(&pieces);
	buffer_clear(&again);
	return 0;
}
