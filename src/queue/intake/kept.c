// SPDX-License-Identifier: ISC
/*
 * Files that no other process has ever had open: only these are reused.
 *
 * That is known only of messages that were written here by value, and only while it is remembered:
 * a file of which nothing is known is removed at its end. So any other fault (a lost number, a new
 * process, a file put there by hand) costs a new file, and never shows a message to somebody else.
 */
#include "base/panic.h"
#include "base/table.h"
#include "os/file/file.h"
#include "queue/internal.h"
#include <stdlib.h>

enum { KEPT_MAX = 64 * 1024 }; /* about 6 MiB */

struct queue_kept {
	uint64_t number;
	uint64_t size; /* only this process writes to it */
	int file;      /* -1: closed meanwhile */
	UT_hash_handle hh;
};

static void open_is_over(struct queue_kept_list *list, struct queue_kept *kept)
{
	while (list->oldest_open != NULL &&
	       (list->oldest_open == kept || list->oldest_open->file < 0))
		list->oldest_open = list->oldest_open->hh.next;
	list->open_count -= kept->file >= 0;
}

/* Its descriptor, which the caller owns from now on. */
static int forget_kept_data(struct queue_kept_list *list, struct queue_kept *kept)
{
	int file = kept->file;

	open_is_over(list, kept);
	HASH_DELETE(hh, list->by_number, kept);
	free(kept);
	return file;
}

static int take_descriptor(struct queue_kept_list *list, struct queue_kept *kept)
{
	int file = kept->file;

	open_is_over(list, kept);
	kept->file = -1;
	return file;
}

static void add_kept_data(struct queue_kept_list *list, const struct queue_spare *data)
{
	struct queue_kept *kept = memory_alloc(sizeof *kept);

	*kept = (struct queue_kept){.number = data->number, .size = data->size, .file = data->file};
	HASH_ADD(hh, list->by_number, number, sizeof kept->number, kept);
	if (list->oldest_open == NULL)
		list->oldest_open = kept;
	list->open_count++;
}

void queue_kept_put(struct queue_intake *intake, const struct queue_spare *data)
{
	struct queue_kept_list *list = &intake->kept;
	struct queue_kept *kept;
	int closed[2] = {-1, data->file}; /* after the mutex is released */

	pthread_mutex_lock(&intake->mutex);
	HASH_FIND(hh, list->by_number, &data->number, sizeof data->number, kept);
	if (kept == NULL && data->file >= 0 && HASH_COUNT(list->by_number) >= KEPT_MAX)
		kept = list->by_number; /* the oldest */
	if (kept != NULL)
		closed[0] = forget_kept_data(list, kept);
	if (data->file >= 0 && intake->options.spares > 0) {
		add_kept_data(list, data);
		closed[1] = list->open_count > intake->options.spares
				    ? take_descriptor(list, list->oldest_open)
				    : -1;
	}
	pthread_mutex_unlock(&intake->mutex);
	os_file_close(closed[0]);
	os_file_close(closed[1]);
}

void queue_kept_close(struct queue_intake *intake, uint64_t number)
{
	struct queue_kept *kept;
	int file = -1;

	pthread_mutex_lock(&intake->mutex);
	HASH_FIND(hh, intake->kept.by_number, &number, sizeof number, kept);
	if (kept != NULL)
		file = take_descriptor(&intake->kept, kept);
	pthread_mutex_unlock(&intake->mutex);
	os_file_close(file);
}

void queue_kept_close_all(struct queue_intake *intake)
{
	struct queue_kept_list *list = &intake->kept;

	pthread_mutex_lock(&intake->mutex);
	while (list->oldest_open != NULL)
		os_file_close(take_descriptor(list, list->oldest_open));
	pthread_mutex_unlock(&intake->mutex);
}

bool queue_kept_take(struct queue_intake *intake, uint64_t number, struct queue_spare *spare_out)
{
	struct queue_kept *kept;

	pthread_mutex_lock(&intake->mutex);
	HASH_FIND(hh, intake->kept.by_number, &number, sizeof number, kept);
	if (kept != NULL) {
		*spare_out = (struct queue_spare){.number = number, .size = kept->size};
		spare_out->file = forget_kept_data(&intake->kept, kept);
	}
	pthread_mutex_unlock(&intake->mutex);
	return kept != NULL;
}

void queue_kept_clear(struct queue_intake *intake)
{
	struct queue_kept *kept;
	struct queue_kept *next;

	HASH_ITER (hh, intake->kept.by_number, kept, next)
		os_file_close(forget_kept_data(&intake->kept, kept));
}
