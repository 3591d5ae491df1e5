// SPDX-License-Identifier: ISC
/*
 * command/directory/teller.h - the output of an import. Of a record that changes, each
 * field that does is a line: "change address info@d.example target: a@d.example -> b@d.example".
 */
#ifndef COMMAND_DIRECTORY_TELLER_H
#define COMMAND_DIRECTORY_TELLER_H

#include "directory/bulk/import.h"

/* "FILE:LINE: TEXT" on standard error; with a dry run, the changes on standard output; on a
 * terminal, its progress. As JSON, all of it on standard output, an object a line. */
struct directory_teller {
	bool dry_run;
	bool json;
	bool is_quiet;       /* prints only the counts */
	bool shows_progress; /* standard error is a terminal */
	bool has_progress;   /* a progress line is on the terminal */
	struct buffer line;
};

void directory_teller_tell(void *teller, const struct bulk_report *report);
void directory_teller_progress(void *teller, const char *what, uint64_t count);
/* To call before printing anything else. */
void directory_teller_end_progress(struct directory_teller *teller);

#endif
