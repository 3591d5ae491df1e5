// SPDX-License-Identifier: ISC
/*
 * os/file.h - the one door to the disk.
 *
 * Everything that the queue and the mailboxes do to a filesystem goes through
 * these calls. Tests link another implementation in place of file.c, one that
 * records which writes and directory entries are durable, enumerates what a
 * power cut may leave, and makes each call fail in turn. So nothing here may
 * hide an order or a sync: each function is one operation on the disk.
 *
 * Paths are relative to DIRECTORY, a descriptor from os_file_open_directory()
 * (or OS_FILE_HERE for the current directory). Every function returns 0, a
 * count or a descriptor, or -errno. EINTR never comes out.
 */
#ifndef OS_FILE_H
#define OS_FILE_H

#include "base/attributes.h"
#include "base/str.h"
#include <sys/types.h>

enum { OS_FILE_HERE = -100 }; /* AT_FDCWD */

enum os_file_flags {
	OS_FILE_READ = 0,
	OS_FILE_WRITE = 1 << 0,     /* reading and writing */
	OS_FILE_CREATE = 1 << 1,    /* makes a new file; -EEXIST when the name is taken */
	OS_FILE_APPEND = 1 << 2,    /* every write goes to the end */
	OS_FILE_NO_BLOCK = 1 << 3,  /* for named pipes */
	OS_FILE_PRIVATE = 1 << 4,   /* mode 0600 for a new file; otherwise 0640 */
	OS_FILE_NO_FOLLOW = 1 << 5, /* -ELOOP when the name is a symbolic link */
};

struct os_file_info {
	uint64_t inode;
	uint64_t device;
	uint64_t links;
	uint64_t size;
	int64_t modified_us;
	bool is_directory;
	mode_t mode; /* what it is, and who may do what: st_mode of stat(2) */
	uid_t owner;
};

struct os_file_space {
	uint64_t free_bytes;  /* for an ordinary user */
	uint64_t free_inodes; /* UINT64_MAX where the filesystem does not count them */
};

MUST_CHECK int os_file_open_directory(int directory, const char *path);
MUST_CHECK int os_file_open(int directory, const char *path, unsigned flags);
void os_file_close(int file);

/* Up to SIZE bytes from OFFSET on; fewer only at the end of the file. */
MUST_CHECK ssize_t os_file_read(int file, void *data, size_t size, uint64_t offset);
/* All SIZE bytes at OFFSET, or an error (then an unknown part is written). */
MUST_CHECK int os_file_write(int file, const void *data, size_t size, uint64_t offset);
/* All SIZE bytes to the end of a file opened with OS_FILE_APPEND. */
MUST_CHECK int os_file_append(int file, const void *data, size_t size);
MUST_CHECK int os_file_truncate(int file, uint64_t size);

/* Makes the file's bytes and size durable (fdatasync); not its names. After an
 * error the file must be abandoned: a second call may succeed falsely. */
MUST_CHECK int os_file_sync(int file);
/* os_file_sync() for COUNT files, at the same time where the kernel can;
 * RESULTS[i] is 0 or -errno of FILES[i]. */
void os_file_sync_many(const int *files, size_t count, int *results);
/* Hands the bytes of COUNT files to the device and waits until it has them.
 * Nothing is durable by that alone. But on a filesystem that keeps order
 * (os_file_order_watch()), a change of a directory made after this call becomes
 * durable only together with these bytes and sizes. Errors as for
 * os_file_sync(); RESULTS[i] is 0 or -errno of FILES[i]. */
void os_file_write_out_many(const int *files, size_t count, int *results);
/* Makes the directory's entries durable. Only for who need not know whether the sync failed
 * or the directory could not be opened for it: who must opens first and uses the next one. */
MUST_CHECK int os_file_sync_directory(int directory, const char *path);
/* Makes the entries of COUNT open directories durable, at the same time where the
 * kernel can; RESULTS[i] is 0 or -errno of DIRECTORIES[i]. Errors as for os_file_sync():
 * what such a sync was to make durable may never become so, whatever a later one says. */
