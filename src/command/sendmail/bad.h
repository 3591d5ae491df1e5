// SPDX-License-Identifier: ISC
/*
 * command/sendmail/bad.h - what "sendmail" was given as recipients and is none. The others
 * get the message: whoever tries again because of one would send it to them twice.
 */
#ifndef COMMAND_SENDMAIL_BAD_H
#define COMMAND_SENDMAIL_BAD_H

#include "config/config.h"
#include "mail/envelope.h"
#include "queue/inject/message.h"

enum {
	SENDMAIL_BAD_MAX = 100,      /* that are named */
	SENDMAIL_BAD_TEXT_MAX = 200, /* bytes of each */
};

struct sendmail_bad {
	struct str texts[SENDMAIL_BAD_MAX];
	struct str places[SENDMAIL_BAD_MAX]; /* a field's name, or "the command line" */
	size_t count;
	size_t more; /* that are not named */
};

/* Notes TEXT, which stands in PLACE. The copies are ARENA's. */
void sendmail_bad_add(struct sendmail_bad *bad, struct arena *arena, struct str place,
		      struct str text);
/* Appends a sentence about the first one. */
void sendmail_bad_explain(const struct sendmail_bad *bad, struct buffer *reason);
/* Names them on standard error. */
void sendmail_bad_print(const char *name, const struct sendmail_bad *bad);

/* Queues a report to the sender of the message with ENVELOPE and HEADER, which is queued already,
 * unless it has none or has asked for none. LINK as of inject_message_open(). 0, or the error that
 * *REASON (perhaps) explains. */
MUST_CHECK int sendmail_bad_report(const struct sendmail_bad *bad, const struct config *config,
				   const struct os_process_caller *caller, struct inject_link *link,
				   const struct mail_envelope *envelope, struct str header,
				   struct buffer *reason);

#endif
