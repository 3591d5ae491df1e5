// SPDX-License-Identifier: ISC
#include "supervisor/talk/drain.h"
#include "os/file/file.h"
#include <errno.h>
#include <stdio.h>

enum { DRAIN_PATH_SIZE = 512 };

static void path_in_run(const char *run, const char *name, char path[DRAIN_PATH_SIZE])
{
	snprintf(path, DRAIN_PATH_SIZE, "%s/%s", run, name);
}

static bool is_there(const char *run, const char *name)
{
	char path[DRAIN_PATH_SIZE];
	struct os_file_info info;

	path_in_run(run, name, path);
	return os_file_info_at(OS_FILE_HERE, path, &info) == 0;
}

static int set_there(const char *run, const char *name, bool is_wanted)
{
	char path[DRAIN_PATH_SIZE];
	int file;
	int error = 0;

	path_in_run(run, name, path);
	if (!is_wanted)
		error = os_file_unlink(OS_FILE_HERE, path);
	if (!is_wanted)
		return error == -ENOENT ? 0 : error;
	file = os_file_open(OS_FILE_HERE, path, OS_FILE_WRITE | OS_FILE_CREATE);
	if (file < 0)
		return file == -EEXIST ? 0 : file;
	os_file_close(file);
	return 0;
}

int drain_want(const char *run, bool is_wanted)
{
	return set_there(run, "draining", is_wanted);
}

bool drain_is_wanted(const char *run)
{
	return is_there(run, "draining");
}

bool drain_since(const char *run, int64_t *since_us_out)
{
	char path[DRAIN_PATH_SIZE];
	struct os_file_info info;

	path_in_run(run, "draining", path);
	if (os_file_info_at(OS_FILE_HERE, path, &info) < 0)
		return false;
	*since_us_out = info.modified_us;
	return true;
}

int drain_confirm(const char *run, bool is_draining)
{
	return set_there(run, "drained", is_draining);
}

bool drain_is_confirmed(const char *run, bool is_draining)
{
	return is_there(run, "drained") == is_draining;
}
