// SPDX-License-Identifier: ISC
#include "queue/update.h"
#include "base/panic.h"
#include "os/file/file.h"
#include "queue/internal.h"
#include "queue/update/internal.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct group {
	struct queue_store *store;
	struct queue_update **updates;
	size_t count;
	int *files; /* [count]: open in the current step; -1: none */
	struct before {
		bool is_longer; /* records were appended */
		bool is_new;
		uint64_t size;
	} * bounces;                          /* [count]: the file in bounce/ as it was before */
	struct queue_directories directories; /* of names made in the current step */
	enum queue_sync sync;
	bool is_of_controls; /* the current step writes controls; the one before wrote bounce
			      * records */
	bool is_ordered;     /* the current step relies on the filesystem's order */
	struct owner {
		size_t update;
		size_t directory;
		bool is_info;
	} * owners; /* which update has a name in which directory */
	size_t owner_count;
	size_t owner_capacity;
};

static void add_directory(struct group *group, size_t i, enum queue_folder folder, const char *name)
{
	group->owners = memory_grow(group->owners, group->owner_count, &group->owner_capacity,
				    sizeof *group->owners);
	group->owners[group->owner_count++] =
		(struct owner){i,
			       queue_directories_add(&group->directories, group->store, folder,
						     name, group->updates[i]->number),
			       folder == QUEUE_INFO};
}

static void fail_queue_update(struct group *group, size_t i, int error)
{
	if (group->updates[i]->result == 0)
		group->updates[i]->result = error;
}

/* Directories of info/ have been synced: names made in them before are durable. */
static void mark_info_directories_settled(const struct group *group)
{
	for (size_t i = 0; i < group->owner_count; i++) {
		const struct queue_update *update = group->updates[group->owners[i].update];

		if (group->owners[i].is_info && update->result == 0)
			group->store->has_settled[update->number % group->store->split] = true;
	}
}

/* Each directory once; if it fails, so does every update with a name in it. */
static void sync_directories_of_updates(struct group *group)
{
	int error = queue_directories_open(&group->directories, group->store);
	int lost = queue_directories_sync(&group->directories);

	if (error == 0 && lost == 0)
		return;
	for (size_t i = 0; i < group->owner_count; i++)
		fail_queue_update(group, group->owners[i].update,
				  group->directories.items[group->owners[i].directory].result);
}

/* On a filesystem that keeps order S5 needs no sync: it begins when the name in todo/ is
 * removed, and that removal can become durable only after the names of S5 and after the map,
 * which is written out before it. Until then the message is at S4. A file that replaces another
 * must always be durable first. */
static bool is_before_names(const struct group *group, size_t i)
{
	return group->is_of_controls && (group->updates[i]->is_whole ||
					 (group->is_ordered && group->updates[i]->preprocess));
}

static bool is_to_store(const struct group *group, size_t i, bool before_names)
{
	return group->files[i] >= 0 && group->updates[i]->result == 0 &&
	       !group->updates[i]->may_be_lost && is_before_names(group, i) == before_names;
}

/* Syncs what was written to the open files, in parallel. */
static void sync_files_of_updates(struct group *group, bool before_names,
				  void (*store_many)(const int *files, size_t count, int *results))
{
	int *files = memory_alloc((group->count + 1) * sizeof *files);
	int *results = memory_alloc((group->count + 1) * sizeof *results);
	size_t count = 0;

	for (size_t i = 0; i < group->count; i++)
		if (is_to_store(group, i, before_names))
			files[count++] = group->files[i];
	store_many(files, count, results);
	count = 0;
	for (size_t i = 0; i < group->count; i++) {
		if (!is_to_store(group, i, before_names))
			continue;
		group->store->has_lost |= results[count] < 0;
		fail_queue_update(group, i, results[count++]);
	}
	free(files);
	free(results);
}

static int sync_whole(struct group *group)
{
	int result = os_file_sync_filesystem(group->store->directory);

	group->store->has_lost |= result < 0;
	for (size_t i = 0; result < 0 && i < group->count; i++)
		fail_queue_update(group, i, result);
	return result;
}

/* Makes the bytes and names of the step durable, and closes the files. Names need a sync of the
 * whole filesystem if that is the mode; bytes alone do not. */
static void sync_step(struct group *group)
{
	if (group->directories.count > 0 && group->sync == QUEUE_SYNC_FILESYSTEM) {
		(void)sync_whole(group); /* each update has its result */
	} else {
		sync_files_of_updates(group, false, os_file_sync_many);
		sync_directories_of_updates(group);
	}
	mark_info_directories_settled(group);
	for (size_t i = 0; i < group->count; i++) {
		os_file_close(group->files[i]);
		group->files[i] = -1;
	}
	queue_directories_reset(&group->directories);
	group->owner_count = 0;
}

