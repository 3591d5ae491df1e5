// SPDX-License-Identifier: ISC
/*
 * program/command_directory_print.h - answers of the directory on standard output: as lines of
 * words, or with JSON as an object of JSON a line.
 */
#ifndef PROGRAM_COMMAND_DIRECTORY_PRINT_H
#define PROGRAM_COMMAND_DIRECTORY_PRINT_H

#include "directory/client/client.h"
#include "directory/record/record.h"

/* What becomes of mail to the address KEY, from ANSWER to "get route". False: it is refused. */
bool command_directory_print_route(const char *key, bool json,
				   const struct directory_answer_text *answer);
void command_directory_print_record(const struct directory_record *record, bool json);
/* The record KEY of TABLE, of which ANSWER to "get" has the fields. */
void command_directory_print_fields(const char *table, const char *key, bool json,
				    const struct directory_answer_text *answer);

#endif
