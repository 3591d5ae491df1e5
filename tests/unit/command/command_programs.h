// SPDX-License-Identifier: ISC
/*
 * tests/unit/command/command_programs.h - the programs that commands are, each with another name
 * for its main(). What one becomes is run in the same process; what one starts, "decode" or a node
 * with all its programs, is this program by another name.
 */
#ifndef TESTS_UNIT_COMMAND_PROGRAMS_H
#define TESTS_UNIT_COMMAND_PROGRAMS_H

#include <stdbool.h>

int stagepost_main(int argc, char **argv);
int directory_command_main(int argc, char **argv);
int mailbox_command_main(int argc, char **argv);

/* The folder of programs is DIRECTORY: it has those that commands start, or all of a node. */
void command_programs_begin(const char *directory, bool has_node);
/* Runs the program whose name argv[0] is, and does not return, unless it is the test. */
void command_programs_run(int argc, char **argv);

#endif
