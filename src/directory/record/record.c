// SPDX-License-Identifier: ISC
#include "directory/record/record.h"
#include <string.h>

const char *directory_table_name(enum directory_table table)
{
	static const char *const names[DIRECTORY_LISTED_TABLES] = {
		[DIRECTORY_NO_TABLE] = "",       [DIRECTORY_DOMAIN] = "domain",
		[DIRECTORY_ADDRESS] = "address", [DIRECTORY_MEMBER] = "member",
		[DIRECTORY_USER] = "user",       [DIRECTORY_SERVER] = "server",
		[DIRECTORY_NODE] = "node",       [DIRECTORY_MEMBERSHIP] = "membership",
	};

	return table < DIRECTORY_LISTED_TABLES ? names[table] : "";
}

enum directory_table directory_table_find_listed(struct str name)
{
	enum directory_table table = DIRECTORY_DOMAIN;

	while (table < DIRECTORY_LISTED_TABLES &&
	       !str_equal(str_from(directory_table_name(table)), name))
		table++;
	return table < DIRECTORY_LISTED_TABLES ? table : DIRECTORY_NO_TABLE;
}

enum directory_table directory_table_find(struct str name)
{
	enum directory_table table = directory_table_find_listed(name);

	return table < DIRECTORY_TABLES ? table : DIRECTORY_NO_TABLE;
}

struct str directory_record_find(const struct directory_record *record, struct str name)
{
	for (size_t i = 0; i < record->field_count; i++)
		if (str_equal(record->fields[i].name, name))
			return record->fields[i].value;
	return str_slice("", 0);
}

enum directory_state directory_record_state(const struct directory_record *record)
{
	struct str state = directory_record_field(record, "state");

	if (state.length == 0 || str_equal(state, STR("active")))
		return DIRECTORY_ACTIVE;
	return str_equal(state, STR("disabled")) ? DIRECTORY_DISABLED : DIRECTORY_DEFERRED;
}

struct directory_record directory_record_copy(struct arena *arena,
					      const struct directory_record *record)
{
	struct directory_field *fields = arena_alloc(arena, record->field_count * sizeof *fields);

	for (size_t i = 0; i < record->field_count; i++) {
		fields[i].name = arena_copy_str(arena, record->fields[i].name);
		fields[i].value = arena_copy_str(arena, record->fields[i].value);
	}
	return (struct directory_record){
		.key = {record->key.table, arena_copy_str(arena, record->key.name)},
		.fields = fields,
		.field_count = record->field_count,
	};
}
