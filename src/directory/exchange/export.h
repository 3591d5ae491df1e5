// SPDX-License-Identifier: ISC
/*
 * directory/exchange/export.h - writes the records of a directory, ordered by table and key.
 */
#ifndef DIRECTORY_EXCHANGE_EXPORT_H
#define DIRECTORY_EXCHANGE_EXPORT_H

#include "directory/exchange/pages.h"
#include "directory/exchange/reader.h"

struct exchange_export_settings {
	enum exchange_format format;
	const struct exchange_settings *record; /* domain and service: see exchange_write() */
	enum directory_table table;             /* only this one; DIRECTORY_NO_TABLE: all */
	/* Writes the output, piece by piece: 0; or -errno, which aborts the export. */
	int (*write)(void *context, struct str text);
	/* The record was not written: WHY, "is a list", if the format cannot express it, or "is
	 * malformed: ...". */
	void (*left_out)(void *context, const struct directory_key *key, const char *why);
	void *context;
};

/* 0; -errno of write(), or of exchange_server_errno(). */
MUST_CHECK int exchange_export(struct exchange_server *server,
			       const struct exchange_export_settings *settings);

#endif
