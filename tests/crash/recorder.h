// SPDX-License-Identifier: ISC
/*
 * tests/crash/recorder.h - os/file/file.h on a disk in memory, os/clock.h by its clock.
 *
 * Linked instead of os/file/file.c and os/clock.c. It tells the campaign of each call before it is
 * done, makes a call fail, and spoils what the queue code asks for: a mutant
 * is a sync that is not done, or one that is done too late.
 */
#ifndef TESTS_CRASH_RECORDER_H
#define TESTS_CRASH_RECORDER_H

#include "disk.h"
#include "mutants.h"

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
