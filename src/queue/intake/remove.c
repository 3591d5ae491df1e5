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

/* The name that a message's data file had last. */
struct last_name {
	const char *path;
	uint64_t number;
	unsigned dirty;   /* enum queue_dirty */
	const char *node; /* not NULL: it is in the directory of that node instead */
};

static void mark_removed(struct queue_intake *intake, const struct last_name *last)
{
	if (last->node != NULL)
		queue_spare_mark_node(intake, last->node);
	else
		queue_spare_mark_dirty(intake, last->dirty, last->number);
}

/* Renames the data file LAST to pid/ as SPARE, where it waits to be removed or, if it has a
 * descriptor, to be reused. Closes the descriptor in the end. No error when the file is gone.
 *
 * A group may begin between any two steps, in its own thread. What it syncs does not have a name's
 * removal that comes later; so the directory becomes dirty when the name is gone, and the file is
 * quarantined when its directory is dirty. */
static int quarantine_data_file(struct queue_intake *intake, const struct last_name *last,
				struct queue_spare spare)
{
	unsigned epoch = queue_spare_epoch(intake);
	char to[QUEUE_PATH_SIZE];
	int result;

	queue_spare_path(intake, &spare, to);
	result = rename_over_same_file(intake->store, last->path, to);
	mark_removed(intake, last);
	if (result < 0) {
		os_file_close(spare.file);
		return result == -ENOENT ? 0 : result;
	}
	queue_spare_hold(intake, spare, epoch);
	return 0;
}

/* Only a file that was never shared may become a spare. If its descriptor was closed meanwhile
 * it is opened again. */
static int retire_data_file(struct queue_intake *intake, const struct last_name *last)
{
	struct queue_spare spare = {.number = last->number, .file = -1};

	if (queue_kept_take(intake, last->number, &spare) && spare.file < 0)
		spare.file = os_file_open(intake->store->directory, last->path, OS_FILE_WRITE);
	if (spare.file < 0)
		spare.file = -1;
	return quarantine_data_file(intake, last, spare);
}

/* The same for a file that was in mess/. */
static int retire_data(struct queue_intake *intake, const struct last_name *last)
{
	struct queue_spare spare = {.number = last->number, .file = -1};
	int result;

	if (!queue_aside_is_doubtful(intake, last->path))
		return retire_data_file(intake, last);
	if (queue_kept_take(intake, last->number, &spare))
		os_file_close(spare.file);
	spare.file = -1;
	result = queue_aside_put(intake, last->path, spare);
	mark_removed(intake, last);
	return result == -ENOENT ? 0 : result;
}

/* Where order is kept: both names change together, and before anything that is done later. */
static int rename_to_done(struct queue_intake *intake, struct queue_handed_name *name)
{
	char from[QUEUE_PATH_SIZE];
	char to[QUEUE_PATH_SIZE];
	int result;

	queue_handed_name_path(name, from);
	name->state = QUEUE_HANDED_ENDED;
	queue_handed_name_path(name, to);
	result = os_file_rename(intake->store->directory, from, to);
	if (result < 0)
		name->state = QUEUE_HANDED_TAKEN;
	queue_spare_mark_node(intake, queue_handed_name_node(name));
	return result;
}

/* NAME.done comes beside NAME, and has to become durable. After a failed sync it is made once more:
 * nobody could say whether the first one is. */
static int link_to_done(struct queue_intake *intake, struct queue_handed_name *name)
{
	const char *node = queue_handed_name_node(name);
	char from[QUEUE_PATH_SIZE];
	char to[QUEUE_PATH_SIZE];
	int result;

	queue_handed_path(node, name->name, false, from);
	queue_handed_path(node, name->name, true, to);
	name->failures = queue_spare_epoch(intake);
	result = os_file_unlink(intake->store->directory, to);
	if (result == 0 || result == -ENOENT)
		result = os_file_link(intake->store->directory, from, to);
	if (result < 0)
		return result;
	queue_spare_mark_node(intake, node);
	name->state = QUEUE_HANDED_ENDING;
	name->durable = queue_intake_await(intake);
	return 1;
}

/* NAME.done is durable. */
static int unlink_taken_name(struct queue_intake *intake, struct queue_handed_name *name)
{
	const char *node = queue_handed_name_node(name);
	char path[QUEUE_PATH_SIZE];
	int result;

	queue_handed_path(node, name->name, false, path);
	result = os_file_unlink(intake->store->directory, path);
	queue_spare_mark_node(intake, node);
	if (result < 0 && result != -ENOENT)
		return result;
	name->state = QUEUE_HANDED_ENDED;
	return 0;
}

/* NAME becomes NAME.done, durably or in an order that is as good: 0; 1: it has to become durable.
 * -ENOENT: somebody has removed it, and it is forgotten. */
static int end_package(struct queue_intake *intake, struct queue_handed_name *name)
{
	int result = 0;

	if (name->state == QUEUE_HANDED_TAKEN &&
	    queue_store_sync(intake->store) == QUEUE_SYNC_ORDERED)
		result = rename_to_done(intake, name);
	else if (name->state == QUEUE_HANDED_TAKEN)
		result = link_to_done(intake, name);
	else if (name->state == QUEUE_HANDED_ENDING && queue_intake_durable(intake) < name->durable)
		result = 1;
	else if (name->state == QUEUE_HANDED_ENDING && name->failures != queue_spare_epoch(intake))
		result = link_to_done(intake, name);
	else if (name->state == QUEUE_HANDED_ENDING)
		result = unlink_taken_name(intake, name);
	if (result == -ENOENT)
		queue_handed_forget(intake, name);
	return result;
}

/* The end of a package that may be handed over again: its file stays under its name in handed/, so
 * that its number stays taken. -ENOENT: it is no package any more. */
static int end_unsettled(struct queue_intake *intake, const struct last_name *last)
{
	struct queue_handed_name *name = queue_handed_of(intake, last->number);
	int result = name == NULL || name->state == QUEUE_HANDED_UNDONE ? -ENOENT
									: end_package(intake, name);

	if (result != 0)
		return result;
	queue_kept_close(intake, last->number);
	result = os_file_unlink(intake->store->directory, last->path);
	mark_removed(intake, last);
	return result == -ENOENT ? 0 : result;
}

int queue_message_remove_ended(struct queue_intake *intake, const struct queue_handed_name *name)
{
	char path[QUEUE_PATH_SIZE];
	const struct last_name last = {
		.path = path, .number = name->number, .node = queue_handed_name_node(name)};

	queue_handed_name_path(name, path);
	return retire_data(intake, &last);
}

int queue_message_remove_queued(struct queue_intake *intake, enum mail_stage stage, uint64_t number)
{
	char path[QUEUE_PATH_SIZE];
	const struct last_name last = {.path = path, .number = number, .dirty = stage};
	int result;

	queue_store_path(intake->store, QUEUE_TODO, mail_stage_name(stage), number, path);
	result = end_unsettled(intake, &last);
	return result == -ENOENT ? retire_data_file(intake, &last) : result;
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
	const struct last_name last = {.path = path, .number = number, .dirty = QUEUE_DIRTY_INFO};
	int result;

	queue_store_path(intake->store, QUEUE_MESS, NULL, number, path);
	result = end_unsettled(intake, &last);
	return result == -ENOENT ? retire_data(intake, &last) : result;
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
