// SPDX-License-Identifier: ISC
/* Each line is a JSON object (RFC 8259) with one record. */
#include "directory/bulk/format/internal.h"
#include <errno.h>
#include <string.h>

/* A line being parsed. */
struct cursor {
	struct str rest;
	char *memory;        /* for unescaped texts: as large as the line */
	const char *problem; /* NULL: none so far */
};

static bool set_json_problem(struct cursor *cursor, const char *problem)
{
	cursor->problem = problem;
	return false;
}

static void skip_space(struct cursor *cursor)
{
	while (cursor->rest.length > 0 && strchr(" \t\r\n", cursor->rest.data[0]) != NULL &&
	       cursor->rest.data[0] != '\0')
		cursor->rest = str_skip(cursor->rest, 1);
}

static bool next_is(struct cursor *cursor, char byte)
{
	skip_space(cursor);
	return cursor->rest.length > 0 && cursor->rest.data[0] == byte;
}

static bool accept_json_byte(struct cursor *cursor, char byte)
{
	if (!next_is(cursor, byte))
		return false;
	cursor->rest = str_skip(cursor->rest, 1);
	return true;
}

static bool take_hex(struct cursor *cursor, uint32_t *value_out)
{
	uint64_t value;

	if (cursor->rest.length < 4 || !str_to_u64_hex(str_slice(cursor->rest.data, 4), &value))
		return false;
	*value_out = (uint32_t)value;
	cursor->rest = str_skip(cursor->rest, 4);
	return true;
}

static size_t append_utf8(char *out, uint32_t character)
{
	if (character < 0x80) {
		out[0] = (char)character;
		return 1;
	}
	if (character < 0x800) {
		out[0] = (char)(0xc0 | character >> 6);
		out[1] = (char)(0x80 | (character & 0x3f));
		return 2;
	}
	if (character < 0x10000) {
		out[0] = (char)(0xe0 | character >> 12);
		out[1] = (char)(0x80 | (character >> 6 & 0x3f));
		out[2] = (char)(0x80 | (character & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | character >> 18);
	out[1] = (char)(0x80 | (character >> 12 & 0x3f));
	out[2] = (char)(0x80 | (character >> 6 & 0x3f));
	out[3] = (char)(0x80 | (character & 0x3f));
	return 4;
}

/* Parses what follows \u; characters above 0xffff take two of them. */
static bool take_code(struct cursor *cursor, uint32_t *character_out)
{
	uint32_t high;
	uint32_t low;

	if (!take_hex(cursor, &high))
		return false;
	*character_out = high;
	if (high < 0xd800 || high > 0xdfff)
		return true;
	if (high > 0xdbff || !str_starts_with(cursor->rest, STR("\\u")))
		return false;
	cursor->rest = str_skip(cursor->rest, 2);
	if (!take_hex(cursor, &low) || low < 0xdc00 || low > 0xdfff)
		return false;
	*character_out = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
	return true;
}

/* Parses what follows a backslash, into *OUT. */
static bool parse_json_escape(struct cursor *cursor, char *out, size_t *length)
{
	static const char letters[] = "\"\\/bfnrt";
	static const char meanings[] = "\"\\/\b\f\n\r\t";
	uint32_t character;
	const char *found;
	char letter;

	if (cursor->rest.length == 0)
		return false;
	letter = cursor->rest.data[0];
	cursor->rest = str_skip(cursor->rest, 1);
	if (letter == 'u') {
		if (!take_code(cursor, &character))
			return false;
		*length += append_utf8(out + *length, character);
		return true;
	}
	found = letter != '\0' ? strchr(letters, letter) : NULL;
	if (found == NULL)
		return false;
	out[(*length)++] = meanings[found - letters];
	return true;
}

static bool parse_json_text(struct cursor *cursor, struct str *text_out)
{
	char *out = cursor->memory;
	size_t length = 0;

	if (!accept_json_byte(cursor, '"'))
		return set_json_problem(cursor, "a text in double quotes is expected");
	while (cursor->rest.length > 0) {
		char byte = cursor->rest.data[0];

		cursor->rest = str_skip(cursor->rest, 1);
		if (byte == '"') {
			*text_out = str_slice(out, length);
			cursor->memory += length;
			return true;
		}
		if (byte != '\\')
			out[length++] = byte;
		else if (!parse_json_escape(cursor, out, &length))
			return set_json_problem(cursor, "an escape that JSON does not have");
	}
	return set_json_problem(cursor, "a text does not end");
}

/* The members "table" and "key", and all others. */
struct object {
	struct str table;
	struct str key;
};

static bool add_json_field(struct bulk_reader *reader, struct cursor *cursor, struct object *object,
			   struct str name, struct str value)
{
	if (str_equal(name, STR("table")))
		object->table = value;
	else if (str_equal(name, STR("key")))
		object->key = value;
	else if (bulk_add_named(reader, name, value) < 0)
		return set_json_problem(cursor, "more than 1000 fields");
	return true;
}

static bool parse_json_list(struct bulk_reader *reader, struct cursor *cursor,
			    struct object *object, struct str name)
{
	struct str value;

	if (accept_json_byte(cursor, ']'))
		return true;
	do
		if (!parse_json_text(cursor, &value) ||
		    !add_json_field(reader, cursor, object, name, value))
			return false;
	while (accept_json_byte(cursor, ','));
	return accept_json_byte(cursor, ']') || set_json_problem(cursor, "a list ends in ]");
}

static bool parse_json_pair(struct bulk_reader *reader, struct cursor *cursor,
			    struct object *object)
{
	struct str name;
	struct str value;

	if (!parse_json_text(cursor, &name))
		return false;
	if (!accept_json_byte(cursor, ':'))
		return set_json_problem(cursor, "a colon is expected after a name");
	if (accept_json_byte(cursor, '['))
		return parse_json_list(reader, cursor, object, name);
	return parse_json_text(cursor, &value) &&
	       add_json_field(reader, cursor, object, name, value);
}

static bool take_object(struct bulk_reader *reader, struct cursor *cursor, struct object *object)
{
	if (!accept_json_byte(cursor, '{'))
		return set_json_problem(cursor,
					"a line is one object of JSON: "
					"{\"table\":\"address\",\"key\":\"ann@example.org\",...}");
	do
		if (!parse_json_pair(reader, cursor, object))
			return false;
	while (accept_json_byte(cursor, ','));
	if (!accept_json_byte(cursor, '}'))
		return set_json_problem(cursor, "an object ends in }");
	skip_space(cursor);
	return cursor->rest.length == 0 || set_json_problem(cursor, "one object a line");
}

int bulk_json_next(struct bulk_reader *reader, struct bulk_entry *entry)
{
	struct cursor cursor = {.problem = NULL};
	struct object object = {.table = {"", 0}};
	enum directory_table table;
	struct str line;
	int result;

	do
		result = bulk_lines_next(&reader->lines, &line);
	while (result > 0 && str_trim(line).length == 0);
	entry->line = reader->lines.line;
	if (result <= 0)
		return bulk_line_problem(reader, entry, result);
	cursor.rest = line;
	cursor.memory = arena_alloc(reader->arena, line.length + 1); /* unescaping only shortens */
	if (reader->settings->table != NULL)
		object.table = str_from(reader->settings->table);
	if (!take_object(reader, &cursor, &object))
		return bulk_problem(reader, entry, "column %zu: %s",
				    line.length - cursor.rest.length + 1, cursor.problem);
	table = directory_table_find(object.table);
	if (table == DIRECTORY_NO_TABLE)
		return bulk_table_problem(reader, entry, object.table);
	return bulk_finish(reader, entry, table, object.key);
}
