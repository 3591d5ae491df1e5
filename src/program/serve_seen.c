// SPDX-License-Identifier: ISC
/*
 * What the node has seen of the directory's data (store/guard/guard.h) is stored in the queue,
 * QUEUE/directory, independent of the data. The process gets only the open file; with PostgreSQL it
 * may not open any.
 */
#include "log/event.h"
#include "os/file.h"
#include "program/serve_internal.h"
#include <errno.h>
#include <stdio.h>

static int open_seen(const char *path)
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
	if (error == 0)
		return file;
	os_file_close(file);
	return error;
}

void serve_send_seen(struct process *process)
{
	char path[OS_PROCESS_PATH_SIZE + 32];
	int file;

	snprintf(path, sizeof path, "%s/directory", process->supervisor->config->queue);
	file = open_seen(path);
	if (file < 0) {
		log_event(EVENT_PROCESS_ERROR, log_string("file", path), log_error(file));
		return;
	}
	ipc_channel_send(process->control, CHILD_SOCKET, 0, STR("directory_seen"), &file, 1);
	os_file_close(file);
}
