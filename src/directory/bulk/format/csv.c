// SPDX-License-Identifier: ISC
/* RFC 4180: a line of column names, then a row for each record. */
#include "base/panic.h"
#include "directory/bulk/format/internal.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS_MAX = DIRECTORY_FIELDS_MAX + 2 };

struct bulk_columns {
	struct arena *arena; /* of the names */
	struct str *names;   /* "table", "key", and those of fields */
	size_t count;
	struct buffer row;
};

/* The state of the row parser. */
enum state { AT_START, IN_CELL, IN_QUOTES, AT_QUOTE };

static enum state step_over_csv_byte(enum state state, char byte)
{
	switch (state) {
	case AT_START:
		if (byte == '"')
			return IN_QUOTES;
		break;
	case IN_QUOTES:
		return byte == '"' ? AT_QUOTE : IN_QUOTES;
	case AT_QUOTE:
		if (byte == '"')
			return IN_QUOTES;
		break;
	case IN_CELL:
		break;
	}
	return byte == ',' ? AT_START : IN_CELL;
}

static enum state scan_csv_text(enum state state, struct str text)
{
	for (size_t i = 0; i < text.length; i++)
		state = step_over_csv_byte(state, text.data[i]);
	return state;
}

/* Reads the next row into ROW: several lines if a quoted cell contains line breaks. */
static int read_csv_row(struct bulk_reader *reader, struct buffer *row, unsigned *line_out)
{
	enum state state = AT_START;
	struct str line;
	int result;

	buffer_reset(row);
	do
		result = bulk_lines_next(&reader->lines, &line);
	while (result > 0 && line.length == 0);
	*line_out = reader->lines.line;
	while (result > 0) {
		buffer_append_str(row, line);
		if (row->length > BULK_LINE_MAX)
			return -EMSGSIZE;
		state = scan_csv_text(state, line);
		if (state != IN_QUOTES)
			return 1;
		buffer_append_byte(row, '\n');
		state = scan_csv_text(state, STR("\n"));
		result = bulk_lines_next(&reader->lines, &line);
	}
	return result == 0 && row->length > 0 ? -EBADMSG : result;
}

/* Takes the next cell off *ROW and removes its quotes, into memory at *PLACE. Returns NULL, or what
 * is wrong. *IS_LAST: no comma follows. */
static const char *take_cell(struct str *row, char **place, struct str *cell_out, bool *is_last)
{
	enum state state = AT_START;
	char *start = *place;
	size_t i;

	for (i = 0; i < row->length; i++) {
		char byte = row->data[i];
		enum state next = step_over_csv_byte(state, byte);

		if (next == AT_START)
			break;
		if (next == IN_CELL && state == AT_QUOTE)
			return "a comma is expected after the quote that ends a cell";
		if (next == IN_CELL && byte == '"')
			return "a quote within a cell: the cell must be in quotes, its own be "
			       "doubled";
		if (next == IN_CELL || (next == IN_QUOTES && state != AT_START))
			*(*place)++ = byte;
		state = next;
	}
	*is_last = i == row->length;
	*row = str_skip(*row, i + 1);
	*cell_out = str_slice(start, (size_t)(*place - start));
	return NULL;
}

static bool is_field_of_tables(struct str name)
{
	for (unsigned table = DIRECTORY_NO_TABLE + 1; table < DIRECTORY_TABLES; table++) {
		const char *field;

		for (size_t i = 0; (field = directory_table_field(table, i, NULL)) != NULL; i++)
			if (str_equal(name, str_from(field)))
				return true;
	}
	return false;
}

static bool is_column(struct str name)
{
	return str_equal(name, STR("table")) || str_equal(name, STR("key")) ||
	       is_field_of_tables(name);
}

/* Reads the column names. 0, or the problem: then the file cannot be read. */
static int take_names(struct bulk_reader *reader, struct bulk_entry *entry,
		      struct bulk_columns *columns)
{
	struct str row = buffer_view(&columns->row);
	char *place = arena_alloc(columns->arena, row.length + 1);
	bool is_last = false;

