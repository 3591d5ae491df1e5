// SPDX-License-Identifier: ISC
/* The start of the process "queue": what an earlier process left in pid/ becomes a spare or is
 * removed. */
#include "base/panic.h"
#include "os/file/file.h"
#include "os/process/process.h"
#include "queue/internal.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_LENGTH = 63 };

struct found_file {
	struct queue_spare spare;
	bool is_aside;
	bool is_of_this_boot;
	char name[NAME_MAX_LENGTH + 1];
};

struct found {
	const struct queue_intake *intake;
	struct found_file *files; /* owned */
	size_t count;
	size_t capacity;
};

static int collect_file_in_pid(void *context, const char *name)
{
	struct found *found = context;
	struct found_file file = {.spare.file = -1};

	if (strlen(name) > NAME_MAX_LENGTH)
		return 0;
	file.is_aside =
		queue_aside_parse(found->intake, name, &file.spare.number, &file.is_of_this_boot);
	if (!file.is_aside &&
	    (name[0] != 'm' || !str_to_u64(str_skip(str_from(name), 1), &file.spare.number)))
		return 0;
	snprintf(file.name, sizeof file.name, "%s", name);
	found->files =
		memory_grow(found->files, found->count, &found->capacity, sizeof *found->files);
	found->files[found->count++] = file;
	return 0;
}

/* A data file whose number is not its inode was copied; one whose message is still in todo/ or
 * info/ after a power failure has not ended. */
static bool has_message_of_spare_ended(const struct queue_intake *intake,
				       const struct queue_spare *spare,
				       const struct os_file_info *info)
{
	return info->inode == spare->number &&
	       queue_store_is_live(intake->store, spare->number) == 0 &&
	       queue_store_has(intake->store, QUEUE_BOUNCE, NULL, spare->number) == 0;
}

/* Whether the file of that name in pid/ has ended and has no other name. */
static bool is_file_left_in_pid(struct queue_intake *intake, const struct found_file *file)
{
	struct os_file_info info;
	char path[QUEUE_PATH_SIZE];
	int result;

	snprintf(path, sizeof path, "pid/%s", file->name);
	if (os_file_info_at(intake->store->directory, path, &info) < 0 || info.is_directory)
		return false;
	if (info.links > 1) {
		/* half a rename: its other name is a message's, or the cleaner's to remove */
		result = os_file_unlink(intake->store->directory, path);
		(void)result;
		return false;
	}
	return has_message_of_spare_ended(intake, &file->spare, &info);
}

/* A file that was set aside before the last reboot is now an ordinary spare. */
static bool make_file_spare(const struct queue_intake *intake, const struct found_file *file)
{
	char from[QUEUE_PATH_SIZE];
	char to[QUEUE_PATH_SIZE];

	snprintf(from, sizeof from, "pid/%s", file->name);
	queue_spare_path(intake, &file->spare, to);
	return os_file_rename_new(intake->store->directory, from, to) == 0;
}

/* Like any other it is removed only after a sync, because the removal of its names may not be
 * durable. It is not reused: a process that got its descriptor from an earlier "queue" may still
 * write to it. */
static void load_file(struct queue_intake *intake, const struct found_file *file)
{
	if (!is_file_left_in_pid(intake, file))
		return;
	if (file->is_aside && file->is_of_this_boot)
		queue_aside_adopt(intake, file->name, file->spare.number);
	else if (!file->is_aside || make_file_spare(intake, file))
		queue_spare_list_add(&intake->quarantine, file->spare);
}

/* Finds what an earlier process left in pid/. After an orderly end these files could be reused,
 * but there are too few of them to matter. */
static int load_spares(struct queue_intake *intake)
{
	struct found found = {.intake = intake};
	int result = os_file_list(intake->store->directory, "pid", collect_file_in_pid, &found);

	for (size_t i = 0; result == 0 && i < found.count; i++)
		load_file(intake, &found.files[i]);
	free(found.files);
	return result;
}

int queue_intake_open(struct queue_store *store, const struct queue_intake_options *options,
		      struct queue_intake **intake_out)
{
	struct queue_intake *intake = memory_alloc_zero(1, sizeof *intake);
	int result = 0;

	intake->store = store;
	intake->options = *options;
	intake->process = os_process_id();
	intake->next_serial = 1;
	intake->is_unknown = true;
	intake->dirty = memory_alloc_zero((size_t)QUEUE_DIRTY_COUNT * store->split, sizeof(bool));
	pthread_mutex_init(&intake->mutex, NULL);
	intake->pid_directory = os_file_open_directory(store->directory, "pid");
	if (intake->pid_directory < 0)
		result = intake->pid_directory;
	else if (options->is_daemon || options->spares > 0)
		result = load_spares(intake);
	if (result == 0 && options->is_daemon)
		result = queue_handed_load(intake);
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
	os_file_close(intake->pid_directory);
	/* the next process will find them */
	free(intake->stuck.items);
	free(intake->full.items);
	free(intake->refused);
	free(intake->dirty_nodes.names);
	queue_kept_clear(intake);
	queue_handed_free(intake);
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
	count = intake->quarantine.count;
	pthread_mutex_unlock(&intake->mutex);
	return count;
}

uint64_t queue_intake_moved(struct queue_intake *intake)
{
	uint64_t moved;

	pthread_mutex_lock(&intake->mutex);
	moved = intake->moved;
	pthread_mutex_unlock(&intake->mutex);
	return moved;
}

uint64_t queue_intake_settled(struct queue_intake *intake)
{
	uint64_t settled;

	pthread_mutex_lock(&intake->mutex);
	settled = intake->settled;
	pthread_mutex_unlock(&intake->mutex);
	return settled;
}

uint64_t queue_intake_durable(struct queue_intake *intake)
{
	uint64_t durable;

	pthread_mutex_lock(&intake->mutex);
	durable = intake->durable;
	pthread_mutex_unlock(&intake->mutex);
	return durable;
}

uint64_t queue_intake_retired(struct queue_intake *intake)
{
	uint64_t retired;

	pthread_mutex_lock(&intake->mutex);
	retired = intake->retired;
	pthread_mutex_unlock(&intake->mutex);
	return retired;
}

bool queue_intake_has_released(struct queue_intake *intake, uint64_t retired)
{
	bool has_released;

	pthread_mutex_lock(&intake->mutex);
	has_released = retired > intake->lost && retired <= intake->released;
	pthread_mutex_unlock(&intake->mutex);
	return has_released;
}

bool queue_intake_is_durable(struct queue_intake *intake)
{
	bool is_durable;

	pthread_mutex_lock(&intake->mutex);
	is_durable = intake->durable == intake->awaited;
	pthread_mutex_unlock(&intake->mutex);
	return is_durable;
}

bool queue_intake_is_settled(struct queue_intake *intake)
{
	bool is_ordered = queue_store_sync(intake->store) == QUEUE_SYNC_ORDERED;
	bool is_settled;

	pthread_mutex_lock(&intake->mutex);
	is_settled = intake->settled == intake->moved && (is_ordered || !intake->is_unknown);
	pthread_mutex_unlock(&intake->mutex);
	return is_settled;
}

bool queue_intake_must_prove(struct queue_intake *intake)
{
	bool must_prove;

	pthread_mutex_lock(&intake->mutex);
	must_prove = intake->must_prove;
	pthread_mutex_unlock(&intake->mutex);
	return must_prove;
}
