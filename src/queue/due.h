// SPDX-License-Identifier: ISC
/*
 * queue/due.h - when the messages at S5 are due, all in one file: intd/due, a line for each,
 * "NUMBER MICROSECONDS" (by the time of day), a directory of info/ after the other.
 *
 * The times of the control files are what counts. But to look at a million files that are not in
 * memory takes the kernel ten seconds, to read this list one. So a whole scan writes it, without
 * a sync, and the first scan of the next process believes it until it has looked at the files
 * themselves: a list that is old, torn or lost costs time, and nothing else.
 */
#ifndef QUEUE_DUE_H
#define QUEUE_DUE_H

#include "base/buffer.h"
#include "queue/store.h"

/* The list while it is written, as intd/due.new. Storage of the caller, zeroed. */
struct queue_due_writer {
	const struct queue_store *store;
	bool is_begun;
	struct buffer lines; /* not written yet */
	uint64_t offset;     /* 0: there is no file yet */
	int file;
};

/* Begins a new list; what was begun before is dropped. */
void queue_due_begin(struct queue_due_writer *writer, const struct queue_store *store);
/* Adds a message, in the order of queue_walk_next(). No error where nothing is begun. After
 * an error nothing is. */
MUST_CHECK int queue_due_add(struct queue_due_writer *writer, uint64_t number, int64_t due_us);
/* The list takes the place of the last one; an empty one is no file. */
MUST_CHECK int queue_due_end(struct queue_due_writer *writer);
/* Forgets what was begun. */
void queue_due_drop(struct queue_due_writer *writer);

struct queue_due {
	uint64_t number;
	int64_t due_us;
};

/* The list while it is read. Storage of the caller, zeroed. */
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

/* -ENOENT: there is none. */
MUST_CHECK int queue_due_open(struct queue_due_reader *reader, const struct queue_store *store);
/* When the list says that NUMBER is due; false: it does not. Numbers are asked for a directory
 * after the other, as queue_walk_next() gives them. */
bool queue_due_find(struct queue_due_reader *reader, uint64_t number, int64_t *due_us_out);
void queue_due_close(struct queue_due_reader *reader);

#endif
