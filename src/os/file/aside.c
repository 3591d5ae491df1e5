// SPDX-License-Identifier: ISC
#include "os/file/aside.h"
#include "os/file/file.h"
#include <errno.h>
#include <string.h>

enum { NAMES_MAX = 1000 };

/* Another name for the file at PATH, with a NUL. */
static int link_aside(const char *path, struct buffer *kept)
{
	int error = -EEXIST;

	for (unsigned i = 1; i <= NAMES_MAX && error == -EEXIST; i++) {
		buffer_reset(kept);
		buffer_append_format(kept, "%s.damaged-%u%c", path, i, '\0');
		error = os_file_link(OS_FILE_HERE, path, buffer_data(kept));
	}
	return error;
}

/* SQLite would apply the log of writes to the new file. */
static int move_log(const char *path, const char *kept)
{
	struct buffer from CLEANUP(buffer_clear) = {0};
	struct buffer to CLEANUP(buffer_clear) = {0};
	int error;

	buffer_append_format(&from, "%s-wal%c", path, '\0');
	buffer_append_format(&to, "%s-wal%c", kept, '\0');
	error = os_file_rename(OS_FILE_HERE, buffer_data(&from), buffer_data(&to));
	if (error < 0 && error != -ENOENT)
		return error;
	buffer_reset(&from);
	buffer_append_format(&from, "%s-shm%c", path, '\0');
	error = os_file_unlink(OS_FILE_HERE, buffer_data(&from));
	return error == -ENOENT ? 0 : error;
}

static int sync_folder_of(const char *path)
{
	struct buffer folder CLEANUP(buffer_clear) = {0};
	const char *slash = strrchr(path, '/');

	if (slash == NULL)
		buffer_append_byte(&folder, '.');
	else
		buffer_append(&folder, path, slash == path ? 1 : (size_t)(slash - path));
	buffer_append_byte(&folder, '\0');
	return os_file_sync_directory(OS_FILE_HERE, buffer_data(&folder));
}

int os_file_set_aside(const char *path, const char *made, struct buffer *kept)
{
	struct buffer name CLEANUP(buffer_clear) = {0};
	int error = link_aside(path, &name);

	if (error == 0)
		error = sync_folder_of(path); /* it is never without a name */
	if (error == 0)
		error = move_log(path, buffer_data(&name));
	if (error == 0)
		error = made != NULL ? os_file_rename(OS_FILE_HERE, made, path)
				     : os_file_unlink(OS_FILE_HERE, path);
	if (error == 0)
		error = sync_folder_of(path);
	if (error == 0)
		buffer_append(kept, buffer_data(&name), name.length - 1);
	return error;
}
