// SPDX-License-Identifier: ISC
/*
 * queue/due.h - when the messages at S5 are due, in one file: intd/due, with a line for each
 * message, "NUMBER MICROSECONDS" (wall clock time), grouped by the directories of info/.
 *
 * The authoritative times are those of the control files. But the kernel needs ten seconds to stat
 * a million files that are not cached, and one second to read this list. So each complete scan
 * writes it, without a sync, and the first scan of the next process uses it until it has looked at
 * the files themselves. A list that is old, torn or lost costs time, and nothing else.
 */
#ifndef QUEUE_DUE_H
#define QUEUE_DUE_H

#include "base/buffer.h"
#include "queue/store.h"

/* A list being written, as intd/due.new. Storage of the caller, zeroed. */
struct queue_due_writer {
	const struct queue_store *store;
	bool is_begun;
	struct buffer lines; /* not written yet */
	uint64_t offset;     /* 0: no file has been created yet */
	int file;
};

/* Begins a new list; discards an unfinished one. */
void queue_due_begin(struct queue_due_writer *writer, const struct queue_store *store);
/* Adds a message, in the order of queue_walk_next(). No error if no list was begun. An error
 * discards the list. */
MUST_CHECK int queue_due_add(struct queue_due_writer *writer, uint64_t number, int64_t due_us);
/* The list replaces the last one; for an empty list the file is removed. */
MUST_CHECK int queue_due_end(struct queue_due_writer *writer);
/* Discards an unfinished list. */
void queue_due_drop(struct queue_due_writer *writer);

struct queue_due {
	uint64_t number;
	int64_t due_us;
};

/* A list being read. Storage of the caller, zeroed. */
struct queue_due_reader {
	const struct queue_store *store;
	bool is_open;
	struct buffer text;
	uint64_t offset;
	int file;
	bool is_at_end;
	struct queue_due *items; /* [count], owned: those of directory X, by number */
	size_t count;
	size_t capacity;
	uint32_t x;
};

/* -ENOENT: there is no list. */
MUST_CHECK int queue_due_open(struct queue_due_reader *reader, const struct queue_store *store);
/* When NUMBER is due according to the list; false: not listed. Numbers must be asked for
 * directory by directory, as queue_walk_next() returns them. */
bool queue_due_find(struct queue_due_reader *reader, uint64_t number, int64_t *due_us_out);
void queue_due_close(struct queue_due_reader *reader);

#endif
