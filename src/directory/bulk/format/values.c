// SPDX-License-Identifier: ISC
/* The values of an alias, with those of included files. */
#include "base/panic.h"
#include "directory/bulk/format/internal.h"
#include "os/file/file.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 8 };

static const struct str INCLUDE = {":include:", 9};

struct source {
	char *file;     /* NULL: the alias's own line */
	int descriptor; /* of an included file */
	struct bulk_lines lines;
	struct str rest; /* of the line */
};

struct bulk_values {
	struct bulk_reader *reader;
	struct buffer name;
	struct buffer text;
	struct source sources[DEPTH_MAX]; /* the last one is being read */
	size_t depth;
};

struct bulk_values *bulk_values_new(struct bulk_reader *reader, struct str name, struct str text)
{
	struct bulk_values *values = memory_alloc_zero(1, sizeof *values);

	values->reader = reader;
	buffer_append_str(&values->name, name);
	buffer_append_str(&values->text, text);
	values->sources[0].rest = buffer_view(&values->text);
	values->sources[0].lines.line = reader->lines.line;
	values->depth = 1;
	return values;
}

struct str bulk_values_name(const struct bulk_values *values)
{
	return buffer_view(&values->name);
}

static struct source *innermost_source(struct bulk_values *values)
{
	return &values->sources[values->depth - 1];
}

static void leave_innermost_source(struct bulk_values *values)
{
	struct source *source = innermost_source(values);

	if (source->file != NULL) {
		os_file_close(source->descriptor);
		bulk_lines_clear(&source->lines);
		free(source->file);
	}
	*source = (struct source){0};
	values->depth--;
}

void bulk_values_free(struct bulk_values *values)
{
	if (values == NULL)
		return;
	while (values->depth > 0)
		leave_innermost_source(values);
	buffer_clear(&values->name);
	buffer_clear(&values->text);
	free(values);
}

static void set_place_of_entry(struct bulk_values *values, struct bulk_entry *entry)
{
	const struct source *source = innermost_source(values);

	entry->file = values->reader->file;
	if (source->file != NULL) /* copied: it may be closed before the entry is used */
		entry->file = arena_copy(values->reader->arena, str_from(source->file));
	entry->line = source->lines.line;
}

static bool is_included_file_open(const struct bulk_values *values, const char *file)
{
	for (size_t i = 1; i < values->depth; i++)
		if (strcmp(values->sources[i].file, file) == 0)
			return true;
	return false;
}

/* 0, or -EBADMSG. */
static int include_values_file(struct bulk_values *values, struct bulk_entry *entry,
			       struct str path)
{
	struct bulk_reader *reader = values->reader;
	char *file = arena_copy(reader->arena, str_trim(path));
	int descriptor;

	if (!reader->settings->include)
		return bulk_problem(reader, entry,
				    ":include:%.100s is not read; --include reads it, or put its "
				    "addresses here",
				    file);
	if (file[0] != '/')
		return bulk_problem(reader, entry, ":include:%.100s: a path begins with /", file);
	if (is_included_file_open(values, file))
		return bulk_problem(reader, entry, ":include:%.100s includes itself", file);
	if (values->depth == DEPTH_MAX)
		return bulk_problem(reader, entry,
				    ":include:%.100s: files are included %d deep at most", file,
				    DEPTH_MAX - 1);
	descriptor = os_file_open(OS_FILE_HERE, file, OS_FILE_READ | OS_FILE_NO_BLOCK);
	if (descriptor < 0)
		return bulk_problem(reader, entry, ":include:%.100s: %s", file,
				    strerror(-descriptor));
	values->depth++;
	*innermost_source(values) =
		(struct source){.file = memory_copy_string(file), .descriptor = descriptor};
	innermost_source(values)->lines.descriptor = descriptor;
	return 0;
}

