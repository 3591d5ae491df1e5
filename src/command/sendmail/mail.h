// SPDX-License-Identifier: ISC
/*
 * command/sendmail/mail.h - shared by "enqueue" and "sendmail".
 */
#ifndef COMMAND_SENDMAIL_MAIL_H
#define COMMAND_SENDMAIL_MAIL_H

#include "config/config.h"
#include "queue/inject/message.h"
#include "queue/inject/reader.h"

/* Who calls the functions below. */
struct command_mail {
	const char *name;
	int (*exit_status)(int error); /* for ERROR, -errno: what its callers understand */
	int config_status; /* exit status if there is no configuration: it is being edited, and the
			    * caller may try again */
};

/* Prints "NAME: REASON" (or the text of ERROR, if REASON is empty) on standard error, and
 * returns the exit status for ERROR (-errno). */
int command_mail_failed(const struct command_mail *mail, int error, const struct buffer *reason);

/* Likewise after CALLER has begun a message, and also logs it. */
int command_mail_refused(const struct command_mail *mail, const struct config *config,
			 const struct os_process_caller *caller, int error,
			 const struct buffer *reason);
/* Logs that the message with ENVELOPE is queued. Both functions log only to syslog, since
 * standard error belongs to the caller. */
void command_mail_accepted(const struct command_mail *mail, const struct config *config,
			   const struct os_process_caller *caller,
			   const struct mail_envelope *envelope);

/* Reads the configuration in FILE, or the last good one, sets the time limit of processes that
 * write into the queue (24 hours), and, if started as root, becomes the mail system's user. If this
 * user does not own the queue, and the setting submit_group is set, *LINK_OUT is a connection to
 * "queue"; otherwise NULL. NULL: *STATUS_OUT is the exit status, after an error message. */
struct config *command_mail_begin(const struct command_mail *mail, const char *file,
				  struct inject_link **link_out, int *status_out);

/* Writes the rest of READER's input to MESSAGE. */
MUST_CHECK int command_mail_copy(struct inject_reader *reader, struct inject_message *message);

#endif
