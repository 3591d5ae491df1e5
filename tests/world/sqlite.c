// SPDX-License-Identifier: ISC
/*
 * SQLite's files on the simulated disk (https://sqlite.org/vfs.html), as its own "unix" has them on
 * a real one: a journal's name is made durable with its first sync.
 */
#include "disk_sqlite.h"
#include "disk_table.h"
#include "os/clock.h"
#include "os/random.h"
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

enum { PATH_SIZE = 512, SECTOR = 4096 };
static const int64_t JULIAN_1970_MS = INT64_C(210866760000000);

struct file {
	sqlite3_file base;
	int descriptor;
	bool may_be_new; /* its name is made durable with its first sync, if that can be done */
	bool is_passing; /* goes when it is closed */
	char path[PATH_SIZE];
};

static struct file *file_of(sqlite3_file *base)
{
	return (struct file *)(void *)base;
}

static struct disk_file *open_file(sqlite3_file *base)
{
	return disk_table_find(file_of(base)->descriptor);
}

static int sync_folder(const char *path)
{
	char folder[PATH_SIZE];
	const char *slash = strrchr(path, '/');

	snprintf(folder, sizeof folder, "%.*s", slash != NULL ? (int)(slash - path) : 0, path);
	return os_file_sync_directory(OS_FILE_HERE, *folder != '\0' ? folder : "/");
}

static int on_close(sqlite3_file *base)
{
	struct file *file = file_of(base);

	os_file_close(file->descriptor);
	if (file->is_passing)
		(void)!os_file_unlink(OS_FILE_HERE, file->path);
	return SQLITE_OK;
}

static int on_read(sqlite3_file *base, void *data, int size, sqlite3_int64 offset)
{
	ssize_t count =
		os_file_read(file_of(base)->descriptor, data, (size_t)size, (uint64_t)offset);

	if (count < 0)
		return SQLITE_IOERR_READ;
	if (count == size)
		return SQLITE_OK;
	memset((char *)data + count, 0, (size_t)(size - count));
	return SQLITE_IOERR_SHORT_READ;
}

static int on_write(sqlite3_file *base, const void *data, int size, sqlite3_int64 offset)
{
	int error = os_file_write(file_of(base)->descriptor, data, (size_t)size, (uint64_t)offset);

	if (error == -ENOSPC)
		return SQLITE_FULL;
	return error < 0 ? SQLITE_IOERR_WRITE : SQLITE_OK;
}

static int on_truncate(sqlite3_file *base, sqlite3_int64 size)
{
	return os_file_truncate(file_of(base)->descriptor, (uint64_t)size) < 0
		       ? SQLITE_IOERR_TRUNCATE
		       : SQLITE_OK;
}

static int on_sync(sqlite3_file *base, int flags)
{
	struct file *file = file_of(base);

	(void)flags;
	if (os_file_sync(file->descriptor) < 0)
		return SQLITE_IOERR_FSYNC;
	if (file->may_be_new)
		(void)!sync_folder(file->path); /* "unix" does not look at this error either */
	file->may_be_new = false;
	return SQLITE_OK;
}

static int on_size(sqlite3_file *base, sqlite3_int64 *size_out)
{
	struct os_file_info info;

	if (os_file_info(file_of(base)->descriptor, &info) < 0)
		return SQLITE_IOERR_FSTAT;
	*size_out = (sqlite3_int64)info.size;
	return SQLITE_OK;
}

static int on_lock(sqlite3_file *base, int level)
{
	return disk_sqlite_lock(open_file(base), level) < 0 ? SQLITE_BUSY : SQLITE_OK;
}

static int on_unlock(sqlite3_file *base, int level)
{
	disk_sqlite_unlock(open_file(base), level);
	return SQLITE_OK;
}

static int on_reserved(sqlite3_file *base, int *is_out)
{
	*is_out = disk_sqlite_is_reserved(open_file(base));
	return SQLITE_OK;
}

static int on_control(sqlite3_file *base, int what, void *argument)
{
	(void)base;
	(void)what;
	(void)argument;
	return SQLITE_NOTFOUND;
}

static int on_sector_size(sqlite3_file *base)
{
	(void)base;
	return SECTOR;
}

