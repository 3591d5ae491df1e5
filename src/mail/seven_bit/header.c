// SPDX-License-Identifier: ISC
/* The header fields that describe a part, RFC 2045. */
#include "mail/seven_bit/internal.h"
#include <string.h>

void seven_bit_header_begin(struct seven_bit_header *header, bool is_message, bool is_in_digest)
{
	memset(header, 0, sizeof *header);
	header->is_message = is_message;
	header->is_in_digest = is_in_digest;
}

/* The name of the field that begins in LINE; empty if none does. */
static struct str name_of_field_line(struct str line)
{
	ptrdiff_t colon = str_find(line, ':');
	struct str name = str_trim(str_slice(line.data, colon > 0 ? (size_t)colon : 0));

	for (size_t i = 0; i < name.length; i++)
		if (name.data[i] <= ' ' || name.data[i] > '~')
			return STR("");
	return name;
}

bool seven_bit_header_has(const struct seven_bit_header *header, struct str line)
{
	if (line.length > 0 && str_is_blank(line.data[0]))
		return true;
	if (!header->has_line && str_starts_with(line, STR("From "))) /* of the mbox format */
		return true;
	return name_of_field_line(line).length > 0;
}

/* The value without comments and line breaks, RFC 5322 section 3.2.2. */
static struct str clean_value(struct seven_bit_header *header)
{
	size_t depth = 0;
	size_t length = 0;
	bool is_quoted = false;

	for (size_t i = 0; i < header->value_length; i++) {
		char c = header->value[i];
		bool is_pair =
			c == '\\' && (is_quoted || depth > 0) && i + 1 < header->value_length;

		if (!is_quoted && c == '(')
			depth++;
		if (depth == 0 && c == '"')
			is_quoted = !is_quoted;
		if (depth == 0 && c != '\r' && c != '\n') {
			header->value[length++] = c;
			if (is_pair)
				header->value[length++] = header->value[i + 1];
		}
		i += is_pair;
		if (!is_quoted && c == ')' && depth > 0)
			depth--;
	}
	return str_slice(header->value, length);
}

/* Takes the text before the next ';' off *REST. */
static struct str take_piece(struct str *rest)
{
	bool is_quoted = false;
	size_t i = 0;
	struct str piece;

	for (; i < rest->length && (is_quoted || rest->data[i] != ';'); i++) {
		if (rest->data[i] == '"')
			is_quoted = !is_quoted;
		else if (is_quoted && rest->data[i] == '\\')
			i++;
	}
	i = i < rest->length ? i : rest->length;
	piece = str_trim(str_slice(rest->data, i));
	*rest = str_skip(*rest, i + 1);
	return piece;
}

static void set_boundary(struct seven_bit_header *header, struct str value)
{
	bool is_quoted = value.length > 0 && value.data[0] == '"';
	size_t length = 0;

	for (size_t i = is_quoted; i < value.length; i++) {
		if (is_quoted && value.data[i] == '"')
			break;
		if (is_quoted && value.data[i] == '\\' && i + 1 < value.length)
			i++;
		if (value.data[i] < ' ' || value.data[i] > '~' || length == sizeof header->boundary)
			return;
		header->boundary[length++] = value.data[i];
	}
	header->boundary_length = str_trim(str_slice(header->boundary, length)).length;
	if (header->boundary_length < length && length > 0 && str_is_blank(header->boundary[0]))
		header->boundary_length = 0; /* a leading blank was trimmed: never matches */
}

static const struct {
	const char *name;
	enum seven_bit_class class;
} types[] = {
	{"multipart/signed", SEVEN_BIT_SEALED},      {"multipart/encrypted", SEVEN_BIT_SEALED},
	{"message/rfc822", SEVEN_BIT_MESSAGE},       {"message/partial", SEVEN_BIT_OPAQUE},
	{"message/external-body", SEVEN_BIT_OPAQUE},
};

/* Without a valid type, the part is text (RFC 2045 section 5.2). */
static enum seven_bit_class class_of_type(struct str type)
{
	ptrdiff_t slash = str_find(type, '/');
	struct str main = str_trim(str_slice(type.data, slash > 0 ? (size_t)slash : 0));

