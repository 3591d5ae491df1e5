// SPDX-License-Identifier: ISC
/* Makes the files and directories of a group durable, with few system calls if the file system
 * allows that. */
#include "base/panic.h"
#include "mailbox/internal.h"
#include "os/file/file.h"
#include <stdlib.h>
#include <string.h>

/* Measured with 4 KiB messages into 1,000 Maildirs, ext4 on a loop device over an SSD, deliveries a
 * second with FILES and with FILESYSTEM: a group of 1: 900 both; 8: 4,400 and 4,100; 16: 3,700 and
 * 5,700; 64: 7,900 and 9,300; 256: 8,900 and 10,200. So the size of the group matters most; syncfs
 * helps from about 8 on. */

void maildir_work_fail(struct maildir_work *work, const char *doing, int result)
{
	if (result >= 0 || work->error < 0)
		return;
	work->doing = doing;
	work->error = result;
}

static size_t count_on(const struct maildir_work *works, size_t count, uint64_t device)
{
	size_t on = 0;

	for (size_t i = 0; i < count; i++)
		on += works[i].error == 0 && works[i].device == device;
	return on;
}

static bool is_ordered(struct maildir *maildir, const struct maildir_work *work)
{
	if (maildir->order.device != work->device) {
		if (maildir->order.device != 0)
			os_file_close(maildir->order.watch);
		maildir->order = (struct maildir_order){.device = work->device,
							.watch = os_file_order_watch(work->file)};
	}
	return maildir->order.watch >= 0 && os_file_order_holds(maildir->order.watch);
}

static enum maildir_sync choose_maildir_sync(struct maildir *maildir,
					     const struct maildir_work *works, size_t count,
					     const struct maildir_work *work)
{
	enum maildir_sync sync = maildir->sync;

	if (sync == MAILDIR_SYNC_AUTO && is_ordered(maildir, work))
		return MAILDIR_SYNC_ORDERED;
	if (sync == MAILDIR_SYNC_AUTO)
		/* on the root file system syncfs would wait for the writes of others */
		sync = work->device == maildir->root_device ? MAILDIR_SYNC_FILES
							    : MAILDIR_SYNC_FILESYSTEM;
	if (sync == MAILDIR_SYNC_FILESYSTEM &&
	    count_on(works, count, work->device) < MAILDIR_FILESYSTEM_FROM)
		return MAILDIR_SYNC_FILES;
	return sync;
}

void maildir_sync_plan(struct maildir *maildir, struct maildir_work *works, size_t count)
{
	const struct maildir_work *before = NULL;

	for (size_t i = 0; i < count; i++) {
		if (works[i].error < 0)
			continue;
		works[i].sync = before != NULL && before->device == works[i].device
					? before->sync
					: choose_maildir_sync(maildir, works, count, &works[i]);
		before = &works[i];
	}
}

/* One sync for each file system, with its result for every delivery there. */
static void sync_filesystems(struct maildir_work *works, size_t count, const char *doing)
{
	bool *is_synced = memory_alloc_zero(count, sizeof *is_synced);

	for (size_t i = 0; i < count; i++) {
		uint64_t device = works[i].device;
		int result;

		if (is_synced[i] || works[i].error < 0 || works[i].sync != MAILDIR_SYNC_FILESYSTEM)
			continue;
		result = os_file_sync_filesystem(works[i].file);
		for (size_t j = i; j < count; j++) {
			if (works[j].error < 0 || works[j].device != device)
				continue;
			is_synced[j] = true;
			maildir_work_fail(&works[j], doing, result);
		}
	}
	free(is_synced);
}

