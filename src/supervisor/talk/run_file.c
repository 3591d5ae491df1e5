// SPDX-License-Identifier: ISC
#include "supervisor/talk/run_file.h"
#include "os/file/rights.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

enum { RUN_FILE_PIECE = 65536, RUN_FILE_FOR_EVERYBODY = 0644 };

static int run_file_path(const char *run, const char *name, const char *end, char path[PATH_MAX])
{
	return snprintf(path, PATH_MAX, "%s/%s%s", run, name, end) < PATH_MAX ? 0 : -ENAMETOOLONG;
}

static int write_run_file(const char *path, struct str text, bool for_everybody)
{
	int file = os_file_open(OS_FILE_HERE, path, OS_FILE_WRITE | OS_FILE_CREATE);
	int error;

	if (file < 0)
		return file;
	error = os_file_write(file, text.data, text.length, 0);
	if (error == 0 && for_everybody)
		error = os_file_set_mode(file, RUN_FILE_FOR_EVERYBODY);
	os_file_close(file);
	return error;
}

int run_file_replace(const char *run, const char *name, struct str text, bool for_everybody)
{
	char path[PATH_MAX];
	char next[PATH_MAX];
	int error = run_file_path(run, name, "", path);

	if (error == 0)
		error = run_file_path(run, name, ".new", next);
	if (error < 0)
		return error;
	error = os_file_unlink(OS_FILE_HERE, next); /* of one that was interrupted */
	if (error == 0 || error == -ENOENT)
		error = write_run_file(next, text, for_everybody);
	return error < 0 ? error : os_file_rename(OS_FILE_HERE, next, path);
}

static int read_run_file(int file, size_t max, struct buffer *text)
{
	size_t begin = text->length;

	while (text->length - begin < max) {
		ssize_t count = os_file_read(file, buffer_reserve(text, RUN_FILE_PIECE),
					     RUN_FILE_PIECE, text->length - begin);

		if (count <= 0)
			return (int)count;
		buffer_commit(text, (size_t)count);
	}
	return -EFBIG;
}

int run_file_read(const char *run, const char *name, uid_t owner, size_t max, struct buffer *text)
{
	struct os_file_info info;
	char path[PATH_MAX];
	int error = run_file_path(run, name, "", path);
	int file;

	if (error < 0)
		return error;
	file = os_file_open(OS_FILE_HERE, path,
			    OS_FILE_READ | OS_FILE_NO_FOLLOW | OS_FILE_NO_BLOCK);
	if (file < 0)
		return file;
	error = os_file_info(file, &info);
	if (error == 0 && (info.owner != owner || !S_ISREG(info.mode)))
		error = -EPERM;
	if (error == 0)
		error = read_run_file(file, max, text);
	os_file_close(file);
	return error;
}
