// SPDX-License-Identifier: ISC
/*
 * smtp/watch.h - passes each line of a session, of both sides, to a watcher while there is one.
 *
 * Credentials and the content of messages are never passed on: words in brackets replace them.
 */
#ifndef SMTP_WATCH_H
#define SMTP_WATCH_H

#include "base/str.h"

enum smtp_said {
	SMTP_SAID_BY_CLIENT,
	SMTP_SAID_BY_SERVER,
	SMTP_SAID_NOTHING, /* "(a message of 1234 bytes)" */
};

/* All zeroes: no watcher. */
struct smtp_watch {
	const bool *is_on; /* checked before each line; outlives the sessions */
	/* LINE has no line end, and may contain any bytes. It must not call the engine. */
	void (*line)(void *context, enum smtp_said by, struct str line);
};

static inline bool smtp_watch_is_on(const struct smtp_watch *watch)
{
	return watch->is_on != NULL && *watch->is_on;
}

/* TEXT is complete lines, with their ends: CRLF, or LF if they were stored so. */
void smtp_watch_tell(const struct smtp_watch *watch, void *context, enum smtp_said by,
		     struct str text);
/* Reports that a message of SIZE bytes was sent. */
void smtp_watch_tell_message(const struct smtp_watch *watch, void *context, uint64_t size);

#endif
