// SPDX-License-Identifier: ISC
#include "base/panic.h"
#include "directory/bulk/format/internal.h"
#include <stdlib.h>

static const struct format {
	const char *name;
	int (*next)(struct bulk_reader *reader, struct bulk_entry *entry);
} formats[BULK_FORMATS] = {
	[BULK_JSON] = {"json", bulk_json_next},
	[BULK_CSV] = {"csv", bulk_csv_next},
	[BULK_ALIASES] = {"aliases", bulk_aliases_next},
	[BULK_POSTFIX] = {"postfix", bulk_postfix_next},
	[BULK_MAILBOXES] = {"mailboxes", bulk_postfix_next},
};

const char *bulk_format_name(enum bulk_format format)
{
	return formats[format].name;
}

enum bulk_format bulk_format_find(struct str name)
{
	unsigned format = 0;

	while (format < BULK_FORMATS && !str_equal(name, str_from(formats[format].name)))
		format++;
	return format;
}

int bulk_reader_new(enum bulk_format format, const char *file, int descriptor,
		    const struct bulk_settings *settings, struct bulk_reader **reader_out)
{
	struct bulk_reader *reader = memory_alloc_zero(1, sizeof *reader);
	int error = 0;

	reader->format = format;
	reader->settings = settings;
	reader->file = file;
	reader->lines.descriptor = descriptor;
	reader->arena = arena_new();
	reader->fields = memory_alloc_zero(DIRECTORY_FIELDS_MAX, sizeof *reader->fields);
	if (format == BULK_ALIASES)
		error = bulk_owners_read(reader, &reader->names);
	else if (format == BULK_POSTFIX)
		error = bulk_alias_domains_read(reader, &reader->names);
	if (error < 0)
		bulk_reader_free(reader);
	else
		*reader_out = reader;
	return error;
}

static bool may_be_alias(enum bulk_format format, const struct directory_record *record)
{
	size_t targets = 0;

	for (size_t i = 0; i < record->field_count; i++)
		targets += str_equal(record->fields[i].name, STR("target"));
	return (format == BULK_ALIASES || format == BULK_POSTFIX) && targets == 1 &&
	       str_equal(directory_record_field(record, "kind"), STR("forward"));
}

int bulk_reader_next(struct bulk_reader *reader, struct bulk_entry *entry_out)
{
	int result;

	*entry_out = (struct bulk_entry){.file = reader->file};
	arena_reset(reader->arena);
	buffer_reset(&reader->problem);
	reader->field_count = 0;
	result = formats[reader->format].next(reader, entry_out);
	if (result == 1)
		entry_out->may_be_alias = may_be_alias(reader->format, &entry_out->record);
	return result;
}

unsigned bulk_reader_lines(const struct bulk_reader *reader)
{
	return reader->lines.number;
}

void bulk_reader_free(struct bulk_reader *reader)
{
	bulk_values_free(reader->members);
	bulk_names_free(reader->names);
	bulk_columns_free(reader->columns);
	bulk_lines_clear(&reader->lines);
	buffer_clear(&reader->problem);
	arena_free(reader->arena);
	free(reader->fields);
	free(reader);
}
