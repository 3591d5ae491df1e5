// SPDX-License-Identifier: ISC
/* The end of a message, S4 or S5 to S1. */
#include "os/file/file.h"
#include "queue/internal.h"
#include <errno.h>
#include <unistd.h>

/* FROM is gone afterwards. If a crash left the file under both names, and nobody could remove that
 * of pid/ since, a rename alone would change nothing (POSIX, rename()). */
static int rename_over_same_file(const struct queue_store *store, const char *from, const char *to)
{
	int result = os_file_rename_new(store->directory, from, to);

	if (result != -EEXIST)
		return result;
	result = os_file_rename(store->directory, from, to);
	if (result == 0)
		result = os_file_unlink(store->directory, from);
	return result == -ENOENT ? 0 : result;
}

/* Renames the data file FROM to pid/ as SPARE, where it waits to be removed or, if it has a
 * descriptor, to be reused. Closes the descriptor in the end. No error when the file is gone.
 *
 * A group may begin between any two steps, in its own thread. What it syncs does not have a name's
 * removal that comes later; so the directory becomes dirty when the name is gone, and the file is
 * quarantined when its directory is dirty. */
static int quarantine_data_file(struct queue_intake *intake, const char *from, unsigned dirty,
				struct queue_spare spare)
{
	unsigned epoch = queue_spare_epoch(intake);
	char to[QUEUE_PATH_SIZE];
	int result;

	queue_spare_path(intake, &spare, to);
	result = rename_over_same_file(intake->store, from, to);
	queue_spare_mark_dirty(intake, dirty, spare.number);
	if (result < 0) {
		os_file_close(spare.file);
		return result == -ENOENT ? 0 : result;
	}
	queue_spare_hold(intake, spare, epoch);
	return 0;
}

/* Only a file that was never shared may become a spare. If its descriptor was closed meanwhile
 * it is opened again. */
static int retire_data_file(struct queue_intake *intake, const char *from, unsigned dirty,
			    uint64_t number)
{
	struct queue_spare spare = {.number = number, .file = -1};

	if (queue_kept_take(intake, number, &spare) && spare.file < 0)
		spare.file = os_file_open(intake->store->directory, from, OS_FILE_WRITE);
	if (spare.file < 0)
		spare.file = -1;
	return quarantine_data_file(intake, from, dirty, spare);
}

/* The same for a file in mess/. */
static int retire_data(struct queue_intake *intake, const char *from, uint64_t number)
{
	struct queue_spare spare = {.number = number, .file = -1};
	int result;

	if (!queue_aside_is_doubtful(intake, from))
		return retire_data_file(intake, from, QUEUE_DIRTY_INFO, number);
	if (queue_kept_take(intake, number, &spare))
		os_file_close(spare.file);
	spare.file = -1;
	result = queue_aside_put(intake, from, spare);
	queue_spare_mark_dirty(intake, QUEUE_DIRTY_INFO, number);
	return result == -ENOENT ? 0 : result;
}

int queue_message_remove_queued(struct queue_intake *intake, enum mail_stage stage, uint64_t number)
{
	char path[QUEUE_PATH_SIZE];

	queue_store_path(intake->store, QUEUE_TODO, mail_stage_name(stage), number, path);
	return retire_data_file(intake, path, stage, number);
}

int queue_message_remove_todo(struct queue_intake *intake, enum mail_stage stage, uint64_t number)
{
	int result;

	/* a message that goes to S5 may stay for days */
	queue_kept_close(intake, number);
	result = queue_store_drop(intake->store, QUEUE_TODO, mail_stage_name(stage), number);
	if (result < 0)
		return result;
	queue_spare_mark_moved(intake, stage, number);
	return 0;
}

int queue_message_remove_data(struct queue_intake *intake, uint64_t number)
{
	char path[QUEUE_PATH_SIZE];

	queue_store_path(intake->store, QUEUE_MESS, NULL, number, path);
	return retire_data(intake, path, number);
}

int queue_message_remove_void(struct queue_intake *intake, enum mail_stage stage, uint64_t number)
{
	int result = queue_store_has(intake->store, QUEUE_MESS, NULL, number);

	if (result <= 0)
		return result < 0 ? result : queue_message_remove_queued(intake, stage, number);
	result = queue_message_remove_todo(intake, stage, number);
	if (result == 0)
		result = queue_store_has(intake->store, QUEUE_INFO, NULL, number);
	if (result != 0)
		return result < 0 ? result : 0;
	return queue_message_remove_data(intake, number);
}
