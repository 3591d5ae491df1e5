// SPDX-License-Identifier: ISC
/*
 * program/command_mail.h - what "enqueue" and "sendmail" share.
 */
#ifndef PROGRAM_COMMAND_MAIL_H
#define PROGRAM_COMMAND_MAIL_H

#include "config/config.h"
#include "inject/message.h"
#include "inject/reader.h"

/* The exit status for ERROR (-errno), after "NAME: REASON" (or what the error
 * says when REASON is empty) on standard error. */
int command_mail_failed(const char *name, int error, const struct buffer *reason);

/* The same once a message was begun by CALLER, and in the log as well. */
int command_mail_refused(const char *name, const struct config *config,
			 const struct os_process_caller *caller, int error,
			 const struct buffer *reason);
/* Tells the log that the message with ENVELOPE is queued. For both of these: only
 * when the log is syslog, since standard error is the caller's. */
void command_mail_accepted(const char *name, const struct config *config,
			   const struct os_process_caller *caller,
			   const struct mail_envelope *envelope);

/* The configuration in FILE. Sets the time limit of whoever writes into the
 * queue (24 hours), and becomes the mail system's user when started as root.
 * NULL: *STATUS_OUT is the exit status, and what there was to say is said. */
struct config *command_mail_begin(const char *name, const char *file, int *status_out);

/* Writes what READER has left to MESSAGE. */
MUST_CHECK int command_mail_copy(struct inject_reader *reader, struct inject_message *message);

#endif
