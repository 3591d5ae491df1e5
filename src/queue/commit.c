// SPDX-License-Identifier: ISC
/*
 * S3 to S4, many messages at the cost of a few journal commits.
 *
 * The bytes of all are made durable, then their todo/ names are made, then the
 * directories of these names are made durable. The last step also covers what
 * was removed before the group began, so the files in quarantine become usable.
 *
 * Where the filesystem keeps order (QUEUE_SYNC_ORDERED) the first step only
 * writes the bytes out, and the last syncs one directory, that of the last name
 * made: whatever was done before that name is durable with it. That is the
 * bytes and names of all, and every removal of what is held in quarantine since
 * before the group began, by whichever process. Without a new name, pid/ is the
 * directory: each file that is held went there after its names were removed.
 */
#include "base/panic.h"
#include "os/file.h"
#include "queue/internal.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct group {
	struct queue_intake *intake;
	struct queue_message **messages;
	size_t count;
	int *results;
	bool *named;                      /* [count]: the todo/ name may have been made */
	struct queue_spare_list held;     /* taken out of quarantine */
	bool *dirty;                      /* [QUEUE_DIRTY_COUNT][split] to be synced for HELD */
	bool is_whole;                    /* the whole filesystem at the end */
	const struct queue_message *last; /* whose todo/ name was made last; NULL: none */
	bool has_lost; /* a sync failed that may have been to make a removal durable */
};

static void begin(struct group *group)
{
	struct queue_intake *intake = group->intake;
	size_t directories = (size_t)QUEUE_DIRTY_COUNT * intake->store->split;
	bool is_ordered;

	group->named = memory_alloc_zero(group->count + 1, sizeof(bool));
	group->dirty = memory_alloc_zero(directories, sizeof(bool));
	group->is_whole = intake->store->sync == QUEUE_SYNC_FILESYSTEM;
	is_ordered = intake->store->sync == QUEUE_SYNC_ORDERED;
	pthread_mutex_lock(&intake->mutex);
	if (intake->quarantine.count > 0 && !intake->is_poisoned) {
		group->held = intake->quarantine;
		intake->quarantine = (struct queue_spare_list){0};
		memcpy(group->dirty, intake->dirty, directories * sizeof(bool));
		memset(intake->dirty, 0, directories * sizeof(bool));
		group->is_whole |= intake->is_unknown && !is_ordered;
	}
	pthread_mutex_unlock(&intake->mutex);
}

/* Bytes and sizes of all, side by side. */
static void for_each_file(struct group *group,
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

static void sync_files(struct group *group)
{
	struct queue_store *store = group->intake->store;
	size_t ready = 0;
	int result;

	for (size_t i = 0; i < group->count; i++) {
		group->results[i] = group->messages[i]->has_envelope ? 0 : -EINVAL;
		ready += group->results[i] == 0;
	}
	if (ready == 0)
		return;
	if (store->sync != QUEUE_SYNC_FILESYSTEM) {
		for_each_file(group, store->sync == QUEUE_SYNC_ORDERED ? os_file_write_out_many
								       : os_file_sync_many);
		return;
	}
	result = os_file_sync_filesystem(store->directory);
	group->has_lost = result < 0;
	for (size_t i = 0; i < group->count; i++)
		if (group->results[i] == 0)
			group->results[i] = result;
}

static void name_todo(struct group *group)
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
		group->results[i] = os_file_rename_new(store->directory, from, to);
		/* a name that is there: this is a copy of a queue that was not repaired */
		group->named[i] = group->results[i] != -EEXIST;
		if (group->results[i] == 0)
			group->last = message;
	}
}

static void add_dirty(const struct group *group, struct queue_directories *list)
{
	const struct queue_store *store = group->intake->store;

	for (uint32_t i = 0; i < QUEUE_DIRTY_COUNT * store->split; i++) {
		enum mail_stage stage = (enum mail_stage)(i / store->split);

		if (!group->dirty[i])
			continue;
		if (i / store->split == QUEUE_DIRTY_INFO)
			queue_directories_add(list, store, QUEUE_INFO, NULL, i % store->split);
		else
			queue_directories_add(list, store, QUEUE_TODO, mail_stage_name(stage),
					      i % store->split);
	}
}