/* "\name": the mailbox of that name, regardless of aliases. */
static int take_backslash_mailbox(struct bulk_values *values, struct bulk_entry *entry,
				  struct str name, struct bulk_value *value_out)
{
	if (!str_equal_nocase(name, buffer_view(&values->name)))
		return bulk_problem(values->reader, entry,
				    "\\" STR_FORMAT " passes that name's own alias by; only "
				    "\\" STR_FORMAT " is allowed here, the alias itself",
				    STR_ARGUMENTS(name), STR_ARGUMENTS(buffer_view(&values->name)));
	value_out->kind = BULK_VALUE_SELF;
	return 1;
}

static int refuse_alias_value(struct bulk_values *values, struct bulk_entry *entry, struct str text)
{
	int length = text.length < 100 ? (int)text.length : 100;

	if (text.data[0] == '|')
		return bulk_problem(values->reader, entry,
				    "%.*s is a program: make it a service of kind pipe in "
				    "stagepost.conf, and the "
				    "address one of kind program",
				    length, text.data);
	if (text.data[0] == '/')
		return bulk_problem(
			values->reader, entry,
			"%.*s is a file: mailboxes are at services of kind maildir; what is to be "
			"written elsewhere goes to a service of kind pipe",
			length, text.data);
	return bulk_problem(values->reader, entry,
			    "%.*s is not known; of these only :include:/FILE is", length,
			    text.data);
}

/* 1: VALUE is set; 0: a file was included; -EBADMSG. */
static int take_alias_value(struct bulk_values *values, struct bulk_entry *entry, struct str piece,
			    struct bulk_value *value_out)
{
	struct str inner = piece;
	const char *problem;

	set_place_of_entry(values, entry);
	if (piece.length > 1 && piece.data[0] == '"' && piece.data[piece.length - 1] == '"')
		inner = str_trim(str_slice(piece.data + 1, piece.length - 2));
	if (inner.length > INCLUDE.length &&
	    str_equal_nocase(str_slice(inner.data, INCLUDE.length), INCLUDE))
		return include_values_file(values, entry, str_skip(inner, INCLUDE.length));
	if (inner.length > 0 && (inner.data[0] == '|' || inner.data[0] == ':' ||
				 (inner.data[0] == '/' && bulk_find_bare(inner, "@") < 0)))
		return refuse_alias_value(values, entry, inner);
	if (inner.length > 1 && inner.data[0] == '\\')
		return take_backslash_mailbox(values, entry, str_skip(inner, 1), value_out);
	problem = bulk_address(values->reader, piece, &value_out->text);
	if (problem != NULL)
		return bulk_problem(values->reader, entry, "\"%.*s\" %s",
				    piece.length < 100 ? (int)piece.length : 100, piece.data,
				    problem);
	value_out->kind = BULK_VALUE_ADDRESS;
	return 1;
}

/* The next line of the innermost included file; at its end, of the one before. */
static int read_included_line(struct bulk_values *values, struct bulk_entry *entry)
{
	struct source *source = innermost_source(values);
	struct str line;
	int result = bulk_lines_next(&source->lines, &line);

	if (result == 0) {
		leave_innermost_source(values);
		return 0;
	}
	set_place_of_entry(values, entry);
	if (result == -EMSGSIZE)
		return bulk_line_problem(values->reader, entry, result);
	if (result < 0) {
		result = bulk_problem(values->reader, entry, "%s", strerror(-result));
		leave_innermost_source(values);
		return result;
	}
	line = str_trim(line);
	source->rest = line.length > 0 && line.data[0] != '#' ? line : STR("");
	return 0;
}

int bulk_values_next(struct bulk_values *values, struct bulk_entry *entry,
		     struct bulk_value *value_out)
{
	int result = 0;

	while (result == 0) {
		struct str piece;

		if (!bulk_split(&innermost_source(values)->rest, &piece)) {
			if (values->depth == 1)
				return 0;
			result = read_included_line(values, entry);
		} else if (piece.length > 0) {
			result = take_alias_value(values, entry, piece, value_out);
		}
	}
	return result;
}
