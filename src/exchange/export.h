// SPDX-License-Identifier: ISC
/*
 * exchange/export.h - the records of a directory, written in the order of tables and keys.
 */
#ifndef EXCHANGE_EXPORT_H
#define EXCHANGE_EXPORT_H

#include "exchange/pages.h"
#include "exchange/reader.h"

struct exchange_export_settings {
	enum exchange_format format;
	const struct exchange_settings *record; /* domain and service: see exchange_write() */
	enum directory_table table;             /* this one alone; DIRECTORY_NO_TABLE: all */
	/* What was written, in pieces: 0; or -errno, which ends the export. */
	int (*write)(void *context, struct str text);
	/* This record is not written: WHY, "is a list", for which the format has no place, or "is
	 * malformed: ...". */
	void (*left_out)(void *context, const struct directory_key *key, const char *why);
	void *context;
};

/* 0; -errno of write(), or of exchange_server_errno(). */
MUST_CHECK int exchange_export(struct exchange_server *server,
			       const struct exchange_export_settings *settings);

#endif