static void bounce_path(const struct group *group, size_t i, char path[QUEUE_PATH_SIZE])
{
	queue_store_path(group->store, QUEUE_BOUNCE, NULL, group->updates[i]->number, path);
}

/* Notes the size of the file before it grows. */
static int open_bounce(struct group *group, size_t i)
{
	struct before *before = &group->bounces[i];
	struct os_file_info info;
	char path[QUEUE_PATH_SIZE];
	int result;
	int file;

	bounce_path(group, i, path);
	file = os_file_open(group->store->directory, path, OS_FILE_WRITE | OS_FILE_APPEND);
	if (file == -ENOENT) {
		file = os_file_open(group->store->directory, path,
				    OS_FILE_WRITE | OS_FILE_APPEND | OS_FILE_CREATE);
		before->is_new = file >= 0;
		return file;
	}
	result = file < 0 ? file : os_file_info(file, &info);
	if (result < 0) {
		os_file_close(file);
		return result;
	}
	before->size = info.size;
	return file;
}

static int cut_bounce(const struct group *group, size_t i, const char *path)
{
	int file = os_file_open(group->store->directory, path, OS_FILE_WRITE);
	int result = file < 0 ? file : os_file_truncate(file, group->bounces[i].size);

	os_file_close(file);
	return result;
}

/* The records of an update that failed will be given again. And a new name, which may not be
 * durable, will be made again. Nobody misses these files as long as the outcomes are not in the
 * control files: so it does not matter what a power failure leaves of them. */
static void take_back_bounces(const struct group *group)
{
	for (size_t i = 0; i < group->count; i++) {
		const struct before *before = &group->bounces[i];
		char path[QUEUE_PATH_SIZE];
		int result = 0;

		if (group->updates[i]->result == 0)
			continue;
		bounce_path(group, i, path);
		if (before->is_new)
			result = os_file_unlink(group->store->directory, path);
		else if (before->is_longer)
			result = cut_bounce(group, i, path);
		(void)result;
	}
}

static void write_bounces(struct group *group)
{
	size_t count = 0;

	for (size_t i = 0; i < group->count; i++) {
		if (group->updates[i]->result < 0 || group->updates[i]->bounce.length == 0)
			continue;
		group->files[i] = open_bounce(group, i);
		if (group->files[i] < 0) {
			fail_queue_update(group, i, group->files[i]);
			continue;
		}
		/* also if the name existed: an earlier process may have made it. Where order is
		 * kept, the sync of the file, which grows, is enough */
		if (group->sync != QUEUE_SYNC_ORDERED)
			add_directory(group, i, QUEUE_BOUNCE, NULL);
		fail_queue_update(group, i,
				  update_append(group->store, group->files[i],
						group->updates[i]->bounce,
						&group->bounces[i].is_longer, NULL));
		count++;
	}
	if (count > 0)
		sync_step(group);
	take_back_bounces(group);
}

/* From now on the outcomes may come to the disk, also those of an update that fails: the records
 * stay. */
static void note_bounced_updates(struct group *group, bool are_durable)
{
	for (size_t i = 0; i < group->count; i++) {
		struct queue_update *update = group->updates[i];

		update->is_bounced =
			are_durable && update->result == 0 && update->bounce.length > 0;
	}
}

/* Whether the name of the file that UPDATE is appended to may have been made by an earlier
 * process and not be durable, also when the file is. */
static bool is_unsettled(const struct group *group, const struct queue_update *update)
{
	return !group->is_ordered && !update->preprocess && !update->is_whole &&
	       !update->may_be_lost &&
	       !group->store->has_settled[update->number % group->store->split];
}

static void write_controls_of_updates(struct group *group)
{
	for (size_t i = 0; i < group->count; i++) {
		struct queue_update *update = group->updates[i];

		if (update->result < 0 || update->control.length == 0)
			continue;
		if (update->preprocess)
			group->files[i] = update_make_control(group->store, update);
		else if (update->is_whole)
			group->files[i] = update_make_whole(group->store, update);
		else
			group->files[i] = update_append_control(group->store, update);
		if (group->files[i] < 0)
			fail_queue_update(group, i, group->files[i]);
		else if (is_unsettled(group, update))
			add_directory(group, i, QUEUE_INFO, NULL);
	}
}

/* Whether the names made now must be durable when the update returns. */
static bool needs_sync(const struct group *group, size_t i)
{
	return !group->is_ordered || group->updates[i]->is_whole;
}

/* Links FROM to the update's name in FOLDER. A name that exists already may be one whose sync
 * failed, visible but never durable, or an ended message's; so it is made again. */
static int link_place(struct group *group, size_t i, const char *from, enum queue_folder folder,
		      const char *name)
{
	int directory = group->store->directory;
	char path[QUEUE_PATH_SIZE];
	int result;

	queue_store_path(group->store, folder, name, group->updates[i]->number, path);
	result = os_file_link(directory, from, path);
	if (result == -EEXIST) {
		result = os_file_unlink(directory, path);
		if (result == 0)
			result = os_file_link(directory, from, path);
	}
	if (result == 0 && needs_sync(group, i))
		add_directory(group, i, folder, name);
	return result;
}

