// SPDX-License-Identifier: ISC
/* Messages of parts in parts, by chance: what each becomes is written from its tree, by second,
 * plain encoders, and must be what the conversion makes of its text, taken in pieces of any size.
 */
#include "../chance.h"
#include "base/buffer.h"
#include "mail/seven_bit/seven_bit.h"
#include "plain_encoders.h"
#include "test.h"
#include <stdio.h>
#include <string.h>

enum { PARTS_MAX = 24, LINES_MAX = 3, LINE_SIZE = 1100, TREES = 8000 };

enum kind { TEXT, DATA, MULTIPART, DIGEST, MESSAGE, SIGNED, PARTIAL };
enum encoding { NONE, SEVEN, EIGHT, BINARY, QUOTED, BASE64 };

static const char *const ENCODINGS[] = {"", "7bit", "8bit", "Binary", "quoted-printable", "BASE64"};

struct part {
	enum kind kind;
	enum encoding encoding;
	bool is_message, has_version, has_type, encoding_is_first;
	unsigned form; /* of its type */
	struct str lines[LINES_MAX];
	char texts[LINES_MAX][LINE_SIZE];
	size_t line_count;
	bool has_end; /* the last line, if no boundary follows */
	struct part *children[3];
	size_t child_count;
	unsigned number; /* of its boundary */
};

static struct part parts[PARTS_MAX];
static unsigned part_count;
static bool is_binary;

/* --- trees by chance --- */

/* No line begins with a boundary: none has a 'b'. */
static void make_line(struct part *part, struct str *line, char text[LINE_SIZE])
{
	static const char common[] = "aaaaaaaaa-- \t=.",
			  rare[] = "\xc3\xa9\x80\xff\x7f~\x01=0D\r\n";
	size_t length = chance(8) == 0 ? 70 + chance(12) : chance(30);
	size_t rarity = chance(3) == 0 ? 3 : chance(2) == 0 ? 40 : 1000;

	if (is_binary && chance(40) == 0)
		length = 996 + chance(5);
	for (size_t i = 0; i < length; i++)
		text[i] = chance(rarity) == 0 ? rare[chance(sizeof rare)]
					      : common[chance(sizeof common - 1)];
	for (size_t i = 0; i + 1 < length; i++) /* only the end of a line is one */
		if (text[i] == '\r' && text[i + 1] == '\n')
			text[i] = 'a';
	if (part->kind == MULTIPART || part->kind == DIGEST)
		length = length > 40 ? 40 : length;
	*line = str_slice(text, length);
}

static struct part *make_part(bool is_message, bool is_in_digest, unsigned depth)
{
	static const enum kind kinds[] = {TEXT,      TEXT,   DATA,    DATA,   MULTIPART, MULTIPART,
					  MULTIPART, DIGEST, MESSAGE, SIGNED, PARTIAL};
	struct part *part = &parts[part_count];
	bool is_leaf;

	*part = (struct part){.number = part_count++};
	part->kind = depth == 0 || part_count > PARTS_MAX - 8
			     ? kinds[chance(4)]
			     : kinds[chance(chance(3) == 0 ? COUNT_OF(kinds) : 9)];
	is_leaf = part->kind < MULTIPART;
	part->is_message = is_message;
	part->has_version = chance(2) == 0;
	part->has_type = part->kind != (is_in_digest ? MESSAGE : TEXT) || chance(2) == 0;
	part->encoding = (enum encoding)chance(is_leaf ? COUNT_OF(ENCODINGS) : QUOTED);
	part->encoding_is_first = chance(2) == 0;
	part->form = (unsigned)chance(6);
	part->has_end = chance(3) > 0;
	if (part->kind == MESSAGE) {
		part->children[part->child_count++] = make_part(true, false, depth - 1);
		return part;
	}
	part->line_count = chance(LINES_MAX + 1);
	for (size_t i = 0; i < part->line_count; i++)
		make_line(part, &part->lines[i], part->texts[i]);
	if (!is_leaf && part->kind <= DIGEST)
		for (size_t left = 1 + chance(3); left > 0; left--)
			part->children[part->child_count++] =
				make_part(false, part->kind == DIGEST, depth - 1);
	return part;
}

