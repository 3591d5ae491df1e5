// SPDX-License-Identifier: ISC
/*
 * program/sendmail_options.h - what the command line of "sendmail" asks for.
 *
 * Programs have called a sendmail command for forty years, with options that
 * mean something to one of its implementations: those that change nothing here
 * are accepted and passed over.
 */
#ifndef PROGRAM_SENDMAIL_OPTIONS_H
#define PROGRAM_SENDMAIL_OPTIONS_H

#include "mail/envelope.h"
#include "program/command.h"

enum sendmail_mode {
	SENDMAIL_DELIVER,
	SENDMAIL_LIST_QUEUE, /* -bp */
	SENDMAIL_ALIASES,    /* -bi: as newaliases */
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

/* The letters, for getopt(3) and for the help; "[LETTERS]" is an argument that may be
 * left out. Their offsets mean nothing. */
extern const struct command_option sendmail_options_rows[];

/* False: what is wrong was said on standard error. */
bool sendmail_options_parse(int argc, char **argv, struct sendmail_options *options);

#endif
