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

/* The files that are not in use: spares, and where new ones come from. One for
 * each process that adds messages. */
struct queue_intake;

struct queue_intake_options {
	uint32_t spares;     /* kept at most; 0: reuse nothing. Each spare and each of as
			      * many queued messages holds its descriptor open: up to
			      * 3 * spares in all */
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
/* The data file, open for writing at offset 0 (it may hold old bytes: the
 * commit cuts it to the envelope's size). Owned by MESSAGE. */
int queue_message_file(const struct queue_message *message);

/* S2 to S3: writes TEXT behind the data (queue/store.h). TEXT is what
 * queue_control_write_envelope() wrote: its id's number is this message's, its
 * size that of the data. The data must be written by now. After an error only
 * queue_message_abandon() is allowed. */
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

/* S2 or S3 to S1. Consumes MESSAGE. Nobody else may still write to its file. */
void queue_message_abandon(struct queue_message *message);
/* The same where somebody may: the file is removed, never used again. */
void queue_message_discard(struct queue_message *message);

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
/* Whether the message was refused, and its name in todo/ could not be taken back yet. */
bool queue_intake_has_refused(struct queue_intake *intake, uint64_t number);
/* Tries again to remove, empty or take back the files that the disk did not let go: a full
 * quota may not. */
void queue_intake_remove_stuck(struct queue_intake *intake);
/* Removes the spares: their room and their inodes are needed. */
void queue_intake_drop_spares(struct queue_intake *intake);

/* S4 (every recipient delivered) to S1: from todo to pid; the file becomes a spare. Only when
 * nobody reads or writes them any more. No error when they are gone already. */
MUST_CHECK int queue_message_remove_queued(struct queue_intake *intake, enum mail_stage stage,
					   uint64_t number);
/* After preprocessing: todo goes. info/ must be durable. S4 to S5. */
MUST_CHECK int queue_message_remove_todo(struct queue_intake *intake, enum mail_stage stage,
					 uint64_t number);
/* A name in todo/ that leads to an empty file (queue_store_look()) goes. Where it is at S5, too,
 * that stays: whoever ends it finds that empty as well. */
MUST_CHECK int queue_message_remove_void(struct queue_intake *intake, enum mail_stage stage,
					 uint64_t number);
/* S2 to S1 at the end of a preprocessed message: mess goes. info/ must be gone.
 * No error when it is gone already. */
MUST_CHECK int queue_message_remove_data(struct queue_intake *intake, uint64_t number);

/* Removes what crashes left in pid/: new files that are older than AGE_US (36 hours
 * in the sources) by the clock NOW_US, but for those that this intake has handed out. EACH, if not
 * NULL, is told the path of everything removed. */
MUST_CHECK int queue_intake_clean(struct queue_intake *intake, int64_t now_us, int64_t age_us,
				  void (*each)(void *context, const char *path), void *context);

#endif
