// SPDX-License-Identifier: ISC
/*
 * tests/world/disk.h - a simulated disk of a node, which can lose its power.
 *
 * It knows files, directories and open files, no processes: os_file.c beside it maps the
 * descriptors of a simulated process onto it. Every change is seen at once; what the power leaves
 * of those that no sync has decided is chosen by CHANCE, when it is cut or before: any state that
 * the contract of os/file/file.h allows may come, and the same choices give the same state.
 *
 * - Bytes reach the disk in sectors of 512, in any order; a size that grew at any time.
 * - Names, and sizes that were cut: on a disk that keeps order (os_file_order_watch()) as a
 *   prefix of the order they were made in, with all that was written out before, and a sync of a
 *   file decides those before it last grew; otherwise each by itself, the two of a rename too.
 * - After a sync that failed the pages are seen, clean, and old on the disk, or not: a later sync
 *   says 0 and writes nothing of them. Names that a failed sync was to make durable never are.
 *
 * Not simulated: symbolic links, rights (modes and owners are kept, nobody is refused), times of
 * reading, blocks of directories (only pages of files count as space).
 *
 * Functions return 0, a count or -errno as the calls of Linux do in the same case.
 */
#ifndef TESTS_WORLD_DISK_H
#define TESTS_WORLD_DISK_H

#include "os/file/file.h"

enum disk_call {
	DISK_OPEN,
	DISK_OPEN_TO_WRITE, /* a file that is there */
	DISK_CREATE,
	DISK_READ,
	DISK_WRITE,
	DISK_TRUNCATE,
	DISK_SYNC,
	DISK_WRITE_OUT,
	DISK_SYNC_NAMES,
	DISK_SYNC_ALL,
	DISK_LINK,
	DISK_RENAME,
	DISK_UNLINK,
	DISK_MAKE,
	DISK_INFO,
	DISK_MODIFY,
	DISK_LIST,
};

enum { DISK_PAGE = 4096, DISK_SECTOR = 512, DISK_NAME_MAX = 255 };
#define DISK_COMMIT_US INT64_C(5000000)
#define DISK_FILE_MAX  (UINT64_C(1) << 30) /* bytes; -EFBIG */

struct disk_options {
	uint64_t device;
	uint64_t pages_max;  /* 0: no bound */
	uint64_t inodes_max; /* 0: no bound */
	bool keeps_order;
	/* 0 to BOUND - 1: the source of all that is left to chance */
	uint64_t (*below)(void *context, uint64_t bound);
	/* NULL, or asked at each call: 0, or the -errno that it fails with. INODE: 0 where there is
	 * none yet. A write that fails has written half, a sync that fails loses what it was about;
	 * but -ENODEV, the device is gone: nothing is done. */
	int (*fault)(void *context, enum disk_call call, uint64_t inode);
	void *context; /* of both */
};

/* Who is told of names while calls change them. */
struct disk_watch {
	/* In DIRECTORY NAME leads to INODE now, to BEFORE until now; 0: nowhere. */
	void (*named)(void *context, uint64_t directory, const char *name, uint64_t before,
		      uint64_t inode, bool is_directory);
	/* All changes of a call are done. */
	void (*settled)(void *context);
	/* The power was cut: any name may have changed. */
	void (*cut)(void *context);
	void *context;
};

struct disk;
struct disk_file; /* an open file; counted, with a lock and a position of its own */

struct disk *disk_new(const struct disk_options *options);
void disk_free(struct disk *disk);
/* Of the calls that follow: what time it is, and who makes files. */
void disk_act(struct disk *disk, int64_t now_us, uid_t user);
/* What the disk has done by itself until UPTIME_US, which never goes back; before each use. One
 * that keeps order commits all names, cuts and write-outs DISK_COMMIT_US after the first of them.
 */
void disk_live(struct disk *disk, int64_t uptime_us);
/* All open files must have been closed: who had them is dead. Leaves what the disk shows when the
 * power comes back. */
