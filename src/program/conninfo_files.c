// SPDX-License-Identifier: ISC
#include "program/conninfo_files.h"
#include "base/attributes.h"
#include "base/buffer.h"

static const char *const names[] = {"sslcert", "sslkey", "sslrootcert", "sslcrl", "passfile"};

static bool is_file(struct str name)
{
	for (size_t i = 0; i < COUNT_OF(names); i++)
		if (str_equal(name, str_from(names[i])))
			return true;
	return false;
}

static void tell(struct str name, const struct buffer *value,
		 void (*found)(void *context, struct str path), void *context)
{
	struct str path = buffer_view(value);

	if (is_file(name) && path.length > 0 && path.data[0] == '/')
		found(context, path);
}

/* ---- NAME=VALUE 'a quoted \' value' ---- */

static bool is_space(char byte)
{
	return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

static void skip_spaces(struct str *text)
{
	while (text->length > 0 && is_space(text->data[0]))
		*text = str_skip(*text, 1);
}

static struct str take_name(struct str *text)
{
	size_t length = 0;
	struct str name;

	while (length < text->length && text->data[length] != '=' && !is_space(text->data[length]))
		length++;
	name = str_slice(text->data, length);
	*text = str_skip(*text, length);
	skip_spaces(text);
	return name;
}

static void take_value(struct str *text, struct buffer *value)
{
	bool is_quoted = text->length > 0 && text->data[0] == '\'';

	if (is_quoted)
		*text = str_skip(*text, 1);
	while (text->length > 0) {
		char byte = text->data[0];

		*text = str_skip(*text, 1);
		if (is_quoted ? byte == '\'' : is_space(byte))
			return;
		if (byte == '\\' && text->length > 0) {
			byte = text->data[0];
			*text = str_skip(*text, 1);
		}
		buffer_append_byte(value, byte);
	}
}

static void read_pairs(struct str text, void (*found)(void *context, struct str path),
		       void *context)
{
	for (skip_spaces(&text); text.length > 0; skip_spaces(&text)) {
		struct str name = take_name(&text);
		struct buffer value = {0};

		if (text.length == 0 || text.data[0] != '=')
			return;
		text = str_skip(text, 1);
		skip_spaces(&text);
		take_value(&text, &value);
		tell(name, &value, found, context);
		buffer_clear(&value);
	}
}

/* ---- postgresql://...?NAME=VALUE&NAME=VALUE ---- */

static void decode(struct str text, struct buffer *out)
{
	for (size_t i = 0; i < text.length; i++) {
		uint64_t code;

		if (text.data[i] == '%' && i + 2 < text.length &&
		    str_to_u64_hex(str_slice(text.data + i + 1, 2), &code)) {
			buffer_append_byte(out, (char)code);
			i += 2;
		} else {
			buffer_append_byte(out, text.data[i]);
		}
	}
}

static void read_query(struct str text, void (*found)(void *context, struct str path),
		       void *context)
{
	struct str pair;

	while (str_split(&text, '&', &pair)) {
		struct str name = {0};
		struct buffer value = {0};

		(void)str_split(&pair, '=', &name);
		decode(pair, &value);
		tell(name, &value, found, context);
		buffer_clear(&value);
	}
}

void conninfo_files(const char *text, void (*found)(void *context, struct str path), void *context)
{
	struct str whole = str_from(text);
	struct str before;

	if (!str_starts_with(whole, STR("postgresql://")) &&
	    !str_starts_with(whole, STR("postgres://"))) {
		read_pairs(whole, found, context);
		return;
	}
	(void)str_split(&whole, '?', &before);
	read_query(whole, found, context);
}
