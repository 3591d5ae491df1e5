// SPDX-License-Identifier: ISC
#include "record_text.h"

struct directory_record record_of_text(struct arena *arena, const char *text)
{
	struct str rest = str_from(text);
	struct directory_record record = {.fields = NULL};
	struct directory_field *fields;
	struct str word;
	struct str name;
	size_t count = 0;

	for (const char *c = text; *c != '\0'; c++)
		count += *c == '|';
	fields = arena_alloc(arena, count * sizeof *fields);
	record.fields = fields;
	(void)str_split(&rest, '|', &word);
	(void)str_split(&word, ' ', &name);
	record.key = (struct directory_key){directory_table_find(name), word};
	while (str_split(&rest, '|', &word)) {
		(void)str_split(&word, ' ', &fields[record.field_count].name);
		fields[record.field_count++].value = word;
	}
	return record;
}

void record_append_text(struct buffer *out, const struct directory_record *record)
{
	buffer_append_format(out, "%s " STR_FORMAT, directory_table_name(record->key.table),
			     STR_ARGUMENTS(record->key.name));
	for (size_t i = 0; i < record->field_count; i++)
		buffer_append_format(out, "|" STR_FORMAT " " STR_FORMAT,
				     STR_ARGUMENTS(record->fields[i].name),
				     STR_ARGUMENTS(record->fields[i].value));
}
