// SPDX-License-Identifier: ISC
/*
 * deliver/pipe/status.h - what a program's end means for a recipient.
 *
 *   0            done       2.0.0
 *   64 USAGE     failed     5.3.0       65 DATAERR   failed     5.6.0
 *   66 NOINPUT   failed     5.3.0       67 NOUSER    failed     5.1.1
 *   68 NOHOST    failed     5.1.2       69 UNAVAIL.  failed     5.3.0
 *   70 SOFTWARE  failed     5.3.0       71 OSERR     tried later 4.3.0
 *   72 OSFILE    tried later 4.3.5      73 CANTCREAT failed     5.2.0
 *   74 IOERR     tried later 4.3.0      75 TEMPFAIL  tried later 4.3.0
 *   76 PROTOCOL  failed     5.5.0       77 NOPERM    failed     5.7.0
 *   78 CONFIG    tried later 4.3.5      100 (qmail)  failed     5.3.0
 *   126, 127     tried later 4.3.5: it could not be run
 *
 * Every other status, and death by a signal, means that something unexpected happened: the delivery
 * is tried later, 4.3.0. Faults that an operator can repair, such as a program's configuration,
 * must not lose mail. Output that begins with an enhanced status code of the same class ("5.2.2
 * over quota") replaces the status code. If the delivery is tried later, and "trigger=NAME" comes
 * next in the output, it waits for the trigger pipe.SERVICE.NAME; NAME is 1 to 64 lower-case
 * letters, digits and "-_.".
 */
#ifndef DELIVER_PIPE_STATUS_H
#define DELIVER_PIPE_STATUS_H

#include "mail/verdict.h"

/* The verdict for STATUS, as of waitpid(), and OUTPUT of the program PATH. */
void pipe_status_verdict(int status, struct str output, const char *path,
			 struct mail_verdict *verdict);

enum { PIPE_TRIGGER_SIZE = 128 };

/* The trigger that a program of SERVICE asked for, which ended with VERDICT; "" if none. */
void pipe_status_trigger(const struct mail_verdict *verdict, struct str output, const char *service,
			 char trigger[PIPE_TRIGGER_SIZE]);

#endif
