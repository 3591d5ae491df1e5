// SPDX-License-Identifier: ISC
#include "directory/record/schema.h"
#include "base/panic.h"
#include "directory/record/rules.h"
#include <string.h>

static const struct {
	const char *key;
	const char *key_columns[2];
} SCHEMA_KEYS[DIRECTORY_LISTED_TABLES] = {
	[DIRECTORY_DOMAIN] = {"name", {"name"}},
	[DIRECTORY_ADDRESS] = {"address", {"address"}},
	[DIRECTORY_MEMBER] = {"(list || ' ' || member)", {"list", "member"}},
	[DIRECTORY_USER] = {"name", {"name"}},
	[DIRECTORY_SERVER] = {"name", {"name"}},
	[DIRECTORY_NODE] = {"name", {"name"}},
	[DIRECTORY_MEMBERSHIP] = {"(member || ' ' || list)", {"member", "list"}},
};

const char *directory_schema_sql(const char *name)
{
	if (strcmp(name, "user") == 0)
		return "\"user\"";
	return strcmp(name, "group") == 0 ? "\"group\"" : name;
}

static const char *column_of(enum directory_table table, const char *field)
{
	/* in the user table, "name" is the key's column */
	if (table == DIRECTORY_USER && strcmp(field, "name") == 0)
		return "fullname";
	return field;
}

/* Finds the kinds that have FIELD; none if all have it. */
static void find_child_kinds(enum directory_table table, const char *field, const char **kinds)
{
	size_t count = 0;

	for (const struct directory_rule *rule = directory_rules[table]; rule->value != 0; rule++) {
		if (rule->name == NULL || rule->kind == NULL || strcmp(rule->name, field) != 0)
			continue;
		if (count == DIRECTORY_CHILD_KINDS_MAX)
			panic("too many kinds have the field %s", field);
		kinds[count++] = rule->kind;
	}
}

struct directory_schema directory_schema_of(enum directory_table table)
{
	struct directory_schema schema = {
		.table = table,
		.name = directory_table_name(table == DIRECTORY_MEMBERSHIP ? DIRECTORY_MEMBER
									   : table),
		.key = SCHEMA_KEYS[table].key,
		.key_columns = {SCHEMA_KEYS[table].key_columns[0],
				SCHEMA_KEYS[table].key_columns[1]},
	};
	const char *field;
	size_t count = 0;
	bool is_many;

	for (size_t i = 0; (field = directory_table_field(table, i, &is_many)) != NULL; i++) {
		if (is_many && schema.child != NULL)
			panic("two fields of table %s may come more than once", schema.name);
		if (is_many) {
			schema.child = field;
			find_child_kinds(table, field, schema.child_kinds);
			continue;
		}
		if (count == DIRECTORY_COLUMNS_MAX)
			panic("table %s has too many fields", schema.name);
		schema.columns[count++] = (struct directory_column){field, column_of(table, field)};
	}
	return schema;
}

bool directory_schema_has_child(const struct directory_schema *schema, struct str kind)
{
	if (schema->child == NULL || schema->child_kinds[0] == NULL)
		return schema->child != NULL;
	for (size_t i = 0; schema->child_kinds[i] != NULL; i++)
		if (str_equal(str_from(schema->child_kinds[i]), kind))
			return true;
	return false;
}
