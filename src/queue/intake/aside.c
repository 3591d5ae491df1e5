// SPDX-License-Identifier: ISC
/*
 * Setting files aside after a failed sync.
 *
 * What a failed sync should have made durable may never become so, and no later sync reports that:
 * the kernel has marked as clean the pages that it could not write. If that was the removal of a
 * name from todo/, a power failure may bring the name back, and it leads to whatever file has that
 * number then. So the number must stay taken, and the file must not become another message's. But
 * its bytes need not stay: the file is truncated to 0, and keeps its number under a name in pid/,
 * "xNUMBER.BOOT". A name that comes back leads to the message that had it, which is delivered twice
 * at worst, or to an empty file, which a queued message never is: queue_store_look(). At S4 such a
 * name is removed: without an envelope there is nobody to deliver or report to. At S5 there is an
 * envelope, and the case looks like an accepted message whose data the disk has lost: so the
 * message waits like one whose data cannot be read, and in the end that is reported to its sender.
 *
 * In doubt are only names that were removed before the sync failed: a later removal writes its
 * block of the directory again, and the next sync reports errors of that. So files that end later
 * are reused as usual, except those of messages that are at S5 when the sync fails: their name in
 * todo/ may be in doubt, and they end later. They are recognized by the time of their data file,
 * which was written before its name was made, and so before pid/ was last changed (by the same
 * clock, that of the filesystem); at their end it is their birth (queue_update_mark_ended()), which
 * is earlier. If that clock was set back, more files than necessary are in
 * doubt.
 *
 * BOOT tells when the doubt ends: after a reboot the directories were read from the disk, and a
 * name that is not in them cannot come back. Then the file is removed like any other.
 */
#include "base/panic.h"
#include "os/file/file.h"
#include "queue/internal.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void aside_path(const struct queue_intake *intake, uint64_t number,
		       char path[QUEUE_PATH_SIZE])
{
	snprintf(path, QUEUE_PATH_SIZE, "pid/x%" PRIu64 ".%s", number, intake->store->boot);
}

bool queue_aside_parse(const struct queue_intake *intake, const char *name, uint64_t *number_out,
		       bool *is_of_this_boot_out)
{
	struct str rest = str_from(name);
	struct str word;

	if (name[0] != 'x')
		return false;
	rest = str_skip(rest, 1);
	if (!str_split(&rest, '.', &word) || !str_to_u64(word, number_out))
		return false;
	/* without a boot id it counts as set aside in this boot */
	*is_of_this_boot_out = rest.length == 0 || intake->store->boot[0] == '\0' ||
			       str_equal(rest, str_from(intake->store->boot));
	return true;
}

/* -errno: it still has its bytes. Closes FILE. */
static int empty_refused_file(const struct queue_intake *intake, const char *path, int file)
{
	int result;

	if (file < 0)
		file = os_file_open(intake->store->directory, path, OS_FILE_WRITE);
	if (file < 0)
		return file == -ENOENT ? 0 : file;
	result = os_file_truncate(file, 0);
	os_file_close(file);
	return result;
}

static void empty_or_keep(struct queue_intake *intake, const char *path, uint64_t number, int file)
{
	/* the manager does not ask a process that only adds messages before it begins one */
	if (!intake->options.is_daemon) {
		os_file_close(file);
		return;
	}
	if (empty_refused_file(intake, path, file) == 0)
		return;
	pthread_mutex_lock(&intake->mutex);
	queue_spare_list_add(&intake->full, (struct queue_spare){.number = number, .file = -1});
	pthread_mutex_unlock(&intake->mutex);
}

int queue_aside_put(struct queue_intake *intake, const char *path, struct queue_spare spare)
{
	char to[QUEUE_PATH_SIZE];
	int result;

	aside_path(intake, spare.number, to);
	result = os_file_rename(intake->store->directory, path, to);
	if (result < 0) {
		os_file_close(spare.file);
		return result;
	}
	/* two names of one file after a power failure: then rename() did nothing */
	result = os_file_unlink(intake->store->directory, path);
	(void)result;
	empty_or_keep(intake, to, spare.number, spare.file);
	return 0;
}

void queue_aside_put_spare(struct queue_intake *intake, struct queue_spare spare)
{
	char path[QUEUE_PATH_SIZE];
	int result;

	queue_spare_path(intake, &spare, path);
	result = queue_aside_put(intake, path, spare);
	(void)result; /* it stays where it is, as a file that is not used */
}

