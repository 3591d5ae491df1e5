// SPDX-License-Identifier: ISC
/*
 * os/file/file.h - all access to the disk.
 *
 * Everything that the queue and the mailboxes do to a file system goes through
 * these calls. Tests link another implementation in place of file.c, which
 * records which writes and directory entries are durable, enumerates what a
 * power cut may leave, and makes each call fail in turn. So nothing here may
 * hide an order or a sync: each function is one operation on the disk.
 *
 * Paths are relative to DIRECTORY, a descriptor from os_file_open_directory()
 * (or OS_FILE_HERE for the current directory). Every function returns 0, a
 * count or a descriptor, or -errno; never -EINTR.
 */
#ifndef OS_FILE_FILE_H
#define OS_FILE_FILE_H

#include "base/attributes.h"
#include "base/str.h"
#include <sys/types.h>

enum { OS_FILE_HERE = -100 }; /* AT_FDCWD */

enum os_file_flags {
	OS_FILE_READ = 0,
	OS_FILE_WRITE = 1 << 0,     /* reading and writing */
	OS_FILE_CREATE = 1 << 1,    /* creates a new file; -EEXIST if the name exists */
	OS_FILE_APPEND = 1 << 2,    /* every write goes to the end */
	OS_FILE_NO_BLOCK = 1 << 3,  /* for named pipes */
	OS_FILE_PRIVATE = 1 << 4,   /* mode 0600 for a new file; otherwise 0640 */
	OS_FILE_NO_FOLLOW = 1 << 5, /* -ELOOP if the name is a symbolic link */
};

struct os_file_info {
	uint64_t inode;
	uint64_t device;
	uint64_t links;
	uint64_t size;
	int64_t modified_us;
	int64_t changed_us; /* the last change, of its names and times, too: of the system's clock
			     */
	bool is_directory;
	mode_t mode; /* type and permissions: st_mode of stat(2) */
	uid_t owner;
	gid_t group;
};

struct os_file_space {
	uint64_t free_bytes;  /* for an ordinary user */
	uint64_t free_inodes; /* UINT64_MAX if the file system does not count them */
	uint64_t inodes;      /* in all, likewise */
};

MUST_CHECK int os_file_open_directory(int directory, const char *path);
MUST_CHECK int os_file_open(int directory, const char *path, unsigned flags);
void os_file_close(int file);

/* Up to SIZE bytes from OFFSET; fewer only at the end of the file. */
MUST_CHECK ssize_t os_file_read(int file, void *data, size_t size, uint64_t offset);
/* Writes all SIZE bytes at OFFSET, or fails (then an unknown part is written). */
MUST_CHECK int os_file_write(int file, const void *data, size_t size, uint64_t offset);
/* Appends all SIZE bytes to a file opened with OS_FILE_APPEND. */
MUST_CHECK int os_file_append(int file, const void *data, size_t size);
MUST_CHECK int os_file_truncate(int file, uint64_t size);

/* Makes the file's bytes and size durable (fdatasync); not its names. But on a file system that
 * keeps order (os_file_order_watch()) everything becomes durable that was done before the file last
 * grew: names, too. After an error the file must be abandoned: a second call may wrongly succeed.
 */
MUST_CHECK int os_file_sync(int file);
/* os_file_sync() for COUNT files, in parallel if the kernel can;
 * RESULTS[i] is 0 or -errno of FILES[i]. */
void os_file_sync_many(const int *files, size_t count, int *results);
/* Writes the bytes of COUNT files to the device and waits for that.
 * By itself this makes nothing durable. But on a file system that keeps order
 * (os_file_order_watch()), a directory change made after this call becomes
 * durable only together with these bytes and sizes. Errors as for
 * os_file_sync(); RESULTS[i] is 0 or -errno of FILES[i]. */
void os_file_write_out_many(const int *files, size_t count, int *results);
/* Makes the directory's entries durable. An error does not tell whether the sync failed or the
 * directory could not be opened; if that matters, open it first and use the next function. */
