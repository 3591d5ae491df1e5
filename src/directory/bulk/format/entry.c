// SPDX-License-Identifier: ISC
/* Builds an entry from the fields that a format's parser finds, or reports a problem. */
#include "directory/bulk/format/internal.h"
#include "directory/record/key.h"
#include "directory/record/password.h"
#include <errno.h>

int bulk_problem(struct bulk_reader *reader, struct bulk_entry *entry, const char *format, ...)
{
	va_list arguments;

	buffer_reset(&reader->problem);
	va_start(arguments, format);
	buffer_append_format_list(&reader->problem, format, arguments);
	va_end(arguments);
	entry->problem = buffer_view(&reader->problem);
	return -EBADMSG;
}

int bulk_table_problem(struct bulk_reader *reader, struct bulk_entry *entry, struct str table)
{
	struct buffer names CLEANUP(buffer_clear) = {0};

	for (unsigned i = DIRECTORY_NO_TABLE + 1; i < DIRECTORY_TABLES; i++)
		buffer_append_format(&names, " %s", directory_table_name(i));
	if (table.length == 0)
		return bulk_problem(reader, entry,
				    "no table is named here, nor by --table; there are:" STR_FORMAT,
				    STR_ARGUMENTS(buffer_view(&names)));
	return bulk_problem(reader, entry, "there is no table \"%.*s\"; there are:" STR_FORMAT,
			    table.length < 100 ? (int)table.length : 100, table.data,
			    STR_ARGUMENTS(buffer_view(&names)));
}

int bulk_line_problem(struct bulk_reader *reader, struct bulk_entry *entry, int error)
{
	if (error != -EMSGSIZE)
		return error;
	return bulk_problem(reader, entry, "the line has more than %d bytes", BULK_LINE_MAX);
}

int bulk_add_named(struct bulk_reader *reader, struct str name, struct str value)
{
	if (reader->field_count == DIRECTORY_FIELDS_MAX)
		return -E2BIG;
	reader->fields[reader->field_count++] = (struct directory_field){name, value};
	return 0;
}

int bulk_add_field(struct bulk_reader *reader, const char *name, struct str value)
{
	return bulk_add_named(reader, str_from(name), value);
}

void bulk_set_key(struct bulk_reader *reader, struct bulk_entry *entry, enum directory_table table,
		  struct str key)
{
	struct buffer form CLEANUP(buffer_clear) = {0};

	if (directory_key_normalize(table, key, &form) < 0)
		return;
	entry->record.key =
		(struct directory_key){table, arena_copy_str(reader->arena, buffer_view(&form))};
}

int bulk_finish(struct bulk_reader *reader, struct bulk_entry *entry, enum directory_table table,
		struct str key)
{
	struct directory_record record = {.key = {table, key}, .fields = reader->fields};
	const char *source = reader->settings->source;
	const char *reason;

	record.field_count = reader->field_count;
	if (table == DIRECTORY_ADDRESS && source != NULL &&
	    directory_record_field(&record, "source").length == 0) {
		if (bulk_add_field(reader, "source", str_from(source)) < 0)
			return bulk_problem(reader, entry,
					    "more than %d fields, source is one of them",
					    DIRECTORY_FIELDS_MAX);
		record.field_count = reader->field_count;
	}
	if (directory_record_check(&record, reader->arena, &entry->record, &reason) == 0 &&
	    (reason = directory_password_problem(&entry->record)) == NULL)
		return 1;
	bulk_set_key(reader, entry, table, key);
	return bulk_problem(reader, entry, "%s", reason);
}
