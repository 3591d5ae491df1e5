// SPDX-License-Identifier: ISC
#include "base/panic.h"
#include "directory/record/key.h"
#include "directory/record/password.h"
#include "exchange/internal.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct format {
	const char *name;
	int (*next)(struct exchange_reader *reader, struct exchange_entry *entry);
} formats[EXCHANGE_FORMATS] = {
	[EXCHANGE_JSON] = {"json", exchange_json_next},
	[EXCHANGE_CSV] = {"csv", exchange_csv_next},
	[EXCHANGE_ALIASES] = {"aliases", exchange_aliases_next},
	[EXCHANGE_POSTFIX] = {"postfix", exchange_postfix_next},
	[EXCHANGE_MAILBOXES] = {"mailboxes", exchange_postfix_next},
};

const char *exchange_format_name(enum exchange_format format)
{
	return formats[format].name;
}

enum exchange_format exchange_format_find(struct str name)
{
	unsigned format = 0;

	while (format < EXCHANGE_FORMATS && !str_equal(name, str_from(formats[format].name)))
		format++;
	return format;
}

int exchange_reader_new(enum exchange_format format, const char *file, int descriptor,
			const struct exchange_settings *settings,
			struct exchange_reader **reader_out)
{
	struct exchange_reader *reader = memory_alloc_zero(1, sizeof *reader);
	int error = 0;

	reader->format = format;
	reader->settings = settings;
	reader->file = file;
	reader->lines.descriptor = descriptor;
	reader->arena = arena_new();
	reader->fields = memory_alloc_zero(DIRECTORY_FIELDS_MAX, sizeof *reader->fields);
	if (format == EXCHANGE_ALIASES)
		error = exchange_owners_read(reader, &reader->names);
	else if (format == EXCHANGE_POSTFIX)
		error = exchange_alias_domains_read(reader, &reader->names);
	if (error < 0)
		exchange_reader_free(reader);
	else
		*reader_out = reader;
	return error;
}

int exchange_reader_next(struct exchange_reader *reader, struct exchange_entry *entry_out)
{
	*entry_out = (struct exchange_entry){.file = reader->file};
	arena_reset(reader->arena);
	buffer_reset(&reader->problem);
	reader->field_count = 0;
	return formats[reader->format].next(reader, entry_out);
}

unsigned exchange_reader_lines(const struct exchange_reader *reader)
{
	return reader->lines.number;
}

void exchange_reader_free(struct exchange_reader *reader)
{
	exchange_values_free(reader->members);
	exchange_names_free(reader->names);
	exchange_columns_free(reader->columns);
	exchange_lines_clear(&reader->lines);
	buffer_clear(&reader->problem);
	arena_free(reader->arena);
	free(reader->fields);
	free(reader);
}

int exchange_problem(struct exchange_reader *reader, struct exchange_entry *entry,
		     const char *format, ...)
{
	va_list arguments;

	buffer_reset(&reader->problem);
	va_start(arguments, format);
	buffer_append_format_list(&reader->problem, format, arguments);
	va_end(arguments);
	entry->problem = buffer_view(&reader->problem);
	return -EBADMSG;
}

int exchange_table_problem(struct exchange_reader *reader, struct exchange_entry *entry,
			   struct str table)
{
	struct buffer names CLEANUP(buffer_clear) = {0};

	for (unsigned i = DIRECTORY_NO_TABLE + 1; i < DIRECTORY_TABLES; i++)
		buffer_append_format(&names, " %s", directory_table_name(i));
	if (table.length == 0)
		return exchange_problem(
			reader, entry,
			"no table is named here, nor by --table; there are:" STR_FORMAT,
			STR_ARGUMENTS(buffer_view(&names)));
	return exchange_problem(reader, entry, "there is no table \"%.*s\"; there are:" STR_FORMAT,
				table.length < 100 ? (int)table.length : 100, table.data,
				STR_ARGUMENTS(buffer_view(&names)));
}

int exchange_line_problem(struct exchange_reader *reader, struct exchange_entry *entry, int error)
{
	if (error != -EMSGSIZE)
		return error;
	return exchange_problem(reader, entry, "the line has more than %d bytes",
				EXCHANGE_LINE_MAX);
}

int exchange_add_named(struct exchange_reader *reader, struct str name, struct str value)
{
	if (reader->field_count == DIRECTORY_FIELDS_MAX)
		return -E2BIG;
	reader->fields[reader->field_count++] = (struct directory_field){name, value};
	return 0;
}

int exchange_add_field(struct exchange_reader *reader, const char *name, struct str value)
{
	return exchange_add_named(reader, str_from(name), value);
}

void exchange_set_key(struct exchange_reader *reader, struct exchange_entry *entry,
		      enum directory_table table, struct str key)
{
	struct buffer form CLEANUP(buffer_clear) = {0};

	if (directory_key_normalize(table, key, &form) < 0)
		return;
	entry->record.key =
		(struct directory_key){table, arena_copy_str(reader->arena, buffer_view(&form))};
}

int exchange_finish(struct exchange_reader *reader, struct exchange_entry *entry,
		    enum directory_table table, struct str key)
{
	struct directory_record record = {.key = {table, key}, .fields = reader->fields};
	const char *source = reader->settings->source;
	const char *reason;

	record.field_count = reader->field_count;
	if (table == DIRECTORY_ADDRESS && source != NULL &&
	    directory_record_field(&record, "source").length == 0) {
		if (exchange_add_field(reader, "source", str_from(source)) < 0)
			return exchange_problem(reader, entry,
						"more than %d fields, source is one of them",
						DIRECTORY_FIELDS_MAX);
		record.field_count = reader->field_count;
	}
	if (directory_record_check(&record, reader->arena, &entry->record, &reason) == 0 &&
	    (reason = directory_password_problem(&entry->record)) == NULL)
		return 1;
	exchange_set_key(reader, entry, table, key);
	return exchange_problem(reader, entry, "%s", reason);
}
