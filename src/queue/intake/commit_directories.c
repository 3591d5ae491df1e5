// SPDX-License-Identifier: ISC
/*
 * The directories of a group: opened before anything is changed, synced when every name is made. So
 * a process without a free descriptor only refuses a message; only a sync that was tried and failed
 * leaves anything in doubt (aside.c).
 */
#include "os/file/file.h"
#include "queue/intake/internal_commit.h"
#include <errno.h>
#include <stdlib.h>

enum { DIRECTORIES_MAX = 512 }; /* open at once; with more we sync the whole filesystem */

static void add_dirty(struct commit_group *group)
{
	const struct queue_store *store = group->intake->store;

	for (uint32_t i = 0; i < QUEUE_DIRTY_COUNT * store->split; i++) {
		enum mail_stage stage = (enum mail_stage)(i / store->split);

		if (!group->dirty[i])
			continue;
		if (i / store->split == QUEUE_DIRTY_INFO)
			queue_directories_add(&group->directories, store, QUEUE_INFO, NULL,
					      i % store->split);
		else
			queue_directories_add(&group->directories, store, QUEUE_TODO,
					      mail_stage_name(stage), i % store->split);
	}
	for (size_t i = 0; i < group->dirty_nodes.count; i++)
		queue_directories_add_node(&group->directories, group->dirty_nodes.names[i]);
}

static size_t add_directory_of_message(struct commit_group *group,
				       const struct queue_message *message)
{
	return queue_directories_add(&group->directories, group->intake->store, QUEUE_TODO,
				     mail_stage_name(message->stage), message->data.number);
}

/* Adds every directory that gets a new name or has lost one, once each. */
static void add_directories_of_commit(struct commit_group *group)
{
	for (size_t i = 0; i < group->count; i++)
		if (group->results[i] == 0)
			group->own[i] = add_directory_of_message(group, group->messages[i]);
	add_dirty(group);
	if (group->directories.count > DIRECTORIES_MAX) {
		queue_directories_reset(&group->directories);
		group->is_whole = true;
	}
}

/* Where order is kept: adds the directory of the name that will be made last. */
static void add_last(struct commit_group *group)
{
	for (size_t i = group->count; i-- > 0 && group->last_in_list == NULL;)
		if (group->results[i] == 0) {
			group->last_in_list = group->messages[i];
			add_directory_of_message(group, group->messages[i]);
		}
}

/* Files in quarantine wait for the next group, and so do messages that have moved to S5. */
static void give_back_held(struct commit_group *group)
{
	struct queue_intake *intake = group->intake;
	size_t directories = (size_t)QUEUE_DIRTY_COUNT * intake->store->split;

	pthread_mutex_lock(&intake->mutex);
	for (size_t i = 0; i < group->held.count; i++)
		queue_spare_list_add(&intake->quarantine, group->held.items[i]);
	for (size_t i = 0; i < directories; i++)
		intake->dirty[i] |= group->dirty[i];
	for (size_t i = 0; i < group->dirty_nodes.count; i++)
		queue_dirty_nodes_add(&intake->dirty_nodes, group->dirty_nodes.names[i]);
	group->moved = intake->settled;
	pthread_mutex_unlock(&intake->mutex);
	free(group->held.items);
	group->held = (struct queue_spare_list){0};
	group->must_settle = false;
	group->must_reach = false;
}

static bool is_short_of_descriptors(int error)
{
	return error == -EMFILE || error == -ENFILE || error == -ENOMEM;
}

/* If needed, closes descriptors that only save time. */
static int open_directories_of_commit(struct commit_group *group, struct queue_directories *list)
{
	const struct queue_store *store = group->intake->store;
	int error = queue_directories_open(list, store);

	if (!is_short_of_descriptors(error))
		return error;
	queue_spare_close_all(group->intake);
	return queue_directories_open(list, store);
}

/* The directories of nodes that hand packages over, where neither order nor the sync of the files
 * makes their names durable in time. */
