// SPDX-License-Identifier: ISC
#include "base/panic.h"
#include "mailbox/internal.h"
#include "os/file.h"
#include <stdlib.h>
#include <string.h>

/* Measured with 4 KiB messages into 1,000 Maildirs, ext4 on a loop device over
 * an SSD, deliveries a second with FILES and with FILESYSTEM: a group of 1: 900
 * both; 8: 4,400 and 4,100; 16: 3,700 and 5,700; 64: 7,900 and 9,300; 256: 8,900
 * and 10,200. So the group is what counts; syncfs helps from about 8 on. */

void maildir_work_fail(struct maildir_work *work, const char *doing, int result)
{
	if (result >= 0 || work->error < 0)
		return;
	work->doing = doing;
	work->error = result;
}

static bool may_sync_filesystem(const struct maildir *maildir, uint64_t device)
{
	if (maildir->sync == MAILDIR_SYNC_AUTO)
		/* others write to the root filesystem; we would wait for them */
		return device != maildir->root_device;
	return maildir->sync == MAILDIR_SYNC_FILESYSTEM;
}

static size_t count_on(const struct maildir_work *works, size_t count, uint64_t device)
{
	size_t on = 0;

	for (size_t i = 0; i < count; i++)
		on += works[i].error == 0 && works[i].device == device;
	return on;
}

void maildir_sync_plan(const struct maildir *maildir, struct maildir_work *works, size_t count)
{
	uint64_t device = 0;
	bool together = false;

	for (size_t i = 0; i < count; i++) {
		if (works[i].error < 0)
			continue;
		if (i == 0 || works[i].device != device) {
			device = works[i].device;
			together = may_sync_filesystem(maildir, device) &&
				   count_on(works, count, device) >= MAILDIR_FILESYSTEM_FROM;
		}
		works[i].by_filesystem = together;
	}
}

/* One sync for each filesystem, its outcome for every delivery on it. */
static void sync_filesystems(struct maildir_work *works, size_t count, const char *doing)
{
	bool *is_synced = memory_alloc_zero(count, sizeof *is_synced);

	for (size_t i = 0; i < count; i++) {
		uint64_t device = works[i].device;
		int result;

		if (is_synced[i] || works[i].error < 0 || !works[i].by_filesystem)
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

void maildir_sync_files(struct maildir_work *works, size_t count)
{
	static const char doing[] = "make the message durable";
	int *files = memory_alloc_zero(count, sizeof *files);
	int *results = memory_alloc_zero(count, sizeof *results);
	size_t used = 0;

	for (size_t i = 0; i < count; i++)
		if (works[i].error == 0 && !works[i].by_filesystem)
			files[used++] = works[i].file;
	if (used > 0)
		os_file_sync_many(files, used, results);
	used = 0;
	for (size_t i = 0; i < count; i++)
		if (works[i].error == 0 && !works[i].by_filesystem)
			maildir_work_fail(&works[i], doing, results[used++]);
	free(files);
	free(results);
	sync_filesystems(works, count, doing);
}

static int compare_paths(const void *a, const void *b)
{
	struct str left = (*(struct maildir_work *const *)a)->delivery->path;
	struct str right = (*(struct maildir_work *const *)b)->delivery->path;

	if (left.length != right.length)
		return left.length < right.length ? -1 : 1;
	return memcmp(left.data, right.data, left.length);
}

static int sync_new(struct str path)
{
	struct maildir_path folder;
	int result = maildir_path_join(&folder, path, "new", NULL);

	return result < 0 ? result : os_file_sync_directory(OS_FILE_HERE, folder.text);
}

/* Each distinct new/ once, however many deliveries went there. */
void maildir_sync_folders(struct maildir_work *works, size_t count)
{
	static const char doing[] = "make the name in new/ durable";
	struct maildir_work **sorted = memory_alloc_zero(count, sizeof *sorted);
	size_t used = 0;
	int result = 0;

	sync_filesystems(works, count, doing);
	for (size_t i = 0; i < count; i++)
		if (works[i].error == 0 && !works[i].by_filesystem)
			sorted[used++] = &works[i];
	qsort(sorted, used, sizeof *sorted, compare_paths);
	for (size_t i = 0; i < used; i++) {
		if (i == 0 || compare_paths(&sorted[i - 1], &sorted[i]) != 0)
			result = sync_new(sorted[i]->delivery->path);
		maildir_work_fail(sorted[i], doing, result);
	}
	free(sorted);
}
