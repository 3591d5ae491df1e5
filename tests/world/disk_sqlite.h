// SPDX-License-Identifier: ISC
/*
 * tests/world/disk_sqlite.h - what SQLite asks of a system beyond os/file/file.h: locks on a
 * database and memory that all who have it open share. Both belong to open files, and end with
 * them.
 */
#ifndef TESTS_WORLD_DISK_SQLITE_H
#define TESTS_WORLD_DISK_SQLITE_H

#include "disk.h"

enum { DISK_SQLITE_LOCKS = 8 /* of shared memory: SQLITE_SHM_NLOCK */ };

/* LEVEL as of xLock and xUnlock of SQLite: 0; -EAGAIN, which may leave FILE at PENDING. */
MUST_CHECK int disk_sqlite_lock(struct disk_file *file, int level);
void disk_sqlite_unlock(struct disk_file *file, int level);
/* Whether anybody has RESERVED or more. */
bool disk_sqlite_is_reserved(const struct disk_file *file);

/* Region NUMBER of SIZE bytes, zeroed when it is new; NULL when there is none and it is not to be
 * MADE. Stays until nobody has the file open. */
void *disk_sqlite_share(struct disk_file *file, unsigned number, size_t size, bool made);
/* Locks (or gives back) those whose bits are in MASK: 0 or -EAGAIN. */
MUST_CHECK int disk_sqlite_share_lock(struct disk_file *file, unsigned mask, bool is_exclusive);
void disk_sqlite_share_unlock(struct disk_file *file, unsigned mask);

/* Makes the simulated disk that of SQLite, for all connections that are opened from now on: 0 or
 * an error of SQLite. (sqlite.c) */
MUST_CHECK int world_sqlite_begin(void);
void world_sqlite_end(void);

#endif
