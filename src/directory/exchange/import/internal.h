// SPDX-License-Identifier: ISC
/* directory/exchange/import/internal.h - shared by directory/exchange/import.c, apply.c and
 * remove.c. */
#ifndef DIRECTORY_EXCHANGE_IMPORT_INTERNAL_H
#define DIRECTORY_EXCHANGE_IMPORT_INTERNAL_H

#include "directory/exchange/import.h"
#include "directory/exchange/import/seen.h"

enum {
	IMPORT_WINDOW = 800, /* pending questions: fewer than a server allows for a connection */
	IMPORT_TELL_EVERY = 1000 /* records, between calls of progress */
};

struct exchange_import {
	struct exchange_server *server;
	const struct exchange_import_settings *settings;
	struct exchange_seen *seen;
	uint64_t counts[EXCHANGE_EVENTS];
	uint64_t records;
	unsigned checked; /* files */
	unsigned applied;
	struct exchange_seen *foreign; /* lists of other sources, by their address */
};

void import_tell(struct exchange_import *import, const struct exchange_report *report);
void import_progress(struct exchange_import *import, const char *what, uint64_t count);

#endif