/* --- what becomes of them --- */

static bool is_foreign(char c)
{
	return (unsigned char)c > 0x7f || (is_binary && strchr("\r\n", c) != NULL);
}

static bool has_foreign(const struct part *part)
{
	for (size_t i = 0; i < part->line_count; i++)
		for (size_t k = 0; k < part->lines[i].length; k++)
			if (is_foreign(part->lines[i].data[k]))
				return true;
	return false;
}

/* Lines that are too long, or do not end, are not those of a text. */
static bool has_lines(const struct part *part, bool is_delimited)
{
	for (size_t i = 0; i < part->line_count; i++)
		if (part->lines[i].length > 998)
			return false;
	return is_delimited || part->has_end || part->line_count == 0 ||
	       part->lines[part->line_count - 1].length == 0;
}

static bool is_changed(const struct part *part, bool is_delimited)
{
	if (part->kind >= SIGNED)
		return false;
	if (has_foreign(part))
		return true;
	if (part->kind < MULTIPART)
		return is_binary && part->encoding != BASE64 && !has_lines(part, is_delimited);
	for (size_t i = 0; i < part->child_count; i++)
		if (is_changed(part->children[i], is_delimited || part->kind != MESSAGE))
			return true;
	return false;
}

static enum encoding encoding_after(const struct part *part)
{
	size_t bytes = 0, escapes = 0;

	if (part->kind >= MULTIPART)
		return SEVEN;
	if (part->encoding == QUOTED || part->encoding == BASE64 || part->kind == TEXT)
		return part->encoding == BASE64 ? BASE64 : QUOTED;
	for (size_t i = 0; i < part->line_count; i++)
		for (size_t k = 0; k < part->lines[i].length; k++) {
			char c = part->lines[i].data[k];

			bytes++;
			escapes += c != '\t' && (c < ' ' || c > '~' || c == '=');
		}
	return escapes < bytes / 6 ? QUOTED : BASE64;
}

static enum mail_seven_bit_need worse(enum mail_seven_bit_need one, enum mail_seven_bit_need other)
{
	static const enum mail_seven_bit_need order[] = {
		MAIL_SEVEN_BIT_NONE, MAIL_SEVEN_BIT_CONVERT, MAIL_SEVEN_BIT_UNPARSED,
		MAIL_SEVEN_BIT_SIGNED};
	enum mail_seven_bit_need worst = one;

	for (size_t i = 0; i < COUNT_OF(order); i++)
		if (one == order[i] || other == order[i])
			worst = order[i];
	return worst;
}

static enum mail_seven_bit_need need_of(const struct part *part)
{
	enum mail_seven_bit_need need = MAIL_SEVEN_BIT_NONE;

	if (part->kind == SIGNED && has_foreign(part))
		return MAIL_SEVEN_BIT_SIGNED;
	if (part->kind == PARTIAL && has_foreign(part))
		return MAIL_SEVEN_BIT_UNPARSED;
	for (size_t i = 0; i < part->child_count; i++)
		need = worse(need, need_of(part->children[i]));
	return need;
}

/* --- their texts, as they are and as they become --- */

/* What nobody shows, with a '?' for each byte. */
static void write_gap(const struct part *part, bool is_wanted, struct buffer *out)
{
	for (size_t i = 0; i < part->line_count; i++) {
		struct str line = part->lines[i];
		size_t start = out->length;
		bool was_foreign = false;

		buffer_append_str(out, line);
		for (size_t k = 0; is_wanted && k < line.length; k++)
			if (is_foreign(line.data[k])) {
				buffer_data(out)[start + k] = '?';
				was_foreign = true;
			}
		if (was_foreign && str_starts_with(line, STR("--")))
			buffer_data(out)[start] = '?';
		buffer_append_string(out, "\r\n");
	}
}

