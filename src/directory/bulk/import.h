// SPDX-License-Identifier: ISC
/*
 * directory/bulk/import.h - imports the records of files into a directory.
 *
 * Each file is read twice: bulk_import_check() reports all problems without asking the server;
 * bulk_import_apply() changes the records that differ, many at once, and leaves the others
 * alone. Each record is durable as a whole, but the import is not atomic: meanwhile others see some
 * of its changes. An import that was aborted can be repeated.
 *
 * What becomes of a record that the directory has already, and of which the file says something
 * else, depends on the mode. A field that the file does not name is not different, unless it
 * replaces.
 *
 * To replace also means to remove what the file does not have, after everything in it was put:
 * without a source, from each table of which the file has a record; with one, only records of that
 * source, and the members of lists of that source. The record of a malformed line is kept. With a
 * source, records of other sources are neither changed nor removed, but reported (BULK_KEPT).
 */
#ifndef DIRECTORY_BULK_IMPORT_H
#define DIRECTORY_BULK_IMPORT_H

#include "directory/bulk/pages.h"
#include "directory/bulk/reader.h"

enum bulk_mode {
	BULK_ADD,     /* it is left as it is (BULK_DIFFERS) */
	BULK_UPDATE,  /* it gets the fields that the file names, and keeps the others */
	BULK_REPLACE, /* it becomes what the file says */
};

enum bulk_event {
	BULK_BAD,     /* a malformed line: file, line, text */
	BULK_KEPT,    /* a record of another source was kept: file, line, text */
	BULK_REFUSED, /* the record is not allowed: file, line, text */
	BULK_DIFFERS, /* a record was left as it is: file, line, key, was, becomes */
	BULK_ADDED,   /* key, becomes */
	BULK_CHANGED, /* key, was, becomes */
	BULK_REMOVED, /* key */
	BULK_SAME,    /* key */
	BULK_EVENTS,
};

/* What has become of a record, or of a line. Valid during the call of tell(). */
struct bulk_report {
	enum bulk_event event;
	const char *file; /* "" with line 0: none */
	unsigned line;
	struct str text;
	const struct directory_key *key;        /* NULL: unknown, there is a text */
	const struct directory_record *was;     /* NULL: there was none, or it is unknown */
	const struct directory_record *becomes; /* or would become; NULL: there is none */
};

struct bulk_import_settings {
	enum bulk_mode mode;
	const char *source; /* NULL: none */
	bool dry_run;       /* only report what would be done */
	void (*tell)(void *context, const struct bulk_report *report);
	/* Called now and then; may be NULL. */
	void (*progress)(void *context, const char *what, uint64_t count);
	void *context;
};

struct bulk_import;

/* SERVER, and SETTINGS with its context, must outlive the import. */
struct bulk_import *bulk_import_new(struct bulk_server *server,
				    const struct bulk_import_settings *settings);
/* Reads READER to its end. 0, even if lines are malformed; or -errno if reading fails. */
MUST_CHECK int bulk_import_check(struct bulk_import *import, struct bulk_reader *reader);
/* Reads the same file from its start; several files in the order of the checks. 0; or -errno if
 * reading fails, or of bulk_server_errno(), explained by bulk_server_problem(). */
MUST_CHECK int bulk_import_apply(struct bulk_import *import, struct bulk_reader *reader);
/* Removes what no checked file has. DRY_RUN: only counts and reports. Returns as above. */
MUST_CHECK int bulk_import_remove(struct bulk_import *import, bool dry_run);
/* The number of such events. */
uint64_t bulk_import_count(const struct bulk_import *import, enum bulk_event event);
/* The number of valid records read. */
uint64_t bulk_import_records(const struct bulk_import *import);
/* Resets the count of EVENT to 0. */
void bulk_import_forget(struct bulk_import *import, enum bulk_event event);
void bulk_import_free(struct bulk_import *import);

#endif
