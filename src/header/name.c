// SPDX-License-Identifier: ISC
#include "header/name.h"
#include "base/text/quote.h"
#include "base/text/utf8.h"
#include <string.h>

/* Bytes between "=?UTF-8?Q?" or "=?unknown-8bit?Q?" and "?=": 75 in all, RFC 2047 section 2. */
enum { UTF8_MAX = 60, UNKNOWN_MAX = 56 };

/* Atoms and spaces, RFC 5322 section 3.2.5. */
static bool is_phrase(struct str name)
{
	for (size_t i = 0; i < name.length; i++) {
		char c = name.data[i];

		if ((unsigned char)c >= 0x7f || c < ' ' || strchr("()<>[]:;@\\,.\"", c) != NULL)
			return false;
	}
	return true;
}

static bool is_ascii(struct str name)
{
	for (size_t i = 0; i < name.length; i++)
		if ((unsigned char)name.data[i] >= 0x7f || name.data[i] < ' ')
			return false;
	return true;
}

/* RFC 2047 section 4.2 */
static void append_q(struct buffer *out, char byte)
{
	char lower = byte;

	str_lower(&lower, 1);
	if (byte == ' ')
		buffer_append_byte(out, '_');
	else if (lower >= 'a' && lower <= 'z')
		buffer_append_byte(out, byte);
	else
		buffer_append_format(out, "=%02X", (unsigned char)byte);
}

static bool is_utf8(struct str text)
{
	while (text.length > 0) {
		size_t length = utf8_length(text);

		if (length == 0)
			return false;
		text = str_skip(text, length);
	}
	return true;
}

/* No character is split between two words. */
void header_name_append_encoded(struct buffer *out, struct str text)
{
	bool is_known = is_utf8(text);
	size_t most = is_known ? UTF8_MAX : UNKNOWN_MAX;
	size_t column = most + 1;
	const char *separator = "";

	while (text.length > 0) {
		size_t length = is_known ? utf8_length(text) : 1;

		if (column + 3 * length > most) {
			buffer_append_format(out, "%s=?%s?Q?", separator,
					     is_known ? "UTF-8" : "unknown-8bit");
			separator = "?=\r\n ";
			column = 0;
		}
		for (size_t i = 0; i < length; i++)
			append_q(out, text.data[i]);
		column += 3 * length;
		text = str_skip(text, length);
	}
	buffer_append_string(out, "?=");
}

void header_name_append(struct buffer *out, struct str name)
{
	if (is_phrase(name))
		buffer_append_str(out, name);
	else if (is_ascii(name))
		quote_append(out, name);
	else
		header_name_append_encoded(out, name);
}
