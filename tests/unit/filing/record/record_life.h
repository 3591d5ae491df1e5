// SPDX-License-Identifier: ISC
/*
 * tests/unit/filing/record/record_life.h - a life of a record, in which each operation is called,
 * and one call of its database fails: the operation says so, nothing is made of what was done
 * before it, and the next one is as if nothing had been.
 */
#ifndef TESTS_UNIT_RECORD_LIFE_H
#define TESTS_UNIT_RECORD_LIFE_H

#include "filing/record/record.h"
#include <stdbool.h>

enum {
	RECORD_LIFE_COPIES_MAX = 66, /* more than are asked for at once */
	RECORD_LIFE_COPIES_FEW = 6,
};

struct record_life_database {
	size_t copies; /* that are filed */
	struct record *(*connect)(void);
	void (*empty)(void);
	/* The so-manyth call from now on fails, as ERROR, and a commit as COMMIT_ERROR; 0: none. */
	void (*fail_at)(int number);
	bool (*has_failed)(void);
	int error, commit_error;
	const char *words; /* of the failure; NULL: any */
	bool may_be_done;  /* what fails was done, perhaps */
};

/* All operations, the call FAILS_AT of which fails. False: there are not so many. */
bool record_life_live(const struct record_life_database *database, int fails_at);

#endif
