// SPDX-License-Identifier: ISC
#include "queue/due.h"
#include "base/panic.h"
#include "os/file/file.h"
#include "queue/internal.h"
#include <errno.h>
#include <stdlib.h>

static const char path_whole[] = "intd/due";
static const char path_new[] = "intd/due.new";

enum {
	DUE_PIECE = 64 * 1024,        /* written or read at a time */
	LINE_MAX_BYTES = 64,          /* more than two numbers need */
	ITEMS_MAX = 16 * 1024 * 1024, /* of one directory; 256 MiB */
};

/* --- writing --- */

void queue_due_drop(struct queue_due_writer *writer)
{
	if (writer->offset > 0)
		os_file_close(writer->file);
	buffer_clear(&writer->lines);
	*writer = (struct queue_due_writer){0};
}

void queue_due_begin(struct queue_due_writer *writer, const struct queue_store *store)
{
	queue_due_drop(writer);
	writer->store = store;
	writer->is_begun = true;
}

static int unlink_any(const struct queue_store *store, const char *path)
{
	int result = os_file_unlink(queue_store_directory(store), path);

	return result == -ENOENT ? 0 : result;
}

static int open_new(struct queue_due_writer *writer)
{
	int result = unlink_any(writer->store, path_new);

	if (result == 0)
		result = os_file_open(queue_store_directory(writer->store), path_new,
				      OS_FILE_WRITE | OS_FILE_CREATE);
	writer->file = result;
	return result < 0 ? result : 0;
}

/* Writes the bytes out at once: otherwise the next commit of the filesystem would have to, and new
 * mail waits for that. */
static int write_lines(struct queue_due_writer *writer)
{
	struct str lines = buffer_view(&writer->lines);
	int result = writer->offset == 0 ? open_new(writer) : 0;

	if (result == 0) {
		result = os_file_write(writer->file, lines.data, lines.length, writer->offset);
		writer->offset += lines.length;
		buffer_reset(&writer->lines);
	}
	if (result == 0)
		os_file_write_out_many(&writer->file, 1, &result);
	if (result < 0)
		queue_due_drop(writer);
	return result;
}

int queue_due_add(struct queue_due_writer *writer, uint64_t number, int64_t due_us)
{
	if (!writer->is_begun || due_us < 0)
		return 0;
	buffer_append_number(&writer->lines, number);
	buffer_append_byte(&writer->lines, ' ');
	buffer_append_number(&writer->lines, (uint64_t)due_us);
	buffer_append_byte(&writer->lines, '\n');
	return writer->lines.length >= DUE_PIECE ? write_lines(writer) : 0;
}

int queue_due_end(struct queue_due_writer *writer)
{
	const struct queue_store *store = writer->store;
	int result = 0;

	if (writer->is_begun && writer->lines.length > 0)
		result = write_lines(writer);
	if (writer->offset > 0)
		result = os_file_rename(queue_store_directory(store), path_new, path_whole);
	else if (writer->is_begun)
		result = unlink_any(store, path_whole);
	queue_due_drop(writer);
	return result;
}

/* --- reading --- */

void queue_due_close(struct queue_due_reader *reader)
{
	if (reader->is_open)
		os_file_close(reader->file);
	buffer_clear(&reader->text);
	free(reader->items);
	*reader = (struct queue_due_reader){0};
}

int queue_due_open(struct queue_due_reader *reader, const struct queue_store *store)
{
	int file = os_file_open(queue_store_directory(store), path_whole, OS_FILE_READ);

	queue_due_close(reader);
	if (file < 0)
		return file;
	reader->store = store;
	reader->is_open = true;
	reader->file = file;
	reader->x = UINT32_MAX; /* none has been read yet */
	return 0;
}

/* Reads more of the text. False at its end, or after an error. */
static bool read_more(struct queue_due_reader *reader)
{
	ssize_t length = os_file_read(reader->file, buffer_reserve(&reader->text, DUE_PIECE),
				      DUE_PIECE, reader->offset);

	if (length <= 0)
		return false;
	buffer_commit(&reader->text, (size_t)length);
	reader->offset += (size_t)length;
	return true;
}

/* The next line, which stays in the buffer. False at the end; a malformed line ends the list. */
static bool next_due_line(struct queue_due_reader *reader, struct queue_due *due_out,
			  size_t *length_out)
{
	struct str text = buffer_view(&reader->text);
	ptrdiff_t end = str_find(text, '\n');
	struct str number;
	struct str rest;
	uint64_t due_us;

	if (end < 0 && text.length < LINE_MAX_BYTES && read_more(reader)) {
		text = buffer_view(&reader->text);
		end = str_find(text, '\n');
	}
	if (end < 0)
		return false;
	rest = str_slice(text.data, (size_t)end);
	*length_out = (size_t)end + 1;
	if (!str_split(&rest, ' ', &number) || !str_to_u64(number, &due_out->number) ||
	    !str_to_u64(rest, &due_us) || due_us > INT64_MAX)
		return false;
	due_out->due_us = (int64_t)due_us;
	return true;
}

static int compare_due_numbers(const void *a, const void *b)
{
	uint64_t left = ((const struct queue_due *)a)->number;
	uint64_t right = ((const struct queue_due *)b)->number;

	return (left > right) - (left < right);
}

/* Reads the lines of the next directory. */
static void read_directory(struct queue_due_reader *reader)
{
	struct queue_due due;
	size_t length;

	reader->count = 0;
	while (!reader->is_at_end) {
		reader->is_at_end =
			reader->count >= ITEMS_MAX || !next_due_line(reader, &due, &length);
		if (reader->is_at_end)
			break;
		if (reader->count == 0)
			reader->x = (uint32_t)(due.number % reader->store->split);
		else if (due.number % reader->store->split != reader->x)
			break;
		reader->items = memory_grow(reader->items, reader->count, &reader->capacity,
					    sizeof *reader->items);
		reader->items[reader->count++] = due;
		buffer_consume(&reader->text, length);
	}
	if (reader->count > 1)
		qsort(reader->items, reader->count, sizeof *reader->items, compare_due_numbers);
}

bool queue_due_find(struct queue_due_reader *reader, uint64_t number, int64_t *due_us_out)
{
	const struct queue_due key = {.number = number};
	const struct queue_due *found;
	uint32_t x;

	if (!reader->is_open)
		return false;
	x = (uint32_t)(number % reader->store->split);
	while (!reader->is_at_end && (reader->x == UINT32_MAX || reader->x < x))
		read_directory(reader);
	if (reader->x != x || reader->count == 0)
		return false;
	found = bsearch(&key, reader->items, reader->count, sizeof key, compare_due_numbers);
	if (found != NULL)
		*due_us_out = found->due_us;
	return found != NULL;
}
