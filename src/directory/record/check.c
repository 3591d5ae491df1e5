// SPDX-License-Identifier: ISC
/* Checks a record: its key, its kind, and each field against the table of rules. */
#include "directory/record/key.h"
#include "directory/record/rules.h"
#include "mail/text/text.h"
#include <errno.h>
#include <stdarg.h>
#include <string.h>

enum { SHOWN_MAX = 100 }; /* bytes of a value that a reason quotes */

struct check {
	const struct directory_record *input;
	struct arena *arena;
	const char *kind; /* NULL: the records of the table have no kind */
	struct directory_field *fields;
	size_t field_count;
	struct buffer scratch;
	struct buffer reason; /* why the record is malformed */
};

/* Quotes TEXT in the reason: on one line, shortened. */
static void append_shown_text(struct check *check, struct str text)
{
	buffer_append_byte(&check->reason, '"');
	mail_text_append(&check->reason,
			 str_slice(text.data, text.length < SHOWN_MAX ? text.length : SHOWN_MAX),
			 MAIL_TEXT_8BIT);
	buffer_append_string(&check->reason, text.length > SHOWN_MAX ? "...\"" : "\"");
}

/* Appends WHAT "FOUND" to the reason. */
static int append_found_text(struct check *check, const char *what, struct str found)
{
	buffer_append_string(&check->reason, what);
	buffer_append_byte(&check->reason, ' ');
	append_shown_text(check, found);
	return -EINVAL;
}

static int refuse_record(struct check *check, const char *format, ...) PRINTF_LIKE(2, 3);

static int refuse_record(struct check *check, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	buffer_append_format_list(&check->reason, format, arguments);
	va_end(arguments);
	return -EINVAL;
}

static const struct directory_rule *rules_of(const struct check *check)
{
	return directory_rules[check->input->key.table];
}

static bool rule_applies(const struct check *check, const struct directory_rule *rule)
{
	return rule->name != NULL && (rule->kind == NULL || rule->kind == check->kind);
}

/* Lists what the rules allow: the kinds of the table, or the fields of the record's kind. */
static void append_allowed(struct check *check, bool is_kinds)
{
	const char *before = "; allowed: ";
	const char *last = "";

	for (const struct directory_rule *rule = rules_of(check); rule->value != 0; rule++) {
		const char *word = is_kinds ? rule->kind : rule->name;

		if (word == NULL || !(is_kinds || rule_applies(check, rule)) ||
		    strcmp(word, last) == 0)
			continue;
		buffer_append_format(&check->reason, "%s%s", before, word);
		before = ", ";
		last = word;
	}
	if (last[0] == '\0')
		buffer_append_string(&check->reason, "; there are no fields");
}

static int check_key(struct check *check, struct str *key_out)
{
	static const char *const allowed[DIRECTORY_LISTED_TABLES] = {
		[DIRECTORY_DOMAIN] = "a domain",
		[DIRECTORY_ADDRESS] = "LOCAL@DOMAIN or @DOMAIN",
		[DIRECTORY_MEMBER] = "two addresses with a space between, LIST and MEMBER",
		[DIRECTORY_USER] = "a local part or an address",
		[DIRECTORY_SERVER] = "a local part or an address",
		[DIRECTORY_NODE] = "a host name of at most 64 of a-z, 0-9, - and .",
		[DIRECTORY_MEMBERSHIP] = "two addresses with a space between, MEMBER and LIST",
	};
	const struct directory_key *key = &check->input->key;

	if (key->table == DIRECTORY_NO_TABLE || key->table >= DIRECTORY_LISTED_TABLES)
		return refuse_record(check,
				     "there is no such table; allowed: domain, address, member, "
				     "user, server, node");
	buffer_reset(&check->scratch);
	if (directory_key_normalize(key->table, key->name, &check->scratch) < 0) {
		(void)append_found_text(check, "the key", key->name);
		return refuse_record(check, " is none of table %s; allowed: %s",
				     directory_table_name(key->table), allowed[key->table]);
	}
	*key_out = arena_copy_str(check->arena, buffer_view(&check->scratch));
	return 0;
}

static int check_record_kind(struct check *check)
{
	struct str kind = directory_record_field(check->input, "kind");

	if (!(check->input->key.table == DIRECTORY_DOMAIN ||
	      check->input->key.table == DIRECTORY_ADDRESS))
		return 0;
	check->kind = directory_kind_find(check->input->key.table, kind);
	if (check->kind != NULL)
		return 0;
	if (kind.length == 0)
		(void)refuse_record(check, "field kind is missing");
	else
		(void)append_found_text(check, "field kind is", kind);
	append_allowed(check, true);
	return -EINVAL;
}

static bool is_known_field_name(const struct check *check, struct str name)
{
	for (const struct directory_rule *rule = rules_of(check); rule->value != 0; rule++)
		if (rule_applies(check, rule) && str_equal(str_from(rule->name), name))
			return true;
	return false;
}

