// SPDX-License-Identifier: ISC
/*
 * What the node has seen of the directory's data (store/guard/guard.h) is stored in the queue,
 * QUEUE/directory, independent of the data. The process gets only the open file; with PostgreSQL it
 * may not open any.
 */
#include "log/event.h"
#include "os/file/file.h"
#include "program/serve/internal.h"
#include "store/guard/guard.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

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

void serve_send_seen(struct process *process)
{
	const char *queue = process->supervisor->config->queue;
	char path[OS_PROCESS_PATH_SIZE + 32];
	int file;

	snprintf(path, sizeof path, "%s/directory", queue);
	file = open_seen(path, queue);
	if (file < 0) {
		log_event(EVENT_PROCESS_ERROR, log_string("file", path), log_error(file));
		return;
	}
	ipc_channel_send(process->control, CHILD_SOCKET, 0, STR("directory_seen"), &file, 1);
	os_file_close(file);
}
