// SPDX-License-Identifier: ISC
/*
 * S3 to S4: many messages at the cost of a few journal commits.
 *
 * The bytes of all messages are made durable, then their todo/ names are made, then the directories
 * of these names are made durable. The last step also covers names that were removed before the
 * group began, so the files in quarantine become usable.
 *
 * Where the filesystem keeps order (QUEUE_SYNC_ORDERED) the first step writes the bytes to the disk
 * without a sync, and the last step syncs one directory, that of the last name made: everything
 * done before that name is durable with it. That covers the bytes and names of all messages, and
 * every removal, by any process, of files that were in quarantine before the group began. Without a
 * new name that directory is pid/: each quarantined file was renamed to it after its names were
 * removed.
 */
#include "base/panic.h"
#include "os/file/file.h"
#include "queue/intake/internal_commit.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What an earlier process removed waits for a group that has time for that. */
static bool must_settle(const struct commit_group *group)
{
	const struct queue_intake *intake = group->intake;

	return intake->quarantine.count > 0 || intake->moved > intake->settled ||
	       intake->awaited > intake->durable ||
	       (group->count == 0 && intake->is_unknown && group->sync != QUEUE_SYNC_ORDERED);
}

static void begin_commit_group(struct commit_group *group)
{
	struct queue_intake *intake = group->intake;
	size_t directories = (size_t)QUEUE_DIRTY_COUNT * intake->store->split;

	group->named = memory_alloc_zero(group->count + 1, sizeof(bool));
	group->dirty = memory_alloc_zero(directories, sizeof(bool));
	group->own = memory_alloc_zero(group->count + 1, sizeof *group->own);
	group->sync = queue_store_begin_sync(intake->store);
	group->is_whole = group->sync == QUEUE_SYNC_FILESYSTEM;
	for (size_t i = 0; i < group->count; i++) {
		group->results[i] = group->messages[i]->has_envelope ? 0 : -EINVAL;
		group->has_packages |= group->messages[i]->handed != NULL;
	}
	pthread_mutex_lock(&intake->mutex);
	group->must_prove = intake->must_prove;
	group->moved = intake->moved;
	group->must_settle = must_settle(group);
	group->awaited = intake->awaited;
	group->must_reach = intake->awaited > intake->durable;
	group->must_sync_all = intake->must_sync_all;
	if (group->must_settle) {
		group->held = intake->quarantine;
		group->retired = intake->retired;
		intake->quarantine = (struct queue_spare_list){0};
		memcpy(group->dirty, intake->dirty, directories * sizeof(bool));
		memset(intake->dirty, 0, directories * sizeof(bool));
		group->is_whole |= (intake->is_unknown || group->must_sync_all) &&
				   group->sync != QUEUE_SYNC_ORDERED;
		group->dirty_nodes = intake->dirty_nodes;
		intake->dirty_nodes = (struct queue_dirty_nodes){0};
	}
	pthread_mutex_unlock(&intake->mutex);
}

/* "queue" knows all names in handed/: it has not made one that is there. */
static int result_of_naming(int result)
{
	return result == -EEXIST ? -EUCLEAN : result;
}

/* The names in handed/ come before those in todo/, and are durable before them: with the order of
 * the filesystem, with the bytes (sync_files()), or with a sync of their own. */
static void name_packages(struct commit_group *group)
{
	for (size_t i = 0; group->has_packages && i < group->count; i++) {
		const struct queue_message *message = group->messages[i];
		char from[QUEUE_PATH_SIZE];
		int result;

		if (group->results[i] < 0 || message->handed == NULL)
			continue;
		queue_spare_path(group->intake, &message->data, from);
		result = os_file_link(group->intake->store->directory, from, message->handed->path);
		message->handed->is_named = result == 0 || result == -EIO;
		group->results[i] = result_of_naming(result);
	}
}

