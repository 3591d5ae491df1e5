// SPDX-License-Identifier: ISC
/*
 * program/command_mail.h - what "enqueue" and "sendmail" share.
 */
#ifndef PROGRAM_COMMAND_MAIL_H
#define PROGRAM_COMMAND_MAIL_H

#include "config/config.h"
#include "inject/message.h"
#include "inject/reader.h"

/* For the help texts. */
#define COMMAND_MAIL_EXITS                                                          \
	"Exit status (sysexits):\n"                                                 \
	"  0   the message is durably queued\n"                                     \
	"  64  wrong usage\n"                                                       \
	"  65  the message or its envelope is malformed; a CR stands alone in it\n" \
	"  69  it is over a limit: size, number of recipients\n"                    \
	"  73  the queue does not exist and cannot be made\n"                       \
	"  74  the disk or the input has failed\n"                                  \
	"  75  not now: no room, too many open files, 24 hours have passed\n"       \
	"  77  this user may not write into the queue\n"                            \
	"  78  the configuration or the queue is wrong\n"

/* The exit status for ERROR (-errno), after "NAME: REASON" (or what the error
 * says when REASON is empty) on standard error. */
int command_mail_failed(const char *name, int error, const struct buffer *reason);

/* The configuration in FILE. Sets the time limit of whoever writes into the
 * queue (24 hours), and becomes the mail system's user when started as root.
 * NULL: *STATUS_OUT is the exit status, and what there was to say is said. */
struct config *command_mail_begin(const char *name, const char *file, int *status_out);

/* Writes what READER has left to MESSAGE. */
MUST_CHECK int command_mail_copy(struct inject_reader *reader, struct inject_message *message);

#endif
