// SPDX-License-Identifier: ISC
/* directory/store/sqlite/internal_repair.h - shared by the parts of
 * directory/store/sqlite/repair.h. */
#ifndef DIRECTORY_STORE_SQLITE_INTERNAL_REPAIR_H
#define DIRECTORY_STORE_SQLITE_INTERNAL_REPAIR_H

#include "directory/store/sqlite/internal.h"
#include "directory/store/sqlite/repair.h"

struct sqlite_repair {
	struct store_sqlite_repair *options;
	struct sqlite_store *old;
	struct sqlite_store *made; /* NULL: nothing is made */
	struct arena *arena;       /* for one record */
	int64_t file_total;        /* of the checksums, as the file has it; -1: it cannot be read */
	bool is_total_right;       /* of the records that can be read */
	bool has_errors;           /* some of the file could not be read */
	bool has_bad_sums;         /* of records that are good or not */
	int64_t total;             /* of the records that were added up, or are in MADE */
	int64_t known_total;       /* of the checksums of all keys that were met */
	int made_error;            /* of MADE: sticks. SQLITE_OK: none */
};

/* repair_scan.c */

/* Whether all records that can be read add up to the total of the file. */
bool sqlite_repair_add_up(struct sqlite_repair *repair);
/* Counts, and reports what is damaged; or, if there is MADE, puts what is not into that. */
void sqlite_repair_sort(struct sqlite_repair *repair);

#endif
