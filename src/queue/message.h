// SPDX-License-Identifier: ISC
/*
 * queue/message.h - a message on its way into the queue and out of it: what the process "queue"
 * (and the one-shot enqueue) does. S1 to S4, and the end.
 *
 * The queue takes responsibility at S4, inside queue_message_commit_group(). A crash before that
 * leaves litter that queue_intake_clean() removes; a crash after it loses nothing.
 */
#ifndef QUEUE_MESSAGE_H
#define QUEUE_MESSAGE_H

#include "queue/control/control.h"
#include "queue/store.h"

enum {
	/* The largest message that is passed between processes by value. It fits into two
	 * packets, smtpd's engine buffers that much anyway, and a larger limit would gain
	 * little: copying the bytes would cost more than a file. */
	QUEUE_BY_VALUE_MAX = 64 * 1024,
};

/* The files that are not in use: spares, and where new ones are created. One for each process
 * that adds messages. */
struct queue_intake;

struct queue_intake_options {
	uint32_t spares;     /* at most so many are kept; 0: reuse nothing. Each spare and as
			      * many queued messages hold their descriptors open: up to 3 *
			      * spares in all. Only files that were never shared are reused */
	uint64_t spare_size; /* a larger file is emptied when it becomes a spare */
	bool is_daemon;      /* holds lock/queue, and the manager begins only messages that it
			      * has reported: refused ones may be emptied */
};

/* Also removes, after a sync, the spares that an earlier process left in pid/. Only the
 * daemon (which holds lock/queue) may have spares > 0. */
MUST_CHECK int queue_intake_open(struct queue_store *store,
				 const struct queue_intake_options *options,
				 struct queue_intake **intake_out);
void queue_intake_close(struct queue_intake *intake);

struct queue_message;

/* S1 to S2: takes a spare or a new file in pid/. After -ENOSPC, -EDQUOT, -EMFILE, -EIO ...
 * nothing is left except perhaps a file in pid/ for the cleaner. */
MUST_CHECK int queue_message_new(struct queue_intake *intake, struct queue_message **message_out);
uint64_t queue_message_number(const struct queue_message *message);

/*
 * The data come in one of two ways.
 *
 * By value, at most QUEUE_BY_VALUE_MAX bytes: no other process ever has a descriptor of the file,
 * so it may be reused for other messages.
 *
 * In a shared file: a process that was given its descriptor may be suspended for hours and then
 * read or write the file. So the file, which held another message, is emptied first; at the end it
 * is removed, never reused. And nothing is queued that another process can still write to
 * (intake/lend.c).
 */

/* S2 to S3 by value: writes DATA, then TEXT (queue/store.h). TEXT is what
 * queue_control_write_envelope() wrote; the number in its id must be this message's, its size
 * that of the data. It gets its sum record (queue/control/checksum.h), and is appended to DATA,
 * which remains the caller's. May run in another thread, at the same time as any call for other
 * messages. After an error only queue_message_abandon() and queue_message_commit_group(), which
 * then fails, are allowed. */
MUST_CHECK int queue_message_write(struct queue_message *message, enum mail_stage stage,
				   struct buffer *data, struct buffer *text);

/* S2: shares the file from now on; call before its first byte is written. After an error only
 * queue_message_abandon() is allowed. */
MUST_CHECK int queue_message_share(struct queue_message *message);
bool queue_message_is_shared(const struct queue_message *message);
/* Its descriptor, for writing from offset 0. Owned by MESSAGE. */
int queue_message_file(const struct queue_message *message);
/* As queue_message_share(), for another process: *FILE_OUT is the descriptor to send to it; the
 * caller closes it afterwards. */
MUST_CHECK int queue_message_lend(struct queue_message *message, int *file_out);
/* Before that, for a shared file: 0 if its data begin with START, otherwise -EPERM; -ETXTBSY as
 * below. After an error as after one of queue_message_write(). */
MUST_CHECK int queue_message_check_start(struct queue_message *message, struct str start);
/* S2 to S3: writes TEXT after the data, which must be in the file. -ETXTBSY: it was lent, and
 * another process can still write to it. Otherwise as queue_message_write(). */
MUST_CHECK int queue_message_envelope(struct queue_message *message, enum mail_stage stage,
				      struct buffer *text);

/* S3 to S4 for all of them, together: makes the files durable, renames them to todo/STAGE/X/ID,
 * makes the entries durable. When RESULTS[i] is 0, messages[i] is consumed, the client may be told
 * 250 and the power may fail. Otherwise it is the first error of messages[i], which is not queued:
 * abandon it once that was said. Until then its number is nobody else's.
 *
 * May run in a thread of its own at the same time as any other call for the same intake; one
 * call at a time. With COUNT 0 it only makes removals durable (below), also those of an earlier
 * process. */