	for (size_t i = 0; i < COUNT_OF(types); i++)
		if (str_equal_nocase(type, str_from(types[i].name)))
			return types[i].class;
	if (str_equal_nocase(main, STR("multipart")))
		return SEVEN_BIT_MULTIPART;
	return main.length == 0 || str_equal_nocase(main, STR("text")) ? SEVEN_BIT_TEXT
								       : SEVEN_BIT_DATA;
}

static void read_type(struct seven_bit_header *header)
{
	struct str rest = clean_value(header);
	struct str type = take_piece(&rest);

	header->class = class_of_type(type);
	header->is_digest = str_equal_nocase(type, STR("multipart/digest"));
	while (rest.length > 0 && !header->is_cut) {
		struct str value = take_piece(&rest);
		struct str name;

		(void)str_split(&value, '=', &name);
		if (str_equal_nocase(str_trim(name), STR("boundary")) &&
		    header->boundary_length == 0)
			set_boundary(header, str_trim(value));
	}
}

static void read_encoding(struct seven_bit_header *header)
{
	struct str value = str_trim(clean_value(header));

	if (str_equal_nocase(value, STR("quoted-printable")))
		header->encoding = SEVEN_BIT_IS_QUOTED;
	else if (str_equal_nocase(value, STR("base64")))
		header->encoding = SEVEN_BIT_IS_BASE64;
	header->is_wide =
		str_equal_nocase(value, STR("8bit")) || str_equal_nocase(value, STR("binary"));
}

/* Of several fields with one name the first counts, as for most readers. */
static void end_mime_field(struct seven_bit_header *header)
{
	if (header->field == SEVEN_BIT_FIELD_TYPE && !header->has_type) {
		read_type(header);
		header->has_type = true;
	} else if (header->field == SEVEN_BIT_FIELD_ENCODING && !header->has_encoding) {
		read_encoding(header);
		header->has_encoding = true;
	} else if (header->field == SEVEN_BIT_FIELD_VERSION) {
		header->has_version = true;
	}
	header->field = SEVEN_BIT_FIELD_OTHER;
	header->value_length = 0;
	header->is_cut = false;
}

static enum seven_bit_field field_of(struct str name)
{
	if (str_equal_nocase(name, STR("Content-Type")))
		return SEVEN_BIT_FIELD_TYPE;
	if (str_equal_nocase(name, STR("Content-Transfer-Encoding")))
		return SEVEN_BIT_FIELD_ENCODING;
	if (str_equal_nocase(name, STR("MIME-Version")))
		return SEVEN_BIT_FIELD_VERSION;
	return SEVEN_BIT_FIELD_OTHER;
}

void seven_bit_header_line(struct seven_bit_header *header, struct str line, bool starts_line)
{
	size_t room;

	if (starts_line && !str_is_blank(line.data[0])) {
		end_mime_field(header);
		header->field = field_of(name_of_field_line(line));
		line = str_skip(line, (size_t)(str_find(line, ':') + 1));
	}
	header->has_line = true;
	if (header->field == SEVEN_BIT_FIELD_OTHER)
		return;
	room = sizeof header->value - header->value_length;
	header->is_cut = header->is_cut || line.length > room;
	line.length = line.length < room ? line.length : room;
	memcpy(header->value + header->value_length, line.data, line.length);
	header->value_length += line.length;
}

void seven_bit_header_end(struct seven_bit_header *header)
{
	end_mime_field(header);
	if (!header->has_type)
		header->class = header->is_in_digest ? SEVEN_BIT_MESSAGE : SEVEN_BIT_TEXT;
	if (header->class == SEVEN_BIT_MULTIPART && header->boundary_length == 0)
		header->class = SEVEN_BIT_OPAQUE;
	if (header->class == SEVEN_BIT_MESSAGE && header->encoding != SEVEN_BIT_IDENTITY)
		header->class = SEVEN_BIT_DATA;
}
