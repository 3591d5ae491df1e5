// SPDX-License-Identifier: ISC
/*
 * command/directory/file.h - a file of records.
 */
#ifndef COMMAND_DIRECTORY_FILE_H
#define COMMAND_DIRECTORY_FILE_H

#include "directory/bulk/import.h"

struct directory_file {
	const char *name;
	enum bulk_format format;
	const struct bulk_settings *settings;
	int descriptor; /* -1: not open */
};

/* Opens NAME; what cannot be read twice (a pipe, "-") is copied to an unlinked file: 0 or
 * -errno. */
MUST_CHECK int directory_file_open(struct directory_file *file);
void directory_file_close(struct directory_file *file);

/* Calls PASS (bulk_import_check() or bulk_import_apply()) for all of FILE. */
MUST_CHECK int directory_file_pass(struct directory_file *file, struct bulk_import *import,
				   int (*pass)(struct bulk_import *import,
					       struct bulk_reader *reader));

#endif