void queue_message_commit_group(struct queue_intake *intake, struct queue_message **messages,
				size_t count, int *results);

/* S2 or S3 to S1. Consumes MESSAGE. */
void queue_message_abandon(struct queue_message *message);

/* Says that no number has old names any more: a queue_cleaner of "send" has removed what power
 * failures left. New files then need not be checked for such names. */
void queue_intake_trust_names(struct queue_intake *intake);

/* How many files of ended messages wait in pid/ until a later queue_message_commit_group() has
 * made the removal of their names durable; then they are reused or removed. If no message comes,
 * call that with COUNT 0 now and then. */
size_t queue_intake_held(struct queue_intake *intake);
/* How many names of messages at S5 queue_message_remove_todo() has removed. */
uint64_t queue_intake_moved(struct queue_intake *intake);
/* How many of these removals, the first ones, are durable, or in doubt because a sync failed. Each
 * queue_message_commit_group() makes those durable that were done before it began. */
uint64_t queue_intake_settled(struct queue_intake *intake);
/* What was done so far, names made and removed, is to become durable: by the next
 * queue_message_commit_group() that begins after this call and succeeds, also without messages.
 * Then queue_intake_durable() is at least the number that this returns. The order of the filesystem
 * is not enough here: somebody else's disk hangs on it. */
uint64_t queue_intake_await(struct queue_intake *intake);
uint64_t queue_intake_durable(struct queue_intake *intake);
/* How many files of ended messages have come into quarantine; whether the one that then was the
 * last has left it, because the removal of its names is durable: its number may be another
 * message's from now on. That may be before queue_intake_durable() says so, whose number was given
 * later. */
uint64_t queue_intake_retired(struct queue_intake *intake);
bool queue_intake_has_released(struct queue_intake *intake, uint64_t retired);
/* Whether everything is that was awaited. */
bool queue_intake_is_durable(struct queue_intake *intake);
/* Whether all are, those of earlier processes included. */
bool queue_intake_is_settled(struct queue_intake *intake);
/* Whether a sync failed and none has succeeded since: a message accepted now would most likely
 * be refused. queue_message_commit_group() with COUNT 0 tries again. */
bool queue_intake_must_prove(struct queue_intake *intake);
/* Whether the system could not tell if a lent file is open elsewhere (fs.leases-enable is 0): it
 * was assumed not to be. */
bool queue_intake_is_blind(struct queue_intake *intake);
/* Whether the message was refused, and its name in todo/ could not be removed yet. */
bool queue_intake_has_refused(struct queue_intake *intake, uint64_t number);
/* Retries removing or emptying files for which it failed before, perhaps because a quota was
 * full. */
void queue_intake_remove_stuck(struct queue_intake *intake);
/* Removes the spares, because their space and inodes are needed. */
void queue_intake_drop_spares(struct queue_intake *intake);

/* S4 (every recipient delivered) to S1: from todo to pid. The file becomes a spare if this
 * intake wrote it by value, and is removed otherwise. No error when it is gone already. 1: another
 * node may hand it over again (queue/handed.h), and what prevents that must be durable first; to be
 * repeated after the next queue_message_commit_group(). */
MUST_CHECK int queue_message_remove_queued(struct queue_intake *intake, enum mail_stage stage,
					   uint64_t number);
/* After preprocessing, S4 to S5: removes the name in todo. info/ must be durable. It in turn may be
 * removed only after this removal has settled (above): if a power failure brought the name in todo
 * back alone, all recipients would get the message again. */
MUST_CHECK int queue_message_remove_todo(struct queue_intake *intake, enum mail_stage stage,
					 uint64_t number);
/* Removes a name in todo/ that leads to an empty file (queue_store_look()). If the message is at
 * S5 too, its names there stay: its end will find that file empty as well. */
MUST_CHECK int queue_message_remove_void(struct queue_intake *intake, enum mail_stage stage,
					 uint64_t number);
/* S2 to S1 at the end of a preprocessed message: removes it from mess, as from todo above. Its
 * name in info/ must be gone. No error when it is gone already. 1: as above. */
MUST_CHECK int queue_message_remove_data(struct queue_intake *intake, uint64_t number);

/* Removes what crashes left in pid/: new files that are older than AGE_US (36 hours in the
 * sources) by the clock NOW_US, except those that this intake has handed out. EACH, if not NULL,
 * is called with each path removed. */
MUST_CHECK int queue_intake_clean(struct queue_intake *intake, int64_t now_us, int64_t age_us,
				  void (*each)(void *context, const char *path), void *context);

#endif
