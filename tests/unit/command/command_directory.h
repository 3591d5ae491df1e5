// SPDX-License-Identifier: ISC
/* tests/unit/command/command_directory.h - a process that answers as the directory, from records in
 * memory. */
#ifndef TESTS_UNIT_COMMAND_DIRECTORY_H
#define TESTS_UNIT_COMMAND_DIRECTORY_H

/* It listens at PATH, with no records. */
void command_directory_begin(const char *path);
/* Does nothing if it was not begun. */
void command_directory_end(void);

#endif
