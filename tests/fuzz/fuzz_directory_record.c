// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/fuzz_directory_record.c - the check of records: a byte for the table, the
 * key, then names and values of fields. What is taken is taken again and stays as it is;
 * what is not has a reason of one line.
 */
#include "base/panic.h"
#include "directory/record/record.h"
#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FIELDS_MAX = 8 };

static void check_again(struct arena *arena, const struct directory_record *record)
{
	struct directory_record again;
	const char *reason;

	if (directory_record_check(record, arena, &again, &reason) < 0)
		panic("a record that was taken is not: %s", reason);
	check_equal(record->key.name, again.key.name, "keys");
	if (record->field_count != again.field_count)
		panic("fields come and go");
	for (size_t i = 0; i < again.field_count; i++) {
		check_equal(record->fields[i].name, again.fields[i].name, "names");
		check_equal(record->fields[i].value, again.fields[i].value, "values");
		if (again.fields[i].value.length > DIRECTORY_FIELD_MAX)
			panic("a value over its bound");
	}
}

static void check_reason(const char *reason)
{
	struct str text = str_from(reason);

	if (text.length == 0 || text.length > 500)
		panic("a reason of %zu bytes", text.length);
	for (size_t i = 0; i < text.length; i++)
		if ((unsigned char)text.data[i] < ' ')
			panic("a reason has a control character");
}

/* The short way agrees with the long one, which said TAKEN and made CHECKED of RECORD. */
static void check_form(const struct directory_record *record, bool is_taken,
		       const struct directory_record *checked)
{
	struct buffer scratch = {0};

	if (directory_record_is_in_form(record, false, &scratch)) {
		if (!is_taken || record->field_count != checked->field_count)
			panic("a record in its form is refused, or another");
		check_equal(record->key.name, checked->key.name, "keys in form");
		for (size_t i = 0; i < record->field_count; i++) {
			check_equal(record->fields[i].name, checked->fields[i].name,
				    "names in form");
			check_equal(record->fields[i].value, checked->fields[i].value,
				    "values in form");
		}
	}
	buffer_clear(&scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = {{(const char *)data, size}};
	struct directory_field fields[FIELDS_MAX];
	struct directory_record record = {.fields = fields};
	struct directory_record checked;
	struct arena *arena = arena_new();
	const char *reason = "";
	bool is_taken;

	record.key.table = input_byte(&input) % (DIRECTORY_TABLES + 1);
	record.key.name = input_text(&input);
	while (input.rest.length > 0 && record.field_count < FIELDS_MAX) {
		fields[record.field_count].name = input_text(&input);
		fields[record.field_count++].value = input_text(&input);
	}
	is_taken = directory_record_check(&record, arena, &checked, &reason) == 0;
	check_form(&record, is_taken, &checked);
	if (is_taken) {
		check_form(&checked, true, &checked);
		check_again(arena, &checked);
	} else {
		check_reason(reason);
	}
	arena_free(arena);
	return 0;
}