static void write_encoded(const struct part *part, bool is_delimited, struct buffer *out)
{
	enum encoding encoding = encoding_after(part);
	struct buffer bytes CLEANUP(buffer_clear) = {0};
	size_t column = 0;

	for (size_t i = 0; i < part->line_count; i++) {
		bool is_last = i + 1 == part->line_count;
		bool ends = !is_last || is_delimited || part->has_end;

		if (encoding == QUOTED)
			write_quoted(part->lines[i], part->encoding == QUOTED, out, &column);
		else if (part->encoding == BASE64)
			write_without_noise(part->lines[i], out);
		else
			buffer_append_str(&bytes, part->lines[i]);
		if (ends)
			buffer_append_string(encoding == BASE64 && part->encoding != BASE64 ? &bytes
											    : out,
					     "\r\n");
		else if (is_binary && encoding == QUOTED && column > 0)
			buffer_append_string(out, "=\r\n");
	}
	if (bytes.length > 1 && is_delimited)
		bytes.length -= 2;
	write_base64(buffer_view(&bytes), out);
}

static void write_type(const struct part *part, struct buffer *out)
{
	static const char *const types[] = {
		"text/x",         "application/x",    "multipart/mixed", "Multipart/DIGEST",
		"message/RFC822", "multipart/signed", "message/partial"};
	static const char *const forms[] = {
		"; boundary=b%u",
		"; charset=x; BOUNDARY=\"b%u\"; boundary=none",
		" (a \\) ; boundary=x);\r\n\tx=\"\\\"; boundary=y\";\r\n boundary = b%u ",
		"; boundary=(x)b%u(y(z)\")",
		";;boundary=\"\\b%u\"",
		"; xboundary=z; boundary=\"b%u\";x",
	};
	char boundary[100];

	snprintf(boundary, sizeof boundary, forms[part->form], part->number);
	buffer_append_format(out, "%s: %s%s\r\n",
			     part->form % 2 == 0 ? "Content-Type" : "CONTENT-type",
			     types[part->kind], boundary);
}

static void write_header(const struct part *part, bool is_wanted, bool is_delimited,
			 struct buffer *out)
{
	bool changes = is_wanted && is_changed(part, is_delimited);
	bool is_encoded = changes && part->kind < MULTIPART;
	bool is_new =
		changes || (is_wanted && (part->encoding == EIGHT || part->encoding == BINARY));

	if (part->encoding != NONE && part->encoding_is_first && !is_new)
		buffer_append_format(out, "Content-Transfer-Encoding:\r\n %s\r\n",
				     ENCODINGS[part->encoding]);
	if (part->has_version)
		buffer_append_string(out, "MIME-Version: 1.0\r\n");
	if (part->has_type)
		write_type(part, out);
	buffer_append_string(out, "A: c\xff\r\n");
	if (part->encoding != NONE && !part->encoding_is_first && !is_new)
		buffer_append_format(out, "Content-Transfer-encoding: %s (8bit)\r\n",
				     ENCODINGS[part->encoding]);
	if (is_new && part->is_message && !part->has_version)
		buffer_append_string(out, "MIME-Version: 1.0\r\n");
	if (is_encoded && !part->has_type)
		buffer_append_string(out, "Content-Type: text/plain; charset=unknown-8bit\r\n");
	if (is_new && (part->encoding != NONE || is_encoded))
		buffer_append_format(out, "Content-Transfer-Encoding: %s\r\n",
				     !is_encoded                      ? "7bit"
				     : encoding_after(part) == QUOTED ? "quoted-printable"
								      : "base64");
	buffer_append_string(out, "\r\n");
}

