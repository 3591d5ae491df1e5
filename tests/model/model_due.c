// SPDX-License-Identifier: ISC
/* intd/due: sometimes it is old, not there, or says what never was. */
#include "model.h"
#include "queue/due.h"
#include <errno.h>
#include <string.h>

enum { LOST = 6, LIES = 10, PLACES = 2048 }; /* once in so many; two in one place: one is lost */

static struct queue_due whole[PLACES];
static struct queue_due begun[PLACES];
static bool is_there;

void queue_due_begin(struct queue_due_writer *writer, const struct queue_store *store)
{
	model_check_store(store);
	queue_due_drop(writer);
	memset(begun, 0, sizeof begun);
	writer->is_begun = !model_once_in(LOST);
}

int queue_due_add(struct queue_due_writer *writer, uint64_t number, int64_t due_us)
{
	if (writer->is_begun)
		begun[number % PLACES] = (struct queue_due){number, due_us};
	return 0;
}

int queue_due_end(struct queue_due_writer *writer)
{
	if (writer->is_begun)
		memcpy(whole, begun, sizeof whole);
	is_there |= writer->is_begun;
	queue_due_drop(writer);
	return 0;
}

void queue_due_drop(struct queue_due_writer *writer)
{
	*writer = (struct queue_due_writer){0};
}

int queue_due_open(struct queue_due_reader *reader, const struct queue_store *store)
{
	model_check_store(store);
	if (!is_there || model_once_in(LOST))
		return -ENOENT;
	reader->is_open = true;
	return 0;
}

bool queue_due_find(struct queue_due_reader *reader, uint64_t number, int64_t *due_us_out)
{
	const struct queue_due *due = &whole[number % PLACES];

	if (!reader->is_open || due->number != number)
		return false;
	*due_us_out = due->due_us;
	if (model_once_in(LIES))
		*due_us_out = model_wall_us + (int64_t)model_random(2 * DAY_US) - DAY_US;
	return true;
}

void queue_due_close(struct queue_due_reader *reader)
{
	*reader = (struct queue_due_reader){0};
}
