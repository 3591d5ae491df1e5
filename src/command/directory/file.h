// SPDX-License-Identifier: ISC
/*
 * command/directory/file.h - a file of records.
 */
#ifndef COMMAND_DIRECTORY_FILE_H
#define COMMAND_DIRECTORY_FILE_H

#include "directory/exchange/import.h"

struct directory_file {
	const char *name;
	enum exchange_format format;
	const struct exchange_settings *settings;
	int descriptor; /* -1: not open */
};

/* Opens NAME; what cannot be read twice (a pipe, "-") is copied to an unlinked file: 0 or
 * -errno. */
MUST_CHECK int directory_file_open(struct directory_file *file);
void directory_file_close(struct directory_file *file);

/* Calls PASS (exchange_import_check() or exchange_import_apply()) for all of FILE. */
MUST_CHECK int directory_file_pass(struct directory_file *file, struct exchange_import *import,
				   int (*pass)(struct exchange_import *import,
					       struct exchange_reader *reader));

#endif
