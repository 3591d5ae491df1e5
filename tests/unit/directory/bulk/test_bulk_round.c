// SPDX-License-Identifier: ISC
/* What is written is read again as it was: records by chance (random_record.h). */
#include "directory/bulk/reader.h"
#include "directory/bulk/writer.h"
#include "random_record.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ROUNDS = 2000, TARGETS = 6 };

/* --- reading again --- */

static struct bulk_reader *read_text(enum bulk_format format, const struct buffer *text,
				     const struct bulk_settings *settings, int *file_out)
{
	struct bulk_reader *reader = NULL;
	int file = memfd_create("round", 0);

	assert_int_equal(write(file, buffer_data(text), text->length), (ssize_t)text->length);
	assert_int_equal(lseek(file, 0, SEEK_SET), 0);
	assert_int_equal(bulk_reader_new(format, "FILE", file, settings, &reader), 0);
	*file_out = file;
	return reader;
}

static bool is_same(const struct directory_record *a, const struct directory_record *b)
{
	if (a->key.table != b->key.table || !str_equal(a->key.name, b->key.name) ||
	    a->field_count != b->field_count)
		return false;
	for (size_t i = 0; i < a->field_count; i++)
		if (!str_equal(a->fields[i].name, b->fields[i].name) ||
		    !str_equal(a->fields[i].value, b->fields[i].value))
			return false;
	return true;
}

static void expect_record(struct bulk_reader *reader, const struct directory_record *record,
			  const struct buffer *text)
{
	struct bulk_entry entry;
	int result = bulk_reader_next(reader, &entry);

	if (result == 1 && is_same(&entry.record, record))
		return;
	fail_msg("%d " STR_FORMAT " of " STR_FORMAT, result, STR_ARGUMENTS(entry.problem),
		 STR_ARGUMENTS(buffer_view(text)));
}

/* --- all records, in the forms that say everything --- */

static void check_whole(enum bulk_format format)
{
	const struct bulk_settings settings = {.domain = NULL};
	struct arena *arena = arena_new();
	struct directory_record records[ROUNDS];
	struct bulk_reader *reader;
	struct bulk_entry entry;
	struct buffer text = {0};
	size_t count = 0;
	int file;

	bulk_write_head(format, &text);
	for (int i = 0; i < ROUNDS; i++) {
		if (!random_record(arena, &records[count]))
			continue;
		assert_null(bulk_write(format, &records[count], &settings, &text));
		count++;
	}
	assert_true(count > ROUNDS / 2);
	reader = read_text(format, &text, &settings, &file);
	for (size_t i = 0; i < count; i++)
		expect_record(reader, &records[i], &text);
	assert_int_equal(bulk_reader_next(reader, &entry), 0);
	bulk_reader_free(reader);
	close(file);
	buffer_clear(&text);
	arena_free(arena);
}

static void test_whole(void **state)
{
	(void)state;
	check_whole(BULK_JSON);
	check_whole(BULK_CSV);
	assert_null(random_record_unused());
}

/* --- one at a time, in the others --- */

/* As it comes back: without its source, a forward where it was an alias, without defaults that are
 * written out ("verp no"). */
static void reduce(struct arena *arena, struct directory_record *record, bool keeps_alias)
{
	struct directory_field *fields = arena_alloc(arena, record->field_count * sizeof *fields);
	size_t count = 0;

	for (size_t i = 0; i < record->field_count; i++) {
		fields[count] = record->fields[i];
		if (!keeps_alias && str_equal(fields[count].value, STR("alias")))
			fields[count].value = STR("forward");
		if (!str_equal(fields[count].name, STR("source")) &&
		    !str_equal(fields[count].name, STR("verp")) &&
		    !str_equal(fields[count].name, STR("post")) &&
		    !str_equal(fields[count].name, STR("state")))
			count++;
	}
	record->fields = fields;
	record->field_count = count;
}

/* The list's members and its owner's own alias behind it. */
static size_t write_members(struct arena *arena, const struct directory_record *list,
			    struct directory_record *members, struct buffer *text)
{
	size_t count = 0;

	for (unsigned i = random_pick(TARGETS); i > 0; i--) {
		struct directory_record input = {.key.table = DIRECTORY_MEMBER};
		struct buffer key = {0};
		const char *reason;

		buffer_append_str(&key, list->key.name);
		buffer_append_byte(&key, ' ');
		buffer_append_str(&key, random_address(arena));
		input.key.name = arena_copy_str(arena, buffer_view(&key));
		buffer_clear(&key);
		if (directory_record_check(&input, arena, &members[count], &reason) < 0)
			continue;
		bulk_write_member(str_skip(members[count].key.name, list->key.name.length + 1),
				  count == 0, text);
		count++;
	}
	bulk_write_list_end(text);
	buffer_append_str(text, directory_record_field(list, "owner"));
	buffer_append_string(text, ": x@e.example\n");
	return count;
}

/* Whether the form has it, and then that it comes back. */
static bool check_one(enum bulk_format format, struct arena *arena, struct directory_record *record)
{
	const struct bulk_settings settings = {.domain = "d.example", .service = "maildir"};
	struct directory_record members[TARGETS];
	struct buffer text = {0};
	struct bulk_reader *reader;
	size_t count = 0;
	int file;
	bool is_list = bulk_write_is_list(format, record);

	if (bulk_write(format, record, &settings, &text) != NULL) {
		assert_int_equal(text.length, 0);
		return false;
	}
	if (is_list)
		count = write_members(arena, record, members, &text);
	reduce(arena, record, record->key.table == DIRECTORY_DOMAIN);
	reader = read_text(format, &text, &settings, &file);
	expect_record(reader, record, &text);
	for (size_t i = 0; i < count; i++)
		expect_record(reader, &members[i], &text);
	bulk_reader_free(reader);
	close(file);
	buffer_clear(&text);
	return true;
}

static void test_others(void **state)
{
	size_t written[BULK_FORMATS] = {0};

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		for (unsigned format = BULK_ALIASES; format < BULK_FORMATS; format++) {
			struct arena *arena = arena_new();
			struct directory_record record;

			if (random_record(arena, &record) && check_one(format, arena, &record))
				written[format]++;
			arena_free(arena);
		}
	}
	for (unsigned format = BULK_ALIASES; format < BULK_FORMATS; format++)
		assert_true(written[format] > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_others),
	};

	random_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
