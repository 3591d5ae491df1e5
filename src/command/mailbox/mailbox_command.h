// SPDX-License-Identifier: ISC
/*
 * command/mailbox/mailbox_command.h - shared by the parts of the program "mailbox-command".
 */
#ifndef COMMAND_MAILBOX_MAILBOX_COMMAND_H
#define COMMAND_MAILBOX_MAILBOX_COMMAND_H

#include "command/mailbox.h"
#include "config/config.h"

/* Of -s, with its argument. */
#define MAILBOX_COMMAND_NO_SERVICE "-s: no service of kind mailbox or imap is called \"%s\""

/* False, after an error message: the record of CONFIG is another backend's, and the program for
 * that cannot be run. Otherwise it is that of this program, or does not return. (mailbox_command.c)
 */
bool mailbox_command_use_backend(const struct config *config);
/* Files the message on standard input. */
int mailbox_command_file(const struct command *command, int argc, char **argv);
int mailbox_command_status(const struct command *command, int argc, char **argv);
int mailbox_command_list(const struct command *command, int argc, char **argv);
int mailbox_command_repair(const struct command *command, int argc, char **argv);

/* Prints lines, without what a terminal would obey. (print.c) */
void mailbox_command_print(const struct buffer *out);
/* Root becomes the user whose the record and the mailboxes are: what root would make there, nobody
 * else could use. False, after an error message. (list.c) */
bool mailbox_command_become_user(const struct config *config);
/* The configuration in FILE, or the last good one if the record can be reached with what that has;
 * NULL, after an error message. (list.c) */
struct config *mailbox_command_load(const char *file);
/* Likewise; it has a record, as that user; NULL, after an error message. (list.c) */
struct config *mailbox_command_config(const struct command *command,
				      const struct command_options *options);
/* The service whose mailbox ADDRESS has: NAMED if that is not NULL, that of its domain, or the only
 * one of kind mailbox or imap. NULL: there is none. */
const struct config_service *mailbox_command_service(const struct config *config, const char *named,
						     struct str address);

#endif
