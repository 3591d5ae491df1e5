// SPDX-License-Identifier: ISC
/*
 * tests/crash/recorder.h - os/file.h on a disk in memory, os/clock.h by its clock.
 *
 * Linked instead of os/file.c and os/clock.c. It tells the campaign of each call before it is
 * done, makes a call fail, and spoils what the queue code asks for: a mutant
 * is a sync that is not done, or one that is done too late.
 */
#ifndef TESTS_CRASH_RECORDER_H
#define TESTS_CRASH_RECORDER_H

#include "disk.h"

enum call {
	CALL_ANY,
	CALL_OPEN,
	CALL_READ,
	CALL_WRITE,
	CALL_TRUNCATE,
	CALL_SYNC,
	CALL_WRITE_OUT,
	CALL_SYNC_DIRECTORY,
	CALL_SYNC_FILESYSTEM,
	CALL_LINK,
	CALL_RENAME,
	CALL_UNLINK,
	CALL_MAKE,
	CALL_INFO,
	CALL_LIST,
	CALL_MODIFY,
};

/* What spoils a call. A call has a kind and a place: the first part of the path
 * (of the new name for link and rename, of the file's last name for those that
 * take a descriptor); that of a sync of a filesystem is "bounce" when a bounce
 * record is undecided, "names" when new names in todo/ or info/ are, else "bytes". */
struct mutant {
	const char *name;
	enum { MUTANT_SKIP, MUTANT_DEFER, MUTANT_FORGET_REMOVALS, MUTANT_FIRST } kind;
	enum call call;
	const char *place;
	enum call until; /* MUTANT_DEFER: done after the next such call;
			  * MUTANT_FIRST: done on the directory that the first such call changed */
	const char *until_place;
	unsigned modes;    /* added up: 1 << enum queue_sync */
	bool is_aftermath; /* strikes only in what comes after a power cut */
};

/* A process: its disk and its open files. */
struct world;

struct world *world_new(struct disk *disk); /* takes the disk over */
void world_free(struct world *world);
struct disk *world_disk(struct world *world);
/* Makes WORLD the one that os_file_... works on; returns the one before. */
struct world *world_enter(struct world *world);

struct recorder {
	void (*before)(enum call call, const char *place); /* may be NULL */
	const struct mutant *mutant;                       /* may be NULL */
	bool mutant_has_struck;
	uint64_t calls;   /* so far */
	uint64_t fail_at; /* the number of the call that fails; 0: none */
	int fail_with;
	char failed[64]; /* which call that was */
	int64_t now_us;  /* every clock's */
};

extern struct recorder recorder;

#endif
