// SPDX-License-Identifier: ISC
/* A cheap check that accepts nearly every record that directory_record_check() would leave
 * unchanged. Backends normally read only such records, but cannot rely on it. */
#include "directory/record/key.h"
#include "directory/record/rules.h"

/* Whether TEXT is valid and already in canonical form. */
static bool is_value(enum directory_value value, struct str text, struct buffer *scratch)
{
	if (text.length > DIRECTORY_FIELD_MAX)
		return false;
	buffer_reset(scratch);
	return directory_value_normalize(value, text, scratch) == 0 &&
	       str_equal(buffer_view(scratch), text);
}

static bool is_canonical_key(const struct directory_key *key, struct buffer *scratch)
{
	struct str list;
	struct str member;

	buffer_reset(scratch);
	if (directory_key_normalize(key->table, key->name, scratch) < 0 ||
	    !str_equal(buffer_view(scratch), key->name))
		return false;
	if (!directory_table_has_pairs(key->table))
		return true;
	directory_key_member(key->name, &list, &member);
	return !str_equal(list, member);
}

/* The kind whose rules apply; NULL if the table has no kinds or does not know this one. */
static const char *kind_of_record(const struct directory_record *record)
{
	if (record->field_count == 0 || !str_equal(record->fields[0].name, STR("kind")))
		return NULL;
	return directory_kind_find(record->key.table, record->fields[0].value);
}

/* Takes the fields of RULE from RECORD, *NEXT on. */
static bool take_fields_of_rule(const struct directory_record *record,
				const struct directory_rule *rule, size_t *next,
				struct buffer *scratch)
{
	size_t first = *next;

	for (; *next < record->field_count; ++*next) {
		const struct directory_field *field = &record->fields[*next];

		if (!str_equal(field->name, str_from(rule->name)))
			break;
		if (rule->value != DIRECTORY_VALUE_KIND &&
		    !is_value(rule->value, field->value, scratch))
			return false;
	}
	if (*next == first)
		return !(rule->flags & DIRECTORY_RULE_REQUIRED);
	return *next == first + 1 || (rule->flags & DIRECTORY_RULE_SEVERAL);
}

static bool are_fields(const struct directory_record *record, struct buffer *scratch)
{
	bool has_kinds =
		record->key.table == DIRECTORY_DOMAIN || record->key.table == DIRECTORY_ADDRESS;
	const char *kind = has_kinds ? kind_of_record(record) : NULL;
	size_t next = 0;

	if (has_kinds && kind == NULL)
		return false;
	for (const struct directory_rule *rule = directory_rules[record->key.table];
	     rule->value != 0; rule++)
		if (rule->name != NULL && (rule->kind == NULL || rule->kind == kind) &&
		    !take_fields_of_rule(record, rule, &next, scratch))
			return false;
	return next == record->field_count && record->field_count <= DIRECTORY_FIELDS_MAX;
}

bool directory_record_is_in_form(const struct directory_record *record, bool is_key_in_form,
				 struct buffer *scratch)
{
	struct str target;

	if (record->key.table == DIRECTORY_NO_TABLE || record->key.table >= DIRECTORY_LISTED_TABLES)
		return false;
	if (!(is_key_in_form && !directory_table_has_pairs(record->key.table)) &&
	    !is_canonical_key(&record->key, scratch))
		return false;
	if (!are_fields(record, scratch))
		return false;
	/* rules that involve several fields and are rare: directory_record_check() decides */
	target = directory_record_field(record, "target");
	return !(target.length > 0 && str_equal(target, record->key.name)) &&
	       directory_record_field(record, "owner").length == 0 &&
	       directory_record_field(record, "user").length == 0;
}