static void write_part(const struct part *part, bool is_wanted, bool is_delimited,
		       struct buffer *out)
{
	write_header(part, is_wanted, is_delimited, out);
	if (part->kind == MESSAGE) {
		write_part(part->children[0], is_wanted, is_delimited, out);
		return;
	}
	if (part->kind == MULTIPART || part->kind == DIGEST) {
		write_gap(part, is_wanted, out);
		for (size_t i = 0; i < part->child_count; i++) {
			buffer_append_format(out, "--b%u \r\n", part->number);
			write_part(part->children[i], is_wanted, true, out);
		}
		buffer_append_format(out, "--b%u--\r\n", part->number);
		write_gap(part, is_wanted, out);
		return;
	}
	if (is_wanted && is_changed(part, is_delimited)) {
		write_encoded(part, is_delimited, out);
		return;
	}
	for (size_t i = 0; i < part->line_count; i++) {
		bool is_last = i + 1 == part->line_count;

		buffer_append_str(out, part->lines[i]);
		if (!is_last || is_delimited || part->has_end)
			buffer_append_string(out, "\r\n");
	}
}

/* --- the conversion --- */

typedef void taker(struct mail_seven_bit *message, struct str data, struct buffer *out);

static void scan(struct mail_seven_bit *message, struct str data, struct buffer *out)
{
	(void)out;
	mail_seven_bit_scan(message, data);
}

static void take_in_pieces(struct mail_seven_bit *message, struct str text, size_t step,
			   taker *take, struct buffer *out)
{
	for (size_t at = 0; at < text.length; at += step)
		take(message,
		     str_slice(text.data + at, text.length - at < step ? text.length - at : step),
		     out);
}

static void check_tree(struct str text, struct str wanted, enum mail_seven_bit_need need,
		       size_t step)
{
	struct mail_seven_bit *message = mail_seven_bit_new();
	struct buffer out CLEANUP(buffer_clear) = {0};
	enum mail_seven_bit_need found;

	if (is_binary)
		mail_seven_bit_set_binary(message);
	take_in_pieces(message, text, step, scan, NULL);
	found = mail_seven_bit_scanned(message);
	if (found != need)
		fail_msg("%d and not %d:\n" STR_FORMAT, (int)found, (int)need, STR_ARGUMENTS(text));
	for (unsigned pass = 0; pass < 2 && need == MAIL_SEVEN_BIT_CONVERT; pass++) {
		buffer_reset(&out);
		take_in_pieces(message, text, step, mail_seven_bit_convert, &out);
		mail_seven_bit_converted(message, &out);
		if (!str_equal(buffer_view(&out), wanted))
			fail_msg("of\n" STR_FORMAT "\nis made\n" STR_FORMAT
				 "\nand not\n" STR_FORMAT,
				 STR_ARGUMENTS(text), STR_ARGUMENTS(buffer_view(&out)),
				 STR_ARGUMENTS(wanted));
	}
	mail_seven_bit_free(message);
}

static void trees(void **state)
{
	size_t counts[MAIL_SEVEN_BIT_ADDRESS] = {0};

	(void)state;
	for (unsigned tree = 0; tree < TREES; tree++) {
		struct buffer text CLEANUP(buffer_clear) = {0}, wanted CLEANUP(buffer_clear) = {0};
		enum mail_seven_bit_need need;
		const struct part *whole;

		is_binary = tree % 3 == 0;
		part_count = 0;
		whole = make_part(true, false, (unsigned)chance(4));
		need = worse(is_changed(whole, false) ? MAIL_SEVEN_BIT_CONVERT
						      : MAIL_SEVEN_BIT_NONE,
			     need_of(whole));
		write_part(whole, false, false, &text);
		write_part(whole, true, false, &wanted);
		check_tree(buffer_view(&text), buffer_view(&wanted), need, 1 + chance(60));
		counts[need]++;
	}
	for (size_t i = 0; i < COUNT_OF(counts); i++)
		assert_true(counts[i] > TREES / 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trees),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
