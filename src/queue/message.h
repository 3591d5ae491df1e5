// SPDX-License-Identifier: ISC
/*
 * queue/message.h - a message on its way into the queue and out of it: what
 * the process "queue" (and the one-shot enqueue) does. S1 to S4, and the end.
 *
 * The queue becomes answerable at S4, inside queue_message_commit_group(). A
 * crash before that leaves litter that queue_intake_clean() removes; a crash
 * after it loses nothing.
 */
#ifndef QUEUE_MESSAGE_H
#define QUEUE_MESSAGE_H

#include "queue/control.h"
#include "queue/store.h"

enum {
	/* The largest message that goes from process to process by value. It fits into two
	 * packets, smtpd's engine gathers as much anyway, and a larger one gains little: its
	 * bytes cost more than its file. */
	QUEUE_BY_VALUE_MAX = 64 * 1024,
};

/* The files that are not in use: spares, and where new ones come from. One for
 * each process that adds messages. */
struct queue_intake;

struct queue_intake_options {
	uint32_t spares;     /* kept at most; 0: reuse nothing. Each spare and each of as
			      * many queued messages holds its descriptor open: up to
			      * 3 * spares in all. Only files that were never shared are used
			      * again */
	uint64_t spare_size; /* a larger file is emptied when it becomes a spare */
	bool is_daemon;      /* holds lock/queue, and the manager begins no message that it has
			      * not told of: what was refused may be emptied */
};

/* Also removes, after a sync, the spares that an earlier process left in pid/. Only the
 * daemon (which holds lock/queue) may have spares > 0. */
MUST_CHECK int queue_intake_open(struct queue_store *store,
				 const struct queue_intake_options *options,
				 struct queue_intake **intake_out);
void queue_intake_close(struct queue_intake *intake);

struct queue_message;

/* S1 to S2: takes a spare or a new file in pid/. -ENOSPC, -EDQUOT, -EMFILE, -EIO ...:
 * nothing is left behind but perhaps a file in pid/ for the cleaner. */
MUST_CHECK int queue_message_new(struct queue_intake *intake, struct queue_message **message_out);
uint64_t queue_message_number(const struct queue_message *message);

/*
 * The data come in one of two ways.
 *
 * By value, at most QUEUE_BY_VALUE_MAX bytes: nobody but this process ever has a
 * descriptor of the file, so it may be used again for other messages.
 *
 * Into a file that is shared: whoever was given its descriptor may stand still for hours and
 * then read it or write to it. So it is emptied before, for what it held was another's
 * message, and removed at the end, never used again. And nothing is queued that another process
 * can still write to (lend.c).
 */

/* S2 to S3 by value: DATA, and TEXT after it (queue/store.h). TEXT is what
 * queue_control_write_envelope() wrote: its id's number is this message's, its size that of
 * the data. DATA grows by the text; it is still the caller's. May run in another thread,
 * beside all other calls for other messages. After an error only queue_message_abandon() and
 * queue_message_commit_group(), which fails then, are allowed. */
MUST_CHECK int queue_message_write(struct queue_message *message, enum mail_stage stage,
				   struct buffer *data, struct str text);

/* S2: the file is shared from now on; before its first byte is written. After an error only
 * queue_message_abandon() is allowed. */
MUST_CHECK int queue_message_share(struct queue_message *message);
bool queue_message_is_shared(const struct queue_message *message);
/* Its descriptor, for writing from offset 0 on. Owned by MESSAGE. */
int queue_message_file(const struct queue_message *message);
/* The same as queue_message_share(), for another process: *FILE_OUT is the descriptor for it, to
 * be closed here when it was sent. */
MUST_CHECK int queue_message_lend(struct queue_message *message, int *file_out);
/* S2 to S3: writes TEXT after the data, which stands in the file by now. -ETXTBSY: it was lent,
 * and somebody can still write to it. Otherwise as queue_message_write(). */
MUST_CHECK int queue_message_envelope(struct queue_message *message, enum mail_stage stage,
				      struct str text);

/* S3 to S4 for all of them, together: makes the files durable, renames them to
 * todo/STAGE/X/ID, makes the entries durable. RESULTS[i] is 0, or the first error met for
 * messages[i]: then it is not queued, and its files were removed or are left for the cleaner, never
 * reused. When RESULTS[i] is 0 the client may be told 250 and the power may fail. Consumes all
 * messages.
 *
 * May run in a thread of its own beside all other calls for the same intake; one
 * call at a time. With COUNT 0 it only makes removals durable (below). */
void queue_message_commit_group(struct queue_intake *intake, struct queue_message **messages,
				size_t count, int *results);

/* S2 or S3 to S1. Consumes MESSAGE. */
void queue_message_abandon(struct queue_message *message);

/* From now on no message has a name that its number had before: what power
 * failures left was removed: a queue_cleaner of "send" is sure. New files then need not look for
 * such names. */
void queue_intake_trust_names(struct queue_intake *intake);

/* Ended messages' files wait in pid/, to be used again or removed, until a later
 * queue_message_commit_group() has made the removal of their names durable: how
 * many do. Where no message comes, call it with COUNT 0 now and then. */
size_t queue_intake_held(struct queue_intake *intake);
/* Whether a sync failed and none has succeeded since: what is accepted now would most likely
 * be refused. queue_message_commit_group() with COUNT 0 tries. */
bool queue_intake_must_prove(struct queue_intake *intake);
/* Whether the system could not tell if a file that was lent is ours again (fs.leases-enable is 0):
 * it was taken to be. */
bool queue_intake_is_blind(struct queue_intake *intake);
/* Whether the message was refused, and its name in todo/ could not be taken back yet. */
bool queue_intake_has_refused(struct queue_intake *intake, uint64_t number);
/* Tries again to remove, empty or take back the files that the disk did not let go: a full
 * quota may not. */
void queue_intake_remove_stuck(struct queue_intake *intake);
/* Removes the spares: their room and their inodes are needed. */
void queue_intake_drop_spares(struct queue_intake *intake);

/* S4 (every recipient delivered) to S1: from todo to pid. The file becomes a spare when this
 * intake wrote it by value, and is removed otherwise. No error when it is gone already. */
MUST_CHECK int queue_message_remove_queued(struct queue_intake *intake, enum mail_stage stage,
					   uint64_t number);
/* After preprocessing: todo goes. info/ must be durable. S4 to S5. */
MUST_CHECK int queue_message_remove_todo(struct queue_intake *intake, enum mail_stage stage,
					 uint64_t number);
/* A name in todo/ that leads to an empty file (queue_store_look()) goes. Where it is at S5, too,
 * that stays: whoever ends it finds that empty as well. */
MUST_CHECK int queue_message_remove_void(struct queue_intake *intake, enum mail_stage stage,
					 uint64_t number);
/* S2 to S1 at the end of a preprocessed message: mess goes, as todo above. info/ must be gone.
 * No error when it is gone already. */
MUST_CHECK int queue_message_remove_data(struct queue_intake *intake, uint64_t number);

/* Removes what crashes left in pid/: new files that are older than AGE_US (36 hours
 * in the sources) by the clock NOW_US, but for those that this intake has handed out. EACH, if not
 * NULL, is told the path of everything removed. */
MUST_CHECK int queue_intake_clean(struct queue_intake *intake, int64_t now_us, int64_t age_us,
				  void (*each)(void *context, const char *path), void *context);

#endif
