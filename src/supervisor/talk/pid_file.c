// SPDX-License-Identifier: ISC
#include "supervisor/talk/pid_file.h"
#include "base/str.h"
#include "os/file/file.h"
#include "os/process/process.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

enum { TEXT_SIZE = 24, LOCK_MS = 500 /* readers of the file hold the lock for a moment */ };

static int open_pid_file(const char *run, unsigned flags)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof path, "%s/" PID_FILE_NAME, run) >= (int)sizeof path)
		return -ENAMETOOLONG;
	return os_file_open(OS_FILE_HERE, path, flags);
}

/* The file must be one that only we can have created: otherwise -EBADF, so that a supervisor always
 * writes to a file of its own. */
static int check_pid_file(int file, uid_t *owner_out)
{
	struct os_file_info info;
	int error = os_file_info(file, &info);

	if (error < 0)
		return error;
	*owner_out = info.owner;
	return S_ISREG(info.mode) && info.links == 1 ? 0 : -EBADF;
}

/* Replaces a file that somebody else has left, unless he has locked it. */
static int replace_pid_file(const char *run, int file)
{
	char path[PATH_MAX];
	uid_t owner = (uid_t)-1;
	int error = check_pid_file(file, &owner);

	if (error == 0 && owner == os_process_effective_user())
		return file;
	error = error == 0 ? os_file_lock_within(file, LOCK_MS) : 0;
	os_file_close(file);
	snprintf(path, sizeof path, "%s/" PID_FILE_NAME, run);
	if (error == 0)
		error = os_file_unlink(OS_FILE_HERE, path);
	return error < 0 ? error : open_pid_file(run, OS_FILE_WRITE | OS_FILE_CREATE);
}

/* A reader never finds the file empty; he reads the first line, whatever is left of a longer one.
 */
int pid_file_rewrite(int file)
{
	char text[TEXT_SIZE];
	int length = snprintf(text, sizeof text, "%ld\n", (long)os_process_id());
	int error = os_file_write(file, text, (size_t)length, 0);

	return error == 0 ? os_file_truncate(file, (uint64_t)length) : error;
}

int pid_file_write(const char *run)
{
	int file = open_pid_file(run, OS_FILE_WRITE | OS_FILE_CREATE);
	int error;

	if (file == -EEXIST) {
		file = open_pid_file(run, OS_FILE_WRITE | OS_FILE_NO_FOLLOW | OS_FILE_NO_BLOCK);
		if (file == -EACCES) /* root's, in our directory: to lock it, reading is enough */
			file = open_pid_file(run,
					     OS_FILE_READ | OS_FILE_NO_FOLLOW | OS_FILE_NO_BLOCK);
		if (file >= 0)
			file = replace_pid_file(run, file);
	}
	if (file < 0)
		return file;
	error = os_file_lock_within(file, LOCK_MS);
	if (error == 0)
		error = pid_file_rewrite(file);
	if (error == 0)
		return file;
	os_file_close(file);
	return error;
}

static pid_t parse_pid(struct str text)
{
	struct str line;
	uint64_t pid;

	return str_split(&text, '\n', &line) && str_to_u64(line, &pid) && pid > 1 && pid <= INT_MAX
		       ? (pid_t)pid
		       : -EBADMSG;
}

pid_t pid_file_read(const char *run, uid_t *owner_out)
{
	char text[TEXT_SIZE];
	int file = open_pid_file(run, OS_FILE_READ | OS_FILE_NO_FOLLOW | OS_FILE_NO_BLOCK);
	ssize_t length;
	int locked;
	int error;

	if (file < 0)
		return file == -ENOENT ? -ESRCH : file;
	error = check_pid_file(file, owner_out);
	if (error < 0) {
		os_file_close(file);
		return error;
	}
	locked = os_file_lock(file);
	length = os_file_read(file, text, sizeof text, 0);
	os_file_close(file);
	if (locked == 0)
		return -ESRCH;
	if (locked != -EAGAIN || length < 0)
		return locked != -EAGAIN ? locked : (pid_t)length;
	return parse_pid(str_slice(text, (size_t)length));
}
