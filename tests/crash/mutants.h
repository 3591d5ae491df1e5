// SPDX-License-Identifier: ISC
/*
 * tests/crash/mutants.h - the steps of the queue's strategies that can be left out or done too
 * late.
 *
 * Of all calls that change the disk. The recorder beside this does so in each scenario, tests/world
 * in a whole node (tests/world/pages/finds.md).
 */
#ifndef TESTS_CRASH_MUTANTS_H
#define TESTS_CRASH_MUTANTS_H

#include <stdbool.h>
#include <stddef.h>

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

extern const struct mutant mutants[];
extern const size_t mutant_count;

/* Whether CALL at PLACE is the one that is WANTED; WANTED_PLACE NULL: at any place. */
bool mutant_is_call(enum call call, const char *place, enum call wanted, const char *wanted_place);

#endif