static void open_nodes_of_commit(struct commit_group *group)
{
	int error;

	if (!group->has_packages || group->sync != QUEUE_SYNC_FILES)
		return;
	for (size_t i = 0; i < group->count; i++)
		if (group->results[i] == 0 && group->messages[i]->handed != NULL)
			queue_directories_add_node(&group->nodes, group->messages[i]->handed->node);
	error = open_directories_of_commit(group, &group->nodes);
	for (size_t i = 0; error < 0 && i < group->count; i++)
		if (group->results[i] == 0 && group->messages[i]->handed != NULL)
			group->results[i] = error;
}

void commit_directories_sync_nodes(struct commit_group *group)
{
	int error = group->nodes.count > 0 ? queue_directories_sync(&group->nodes) : 0;

	group->has_lost |= error < 0;
	for (size_t i = 0; error < 0 && i < group->count; i++)
		if (group->results[i] == 0 && group->messages[i]->handed != NULL)
			group->results[i] = error;
}

void commit_directories_open(struct commit_group *group)
{
	open_nodes_of_commit(group);
	if (group->sync == QUEUE_SYNC_ORDERED)
		add_last(group);
	else if (!group->is_whole)
		add_directories_of_commit(group);
	if (open_directories_of_commit(group, &group->directories) == 0)
		return;
	for (size_t i = 0; i < group->count; i++)
		if (group->results[i] == 0)
			group->results[i] = group->directories.items[group->own[i]].result;
	if (group->sync != QUEUE_SYNC_ORDERED)
		give_back_held(group);
}

static void fail_all(struct commit_group *group, int result)
{
	for (size_t i = 0; i < group->count; i++)
		if (group->results[i] == 0)
			group->results[i] = result;
}

static int sync_directories_of_commit(struct commit_group *group)
{
	int result = queue_directories_sync(&group->directories);

	for (size_t i = 0; i < group->count; i++)
		if (group->results[i] == 0)
			group->results[i] = group->directories.items[group->own[i]].result;
	return result;
}

/* pid/ changes with each name that is made or removed. */
static int sync_pid(const struct commit_group *group)
{
	int result;

	os_file_sync_directories(&group->intake->pid_directory, 1, &result);
	return result;
}

/* A sync reports errors of earlier changes, and perhaps none if nothing was changed. */
static int change_pid(const struct commit_group *group)
{
	static const char path[] = "pid/proof";
	int directory = group->intake->store->directory;
	int file = os_file_open(directory, path, OS_FILE_WRITE | OS_FILE_CREATE);

	if (file < 0 && file != -EEXIST)
		return file;
	os_file_close(file);
	return os_file_unlink(directory, path);
}

/* Only for a filesystem that keeps order. The last message may have got no name. What somebody
 * waits for need not have changed pid/, and a sync reaches only what was done before the last
 * change. */
static int sync_newest_directory(struct commit_group *group)
{
	if (group->last != NULL && group->last == group->last_in_list)
		return queue_directories_sync(&group->directories);
	group->is_unreached = group->must_reach && change_pid(group) < 0;
	return sync_pid(group);
}

/* Tries a sync on which no message depends, because an earlier one failed. */
static void prove_that_sync_works(struct commit_group *group)
{
	int result = change_pid(group);

	if (result == 0)
		result = group->is_whole ? os_file_sync_filesystem(group->intake->store->directory)
					 : sync_pid(group);
	group->has_proven = result == 0;
}

/* If the filesystem stopped keeping order meanwhile, everything is synced too. */
static int sync_ordered(struct commit_group *group)
{
	struct queue_store *store = group->intake->store;
	int result = sync_newest_directory(group);

	if (result == 0 && (!queue_store_kept_order(store) || group->must_sync_all))
		result = os_file_sync_filesystem(store->directory);
	return result;
}

void commit_directories_sync(struct commit_group *group)
{
	int result;

	if (!group->must_settle && group->last == NULL) {
		if (group->must_prove)
			prove_that_sync_works(group);
		return;
	}
	if (group->sync == QUEUE_SYNC_ORDERED)
		result = sync_ordered(group);
	else if (group->is_whole)
		result = os_file_sync_filesystem(group->intake->store->directory);
	else
		result = sync_directories_of_commit(group);
	group->has_lost |= result < 0;
	group->has_proven = result == 0;
	if (group->sync == QUEUE_SYNC_ORDERED || group->is_whole)
		fail_all(group, result);
}
