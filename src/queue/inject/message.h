// SPDX-License-Identifier: ISC
/*
 * queue/inject/message.h - queueing one message: open, write the data in pieces, commit. Without a
 * daemon, when a running "send" finds it by the trigger or by its next rescan; or through "queue".
 * A link, if not NULL, is borrowed until the message's end, and has one message at a time.
 */
#ifndef QUEUE_INJECT_MESSAGE_H
#define QUEUE_INJECT_MESSAGE_H

#include "config/config.h"
#include "os/process/process.h"
#include "queue/inject/link.h"
#include "queue/store.h"

/* Exit statuses of "sendmail" and others, from sysexits(3); --help explains them. */
enum inject_exit {
	INJECT_OK = 0,
	INJECT_USAGE = 64,       /* EX_USAGE */
	INJECT_BAD_DATA = 65,    /* EX_DATAERR: the message or its envelope */
	INJECT_NO_INPUT = 66,    /* EX_NOINPUT: a file named by the user cannot be read */
	INJECT_UNAVAILABLE = 69, /* EX_UNAVAILABLE: over a limit of this system */
	INJECT_SOFTWARE = 70,    /* EX_SOFTWARE */
	INJECT_NO_CREATE = 73,   /* EX_CANTCREAT: the queue does not exist and cannot be created */
	INJECT_IO = 74,          /* EX_IOERR: the disk failed, or the input */
	INJECT_TRY_LATER = 75,   /* EX_TEMPFAIL: no space, too many open files ... */
	INJECT_NO_PERMISSION = 77,
	INJECT_CONFIG = 78,
};

/* Exit statuses of "enqueue", as qmail's programs expect them of qmail-queue: 11 to 40 mean that it
 * will never be accepted, all others that it may be later. (Source: qmail internals, the manual
 * page of qmail-queue.) */
enum inject_queue_exit {
	INJECT_QUEUE_ADDRESS = 11,
	INJECT_QUEUE_REFUSED = 31,
	INJECT_QUEUE_MEMORY = 51,
	INJECT_QUEUE_TIME = 52,
	INJECT_QUEUE_WRITE = 53,
	INJECT_QUEUE_READ = 54,
	INJECT_QUEUE_CONFIG = 55,
	INJECT_QUEUE_FOLDER = 62,
	INJECT_QUEUE_LATER = 71,
	INJECT_QUEUE_BUG = 81,
	INJECT_QUEUE_ENVELOPE = 91,
};

/* The exit status for ERROR, which is -errno: of sysexits(3), and of qmail-queue. */
int inject_exit_status(int error);
int inject_queue_status(int error);

struct inject_message;

/* With LINK, begins a message there. Without, opens the queue of CONFIG (created if it does not
 * exist), and in it a new data file that begins with a Received header for a message from the user
 * CALLER. After an error a sentence is appended to *REASON. -ENOSPC also when there is less free
 * space than the daemon requires. */
MUST_CHECK int inject_message_open(const struct config *config,
				   const struct os_process_caller *caller, struct inject_link *link,
				   struct inject_message **message_out, struct buffer *reason);
/* The same without a trace header: the caller writes it, and it counts for the size. With LINK
 * there is one all the same, before the caller's, as "queue" demands it. */
MUST_CHECK int inject_message_open_untraced(const struct config *config,
					    const struct os_process_caller *caller,
					    struct inject_link *link,
					    struct inject_message **message_out,
					    struct buffer *reason);
struct mail_id inject_message_id(const struct inject_message *message);

/* Appends to the data. Behind a trace header a message whose first line begins with a space or tab
 * gets an empty line first: it has no header. An error sticks until the commit: -EFBIG when the
 * data exceed the configuration's maxsize. It is also returned here, so that the caller can stop
 * reading. */
int inject_message_write(struct inject_message *message, struct str data);

/* Makes the message durable at STAGE with sender and recipients of ENVELOPE; fills in id, size,
 * stage and received. Sets the trigger that ENVELOPE names. 0, or the first error since
 * inject_message_open(). Consumes MESSAGE. */
MUST_CHECK int inject_message_commit(struct inject_message *message, enum mail_stage stage,
				     struct mail_envelope *envelope);
/* Removes everything written. NULL is allowed. */
void inject_message_abandon(struct inject_message *message);

#endif
