// SPDX-License-Identifier: ISC
/* What a report returns of its message: all of it or its header, in lines that may be sent. */
#include "bounce/internal.h"
#include <string.h>

enum { LINE_MAX_BYTES = 998, QUOTED_COLUMNS = 72 };

/* The length of the header of MESSAGE, including its last CRLF, without the empty line; all of
 * it when there is no empty line. */
static size_t header_length(struct str message)
{
	size_t start = 0;

	while (start < message.length) {
		const char *line = message.data + start;
		const char *end = memchr(line, '\n', message.length - start);

		if (end == NULL)
			return message.length;
		if (end == line || (end == line + 1 && *line == '\r'))
			return start;
		start = (size_t)(end - message.data) + 1;
	}
	return message.length;
}

/* The complete lines in TEXT's first BOUND bytes. */
static struct str cut_lines(struct str text, uint64_t bound)
{
	ptrdiff_t last;

	if (text.length <= bound)
		return text;
	last = str_find_last(str_slice(text.data, (size_t)bound), '\n');
	return str_slice(text.data, (size_t)(last + 1));
}

static void look_through(struct bounce_copy *copy)
{
	size_t column = 0;

	for (size_t i = 0; i < copy->text.length; i++) {
		unsigned char c = (unsigned char)copy->text.data[i];

		column = c == '\n' ? 0 : column + 1;
		copy->is_8bit |= c > 0x7f;
		copy->is_long_lined |= column > LINE_MAX_BYTES + 1; /* and its CR */
	}
}

bool bounce_is_8bit(struct str text)
{
	for (size_t i = 0; i < text.length; i++)
		if ((unsigned char)text.data[i] > 0x7f)
			return true;
	return false;
}

static bool has_utf8_address(const struct bounce_report *report)
{
	for (size_t i = 0; i < report->outcome_count; i++)
		if (bounce_is_8bit(report->outcomes[i].address))
			return true;
	return bounce_is_8bit(report->recipient);
}

struct bounce_copy bounce_copy_choose(const struct bounce_report *report, uint64_t bound)
{
	struct str message = report->message;
	size_t header = header_length(message);
	bool is_whole = message.length == report->message_size;
	struct bounce_copy copy = {.is_header = report->ret == MAIL_RET_HEADERS ||
						!bounce_has_failure(report)};
	struct str wanted = copy.is_header ? str_slice(message.data, header) : message;

	if (!is_whole && (!copy.is_header || header == message.length) && bound > message.length)
		bound = message.length > 0 ? message.length - 1 : 0; /* its last line may be cut */
	copy.text = cut_lines(wanted, bound);
	copy.is_cut = copy.text.length < wanted.length;
	if (copy.is_cut && copy.text.length <= header)
		copy.is_header = true;
	look_through(&copy);
	copy.is_utf8 = report->is_utf8 && (has_utf8_address(report) ||
					   bounce_is_8bit(str_slice(message.data, header)));
	return copy;
}

static bool is_quoted_plain(unsigned char c)
{
	return (c > 0x20 && c < 0x7f && c != '=') || c == ' ';
}

/* RFC 2045 section 6.7. */
static void append_copy_quoted_printable(struct buffer *out, struct str text)
{
	size_t column = 0;

	for (size_t i = 0; i < text.length; i++) {
		unsigned char c = (unsigned char)text.data[i];
		bool ends = i + 1 == text.length || text.data[i + 1] == '\r';

		if (c == '\r' && i + 1 < text.length && text.data[i + 1] == '\n') {
			buffer_append_string(out, "\r\n");
			column = 0;
			i++;
			continue;
		}
		if (column >= QUOTED_COLUMNS) {
			buffer_append_string(out, "=\r\n");
			column = 0;
		}
		if (is_quoted_plain(c) && !(c == ' ' && ends))
			buffer_append_byte(out, (char)c);
		else
			buffer_append_format(out, "=%02X", c);
		column += is_quoted_plain(c) ? 1 : 3;
	}
}

/* A truncated message is not a message, but a text that begins as one. */
static const char *media_type_of_copy(const struct bounce_copy *copy)
{
	if (copy->is_header)
		return copy->is_utf8 ? "message/global-headers" : "text/rfc822-headers";
	if (copy->is_cut)
		return copy->is_8bit ? "text/plain; charset=unknown-8bit" : "text/plain";
	return copy->is_utf8 ? "message/global" : "message/rfc822";
}

/* message/rfc822 may not be encoded (RFC 2046 section 5.2.1): it is declared as it is. The
 * header alone may, so it is encoded to ASCII if the report is ASCII. */
void bounce_copy_write(const struct bounce_copy *copy, struct buffer *out)
{
	buffer_append_format(out, "Content-Type: %s\r\n", media_type_of_copy(copy));
	if (copy->is_header && (copy->is_8bit || copy->is_long_lined) && !copy->is_utf8) {
		buffer_append_string(out, "Content-Transfer-Encoding: quoted-printable\r\n\r\n");
		append_copy_quoted_printable(out, copy->text);
		return;
	}
	if (copy->is_8bit)
		buffer_append_string(out, "Content-Transfer-Encoding: 8bit\r\n");
	buffer_append_string(out, "\r\n");
	buffer_append_str(out, copy->text);
}
