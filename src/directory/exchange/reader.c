// SPDX-License-Identifier: ISC
#include "base/panic.h"
#include "directory/exchange/format/internal.h"
#include <stdlib.h>

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

static bool may_be_alias(enum exchange_format format, const struct directory_record *record)
{
	size_t targets = 0;

	for (size_t i = 0; i < record->field_count; i++)
		targets += str_equal(record->fields[i].name, STR("target"));
	return (format == EXCHANGE_ALIASES || format == EXCHANGE_POSTFIX) && targets == 1 &&
	       str_equal(directory_record_field(record, "kind"), STR("forward"));
}

int exchange_reader_next(struct exchange_reader *reader, struct exchange_entry *entry_out)
{
	int result;

	*entry_out = (struct exchange_entry){.file = reader->file};
	arena_reset(reader->arena);
	buffer_reset(&reader->problem);
	reader->field_count = 0;
	result = formats[reader->format].next(reader, entry_out);
	if (result == 1)
		entry_out->may_be_alias = may_be_alias(reader->format, &entry_out->record);
	return result;
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