	while (!is_last) {
		struct str name;
		const char *problem = take_cell(&row, &place, &name, &is_last);

		if (problem != NULL)
			return bulk_problem(reader, entry, "%s", problem);
		name = str_trim(name);
		if (!is_column(name))
			return bulk_problem(reader, entry,
					    "no column is called \"%.*s\"; the first line names "
					    "table, key and fields of records",
					    name.length < 100 ? (int)name.length : 100, name.data);
		if (columns->count == COLUMNS_MAX)
			return bulk_problem(reader, entry, "more than %d columns", COLUMNS_MAX);
		columns->names[columns->count++] = name;
	}
	return 0;
}

static bool has_csv_column(const struct bulk_columns *columns, const char *name)
{
	for (size_t i = 0; i < columns->count; i++)
		if (str_equal(columns->names[i], str_from(name)))
			return true;
	return false;
}

static int read_column_names(struct bulk_reader *reader, struct bulk_entry *entry)
{
	struct bulk_columns *columns = memory_alloc_zero(1, sizeof *columns);
	int result;

	reader->columns = columns;
	columns->arena = arena_new();
	columns->names = memory_alloc_zero(COLUMNS_MAX, sizeof *columns->names);
	result = read_csv_row(reader, &columns->row, &entry->line);
	if (result == 0)
		return 0;
	if (result == -EBADMSG)
		return bulk_problem(reader, entry, "the last quote is not closed");
	if (result < 0)
		return bulk_line_problem(reader, entry, result);
	result = take_names(reader, entry, columns);
	if (result == 0 && !has_csv_column(columns, "key"))
		result = bulk_problem(reader, entry, "no column is called \"key\"");
	if (result < 0)
		columns->count = 0;
	return result < 0 ? result : 1;
}

/* Adds the values in CELL, one a line, as fields. */
static int add_values(struct bulk_reader *reader, struct str name, struct str cell)
{
	struct str value;

	while (str_split(&cell, '\n', &value)) {
		if (value.length > 0 && value.data[value.length - 1] == '\r')
			value.length--;
		if (value.length > 0 && bulk_add_named(reader, name, value) < 0)
			return -E2BIG;
	}
	return 0;
}

static int take_csv_row(struct bulk_reader *reader, struct bulk_entry *entry)
{
	const struct bulk_columns *columns = reader->columns;
	struct str row = buffer_view(&columns->row);
	char *place = arena_alloc(reader->arena, row.length + 1);
	const char *named = reader->settings->table;
	struct str table = named != NULL ? str_from(named) : STR("");
	struct str key = STR("");
	bool is_last = false;

	for (size_t i = 0; i < columns->count && !is_last; i++) {
		struct str cell;
		const char *problem = take_cell(&row, &place, &cell, &is_last);

		if (problem != NULL)
			return bulk_problem(reader, entry, "cell %zu: %s", i + 1, problem);
		if (str_equal(columns->names[i], STR("key")))
			key = cell;
		else if (!str_equal(columns->names[i], STR("table")) &&
			 add_values(reader, columns->names[i], cell) < 0)
			return bulk_problem(reader, entry, "more than %d values",
					    DIRECTORY_FIELDS_MAX);
		else if (str_equal(columns->names[i], STR("table")) && cell.length > 0)
			table = cell;
	}
	if (!is_last)
		return bulk_problem(reader, entry, "more cells than the first line has names: %zu",
				    columns->count);
	if (directory_table_find(table) == DIRECTORY_NO_TABLE)
		return bulk_table_problem(reader, entry, table);
	return bulk_finish(reader, entry, directory_table_find(table), key);
}

int bulk_csv_next(struct bulk_reader *reader, struct bulk_entry *entry)
{
	int result = 1;

	if (reader->columns == NULL)
		result = read_column_names(reader, entry);
	if (result <= 0 || reader->columns->count == 0)
		return result < 0 ? result : 0; /* without column names nothing can be read */
	result = read_csv_row(reader, &reader->columns->row, &entry->line);
	if (result == -EBADMSG)
		return bulk_problem(reader, entry, "the last quote is not closed");
	if (result <= 0)
		return bulk_line_problem(reader, entry, result);
	return take_csv_row(reader, entry);
}

void bulk_columns_free(struct bulk_columns *columns)
{
	if (columns == NULL)
		return;
	arena_free(columns->arena);
	free(columns->names);
	buffer_clear(&columns->row);
	free(columns);
}
