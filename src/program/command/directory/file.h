// SPDX-License-Identifier: ISC
/*
 * program/command/directory/file.h - a file of records, and the output of its import.
 */
#ifndef PROGRAM_COMMAND_DIRECTORY_FILE_H
#define PROGRAM_COMMAND_DIRECTORY_FILE_H

#include "exchange/import.h"

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

/* The output of an import: "FILE:LINE: TEXT" on standard error; with a dry run, the changes on
 * standard output; on a terminal, its progress. */
struct directory_teller {
	bool dry_run;
	bool is_quiet;       /* prints only the counts */
	bool shows_progress; /* standard error is a terminal */
	bool has_progress;   /* a progress line is on the terminal */
	struct buffer line;
};
void directory_teller_tell(void *teller, enum exchange_event event, const char *file, unsigned line,
			   const struct directory_key *key, struct str text);
void directory_teller_progress(void *teller, const char *what, uint64_t count);
/* To call before printing anything else. */
void directory_teller_end_progress(struct directory_teller *teller);

#endif