static int on_characteristics(sqlite3_file *base)
{
	(void)base;
	return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

static int on_share(sqlite3_file *base, int number, int size, int made, void volatile **out)
{
	*out = disk_sqlite_share(open_file(base), (unsigned)number, (size_t)size, made != 0);
	return SQLITE_OK;
}

static int on_share_lock(sqlite3_file *base, int first, int count, int flags)
{
	unsigned mask = ((1u << count) - 1) << first;

	if ((flags & SQLITE_SHM_LOCK) != 0)
		return disk_sqlite_share_lock(open_file(base), mask,
					      (flags & SQLITE_SHM_EXCLUSIVE) != 0) < 0
			       ? SQLITE_BUSY
			       : SQLITE_OK;
	disk_sqlite_share_unlock(open_file(base), mask);
	return SQLITE_OK;
}

static void on_barrier(sqlite3_file *base)
{
	(void)base;
}

static int on_unshare(sqlite3_file *base, int is_last)
{
	(void)is_last;
	disk_sqlite_share_unlock(open_file(base), UINT32_MAX);
	return SQLITE_OK;
}

static const sqlite3_io_methods methods = {
	.iVersion = 2,
	.xClose = on_close,
	.xRead = on_read,
	.xWrite = on_write,
	.xTruncate = on_truncate,
	.xSync = on_sync,
	.xFileSize = on_size,
	.xLock = on_lock,
	.xUnlock = on_unlock,
	.xCheckReservedLock = on_reserved,
	.xFileControl = on_control,
	.xSectorSize = on_sector_size,
	.xDeviceCharacteristics = on_characteristics,
	.xShmMap = on_share,
	.xShmLock = on_share_lock,
	.xShmBarrier = on_barrier,
	.xShmUnmap = on_unshare,
};

/* --- names --- */

static int open_or_make(struct file *file, int flags)
{
	unsigned how = (flags & SQLITE_OPEN_READWRITE) != 0 ? OS_FILE_WRITE : OS_FILE_READ;
	int descriptor = os_file_open(OS_FILE_HERE, file->path, how);

	file->may_be_new = (flags & SQLITE_OPEN_CREATE) != 0 &&
			   (flags & (SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL |
				     SQLITE_OPEN_WAL)) != 0;
	if (descriptor != -ENOENT || (flags & SQLITE_OPEN_CREATE) == 0)
		return descriptor;
	return os_file_open(OS_FILE_HERE, file->path, how | OS_FILE_CREATE);
}

static int on_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *base, int flags,
		   int *flags_out)
{
	struct file *file = file_of(base);

	(void)vfs;
	memset(file, 0, sizeof *file);
	if (name != NULL)
		snprintf(file->path, sizeof file->path, "%s", name);
	else
		snprintf(file->path, sizeof file->path, "/sqlite-%016llx",
			 (unsigned long long)os_random_u64());
	file->is_passing = (flags & SQLITE_OPEN_DELETEONCLOSE) != 0;
	file->descriptor = open_or_make(file, flags);
	if (file->descriptor < 0)
		return SQLITE_CANTOPEN;
	base->pMethods = &methods;
	if (flags_out != NULL)
		*flags_out = flags;
	return SQLITE_OK;
}

static int on_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
	int error = os_file_unlink(OS_FILE_HERE, name);

	(void)vfs;
	if (error < 0)
		return error == -ENOENT ? SQLITE_IOERR_DELETE_NOENT : SQLITE_IOERR_DELETE;
	return sync != 0 && sync_folder(name) < 0 ? SQLITE_IOERR_DIR_FSYNC : SQLITE_OK;
}

/* An empty file is none, as for "unix". */
static int on_access(sqlite3_vfs *vfs, const char *name, int flags, int *is_out)
{
	struct os_file_info info;
	int error = os_file_info_at(OS_FILE_HERE, name, &info);

	(void)vfs;
	*is_out = error == 0 && (flags != SQLITE_ACCESS_EXISTS || info.size > 0);
	return error < 0 && error != -ENOENT ? SQLITE_IOERR_ACCESS : SQLITE_OK;
}

static int on_full_path(sqlite3_vfs *vfs, const char *name, int size, char *out)
{
	(void)vfs;
	return snprintf(out, (size_t)size, "%s%s", *name == '/' ? "" : "/", name) < size
		       ? SQLITE_OK
		       : SQLITE_CANTOPEN;
}

static int on_randomness(sqlite3_vfs *vfs, int size, char *out)
{
	(void)vfs;
	for (int i = 0; i < size; i++)
		out[i] = (char)os_random_u64();
	return size;
}

static int on_sleep(sqlite3_vfs *vfs, int microseconds)
{
	(void)vfs;
	os_clock_pause_ms((unsigned)(microseconds + 999) / 1000);
	return microseconds;
}

static int on_time(sqlite3_vfs *vfs, sqlite3_int64 *now_out)
{
	(void)vfs;
	*now_out = JULIAN_1970_MS + os_clock_wall_us() / 1000;
	return SQLITE_OK;
}

static int on_day(sqlite3_vfs *vfs, double *now_out)
{
	sqlite3_int64 now;
	int error = on_time(vfs, &now);

	*now_out = (double)now / 86400000.0;
	return error;
}

static int on_last_error(sqlite3_vfs *vfs, int size, char *out)
{
	(void)vfs;
	(void)size;
	(void)out;
	return 0;
}

static sqlite3_vfs world_vfs = {
	.iVersion = 2,
	.szOsFile = sizeof(struct file),
	.mxPathname = PATH_SIZE - 1,
	.zName = "world",
	.xOpen = on_open,
	.xDelete = on_delete,
	.xAccess = on_access,
	.xFullPathname = on_full_path,
	.xRandomness = on_randomness,
	.xSleep = on_sleep,
	.xCurrentTime = on_day,
	.xGetLastError = on_last_error,
	.xCurrentTimeInt64 = on_time,
};

int world_sqlite_begin(void)
{
	return sqlite3_vfs_register(&world_vfs, 1);
}

void world_sqlite_end(void)
{
	(void)sqlite3_vfs_unregister(&world_vfs);
}