MUST_CHECK int os_file_sync_directory(int directory, const char *path);
/* Makes the entries of COUNT open directories durable, in parallel if the
 * kernel can; RESULTS[i] is 0 or -errno of DIRECTORIES[i]. Errors as for os_file_sync():
 * changes before a failed sync may never become durable, even if a later one succeeds. */
void os_file_sync_directories(const int *directories, size_t count, int *results);
/* Makes everything on the file system of FILE durable: bytes, sizes, names. */
MUST_CHECK int os_file_sync_filesystem(int file);

MUST_CHECK int os_file_link(int directory, const char *from, const char *to);
/* -EEXIST if TO exists. */
MUST_CHECK int os_file_rename_new(int directory, const char *from, const char *to);
/* Replaces TO if it exists. */
MUST_CHECK int os_file_rename(int directory, const char *from, const char *to);
MUST_CHECK int os_file_unlink(int directory, const char *path);
/* Mode 0750. */
MUST_CHECK int os_file_make_directory(int directory, const char *path);
MUST_CHECK int os_file_make_pipe(int directory, const char *path);

/* Whether FILE, which is open for writing, is also open by another descriptor or mapped, in any
 * process, including this one: 1, 0 or -errno, as for os_file_has_writers(). Older kernels may
 * wrongly return 1. */
MUST_CHECK int os_file_is_open_elsewhere(int file);
/* Whether FILE, which is open only for reading, can be written to by any descriptor or mapping, in
 * any process, including this one: 1, 0 or -errno. Unknown: -EINVAL if the system has no leases
 * (/proc/sys/fs/leases-enable), -EACCES if the file does not belong to this process's user. */
MUST_CHECK int os_file_has_writers(int file);

MUST_CHECK int os_file_info(int file, struct os_file_info *info_out);
/* Does not follow a symbolic link. */
MUST_CHECK int os_file_info_at(int directory, const char *path, struct os_file_info *info_out);
MUST_CHECK int os_file_set_modified(int directory, const char *path, int64_t modified_us);
MUST_CHECK int os_file_space(int file, struct os_file_space *space_out);
/* The kernel's magic number of the file system type (statfs f_type). */
MUST_CHECK int os_file_filesystem_type(int file, uint64_t *type_out);

/* Whether the file system of FILE provably makes changes durable in their order: then the guarantee
 * of os_file_write_out_many() holds, and a sync of a directory makes durable all that was done
 * before that directory's last change, anywhere on the file system. (order.c says which file
 * systems do and why.) A descriptor for os_file_order_holds(), owned by the caller; -errno: it does
 * not. */
MUST_CHECK int os_file_order_watch(int file);
/* Whether this is still true, as a file system can be remounted with other options while files are
 * open. Cheap (it reads a text from the kernel), and needs only the descriptor WATCH. */
bool os_file_order_holds(int watch);

/* Calls EACH with every name in a directory except "." and "..", in any order;
 * stops if EACH returns something other than 0 and returns that. Entries that
 * are added or removed meanwhile may or may not be listed. */
MUST_CHECK int os_file_list(int directory, const char *path,
			    int (*each)(void *context, const char *name), void *context);

/* Lists a directory, a name at a time. */
struct os_file_list;
MUST_CHECK int os_file_list_open(int directory, const char *path, struct os_file_list **list_out);
/* 1, and a name that is valid until the next call; 0 at the end. */
MUST_CHECK int os_file_list_next(struct os_file_list *list, const char **name_out);
/* os_file_info_at() of a name in that directory, without a path. */
MUST_CHECK int os_file_list_info(struct os_file_list *list, const char *name,
				 struct os_file_info *info_out);
/* NULL is allowed. */
void os_file_list_close(struct os_file_list *list);

/* Takes an exclusive lock on the whole file, until it is closed or the process
 * ends; -EAGAIN if another process has it. */
MUST_CHECK int os_file_lock(int file);
/* Likewise, but waits up to so long. (lock.c, as it does not access the disk) */
MUST_CHECK int os_file_lock_within(int file, int milliseconds);

#endif
