// SPDX-License-Identifier: ISC
#include "directory/bulk/import/compare.h"
#include <string.h>

bool bulk_record_is_same(const struct directory_record *a, const struct directory_record *b)
{
	if (a->field_count != b->field_count)
		return false;
	for (size_t i = 0; i < a->field_count; i++)
		if (!str_equal(a->fields[i].name, b->fields[i].name) ||
		    !str_equal(a->fields[i].value, b->fields[i].value))
			return false;
	return true;
}

/* The next field NAME of RECORD from *POSITION on, which moves after it; NULL: there is none. */
static const struct directory_field *next_field(const struct directory_record *record,
						struct str name, size_t *position)
{
	while (*position < record->field_count) {
		const struct directory_field *field = &record->fields[(*position)++];

		if (str_equal(field->name, name))
			return field;
	}
	return NULL;
}

/* Whether the field NAME has the same values in both, in the same order. */
static bool has_same_values(const struct directory_record *a, const struct directory_record *b,
			    struct str name)
{
	const struct directory_field *one;
	const struct directory_field *other;
	size_t at_one = 0;
	size_t at_other = 0;

	do {
		one = next_field(a, name, &at_one);
		other = next_field(b, name, &at_other);
		if (one != NULL && other != NULL && !str_equal(one->value, other->value))
			return false;
	} while (one != NULL && other != NULL);
	return one == other;
}

static bool is_alias_there(const struct bulk_entry *entry, const struct directory_record *there,
			   struct str name)
{
	return entry->may_be_alias && str_equal(name, STR("kind")) &&
	       str_equal(directory_record_field(there, "kind"), STR("alias"));
}

bool bulk_entry_is_met(const struct bulk_entry *entry, const struct directory_record *there)
{
	for (size_t i = 0; i < entry->record.field_count; i++) {
		struct str name = entry->record.fields[i].name;

		if (!has_same_values(&entry->record, there, name) &&
		    !is_alias_there(entry, there, name))
			return false;
	}
	return true;
}

struct directory_record bulk_record_merge(const struct directory_record *there,
					  const struct directory_record *record,
					  struct arena *arena)
{
	struct directory_field *fields =
		arena_alloc(arena, (there->field_count + record->field_count + 1) * sizeof *fields);
	size_t count = 0;

	for (size_t i = 0; i < there->field_count; i++)
		if (directory_record_find(record, there->fields[i].name).length == 0)
			fields[count++] = there->fields[i];
	memcpy(fields + count, record->fields, record->field_count * sizeof *fields);
	return (struct directory_record){record->key, fields, count + record->field_count};
}
