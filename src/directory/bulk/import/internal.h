// SPDX-License-Identifier: ISC
/* directory/bulk/import/internal.h - shared by directory/bulk/import.c, apply.c and
 * remove.c. */
#ifndef DIRECTORY_BULK_IMPORT_INTERNAL_H
#define DIRECTORY_BULK_IMPORT_INTERNAL_H

#include "directory/bulk/import.h"
#include "directory/bulk/import/seen.h"

enum {
	IMPORT_WINDOW = 800, /* pending questions: fewer than a server allows for a connection */
	IMPORT_TELL_EVERY = 1000 /* records, between calls of progress */
};

struct bulk_import {
	struct bulk_server *server;
	const struct bulk_import_settings *settings;
	struct bulk_seen *seen;
	uint64_t counts[BULK_EVENTS];
	uint64_t records;
	unsigned checked; /* files */
	unsigned applied;
	struct bulk_seen *foreign; /* lists of other sources, by their address */
};

void import_tell(struct bulk_import *import, const struct bulk_report *report);
void import_progress(struct bulk_import *import, const char *what, uint64_t count);

#endif