/* Its name in local/SERVICE is for people. A reload on a full disk may have brought the service
 * without its directories, and until the next start the message must not wait for them. */
static int link_service(struct group *group, size_t i, const char *from, const char *service)
{
	int result = link_place(group, i, from, QUEUE_LOCAL, service);

	return result == -ENOENT ? 0 : result;
}

/* Makes the data file's second name. If another file has it, this is a copy of a queue that was
 * not repaired: -EEXIST. */
static int name_data(struct group *group, size_t i)
{
	const struct queue_update *update = group->updates[i];
	struct os_file_info info;
	char from[QUEUE_PATH_SIZE];
	char path[QUEUE_PATH_SIZE];

	queue_store_path(group->store, QUEUE_TODO, mail_stage_name(update->stage), update->number,
			 from);
	queue_store_path(group->store, QUEUE_MESS, NULL, update->number, path);
	if (os_file_info_at(group->store->directory, path, &info) == 0 &&
	    info.inode != update->number)
		return -EEXIST;
	return link_place(group, i, from, QUEUE_MESS, NULL);
}

/* The name in info/ comes last, and replaces an existing one. */
static int name_all(struct group *group, size_t i)
{
	const struct queue_update *update = group->updates[i];
	char from[QUEUE_PATH_SIZE];
	char path[QUEUE_PATH_SIZE];
	int result = update->preprocess ? name_data(group, i) : 0;

	queue_store_path(group->store, QUEUE_INTD, NULL, update->number, from);
	for (size_t k = 0; result == 0 && k < update->link_service_count; k++)
		result = link_service(group, i, from, update->link_services[k]);
	if (result == 0 && update->link_remote)
		result = link_place(group, i, from, QUEUE_REMOTE, NULL);
	if (result < 0)
		return result;
	queue_store_path(group->store, QUEUE_INFO, NULL, update->number, path);
	if (needs_sync(group, i))
		add_directory(group, i, QUEUE_INFO, NULL);
	return os_file_rename(group->store->directory, from, path);
}

/* Before S5 there is no control file to append to, and none without a map at S5. */
static int check_queue_update(const struct queue_update *update)
{
	if (update->preprocess != (update->is_queued && update->control.length > 0))
		return -EINVAL;
	if (update->control.length > 0 && update->control.data[update->control.length - 1] != '\n')
		return -EINVAL;
	if (update->bounce.length > 0 && update->bounce.data[update->bounce.length - 1] != '\n')
		return -EINVAL;
	if (update->may_be_lost &&
	    (update->is_queued || update->is_whole || update->bounce.length > 0))
		return -EINVAL;
	if (update->is_whole &&
	    (update->is_queued || !str_starts_with(update->control, STR("stagepost "))))
		return -EINVAL;
	return 0;
}

void queue_update_commit_group(struct queue_store *store, struct queue_update **updates,
			       size_t count)
{
	struct group group = {.store = store, .updates = updates, .count = count};

	group.sync = queue_store_begin_sync(store);
	group.files = memory_alloc((count + 1) * sizeof *group.files);
	group.bounces = memory_alloc_zero(count + 1, sizeof *group.bounces);
	for (size_t i = 0; i < count; i++) {
		group.files[i] = -1;
		updates[i]->is_in_doubt = false;
		updates[i]->result = check_queue_update(updates[i]);
		if (updates[i]->result == 0)
			updates[i]->result = update_check_identity(store, updates[i]);
	}
	write_bounces(&group);
	note_bounced_updates(&group, true);
	group.is_of_controls = true;
	group.is_ordered = group.sync == QUEUE_SYNC_ORDERED;
	write_controls_of_updates(&group);
	sync_files_of_updates(&group, true,
			      group.is_ordered ? os_file_write_out_many : os_file_sync_many);
	for (size_t i = 0; i < count; i++)
		if (updates[i]->result == 0 && (updates[i]->preprocess || updates[i]->is_whole))
			fail_queue_update(&group, i, name_all(&group, i));
	/* the map and the names together: S5 begins after this, when the name in todo/ is
	 * removed */
	sync_step(&group);
	/* the filesystem stopped keeping order meanwhile */
	if (group.is_ordered && !queue_store_kept_order(store) && sync_whole(&group) < 0)
		note_bounced_updates(&group, false);
	for (size_t i = 0; i < count; i++) {
		updates[i]->is_in_doubt &= updates[i]->result < 0;
		if (updates[i]->result < 0 && updates[i]->is_whole)
			update_drop_whole(store, updates[i]);
	}
	free(group.files);
	free(group.bounces);
	free(group.owners);
	queue_directories_clear(&group.directories);
}
