// SPDX-License-Identifier: ISC
/*
 * inject/message.h - queueing one message without a daemon: open, write the
 * data in pieces, commit. Whatever runs finds it by the trigger or by its next
 * rescan.
 */
#ifndef INJECT_MESSAGE_H
#define INJECT_MESSAGE_H

#include "config/config.h"
#include "os/process.h"
#include "queue/store.h"

/* The gravest of sysexits(3) that mail commands end with; --help explains them. */
enum inject_exit {
	INJECT_OK = 0,
	INJECT_USAGE = 64,       /* EX_USAGE */
	INJECT_BAD_DATA = 65,    /* EX_DATAERR: the message or its envelope */
	INJECT_NO_INPUT = 66,    /* EX_NOINPUT: a file that was named cannot be read */
	INJECT_UNAVAILABLE = 69, /* EX_UNAVAILABLE: over a limit of this system */
	INJECT_SOFTWARE = 70,    /* EX_SOFTWARE */
	INJECT_NO_CREATE = 73,   /* EX_CANTCREAT: the queue is not there and cannot be made */
	INJECT_IO = 74,          /* EX_IOERR: the disk fails, or the input */
	INJECT_TRY_LATER = 75,   /* EX_TEMPFAIL: no room, too many open files ... */
	INJECT_NO_PERMISSION = 77,
	INJECT_CONFIG = 78,
};

/* The exit status that tells of -errno. */
int inject_exit_status(int error);

struct inject_message;

/* Opens the queue that CONFIG names (made when it is not there), and a new data
 * file in it that begins with a Received header for a message from the user CALLER.
 * On an error *REASON is appended a sentence. -ENOSPC also when less room is
 * left than the daemon wants. */
MUST_CHECK int inject_message_open(const struct config *config,
				   const struct os_process_caller *caller,
				   struct inject_message **message_out, struct buffer *reason);
struct mail_id inject_message_id(const struct inject_message *message);

/* Appends to the data. An error sticks until the commit: -EFBIG when what was
 * written is over the configuration's maxsize. It is returned, too, so that
 * reading can end early. */
int inject_message_write(struct inject_message *message, struct str data);

/* Makes the message durable at STAGE with sender and recipients of ENVELOPE; id,
 * size, stage and received are filled in. The trigger that ENVELOPE names is set. 0, or the first
 * error since inject_message_open(). Consumes MESSAGE. */
MUST_CHECK int inject_message_commit(struct inject_message *message, enum mail_stage stage,
				     struct mail_envelope *envelope);
/* Nothing remains. NULL is allowed. */
void inject_message_abandon(struct inject_message *message);

#endif
