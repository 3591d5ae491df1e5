// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/fuzz_bulk.c - a file of any text in any of the forms: records that come back
 * the same by JSON and CSV, and by their own form where that has them; or problems, each told.
 */
#include "base/panic.h"
#include "directory/bulk/writer.h"
#include "input.h"
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct bulk_reader *open_text(enum bulk_format format, struct str text,
				     const struct bulk_settings *settings)
{
	static int file = -1;
	struct bulk_reader *reader;

	if (file < 0)
		file = memfd_create("fuzz", 0);
	if (file < 0 || ftruncate(file, 0) < 0 || lseek(file, 0, SEEK_SET) < 0 ||
	    write(file, text.data, text.length) != (ssize_t)text.length ||
	    lseek(file, 0, SEEK_SET) < 0)
		panic("no file");
	if (bulk_reader_new(format, "f", file, settings, &reader) < 0)
		panic("no reader");
	return reader;
}

static void check_same(const struct directory_record *a, const struct directory_record *b)
{
	check_equal(a->key.name, b->key.name, "key");
	if (a->key.table != b->key.table || a->field_count != b->field_count)
		panic("another record comes back");
	for (size_t i = 0; i < a->field_count; i++) {
		check_equal(a->fields[i].name, b->fields[i].name, "name");
		check_equal(a->fields[i].value, b->fields[i].value, "value");
	}
}

/* Written in FORMAT, RECORD reads back as it was. */
static void check_round(enum bulk_format format, const struct directory_record *record)
{
	const struct bulk_settings settings = {.domain = NULL};
	struct buffer text = {0};
	struct bulk_reader *reader;
	struct bulk_entry entry;

	bulk_write_head(format, &text);
	if (bulk_write(format, record, &settings, &text) == NULL &&
	    !bulk_write_is_list(format, record)) {
		reader = open_text(format, buffer_view(&text), &settings);
		if (bulk_reader_next(reader, &entry) != 1)
			panic("refused: " STR_FORMAT, STR_ARGUMENTS(entry.problem));
		check_same(record, &entry.record);
		if (bulk_reader_next(reader, &entry) != 0)
			panic("more comes back");
		bulk_reader_free(reader);
	}
	buffer_clear(&text);
}

static struct directory_record records[64];

/* The records of TEXT, copied into ARENA; their count. */
static size_t read_all(enum bulk_format format, struct str text, struct arena *arena)
{
	static const struct bulk_settings settings = {.domain = "d.example", .service = "s"};
	struct bulk_reader *reader = open_text(format, text, &settings);
	struct bulk_entry entry;
	size_t count = 0;
	size_t entries = 0;
	int result;

	while ((result = bulk_reader_next(reader, &entry)) != 0) {
		if (result < 0 && (result != -EBADMSG || entry.problem.length == 0))
			panic("%d without a problem", result);
		if (entry.line == 0 || entry.line > bulk_reader_lines(reader))
			panic("line %u of %u", entry.line, bulk_reader_lines(reader));
		if (result > 0 && count < COUNT_OF(records))
			records[count++] = directory_record_copy(arena, &entry.record);
		if (++entries > text.length)
			panic("more entries than bytes");
	}
	bulk_reader_free(reader);
	return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = {{(const char *)data, size}};
	enum bulk_format format = input_byte(&input) % BULK_FORMATS;
	struct arena *arena = arena_new();
	size_t count = read_all(format, input.rest, arena);

	for (size_t i = 0; i < count; i++) {
		check_round(BULK_JSON, &records[i]);
		check_round(BULK_CSV, &records[i]);
		if (format == BULK_POSTFIX && records[i].key.table == DIRECTORY_ADDRESS)
			check_round(BULK_POSTFIX, &records[i]);
	}
	arena_free(arena);
	return 0;
}