static int check_field_names(struct check *check)
{
	const struct directory_record *input = check->input;

	if (input->field_count > DIRECTORY_FIELDS_MAX)
		return refuse_record(check, "there are %zu fields; allowed: at most %d",
				     input->field_count, DIRECTORY_FIELDS_MAX);
	for (size_t i = 0; i < input->field_count; i++) {
		if (is_known_field_name(check, input->fields[i].name))
			continue;
		(void)append_found_text(check, "there is no field", input->fields[i].name);
		if (check->kind != NULL)
			(void)refuse_record(check, " of kind %s", check->kind);
		append_allowed(check, false);
		return -EINVAL;
	}
	return 0;
}

static int take_field_value(struct check *check, const struct directory_rule *rule,
			    struct str value)
{
	struct directory_field *field = &check->fields[check->field_count];
	int error = value.length > DIRECTORY_FIELD_MAX ? -EINVAL : 0;

	buffer_reset(&check->scratch);
	if (rule->value == DIRECTORY_VALUE_KIND)
		buffer_append_str(&check->scratch, value);
	else if (error == 0)
		error = directory_value_normalize(rule->value, value, &check->scratch);
	if (error < 0) {
		(void)refuse_record(check, "field %s", rule->name);
		if (rule->value == DIRECTORY_VALUE_PASSWORD) /* nobody else is to see it */
			(void)refuse_record(check, " is not right");
		else
			(void)append_found_text(check, " is", value);
		return refuse_record(check, "; allowed: %s", directory_value_allowed(rule->value));
	}
	field->name = str_from(rule->name);
	field->value = arena_copy_str(check->arena, buffer_view(&check->scratch));
	check->field_count++;
	return 0;
}

static int check_field_rule(struct check *check, const struct directory_rule *rule)
{
	const struct directory_record *input = check->input;
	size_t count = 0;

	for (size_t i = 0; i < input->field_count; i++) {
		if (!str_equal(str_from(rule->name), input->fields[i].name))
			continue;
		if (++count > 1 && !(rule->flags & DIRECTORY_RULE_SEVERAL))
			return refuse_record(check, "field %s comes again; allowed: once",
					     rule->name);
		if (take_field_value(check, rule, input->fields[i].value) < 0)
			return -EINVAL;
	}
	if (count == 0 && (rule->flags & DIRECTORY_RULE_REQUIRED))
		return refuse_record(check, "field %s is missing; allowed: %s", rule->name,
				     directory_value_allowed(rule->value));
	return 0;
}

static bool has_record_kind(const struct check *check, const char *kind)
{
	return check->kind != NULL && strcmp(check->kind, kind) == 0;
}

/* Checks what involves more than one field. */
static int check_whole(struct check *check, const struct directory_record *record)
{
	struct str target = directory_record_field(record, "target");
	struct str list;
	struct str member;

	if (has_record_kind(check, "alias") && str_equal(target, record->key.name))
		return refuse_record(check,
				     "field target is the record's own key; allowed: another");
	if (has_record_kind(check, "list") && record->key.name.data[0] == '@')
		return refuse_record(check,
				     "field kind is \"list\" for a whole domain; allowed: a list "
				     "with an address of its own");
	if (directory_record_field(record, "service").length > 0 &&
	    directory_record_field(record, "user").length > 0)
		return refuse_record(
			check, "there are both fields service and user; allowed: one of them");
	if (!directory_table_has_pairs(record->key.table))
		return 0;
	directory_key_member(record->key.name, &list, &member);
	if (str_equal(list, member))
		return refuse_record(check, "the list is its own member; allowed: another address");
	return 0;
}

static int check_all(struct check *check, struct directory_record *record_out)
{
	struct directory_record record = {.key.table = check->input->key.table};

	if (check_key(check, &record.key.name) < 0 || check_record_kind(check) < 0 ||
	    check_field_names(check) < 0)
		return -EINVAL;
	check->fields =
		arena_alloc(check->arena, check->input->field_count * sizeof *check->fields);
	for (const struct directory_rule *rule = rules_of(check); rule->value != 0; rule++)
		if (rule_applies(check, rule) && check_field_rule(check, rule) < 0)
			return -EINVAL;
	record.fields = check->fields;
	record.field_count = check->field_count;
	if (check_whole(check, &record) < 0)
		return -EINVAL;
	*record_out = record;
	return 0;
}

int directory_record_check(const struct directory_record *input, struct arena *arena,
			   struct directory_record *record_out, const char **reason_out)
{
	struct check check = {.input = input, .arena = arena};
	int error = check_all(&check, record_out);

	if (error < 0)
		*reason_out = arena_copy(arena, buffer_view(&check.reason));
	buffer_clear(&check.scratch);
	buffer_clear(&check.reason);
	return error;
}