/* Syncs bytes and sizes of all files in parallel. */
static void sync_files_of_commit(struct commit_group *group,
				 void (*store_many)(const int *files, size_t count, int *results))
{
	int *files = memory_alloc(group->count * sizeof *files);
	int *results = memory_alloc(group->count * sizeof *results);
	size_t count = 0;

	for (size_t i = 0; i < group->count; i++)
		if (group->results[i] == 0)
			files[count++] = group->messages[i]->data.file;
	store_many(files, count, results);
	count = 0;
	for (size_t i = 0; i < group->count; i++)
		if (group->results[i] == 0)
			group->results[i] = results[count++];
	free(files);
	free(results);
}

static void sync_files(struct commit_group *group)
{
	struct queue_store *store = group->intake->store;
	size_t ready = 0;
	int result;

	for (size_t i = 0; i < group->count; i++)
		ready += group->results[i] == 0;
	if (ready == 0)
		return;
	if (group->sync != QUEUE_SYNC_FILESYSTEM) {
		sync_files_of_commit(group, group->sync == QUEUE_SYNC_ORDERED
						    ? os_file_write_out_many
						    : os_file_sync_many);
		return;
	}
	result = os_file_sync_filesystem(store->directory);
	group->has_lost = result < 0;
	for (size_t i = 0; i < group->count; i++)
		if (group->results[i] == 0)
			group->results[i] = result;
}

/* The manager must not begin a message that is still being committed. "queue" knows its own; a
 * message that another process commits is recognized by this lock, which is released with the
 * descriptor: when the message is durable, when its name is removed again, or when the process
 * ends. So an error here can cause only a second delivery, of a message whose sync fails. */
static void lock_of_one_shot(const struct commit_group *group, const struct queue_message *message)
{
	int result = group->intake->options.is_daemon ? 0 : os_file_lock(message->data.file);

	(void)result;
}

static void name_todo(struct commit_group *group)
{
	struct queue_store *store = group->intake->store;

	for (size_t i = 0; i < group->count; i++) {
		const struct queue_message *message = group->messages[i];
		char from[QUEUE_PATH_SIZE];
		char to[QUEUE_PATH_SIZE];

		if (group->results[i] < 0)
			continue;
		queue_spare_path(group->intake, &message->data, from);
		queue_store_path(store, QUEUE_TODO, mail_stage_name(message->stage),
				 message->data.number, to);
		lock_of_one_shot(group, message);
		group->results[i] = os_file_rename_new(store->directory, from, to);
		/* the name exists: this is a copy of a queue that was not repaired */
		group->named[i] = group->results[i] != -EEXIST;
		if (group->results[i] == 0)
			group->last = message;
	}
}

/* A name in todo/ may be durable although we failed. The number of its message must not become
 * free before the removal of that name is durable, so the data file is kept. */
static void undo_message_commit(struct commit_group *group, struct queue_message *message)
{
	struct queue_intake *intake = group->intake;
	char path[QUEUE_PATH_SIZE];
	int result;

	queue_store_path(intake->store, QUEUE_TODO, mail_stage_name(message->stage),
			 message->data.number, path);
	queue_spare_mark_dirty(intake, message->stage, message->data.number);
	result = queue_aside_put(intake, path, message->data);
	message->data.file = -1;
	if (result < 0 && result != -ENOENT) /* -ENOENT: the rename had not been done */
		queue_aside_refuse(intake, message->stage, message->data.number);
}

/* The same for a package's name in handed/: while that may come back, the number of its file is no
 * other message's. The name stays until the removal of that in todo/ is durable: without it, the
 * node would hand the package over again, and a power failure could bring the first one back. */
static void undo_package(struct commit_group *group, struct queue_message *message)
{
	struct queue_intake *intake = group->intake;
	char path[QUEUE_PATH_SIZE];
	int result;

	queue_spare_mark_node(intake, message->handed->node);
	queue_spare_path(intake, &message->data, path);
	result = queue_aside_put(intake, path, message->data);
	(void)result; /* -ENOENT: it was in todo/; after an error the cleaner finds it in pid/ */
	message->data.file = -1;
}