/* Calls STORE_MANY for all files that are to be made durable as SYNC says, in parallel. */
static void for_each_file_to_sync(struct maildir_work *works, size_t count, enum maildir_sync sync,
				  void (*store_many)(const int *files, size_t count, int *results),
				  const char *doing)
{
	int *files = memory_alloc_zero(count, sizeof *files);
	int *results = memory_alloc_zero(count, sizeof *results);
	size_t used = 0;

	for (size_t i = 0; i < count; i++)
		if (works[i].error == 0 && works[i].sync == sync)
			files[used++] = works[i].file;
	if (used > 0)
		store_many(files, used, results);
	used = 0;
	for (size_t i = 0; i < count; i++)
		if (works[i].error == 0 && works[i].sync == sync)
			maildir_work_fail(&works[i], doing, results[used++]);
	free(files);
	free(results);
}

void maildir_sync_files(struct maildir_work *works, size_t count)
{
	static const char doing[] = "make the message durable";

	for_each_file_to_sync(works, count, MAILDIR_SYNC_FILES, os_file_sync_many, doing);
	for_each_file_to_sync(works, count, MAILDIR_SYNC_ORDERED, os_file_write_out_many, doing);
	sync_filesystems(works, count, doing);
}

static int compare_paths(const void *a, const void *b)
{
	const struct maildir_work *left = *(struct maildir_work *const *)a;
	const struct maildir_work *right = *(struct maildir_work *const *)b;
	int result;

	if (left->path.length != right->path.length)
		return left->path.length < right->path.length ? -1 : 1;
	result = memcmp(left->path.data, right->path.data, left->path.length);
	return result != 0 ? result : strcmp(left->box, right->box);
}

static int sync_box(const struct maildir_work *work)
{
	struct maildir_path folder;
	int result = maildir_path_join(&folder, work->path, work->box, NULL);

	return result < 0 ? result : os_file_sync_directory(OS_FILE_HERE, folder.text);
}

/* On each file system that keeps order, only the directory of the last rename. */
static void sync_last_folders(struct maildir_work *works, size_t count, const char *doing)
{
	for (size_t last = count; last-- > 0;) {
		uint64_t device = works[last].device;
		int result;

		if (works[last].error < 0 || works[last].is_durable ||
		    works[last].sync != MAILDIR_SYNC_ORDERED)
			continue;
		result = sync_box(&works[last]);
		for (size_t i = 0; i <= last; i++) {
			if (works[i].error < 0 || works[i].device != device)
				continue;
			works[i].is_durable = true;
			maildir_work_fail(&works[i], doing, result);
		}
	}
}

/* Each distinct new/ or cur/ once, even for several deliveries. */
static void sync_each_folder(struct maildir_work *works, size_t count, const char *doing)
{
	struct maildir_work **sorted = memory_alloc_zero(count, sizeof *sorted);
	size_t used = 0;
	int result = 0;

	for (size_t i = 0; i < count; i++)
		if (works[i].error == 0 && works[i].sync == MAILDIR_SYNC_FILES)
			sorted[used++] = &works[i];
	qsort(sorted, used, sizeof *sorted, compare_paths);
	for (size_t i = 0; i < used; i++) {
		if (i == 0 || compare_paths(&sorted[i - 1], &sorted[i]) != 0)
			result = sync_box(sorted[i]);
		maildir_work_fail(sorted[i], doing, result);
	}
	free(sorted);
}

/* If the guarantee of order has ended meanwhile, everything is synced after all. */
static void sync_unordered(struct maildir *maildir, struct maildir_work *works, size_t count,
			   const char *doing)
{
	bool is_any = false;

	if (maildir->sync != MAILDIR_SYNC_AUTO)
		return;
	for (size_t i = 0; i < count; i++) {
		if (works[i].error < 0 || works[i].sync != MAILDIR_SYNC_ORDERED ||
		    is_ordered(maildir, &works[i]))
			continue;
		works[i].sync = MAILDIR_SYNC_FILESYSTEM;
		is_any = true;
	}
	if (is_any)
		sync_filesystems(works, count, doing);
}

void maildir_sync_folders(struct maildir *maildir, struct maildir_work *works, size_t count)
{
	static const char doing[] = "make the message's name durable";

	sync_filesystems(works, count, doing);
	sync_last_folders(works, count, doing);
	sync_each_folder(works, count, doing);
	sync_unordered(maildir, works, count, doing);
}