void disk_cut_power(struct disk *disk);
/* WATCH is borrowed; NULL: nobody. */
void disk_set_watch(struct disk *disk, const struct disk_watch *watch);
/* Whether the file at PATH and its name there are as they are seen whatever the power does. */
bool disk_is_durable(struct disk *disk, const char *path);
/* Changes that a power cut may still take back: names, cuts and write-outs. */
size_t disk_undecided(const struct disk *disk);

/* The disk rots: the file at PATH has TEXT, seen and durable, and its times say nothing of that.
 * -EBUSY: it is on its way to the disk, which has nothing of it yet that could rot. */
MUST_CHECK int disk_rot(struct disk *disk, const char *path, const char *text, size_t size);
/* The same of a name, which is gone for good. */
MUST_CHECK int disk_rot_name(struct disk *disk, const char *path);

/* FROM: the directory that PATH begins at; NULL: the root, as for a path that begins with '/'.
 * FLAGS: enum os_file_flags. A named pipe opens at once: its bytes are the kernel's. */
MUST_CHECK int disk_open(struct disk *disk, struct disk_file *from, const char *path,
			 unsigned flags, struct disk_file **out);
MUST_CHECK int disk_open_directory(struct disk *disk, struct disk_file *from, const char *path,
				   struct disk_file **out);
void disk_share(struct disk_file *file);
/* The last one closes it and gives its lock back. */
void disk_close(struct disk_file *file);
bool disk_is_pipe(const struct disk_file *file);

MUST_CHECK ssize_t disk_read(struct disk_file *file, void *data, size_t size, uint64_t offset);
/* At OFFSET, or at the end where it was opened with OS_FILE_APPEND, as pwrite(2) of Linux. */
MUST_CHECK int disk_write(struct disk_file *file, const void *data, size_t size, uint64_t offset);
/* At the position of the open file, as write(2). */
MUST_CHECK int disk_append(struct disk_file *file, const void *data, size_t size);
MUST_CHECK int disk_truncate(struct disk_file *file, uint64_t size);
MUST_CHECK int disk_sync(struct disk_file *file);
MUST_CHECK int disk_write_out(struct disk_file *file);
MUST_CHECK int disk_sync_names(struct disk_file *directory);
MUST_CHECK int disk_sync_all(struct disk *disk);

MUST_CHECK int disk_link(struct disk *disk, struct disk_file *from, const char *path,
			 const char *to);
MUST_CHECK int disk_rename(struct disk *disk, struct disk_file *from, const char *path,
			   const char *to, bool may_replace);
MUST_CHECK int disk_unlink(struct disk *disk, struct disk_file *from, const char *path);
MUST_CHECK int disk_make(struct disk *disk, struct disk_file *from, const char *path, mode_t mode);

/* At once durable. */
void disk_set_mode(struct disk_file *file, mode_t mode);
MUST_CHECK int disk_info(struct disk_file *file, struct os_file_info *info_out);
MUST_CHECK int disk_info_at(struct disk *disk, struct disk_file *from, const char *path,
			    struct os_file_info *info_out);
MUST_CHECK int disk_set_modified(struct disk *disk, struct disk_file *from, const char *path,
				 int64_t modified_us);
void disk_space(const struct disk *disk, struct os_file_space *space_out);
bool disk_keeps_order(const struct disk *disk);
/* A number that is greater after each change of a name or of a file's durable bytes. */
uint64_t disk_changes(const struct disk *disk);

/* The names that it has now: a text of texts, each with its NUL; for disk_list_free(). */
MUST_CHECK int disk_list(struct disk_file *directory, char **names_out, size_t *size_out);
void disk_list_free(char *names);

MUST_CHECK int disk_lock(struct disk_file *file);
MUST_CHECK int disk_is_open_elsewhere(const struct disk_file *file);
MUST_CHECK int disk_has_writers(const struct disk_file *file);

#endif
