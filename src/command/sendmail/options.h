// SPDX-License-Identifier: ISC
/*
 * command/sendmail/options.h - the command line of "sendmail".
 *
 * Programs have called a sendmail command for forty years, with options of its
 * various implementations: those that have no effect here
 * are accepted and ignored.
 */
#ifndef COMMAND_SENDMAIL_OPTIONS_H
#define COMMAND_SENDMAIL_OPTIONS_H

#include "command/command.h"
#include "mail/envelope.h"

enum sendmail_mode {
	SENDMAIL_DELIVER,
	SENDMAIL_LIST_QUEUE, /* -bp: as mailq */
	SENDMAIL_ALIASES,    /* -bi: as newaliases */
	SENDMAIL_SESSION,    /* -bs: an SMTP session on standard input and output */
	SENDMAIL_NOTHING,    /* -q: the queue runs by itself */
};

struct sendmail_options {
	enum sendmail_mode mode;
	const char *config_file;        /* -C; NULL: the usual one */
	const char *sender;             /* -f; NULL: the user */
	const char *full_name;          /* -F; NULL: the user's */
	bool from_header;               /* -t */
	bool ignores_dot;               /* -i, -oi */
	unsigned notify;                /* -N */
	enum mail_ret ret;              /* -R */
	char envid[MAIL_ENVID_MAX + 1]; /* -V, as xtext; empty: none */
	int first;                      /* index of the first recipient */
};

/* The options, for getopt(3) and for the help; "[LETTERS]" is an optional argument. Their offsets
 * are not used. */
extern const struct command_option sendmail_options_rows[];

/* False, after an error message on standard error. */
bool sendmail_options_parse(int argc, char **argv, struct sendmail_options *options);

#endif
