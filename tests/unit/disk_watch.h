// SPDX-License-Identifier: ISC
/*
 * tests/unit/disk_watch.h - every call to os/file/file.h seen on its way to the disk
 * (the linker's --wrap): counted, made to fail, and judged by what a power cut
 * may take: bytes that were not synced, names whose directory was not.
 */
#ifndef TESTS_UNIT_DISK_WATCH_H
#define TESTS_UNIT_DISK_WATCH_H

#include <stdbool.h>
#include <stddef.h>

enum disk_call {
	DISK_SYNC_FILE,
	DISK_SYNC_DIRECTORY,
	DISK_SYNC_FILESYSTEM,
	DISK_WRITE_OUT,
	DISK_CALL_COUNT
};

/* Forgets all; what is on the disk is durable. */
void disk_watch_reset(void);
/* From now on the disk keeps the order that os_file_order_watch() speaks of. */
void disk_watch_keep_order(void);
/* The CALLth call from now on (1 is the next) returns ERROR and does nothing. */
void disk_watch_fail(size_t call, int error);
bool disk_watch_has_failed(void);
size_t disk_watch_count(enum disk_call call);
/* What is wrong: a file that came into a new/ or cur/ before its bytes were durable,
 * a tmp/ before its Maildir was, or a name in a new/ or cur/, or a directory above it,
 * that is not durable yet. NULL: nothing. */
const char *disk_watch_problem(void);

#endif