/* What may be said of a package that has a name must not be said any more. */
static int result_of_named_package(int result)
{
	switch (result) {
	case -ENOSPC:
	case -EDQUOT:
	case -E2BIG:
	case -EBADMSG:
	case -EMFILE:
		return -EIO;
	case -EEXIST: /* in todo/ */
		return -EUCLEAN;
	default:
		return result;
	}
}

static void undo_commit(struct commit_group *group, size_t i)
{
	struct queue_message *message = group->messages[i];

	message->has_failed = true;
	if (group->named[i])
		undo_message_commit(group, message);
	if (message->handed == NULL || !message->handed->is_named)
		return;
	group->results[i] = result_of_named_package(group->results[i]);
	undo_package(group, message);
}

/* What is remembered of an earlier file with this number, which somebody removed by hand, must
 * not be mistaken for this one. */
static void keep_committed_data(struct queue_intake *intake, struct queue_message *message)
{
	struct queue_spare data = message->data;

	if (message->is_shared)
		data.file = -1;
	else
		message->data.file = -1;
	queue_kept_put(intake, &data);
	queue_message_release(message);
}

/* After a failure they are awaited still: the next group syncs their directories again. */
static void settle_awaited(struct commit_group *group)
{
	struct queue_intake *intake = group->intake;
	size_t directories = (size_t)QUEUE_DIRTY_COUNT * intake->store->split;

	if (!group->must_reach)
		return;
	if (!group->has_lost && group->has_proven && !group->is_unreached) {
		intake->durable = group->awaited;
		intake->must_sync_all &= !group->must_sync_all;
		return;
	}
	for (size_t i = 0; i < directories; i++)
		intake->dirty[i] |= group->dirty[i];
	for (size_t i = 0; i < group->dirty_nodes.count; i++)
		queue_dirty_nodes_add(&intake->dirty_nodes, group->dirty_nodes.names[i]);
}

static void settle_commit_group(struct commit_group *group)
{
	struct queue_intake *intake = group->intake;

	if (group->has_lost)
		queue_aside_after_failure(intake);
	pthread_mutex_lock(&intake->mutex);
	/* after a failure: see aside.c. Where order is kept, more may have settled meanwhile */
	if (intake->settled < group->moved)
		intake->settled = group->moved;
	/* not by a group whose messages all failed before there was anything to sync */
	if (!group->has_lost && group->has_proven && group->is_whole)
		intake->is_unknown = false;
	if (!group->has_lost && group->has_proven)
		intake->must_prove = false;
	if (group->must_settle) /* but for what is lost */
		intake->released = group->retired;
	settle_awaited(group);
	pthread_mutex_unlock(&intake->mutex);
	queue_spare_settle(intake, &group->held, !group->has_lost);
}

static void finish_commit_group(struct commit_group *group)
{
	struct queue_intake *intake = group->intake;

	settle_commit_group(group);
	for (size_t i = 0; i < group->count; i++) {
		if (group->results[i] == 0)
			keep_committed_data(intake, group->messages[i]);
		else
			undo_commit(group, i);
	}
	queue_directories_clear(&group->directories);
	queue_directories_clear(&group->nodes);
	free(group->dirty_nodes.names);
	free(group->named);
	free(group->dirty);
	free(group->own);
}

void queue_message_commit_group(struct queue_intake *intake, struct queue_message **messages,
				size_t count, int *results)
{
	struct commit_group group = {
		.intake = intake, .messages = messages, .count = count, .results = results};

	begin_commit_group(&group);
	commit_directories_open(&group);
	name_packages(&group);
	sync_files(&group);
	commit_directories_sync_nodes(&group);
	name_todo(&group);
	commit_directories_sync(&group);
	finish_commit_group(&group);
}
