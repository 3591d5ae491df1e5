// SPDX-License-Identifier: ISC
/* Header fields that are missing in a user's message: From, Date, Message-ID, To. */
#include "base/utf8.h"
#include "inject/addresses.h"
#include "inject/header.h"
#include <string.h>

enum { ENCODED_MAX = 60 }; /* bytes between "=?UTF-8?Q?" and "?=": 75 in all, RFC 2047 section 2 */

static const struct str dropped[] = {STR("bcc"), STR("resent-bcc"), STR("return-path")};
static const struct str with_addresses[] = {
	STR("from"),      STR("sender"),    STR("reply-to"),
	STR("to"),        STR("cc"),        STR("resent-from"),
	STR("resent-to"), STR("resent-cc"), STR("resent-sender"),
};

static bool is_one_of(struct str name, const struct str *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (str_equal_nocase(name, names[i]))
			return true;
	return false;
}

/* A field that is not an address list is copied unchanged. */
static void append_field(struct buffer *out, const struct inject_field *field, struct str hostname)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	if (!is_one_of(field->name, with_addresses, COUNT_OF(with_addresses)) ||
	    inject_addresses_parse(field->body, hostname, &body, NULL, NULL) < 0) {
		buffer_append_str(out, field->whole);
		return;
	}
	buffer_append(out, field->whole.data, (size_t)(field->body.data - field->whole.data));
	buffer_append_str(out, buffer_view(&body));
	buffer_append(out, "\r\n", 2);
}

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

static void append_quoted(struct buffer *out, struct str name)
{
	buffer_append_byte(out, '"');
	for (size_t i = 0; i < name.length; i++) {
		if (name.data[i] == '"' || name.data[i] == '\\')
			buffer_append_byte(out, '\\');
		buffer_append_byte(out, name.data[i]);
	}
	buffer_append_byte(out, '"');
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

/* No character is split between two words. */
static void append_encoded(struct buffer *out, struct str name)
{
	size_t column = ENCODED_MAX + 1;
	const char *separator = "";

	while (name.length > 0) {
		size_t length = utf8_length(name);

		if (column + 3 * (length > 0 ? length : 1) > ENCODED_MAX) {
			buffer_append_format(out, "%s=?UTF-8?Q?", separator);
			separator = "?=\r\n ";
			column = 0;
		}
		if (length == 0)
			buffer_append_string(out, "=3F");
		for (size_t i = 0; i < length; i++)
			append_q(out, name.data[i]);
		length = length > 0 ? length : 1;
		column += 3 * length;
		name = str_skip(name, length);
	}
	buffer_append_string(out, "?=");
}

void inject_name_append(struct buffer *out, struct str name)
{
	if (is_phrase(name))
		buffer_append_str(out, name);
	else if (is_ascii(name))
		append_quoted(out, name);
	else
		append_encoded(out, name);
}

static void append_from(struct buffer *out, const struct inject_completion *completion)
{
	struct str name = str_trim(completion->full_name);

	buffer_append_string(out, "From: ");
	if (name.length == 0) {
		buffer_append_format(out, STR_FORMAT "\r\n", STR_ARGUMENTS(completion->from));
		return;
	}
	inject_name_append(out, name);
	buffer_append_format(out, " <" STR_FORMAT ">\r\n", STR_ARGUMENTS(completion->from));
}

void inject_header_complete(const struct inject_header *header,
			    const struct inject_completion *completion, struct buffer *out)
{
	struct str rest = buffer_view(&header->text);
	struct inject_field field;
	char date[TIMESTAMP_HEADER_SIZE];
	char id[MAIL_ID_SIZE];

	while (inject_header_next(&rest, &field))
		if (!is_one_of(field.name, dropped, COUNT_OF(dropped)))
			append_field(out, &field, completion->domain);
	timestamp_format_header(completion->id.born_us, date);
	mail_id_format(completion->id, id);
	if (inject_header_count(header, STR("date")) == 0)
		buffer_append_format(out, "Date: %s\r\n", date);
	if (inject_header_count(header, STR("from")) == 0)
		append_from(out, completion);
	if (inject_header_count(header, STR("message-id")) == 0)
		buffer_append_format(out, "Message-ID: <%s@" STR_FORMAT ">\r\n", id,
				     STR_ARGUMENTS(completion->hostname));
}
