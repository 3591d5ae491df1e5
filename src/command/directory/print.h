// SPDX-License-Identifier: ISC
/*
 * command/directory/print.h - prints answers of the directory: as text, or as a JSON object
 * a line.
 */
#ifndef COMMAND_DIRECTORY_PRINT_H
#define COMMAND_DIRECTORY_PRINT_H

#include "directory/client/client.h"
#include "directory/record/record.h"

/* Prints the targets of the address KEY, from ANSWER to "get route". False: it is refused. */
bool command_directory_print_route(const char *key, bool json,
				   const struct directory_answer_text *answer);
/* Appends the value of a field of TABLE as it may be shown: of a password only the method. Whoever
 * wants the hash exports it. */
void command_directory_append_value(enum directory_table table, const struct directory_field *field,
				    struct buffer *out);
void command_directory_print_record(const struct directory_record *record, bool json);
/* Prints the record KEY of TABLE, with the fields in ANSWER to "get". */
void command_directory_print_fields(const char *table, const char *key, bool json,
				    const struct directory_answer_text *answer);

#endif