void os_file_sync_directories(const int *directories, size_t count, int *results);
/* Makes everything on the filesystem of FILE durable: bytes, sizes, names. */
MUST_CHECK int os_file_sync_filesystem(int file);

MUST_CHECK int os_file_link(int directory, const char *from, const char *to);
/* -EEXIST when TO exists. */
MUST_CHECK int os_file_rename_new(int directory, const char *from, const char *to);
/* Replaces TO if it exists. */
MUST_CHECK int os_file_rename(int directory, const char *from, const char *to);
MUST_CHECK int os_file_unlink(int directory, const char *path);
/* Mode 0750. */
MUST_CHECK int os_file_make_directory(int directory, const char *path);
MUST_CHECK int os_file_make_pipe(int directory, const char *path);

/* Whether FILE, which is open for writing, is open by another descriptor, or mapped, by anybody,
 * this process included: 1, 0 or -errno, as of os_file_has_writers(). Older kernels say 1 too
 * often. */
MUST_CHECK int os_file_is_open_elsewhere(int file);
/* Whether anybody, this process included, can write to FILE, which is open for reading alone, by a
 * descriptor or a mapping: 1, 0 or -errno. -EINVAL: the system has no leases
 * (/proc/sys/fs/leases-enable), -EACCES: the file is not this process's user's; it cannot be
 * told. */
MUST_CHECK int os_file_has_writers(int file);

MUST_CHECK int os_file_info(int file, struct os_file_info *info_out);
/* Does not follow a symbolic link. */
MUST_CHECK int os_file_info_at(int directory, const char *path, struct os_file_info *info_out);
MUST_CHECK int os_file_set_modified(int directory, const char *path, int64_t modified_us);
MUST_CHECK int os_file_space(int file, struct os_file_space *space_out);
/* The kernel's magic number of the filesystem type (statfs f_type). */
MUST_CHECK int os_file_filesystem_type(int file, uint64_t *type_out);

/* Whether the filesystem of FILE provably makes changes durable in their order:
 * what os_file_write_out_many() says of one that does holds there, and a sync of a
 * directory makes durable all that was done before that directory's last change,
 * anywhere on the filesystem. (file_order.c says which do and why.) A descriptor for
 * os_file_order_holds(), owned by the caller; -errno: it does not. */
MUST_CHECK int os_file_order_watch(int file);
/* Whether it does still: a filesystem can be mounted anew with other options while files on it
 * are open. Cheap (a text of the kernel's is read); needs no right but WATCH. */
bool os_file_order_holds(int watch);

/* Calls EACH with every name in a directory except "." and "..", in no order;
 * stops when EACH returns something else than 0 and returns that. Entries that
 * are added or removed meanwhile may or may not be seen. */
MUST_CHECK int os_file_list(int directory, const char *path,
			    int (*each)(void *context, const char *name), void *context);

/* The same, a name at a time. */
struct os_file_list;
MUST_CHECK int os_file_list_open(int directory, const char *path, struct os_file_list **list_out);
/* 1 and a name that is valid until the next call; 0 at the end. */
MUST_CHECK int os_file_list_next(struct os_file_list *list, const char **name_out);
/* os_file_info_at() of a name in that directory, without the way to it. */
MUST_CHECK int os_file_list_info(struct os_file_list *list, const char *name,
				 struct os_file_info *info_out);
/* NULL is allowed. */
void os_file_list_close(struct os_file_list *list);

/* An exclusive lock on the whole file, held until it is closed or the process
 * ends; -EAGAIN when another process has it. */
MUST_CHECK int os_file_lock(int file);
/* The same, tried for that long where another has it. (file_lock.c, not of the disk) */
MUST_CHECK int os_file_lock_within(int file, int milliseconds);

#endif
