// SPDX-License-Identifier: ISC
/*
 * directory/bulk/export.h - writes the records of a directory, ordered by table and key.
 */
#ifndef DIRECTORY_BULK_EXPORT_H
#define DIRECTORY_BULK_EXPORT_H

#include "directory/bulk/pages.h"
#include "directory/bulk/reader.h"

struct bulk_export_settings {
	enum bulk_format format;
	const struct bulk_settings *record; /* domain and service: see bulk_write() */
	enum directory_table table;         /* only this one; DIRECTORY_NO_TABLE: all */
	/* Writes the output, piece by piece: 0; or -errno, which aborts the export. */
	int (*write)(void *context, struct str text);
	/* The record was not written: WHY, "is a list", if the format cannot express it, or "is
	 * malformed: ...". */
	void (*left_out)(void *context, const struct directory_key *key, const char *why);
	void *context;
};

/* 0; -errno of write(), or of bulk_server_errno(). */
MUST_CHECK int bulk_export(struct bulk_server *server, const struct bulk_export_settings *settings);

#endif
