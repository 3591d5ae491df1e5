// SPDX-License-Identifier: ISC
/*
 * exchange/import.h - the records of a file into a directory.
 *
 * The file is read twice: exchange_import_check() says all that is wrong with it and asks nobody;
 * exchange_import_apply() changes what is different, many at once, and leaves alone what is as the
 * file has it. Each record is durable as a whole; all of them are no one change: who looks
 * meanwhile sees some of them. What was broken off is finished by doing it again.
 *
 * To replace is to remove what the file does not have, after everything that it has was put:
 * without a source, from each table of which it has a record; with one, records of that
 * source alone, and the members of lists of that source. What stands in a line that is wrong
 * stays as it is. With a source, records that others
 * have made are left alone, too, and told of (EXCHANGE_KEPT).
 */
#ifndef EXCHANGE_IMPORT_H
#define EXCHANGE_IMPORT_H

#include "exchange/pages.h"
#include "exchange/reader.h"

enum exchange_event {
	EXCHANGE_BAD,     /* a line is wrong: file, line, text */
	EXCHANGE_KEPT,    /* somebody else's record stands there: file, line, text */
	EXCHANGE_REFUSED, /* the server refuses the record: file, line, text */
	EXCHANGE_ADDED,   /* key; likewise: */
	EXCHANGE_CHANGED,
	EXCHANGE_REMOVED,
	EXCHANGE_SAME,
	EXCHANGE_EVENTS,
};

struct exchange_import_settings {
	const char *source; /* NULL: none */
	bool dry_run;       /* tell what would be done */
	/* KEY is NULL where there is a TEXT. All are valid during the call. */
	void (*tell)(void *context, enum exchange_event event, const char *file, unsigned line,
		     const struct directory_key *key, struct str text);
	/* Now and then; may be NULL. */
	void (*progress)(void *context, const char *what, uint64_t count);
	void *context;
};

struct exchange_import;

/* SERVER, and SETTINGS with its context, outlive it. */
struct exchange_import *exchange_import_new(struct exchange_server *server,
					    const struct exchange_import_settings *settings);
/* Reads READER to its end. 0, though lines may be wrong; or -errno of the reading. */
MUST_CHECK int exchange_import_check(struct exchange_import *import,
				     struct exchange_reader *reader);
/* The same file from its start; several in the order in which they were checked. 0; or -errno of
 * the reading, or of exchange_server_errno(), for which exchange_server_problem() has the words. */
MUST_CHECK int exchange_import_apply(struct exchange_import *import,
				     struct exchange_reader *reader);
/* Removes what no file that was checked has. DRY_RUN: only counts and tells. Results as above. */
MUST_CHECK int exchange_import_remove(struct exchange_import *import, bool dry_run);
/* How often there was such an event. */
uint64_t exchange_import_count(const struct exchange_import *import, enum exchange_event event);
/* Records that were read and are right. */
uint64_t exchange_import_records(const struct exchange_import *import);
/* Counts EVENT from 0 again. */
void exchange_import_forget(struct exchange_import *import, enum exchange_event event);
void exchange_import_free(struct exchange_import *import);

#endif
