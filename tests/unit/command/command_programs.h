// SPDX-License-Identifier: ISC
/*
 * tests/unit/command/command_programs.h - the programs that commands are, each with another name
 * for its main(). What one becomes is run in the same process; "decode", which one starts, is this
 * program by another name.
 */
#ifndef TESTS_UNIT_COMMAND_PROGRAMS_H
#define TESTS_UNIT_COMMAND_PROGRAMS_H

int stagepost_main(int argc, char **argv);
int directory_command_main(int argc, char **argv);
int mailbox_command_main(int argc, char **argv);

/* The folder of programs is DIRECTORY. */
void command_programs_begin(const char *directory);
/* Runs the program whose name argv[0] is, and does not return, unless it is the test. */
void command_programs_run(int argc, char **argv);

#endif
