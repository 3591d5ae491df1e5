// SPDX-License-Identifier: ISC
#include "command/directory/teller.h"
#include "base/text/json.h"
#include "command/command.h"
#include "command/directory/print.h"
#include "directory/record/key.h"
#include "mail/text/text.h"
#include <stdio.h>

enum { PROGRESS_WIDTH = 40 };

static const char *const VERBS[BULK_EVENTS] = {
	[BULK_BAD] = "wrong",      [BULK_KEPT] = "keep", [BULK_REFUSED] = "refuse",
	[BULK_DIFFERS] = "differ", [BULK_ADDED] = "add", [BULK_CHANGED] = "change",
	[BULK_REMOVED] = "remove",
};

static void print_lines(struct directory_teller *teller, FILE *out)
{
	directory_teller_end_progress(teller);
	command_write(out, buffer_view(&teller->line));
	buffer_reset(&teller->line);
}

/* --- which fields differ --- */

static bool is_first_of_its_name(const struct directory_record *record, size_t index)
{
	return index == 0 || !str_equal(record->fields[index - 1].name, record->fields[index].name);
}

static bool has_field_named(const struct directory_record *record, struct str name)
{
	return record != NULL && directory_record_find(record, name).length > 0;
}

/* What is printed of two hashes is the same. */
static bool are_fields_equal(const struct directory_record *a, const struct directory_record *b,
			     struct str name)
{
	size_t j = 0;

	for (size_t i = 0; i < a->field_count; i++) {
		if (!str_equal(a->fields[i].name, name))
			continue;
		while (j < b->field_count && !str_equal(b->fields[j].name, name))
			j++;
		if (j == b->field_count || !str_equal(a->fields[i].value, b->fields[j++].value))
			return false;
	}
	while (j < b->field_count && !str_equal(b->fields[j].name, name))
		j++;
	return j == b->field_count;
}

/* Calls EACH for the names of fields that are not the same, in the order of WAS, then of BECOMES.
 */
static void each_difference(const struct bulk_report *report,
			    void (*each)(struct directory_teller *teller,
					 const struct bulk_report *report, struct str name),
			    struct directory_teller *teller)
{
	const struct directory_record *was = report->was;
	const struct directory_record *becomes = report->becomes;

	for (size_t i = 0; was != NULL && i < was->field_count; i++)
		if (is_first_of_its_name(was, i) &&
		    (becomes == NULL || !are_fields_equal(was, becomes, was->fields[i].name)))
			each(teller, report, was->fields[i].name);
	for (size_t i = 0; becomes != NULL && i < becomes->field_count; i++)
		if (is_first_of_its_name(becomes, i) &&
		    !has_field_named(was, becomes->fields[i].name))
			each(teller, report, becomes->fields[i].name);
}

/* --- for people --- */

static void append_values(const struct directory_record *record, struct str name,
			  struct buffer *out)
{
	const char *before = "";

	if (!has_field_named(record, name))
		buffer_append_string(out, "(none)");
	for (size_t i = 0; record != NULL && i < record->field_count; i++) {
		struct buffer value CLEANUP(buffer_clear) = {0};

		if (!str_equal(record->fields[i].name, name))
			continue;
		command_directory_append_value(record->key.table, &record->fields[i], &value);
		buffer_append_string(out, before);
		mail_text_append(out, buffer_view(&value), MAIL_TEXT_8BIT);
		before = ", ";
	}
}

static void append_record_key(const struct directory_key *key, struct buffer *out)
{
	struct buffer shown CLEANUP(buffer_clear) = {0};

	directory_key_display(key->name, &shown);
	buffer_append_format(out, "%s ", directory_table_name(key->table));
	mail_text_append(out, buffer_view(&shown), MAIL_TEXT_8BIT);
}

