// SPDX-License-Identifier: ISC
/*
 * program/mailbox_command.h - shared by the parts of the program "mailbox-command".
 */
#ifndef PROGRAM_MAILBOX_COMMAND_H
#define PROGRAM_MAILBOX_COMMAND_H

#include "program/command_mailbox.h"

/* Files the message on standard input. */
int mailbox_command_file(const struct command *command, int argc, char **argv);
int mailbox_command_status(const struct command *command, int argc, char **argv);
int mailbox_command_list(const struct command *command, int argc, char **argv);

#endif
