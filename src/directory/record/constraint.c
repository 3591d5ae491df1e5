// SPDX-License-Identifier: ISC
/* The rules as SQL constraints, as far as SQL can express them. In a condition, '?' is replaced by
 * the column; in one about a whole row, by the prefix of the columns' names. An empty text counts
 * as NULL, as in a record. */
#include "directory/record/rules.h"
#include "directory/record/schema.h"
#include <string.h>

static const char *const CONSTRAINT_VALUES[] = {
	[DIRECTORY_VALUE_DOMAIN] = "? NOT LIKE '%@%' AND ? NOT LIKE '% %'",
	[DIRECTORY_VALUE_ADDRESS] = "? LIKE '%_@_%'",
	[DIRECTORY_VALUE_SENDERS] = "? LIKE '%@_%' AND length(?) <= 1024",
	[DIRECTORY_VALUE_SERVICE] = "? = lower(?) AND length(?) <= 32 AND ? NOT LIKE '% %'",
	[DIRECTORY_VALUE_NAME] = "? NOT LIKE '%@'",
	[DIRECTORY_VALUE_FLAG] = "? IN ('yes', 'no')",
	[DIRECTORY_VALUE_STATUS] = "? LIKE '4._%._%' OR ? LIKE '5._%._%'",
	[DIRECTORY_VALUE_TEXT] = "length(?) <= 400",
	[DIRECTORY_VALUE_PASSWORD] =
		"? LIKE '$_%$%' OR ? LIKE 'SCRAM-SHA-256$%' OR ? LIKE 'SCRAM-SHA-1$%'",
	[DIRECTORY_VALUE_SOURCE] = "? = lower(?) AND length(?) <= 32 AND ? NOT LIKE '% %'",
	[DIRECTORY_VALUE_SERVER] = "? LIKE '%_:_%'",
	[DIRECTORY_VALUE_QUOTA] = "? NOT LIKE '% %' AND (? = 'none' OR ? BETWEEN '0' AND '9z')",
	[DIRECTORY_VALUE_POST] = "? IN ('anyone', 'members', 'owners')",
	[DIRECTORY_VALUE_STATE] = "? IN ('active', 'deferred', 'disabled')",
	[DIRECTORY_VALUE_GROUP] = "? = lower(?) AND length(?) <= 32 AND ? NOT LIKE '% %'",
	[DIRECTORY_VALUE_WEIGHT] = "? BETWEEN '1' AND '9z' AND length(?) <= 3",
	[DIRECTORY_VALUE_NODE_STATE] = "? IN ('active', 'draining', 'away')",
};

static const struct {
	const char *condition;
	const char *meaning;
} CONSTRAINT_KEYS[DIRECTORY_TABLES] = {
	[DIRECTORY_DOMAIN] = {"? <> '' AND ? = lower(?) AND ? NOT LIKE '%@%'",
			      "a domain in lower case"},
	[DIRECTORY_ADDRESS] = {"? = lower(?) AND ? LIKE '%@_%'",
			       "LOCAL@DOMAIN or @DOMAIN, in lower case"},
	[DIRECTORY_MEMBER] = {"? = lower(?) AND ? LIKE '%_@_%'", "an address in lower case"},
	[DIRECTORY_USER] = {"? <> '' AND ? = lower(?)", "a name in lower case"},
	[DIRECTORY_SERVER] = {"? <> '' AND ? = lower(?)", "a name in lower case"},
	[DIRECTORY_NODE] = {"? <> '' AND ? = lower(?) AND length(?) <= 64 AND ? NOT LIKE '% %'",
			    "the name of a host in lower case, at most 64 bytes"},
};

static const struct {
	enum directory_table table;
	const char *column;
	const char *word;
	const char *condition;
	const char *meaning;
} WHOLE[] = {
	{DIRECTORY_ADDRESS, "kind", "key", "?kind <> 'list' OR ?address NOT LIKE '@%'",
	 "a list has an address of its own"},
	{DIRECTORY_ADDRESS, "service", "user",
	 "coalesce(?service, '') = '' OR coalesce(?\"user\", '') = ''",
	 "one of service and user, not both"},
	{DIRECTORY_MEMBER, "member", "other", "?list <> ?member", "no list is its own member"},
};

struct writer {
	enum directory_table table;
	const char *before;
	void (*each)(void *context, const struct directory_constraint *constraint);
	void *context;
	struct buffer condition;
	struct buffer meaning;
};

/* Appends CONDITION with '?' replaced by the prefix and NAME; NAME may be empty. */
static void write_condition(struct writer *writer, const char *condition, const char *name)
{
	for (; *condition != '\0'; condition++)
		if (*condition == '?')
			buffer_append_format(&writer->condition, "%s%s", writer->before,
					     directory_schema_sql(name));
		else
			buffer_append_byte(&writer->condition, *condition);
}

static void give_constraint(struct writer *writer, const char *column, const char *word)
{
	writer->each(writer->context,
		     &(struct directory_constraint){column, word, buffer_view(&writer->condition),
						    buffer_view(&writer->meaning)});
	buffer_reset(&writer->condition);
	buffer_reset(&writer->meaning);
}

static bool is_rule_about_field(const struct directory_rule *rule, const char *field)
{
	return rule->name != NULL && strcmp(rule->name, field) == 0;
}

/* Appends the kinds whose rule for FIELD has all FLAGS as an SQL list; returns their number. */
static size_t write_kinds_with_flags(struct writer *writer, const char *field, unsigned flags,
				     struct buffer *out)
{
	size_t count = 0;

	for (const struct directory_rule *rule = directory_rules[writer->table]; rule->value != 0;
	     rule++)
		if (is_rule_about_field(rule, field) && (rule->flags & flags) == flags &&
		    rule->kind != NULL)
			buffer_append_format(out, "%s'%s'", count++ > 0 ? ", " : "", rule->kind);
	return count;
}

