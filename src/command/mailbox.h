// SPDX-License-Identifier: ISC
/*
 * command/mailbox.h - "stagepost mailbox": its tables, which are the command's, and its
 * work, which a program of its own does: the libraries of databases and IMAP are not loaded by
 * others.
 */
#ifndef COMMAND_MAILBOX_H
#define COMMAND_MAILBOX_H

#include "command/command.h"

#define COMMAND_MAILBOX_PROGRAM "mailbox-command"

struct command_mailbox_options {
	struct command_options common;
	const char *recipient; /* NULL: the environment's RECIPIENT, or Delivered-To */
	const char *sender;    /* NULL: the environment's SENDER, or unknown */
	const char *service;   /* NULL: that of the recipient's domain, or the only one */
	const char *from;      /* list */
	const char *to;
	const char *subject;
	const char *since; /* a time ago */
	const char *limit;
	bool applies; /* repair */
	bool forgets;
	bool rebuilds;
};

extern const char command_mailbox_summary[];
extern const char command_mailbox_help[];
extern const struct command_option command_mailbox_options[];
extern const struct command_exit command_mailbox_exits[];
extern const struct command command_mailbox_subcommands[];

/* Becomes the program, with the same arguments. */
int command_mailbox(const struct command *command, int argc, char **argv);

#endif
