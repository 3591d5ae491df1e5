// SPDX-License-Identifier: ISC
/*
 * command/sendmail/session.h - "sendmail -bs": an SMTP session on standard input and
 * output, as many programs start it. The client is the user who has started it: he may relay, and
 * each message is queued as if he had sent it by "sendmail".
 */
#ifndef COMMAND_SENDMAIL_SESSION_H
#define COMMAND_SENDMAIL_SESSION_H

#include "command/sendmail/mail.h"
#include "config/config.h"
#include "os/process/process.h"
#include "queue/inject/link.h"

/* Runs until QUIT or the end of input; the exit status. NAME is for messages. LINK as of
 * inject_message_open(). */
int sendmail_session_run(const struct command_mail *mail, const struct config *config,
			 const struct os_process_caller *caller, struct inject_link *link);

#endif