/* Every directory with a new name in it or a removed one, once each. */
static int sync_each_directory(struct group *group)
{
	const struct queue_store *store = group->intake->store;
	size_t *own = memory_alloc((group->count + 1) * sizeof *own);
	struct queue_directories list CLEANUP(queue_directories_clear) = {0};
	int result;

	for (size_t i = 0; i < group->count; i++) {
		const struct queue_message *message = group->messages[i];

		if (group->results[i] == 0)
			own[i] = queue_directories_add(&list, store, QUEUE_TODO,
						       mail_stage_name(message->stage),
						       message->data.number);
	}
	add_dirty(group, &list);
	result = queue_directories_sync(&list, store);
	for (size_t i = 0; i < group->count; i++)
		if (group->results[i] == 0)
			group->results[i] = list.items[own[i]].result;
	free(own);
	return result;
}

/* Only for a filesystem that keeps order. */
static int sync_newest_directory(const struct group *group)
{
	const struct queue_store *store = group->intake->store;
	char path[QUEUE_PATH_SIZE] = "pid";

	if (group->last != NULL)
		queue_store_directory_path(store, QUEUE_TODO, mail_stage_name(group->last->stage),
					   group->last->data.number, path);
	return os_file_sync_directory(store->directory, path);
}

static int sync_directories(struct group *group)
{
	const struct queue_store *store = group->intake->store;
	int result;

	if (group->held.count == 0 && group->last == NULL)
		return 0;
	if (store->sync == QUEUE_SYNC_ORDERED)
		result = sync_newest_directory(group);
	else if (group->is_whole)
		result = os_file_sync_filesystem(store->directory);
	else
		return sync_each_directory(group);
	for (size_t i = 0; i < group->count; i++)
		if (group->results[i] == 0)
			group->results[i] = result;
	return result;
}

/* A name in todo/ may be durable although we failed. Its message's number must
 * not be free before that name's removal is durable, so the data stay. */
static void undo(struct group *group, struct queue_message *message)
{
	char path[QUEUE_PATH_SIZE];

	queue_store_path(group->intake->store, QUEUE_TODO, mail_stage_name(message->stage),
			 message->data.number, path);
	queue_spare_mark_dirty(group->intake, message->stage, message->data.number);
	queue_spare_set_aside(group->intake, path, message->data);
	message->data.file = -1;
	queue_message_release(message);
}

/* What is kept of an earlier file with this number, which somebody removed by hand, must not
 * be taken for this one's. */
static void keep(struct queue_intake *intake, struct queue_message *message)
{
	queue_kept_put(intake, message->data.number, message->is_shared ? -1 : message->data.file);
	if (!message->is_shared)
		message->data.file = -1;
	queue_message_release(message);
}

static void finish(struct group *group, int result)
{
	struct queue_intake *intake = group->intake;
	group->has_lost |= result < 0;
	pthread_mutex_lock(&intake->mutex);
	if (group->has_lost)
		intake->is_poisoned = true;
	else if (group->is_whole)
		intake->is_unknown = false;
	pthread_mutex_unlock(&intake->mutex);
	queue_spare_settle(intake, &group->held, !group->has_lost);
	for (size_t i = 0; i < group->count; i++) {
		struct queue_message *message = group->messages[i];

		if (group->results[i] < 0 && group->named[i]) {
			undo(group, message);
		} else if (group->results[i] < 0) {
			queue_message_discard(message);
		} else {
			keep(intake, message);
		}
	}
	free(group->named);
	free(group->dirty);
}

void queue_message_commit_group(struct queue_intake *intake, struct queue_message **messages,
				size_t count, int *results)
{
	struct group group = {
		.intake = intake, .messages = messages, .count = count, .results = results};

	begin(&group);
	sync_files(&group);
	name_todo(&group);
	finish(&group, sync_directories(&group));
}
