// SPDX-License-Identifier: ISC
/*
 * What the node has seen of the directory's data (directory/store/guard/guard.h) is stored in the
 * queue, QUEUE/directory, independent of the data. The process gets only the open file; with
 * PostgreSQL it may not open any. Without the file the process does not start: it could not tell an
 * empty directory from one that was emptied.
 */
#include "directory/store/guard/guard.h"
#include "log/event.h"
#include "os/file/file.h"
#include "os/worker.h"
#include "supervisor/internal.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct seen_file {
	const struct supervisor *supervisor;
	char path[OS_PROCESS_PATH_SIZE + 32];
	int file; /* open, or -errno */
};

/* The file has its size on the disk before anything is written in place: a size that grows may be
 * durable before what is in it. */
static int make_blank(int file, const char *queue)
{
	char blank[STORE_GUARD_FILE_SIZE];
	int error;

	memset(blank, ' ', sizeof blank);
	blank[sizeof blank - 1] = '\n';
	error = os_file_write(file, blank, sizeof blank, 0);
	if (error == 0)
		error = os_file_sync(file);
	return error == 0 ? os_file_sync_directory(OS_FILE_HERE, queue) : error;
}

static int open_seen(const char *path, const char *queue)
{
	const unsigned flags = OS_FILE_WRITE | OS_FILE_NO_FOLLOW | OS_FILE_NO_BLOCK;
	struct os_file_info info;
	int file = os_file_open(OS_FILE_HERE, path, flags);
	int error;

	if (file == -ENOENT)
		file = os_file_open(OS_FILE_HERE, path, flags | OS_FILE_CREATE | OS_FILE_PRIVATE);
	if (file < 0)
		return file;
	error = os_file_info(file, &info);
	if (error == 0 && info.links != 1) /* a hard link to another file */
		error = -EMLINK;
	if (error == 0 && info.size == 0)
		error = make_blank(file, queue);
	if (error == 0)
		return file;
	os_file_close(file);
	return error;
}

/* In a thread of its own, which ends with the owner's rights. What a supervisor of root's has made
 * before, root opens. */
static void open_as_owner(void *context)
{
	struct seen_file *seen = context;
	const struct os_process_user *owner = &seen->supervisor->users.node;
	const char *queue = seen->supervisor->config->queue;
	int error = owner->change ? os_process_files_as(owner) : 0;

	seen->file = error == 0 ? open_seen(seen->path, queue) : error;
	if (seen->file != -EACCES || !owner->change)
		return;
	os_process_files_as_self();
	seen->file = open_seen(seen->path, queue);
}

/* As the queue's owner, as only he may enter it. */
static int open_in_queue(struct seen_file *seen)
{
	struct os_worker *worker;
	int error = os_worker_new(open_as_owner, seen, NULL, &worker);

	if (error < 0)
		return error;
	os_worker_start(worker);
	os_worker_free(worker);
	return seen->file;
}

/* Logged once, though it is tried each second. */
static void tell_unseen(struct process *process, const char *path, int error)
{
	static const char reason[] = "what was seen of the directory cannot be opened";
	struct supervisor *supervisor = process->supervisor;
	struct buffer text CLEANUP(buffer_clear) = {0};

	if (error == supervisor->seen_error)
		return;
	supervisor->seen_error = error;
	if (error < 0) {
		log_event(EVENT_PROCESS_ERROR, log_string(reason, reason), log_string(file, path),
			  log_string(user, supervisor->config->user), log_error(error));
		buffer_append_format(&text, "%s: %s: %s", reason, path, strerror(-error));
	}
	supervisor_note_waits(process, buffer_view(&text));
}

int supervisor_open_seen(struct process *process)
{
	struct supervisor *supervisor = process->supervisor;
	struct seen_file seen = {.supervisor = supervisor};
	int file;

	snprintf(seen.path, sizeof seen.path, "%s/directory", supervisor->config->queue);
	file = open_in_queue(&seen);
	tell_unseen(process, seen.path, file < 0 ? file : 0);
	return file;
}
