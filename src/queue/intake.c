// SPDX-License-Identifier: ISC
#include "base/panic.h"
#include "os/file.h"
#include "queue/internal.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int collect(void *context, const char *name)
{
	struct queue_spare_list *found = context;
	struct queue_spare spare = {.file = -1};

	if (name[0] == 'm' && str_to_u64(str_skip(str_from(name), 1), &spare.number))
		queue_spare_list_add(found, spare);
	return 0;
}

/* A data file whose number is not its inode was copied; one whose message is
 * still in todo/ or info/ after a power failure has not ended. */
static bool has_ended(const struct queue_intake *intake, const struct queue_spare *spare,
		      const struct os_file_info *info)
{
	return info->inode == spare->number &&
	       queue_store_is_live(intake->store, spare->number) == 0 &&
	       queue_store_has(intake->store, QUEUE_BOUNCE, NULL, spare->number) == 0;
}

/* It is removed, after a sync like all others, for the removal of its names need not be
 * durable. It is not used again: whoever the process before us gave it to may still
 * write to it. */
static void load_spare(struct queue_intake *intake, struct queue_spare spare)
{
	struct os_file_info info;
	char path[QUEUE_PATH_SIZE];
	int result;

	queue_spare_path(intake, &spare, path);
	if (os_file_info_at(intake->store->directory, path, &info) < 0 || info.is_directory)
		return;
	if (info.links > 1) {
		/* half a rename: under its other name it is a message or the cleaner's */
		result = os_file_unlink(intake->store->directory, path);
		(void)result;
		return;
	}
	if (!has_ended(intake, &spare, &info))
		return;
	queue_spare_list_add(&intake->quarantine, spare);
}

/* What an earlier process left in pid/. That of an orderly end could be used, but the
 * few files do not matter. */
static int load_spares(struct queue_intake *intake)
{
	struct queue_spare_list found = {0};
	int result = os_file_list(intake->store->directory, "pid", collect, &found);

	for (size_t i = 0; result == 0 && i < found.count; i++)
		load_spare(intake, found.items[i]);
	free(found.items);
	return result;
}

int queue_intake_open(struct queue_store *store, const struct queue_intake_options *options,
		      struct queue_intake **intake_out)
{
	struct queue_intake *intake = memory_alloc_zero(1, sizeof *intake);
	int result = 0;

	intake->store = store;
	intake->options = *options;
	intake->process = getpid();
	intake->next_serial = 1;
	intake->is_unknown = true;
	intake->dirty = memory_alloc_zero((size_t)QUEUE_DIRTY_COUNT * store->split, sizeof(bool));
	pthread_mutex_init(&intake->mutex, NULL);
	if (options->spares > 0)
		result = load_spares(intake);
	if (result < 0) {
		queue_intake_close(intake);
		return result;
	}
	*intake_out = intake;
	return 0;
}

void queue_intake_close(struct queue_intake *intake)
{
	if (intake == NULL)
		return;
	while (intake->messages != NULL)
		queue_message_release(intake->messages);
	queue_spare_list_clear(&intake->ready);
	queue_spare_list_clear(&intake->quarantine);
	free(intake->stuck.items); /* the cleaner of the next process finds them */
	queue_kept_clear(intake);
	pthread_mutex_destroy(&intake->mutex);
	free(intake->dirty);
	free(intake);
}

void queue_intake_trust_names(struct queue_intake *intake)
{
	intake->is_clean = true;
}

size_t queue_intake_held(struct queue_intake *intake)
{
	size_t count;

	pthread_mutex_lock(&intake->mutex);
	count = intake->is_poisoned ? 0 : intake->quarantine.count;
	pthread_mutex_unlock(&intake->mutex);
	return count;
}