static const struct directory_rule *first_rule(const struct writer *writer, const char *field)
{
	for (const struct directory_rule *rule = directory_rules[writer->table]; rule->value != 0;
	     rule++)
		if (is_rule_about_field(rule, field))
			return rule;
	return NULL;
}

/* kind must be one of those that the table has. */
static void give_kind(struct writer *writer)
{
	const char *last = NULL;
	const char *separator = "";

	buffer_append_format(&writer->condition, "coalesce(%skind, '') IN (", writer->before);
	for (const struct directory_rule *rule = directory_rules[writer->table]; rule->value != 0;
	     rule++) {
		if (rule->kind == NULL || rule->kind == last)
			continue;
		buffer_append_format(&writer->condition, "%s'%s'", separator, rule->kind);
		buffer_append_format(&writer->meaning, "%s%s", separator, rule->kind);
		separator = ", ";
		last = rule->kind;
	}
	buffer_append_byte(&writer->condition, ')');
	give_constraint(writer, "kind", "value");
}

static void give_value(struct writer *writer, const struct directory_column *column,
		       enum directory_value value)
{
	buffer_append_format(&writer->condition, "coalesce(%s%s, '') = '' OR (", writer->before,
			     directory_schema_sql(column->name));
	write_condition(writer, CONSTRAINT_VALUES[value], column->name);
	buffer_append_byte(&writer->condition, ')');
	buffer_append_string(&writer->meaning, directory_value_allowed(value));
	give_constraint(writer, column->field, "value");
}

/* Only records of certain kinds may have COLUMN. */
static void give_kinds(struct writer *writer, const struct directory_column *column)
{
	struct buffer kinds CLEANUP(buffer_clear) = {0};

	if (write_kinds_with_flags(writer, column->field, 0, &kinds) == 0)
		return;
	buffer_append_format(&writer->condition, "coalesce(%s%s, '') = '' OR %skind IN (",
			     writer->before, directory_schema_sql(column->name), writer->before);
	buffer_append_str(&writer->condition, buffer_view(&kinds));
	buffer_append_byte(&writer->condition, ')');
	buffer_append_string(&writer->meaning, "only with kind ");
	buffer_append_str(&writer->meaning, buffer_view(&kinds));
	give_constraint(writer, column->field, "kind");
}

static void give_required(struct writer *writer, const struct directory_column *column)
{
	const struct directory_rule *rule = first_rule(writer, column->field);
	struct buffer kinds CLEANUP(buffer_clear) = {0};
	bool has_kinds =
		write_kinds_with_flags(writer, column->field, DIRECTORY_RULE_REQUIRED, &kinds) > 0;

	if (!has_kinds && (rule->kind != NULL || !(rule->flags & DIRECTORY_RULE_REQUIRED)))
		return;
	buffer_append_format(&writer->condition, "coalesce(%s%s, '') <> ''", writer->before,
			     directory_schema_sql(column->name));
	if (has_kinds) {
		buffer_append_format(&writer->condition, " OR %skind NOT IN (", writer->before);
		buffer_append_str(&writer->condition, buffer_view(&kinds));
		buffer_append_byte(&writer->condition, ')');
	}
	buffer_append_string(&writer->meaning, "is missing");
	give_constraint(writer, column->field, "required");
}

static void give_columns(struct writer *writer, const struct directory_schema *schema)
{
	for (size_t i = 0; schema->columns[i].field != NULL; i++) {
		const struct directory_column *column = &schema->columns[i];
		enum directory_value value = first_rule(writer, column->field)->value;

		if (value == DIRECTORY_VALUE_KIND) {
			give_kind(writer);
			continue;
		}
		give_value(writer, column, value);
		give_kinds(writer, column);
		give_required(writer, column);
	}
}

static void give_keys(struct writer *writer, const struct directory_schema *schema)
{
	for (size_t i = 0; i < COUNT_OF(schema->key_columns) && schema->key_columns[i] != NULL;
	     i++) {
		write_condition(writer, CONSTRAINT_KEYS[writer->table].condition,
				schema->key_columns[i]);
		buffer_append_string(&writer->meaning, CONSTRAINT_KEYS[writer->table].meaning);
		give_constraint(writer, schema->key_columns[i], "key");
	}
}

static void give_whole(struct writer *writer)
{
	for (size_t i = 0; i < COUNT_OF(WHOLE); i++) {
		if (WHOLE[i].table != writer->table)
			continue;
		write_condition(writer, WHOLE[i].condition, "");
		buffer_append_string(&writer->meaning, WHOLE[i].meaning);
		give_constraint(writer, WHOLE[i].column, WHOLE[i].word);
	}
}

static void give_child(struct writer *writer, const struct directory_schema *schema)
{
	enum directory_value value = first_rule(writer, schema->child)->value;

	write_condition(writer, CONSTRAINT_VALUES[value], schema->child);
	buffer_append_string(&writer->meaning, directory_value_allowed(value));
	give_constraint(writer, schema->child, "value");
}

void directory_schema_constraints(enum directory_table table, bool is_child, const char *before,
				  void (*each)(void *context,
					       const struct directory_constraint *constraint),
				  void *context)
{
	struct directory_schema schema = directory_schema_of(table);
	struct writer writer = {.table = table, .before = before, .each = each, .context = context};

	give_keys(&writer, &schema);
	if (is_child) {
		give_child(&writer, &schema);
	} else {
		give_columns(&writer, &schema);
		give_whole(&writer);
	}
	buffer_clear(&writer.condition);
	buffer_clear(&writer.meaning);
}
