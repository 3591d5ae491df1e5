// SPDX-License-Identifier: ISC
#include "program/pid_file.h"
#include "base/str.h"
#include "os/file.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

enum { TEXT_SIZE = 24, LOCK_MS = 500 /* whoever reads the file has the lock for a moment */ };

static int open_file(const char *run, unsigned flags)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof path, "%s/" PID_FILE_NAME, run) >= (int)sizeof path)
		return -ENAMETOOLONG;
	return os_file_open(OS_FILE_HERE, path, flags);
}

int pid_file_write(const char *run)
{
	char text[TEXT_SIZE];
	int length = snprintf(text, sizeof text, "%ld\n", (long)getpid());
	int file = open_file(run, OS_FILE_WRITE | OS_FILE_CREATE);
	int error;

	if (file == -EEXIST) /* the directory is another user's: it may be a trap */
		file = open_file(run, OS_FILE_WRITE | OS_FILE_NO_FOLLOW);
	if (file < 0)
		return file;
	error = os_file_lock_within(file, LOCK_MS);
	if (error == 0)
		error = os_file_truncate(file, 0);
	if (error == 0)
		error = os_file_write(file, text, (size_t)length, 0);
	if (error == 0)
		return file;
	os_file_close(file);
	return error;
}

static pid_t parse(struct str text)
{
	uint64_t pid;

	if (text.length > 0 && text.data[text.length - 1] == '\n')
		text.length--;
	return str_to_u64(text, &pid) && pid > 1 && pid <= INT_MAX ? (pid_t)pid : -EBADMSG;
}

pid_t pid_file_read(const char *run)
{
	char text[TEXT_SIZE];
	int file = open_file(run, OS_FILE_READ);
	ssize_t length;
	int locked;

	if (file < 0)
		return file == -ENOENT ? -ESRCH : file;
	locked = os_file_lock(file);
	length = os_file_read(file, text, sizeof text, 0);
	os_file_close(file);
	if (locked == 0)
		return -ESRCH;
	if (locked != -EAGAIN || length < 0)
		return locked != -EAGAIN ? locked : (pid_t)length;
	return parse(str_slice(text, (size_t)length));
}