/* Messages written later than the last change of pid/ are not in doubt. */
static void doubt_messages_in_queue(struct queue_intake *intake)
{
	struct os_file_info info;
	int64_t now_us = INT64_MAX;

	if (os_file_info_at(intake->store->directory, "pid", &info) == 0)
		now_us = info.modified_us;
	pthread_mutex_lock(&intake->mutex);
	if (!intake->has_doubts || now_us > intake->doubts_us)
		intake->doubts_us = now_us;
	intake->has_doubts = true;
	pthread_mutex_unlock(&intake->mutex);
}

void queue_aside_adopt(struct queue_intake *intake, const char *name, uint64_t number)
{
	char path[QUEUE_PATH_SIZE];

	snprintf(path, sizeof path, "pid/%s", name);
	doubt_messages_in_queue(intake);
	empty_or_keep(intake, path, number, -1);
}

void queue_aside_after_failure(struct queue_intake *intake)
{
	struct queue_spare_list held;

	pthread_mutex_lock(&intake->mutex);
	intake->epoch++;
	intake->must_prove = true;
	intake->lost = intake->retired;
	held = intake->quarantine;
	intake->quarantine = (struct queue_spare_list){0};
	pthread_mutex_unlock(&intake->mutex);
	doubt_messages_in_queue(intake);
	for (size_t i = 0; i < held.count; i++)
		queue_aside_put_spare(intake, held.items[i]);
	free(held.items);
}

bool queue_aside_is_doubtful(struct queue_intake *intake, const char *path)
{
	struct os_file_info info;
	bool has_doubts;
	int64_t doubts_us;

	pthread_mutex_lock(&intake->mutex);
	has_doubts = intake->has_doubts;
	doubts_us = intake->doubts_us;
	pthread_mutex_unlock(&intake->mutex);
	return has_doubts && (os_file_info_at(intake->store->directory, path, &info) < 0 ||
			      info.modified_us <= doubts_us);
}

void queue_aside_refuse(struct queue_intake *intake, enum mail_stage stage, uint64_t number)
{
	pthread_mutex_lock(&intake->mutex);
	intake->refused = memory_resize(intake->refused,
					(intake->refused_count + 1) * sizeof *intake->refused);
	intake->refused[intake->refused_count++] = (struct queue_refused){stage, number};
	pthread_mutex_unlock(&intake->mutex);
}

static void take_refused_messages_back(struct queue_intake *intake)
{
	struct queue_refused *refused;
	size_t count;

	pthread_mutex_lock(&intake->mutex);
	refused = intake->refused;
	count = intake->refused_count;
	intake->refused = NULL;
	intake->refused_count = 0;
	pthread_mutex_unlock(&intake->mutex);
	for (size_t i = 0; i < count; i++) {
		struct queue_spare spare = {.number = refused[i].number, .file = -1};
		char path[QUEUE_PATH_SIZE];
		int result;

		queue_store_path(intake->store, QUEUE_TODO, mail_stage_name(refused[i].stage),
				 refused[i].number, path);
		result = queue_aside_put(intake, path, spare);
		if (result < 0 && result != -ENOENT)
			queue_aside_refuse(intake, refused[i].stage, refused[i].number);
	}
	free(refused);
}

bool queue_intake_has_refused(struct queue_intake *intake, uint64_t number)
{
	bool is_found = false;

	pthread_mutex_lock(&intake->mutex);
	for (size_t i = 0; i < intake->refused_count; i++)
		is_found |= intake->refused[i].number == number;
	pthread_mutex_unlock(&intake->mutex);
	return is_found;
}

void queue_aside_again(struct queue_intake *intake)
{
	struct queue_spare_list full;
	struct queue_spare spare;
	char path[QUEUE_PATH_SIZE];

	take_refused_messages_back(intake);
	pthread_mutex_lock(&intake->mutex);
	full = intake->full;
	intake->full = (struct queue_spare_list){0};
	pthread_mutex_unlock(&intake->mutex);
	while (queue_spare_list_take(&full, &spare)) {
		aside_path(intake, spare.number, path);
		empty_or_keep(intake, path, spare.number, -1);
	}
	queue_spare_list_clear(&full);
}