static void append_difference(struct directory_teller *teller, const struct bulk_report *report,
			      struct str name)
{
	if (report->event == BULK_DIFFERS)
		buffer_append_format(&teller->line, "%s:%u: ", report->file, report->line);
	else
		buffer_append_format(&teller->line, "%s ", VERBS[report->event]);
	append_record_key(report->key, &teller->line);
	buffer_append_format(&teller->line, " " STR_FORMAT ": ", STR_ARGUMENTS(name));
	append_values(report->was, name, &teller->line);
	buffer_append_string(&teller->line, " -> ");
	append_values(report->becomes, name, &teller->line);
	buffer_append_string(&teller->line,
			     report->event == BULK_DIFFERS ? " (left as it is)\n" : "\n");
}

static void tell_people(struct directory_teller *teller, const struct bulk_report *report)
{
	if (report->key == NULL) {
		buffer_append_format(&teller->line, "%s:%u: ", report->file, report->line);
		mail_text_append(&teller->line, report->text, MAIL_TEXT_8BIT);
		buffer_append_byte(&teller->line, '\n');
		print_lines(teller, stderr);
	} else if (report->event == BULK_DIFFERS) {
		each_difference(report, append_difference, teller);
		print_lines(teller, stderr);
	} else if (teller->dry_run) {
		if (report->event == BULK_CHANGED) {
			each_difference(report, append_difference, teller);
		} else {
			buffer_append_format(&teller->line, "%s ", VERBS[report->event]);
			append_record_key(report->key, &teller->line);
			buffer_append_byte(&teller->line, '\n');
		}
		print_lines(teller, stdout);
	}
}

/* --- for programs --- */

static void json_values(const char *word, const struct directory_record *record, struct str name,
			struct buffer *out)
{
	const char *before = "";

	json_field(out, word);
	buffer_append_byte(out, '[');
	for (size_t i = 0; record != NULL && i < record->field_count; i++) {
		struct buffer value CLEANUP(buffer_clear) = {0};

		if (!str_equal(record->fields[i].name, name))
			continue;
		command_directory_append_value(record->key.table, &record->fields[i], &value);
		buffer_append_string(out, before);
		json_append_text(out, buffer_view(&value));
		before = ",";
	}
	buffer_append_byte(out, ']');
}

static void json_difference(struct directory_teller *teller, const struct bulk_report *report,
			    struct str name)
{
	struct str text = buffer_view(&teller->line);

	buffer_append_string(&teller->line, text.data[text.length - 1] == '[' ? "{" : ",{");
	json_field_text(&teller->line, "field", name);
	json_values("was", report->was, name, &teller->line);
	json_values("becomes", report->becomes, name, &teller->line);
	buffer_append_byte(&teller->line, '}');
}

static void tell_program(struct directory_teller *teller, const struct bulk_report *report)
{
	struct buffer *out = &teller->line;

	buffer_append_byte(out, '{');
	json_field_text(out, "event", str_from(VERBS[report->event]));
	if (report->line > 0) {
		json_field_text(out, "file", str_from(report->file));
		json_field_number(out, "line", report->line);
	}
	if (report->key == NULL) {
		json_field_text(out, "text", report->text);
	} else {
		json_field_text(out, "table", str_from(directory_table_name(report->key->table)));
		json_field_text(out, "key", report->key->name);
		json_field(out, "differences");
		buffer_append_byte(out, '[');
		each_difference(report, json_difference, teller);
		buffer_append_byte(out, ']');
	}
	buffer_append_string(out, "}\n");
	print_lines(teller, stdout);
}

void directory_teller_tell(void *context, const struct bulk_report *report)
{
	struct directory_teller *teller = context;

	if (teller->is_quiet || VERBS[report->event] == NULL)
		return;
	if (teller->json)
		tell_program(teller, report);
	else
		tell_people(teller, report);
}

void directory_teller_progress(void *context, const char *what, uint64_t count)
{
	struct directory_teller *teller = context;

	if (!teller->shows_progress || count == 0)
		return;
	fprintf(stderr, "\r%12llu records %s", (unsigned long long)count, what);
	teller->has_progress = true;
}

void directory_teller_end_progress(struct directory_teller *teller)
{
	if (teller->has_progress)
		fprintf(stderr, "\r%*s\r", PROGRESS_WIDTH, "");
	teller->has_progress = false;
}
