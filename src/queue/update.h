// SPDX-License-Identifier: ISC
/*
 * queue/update.h - what the process "send" does to a queued message: S4 to S5,
 * outcomes, bounce records, the end.
 */
#ifndef QUEUE_UPDATE_H
#define QUEUE_UPDATE_H

#include "queue/control.h"
#include "queue/store.h"

/* A change to one message. Storage of the caller; the texts are borrowed until
 * the commit returns. */
struct queue_update {
	uint64_t number;
	int64_t born_us;       /* not 0: -ESTALE when the control file is another message's */
	bool is_queued;        /* at S4, where the envelope stands in todo/STAGE/X/ID */
	enum mail_stage stage; /* when is_queued */
	struct str bounce;     /* records for bounce/X/ID; may be empty */
	struct str control;    /* records for the control file; may be empty */
	bool may_be_lost;      /* CONTROL only says when to try again: no sync is spent on it.
				* At S5, without bounce records */
	bool preprocess;       /* is_queued only: link the data file to mess/, make the
				* control file, with CONTROL after the envelope, under the
				* names in info/ and the places below: S5 but for todo, which
				* "queue" removes when told */
	bool is_whole;         /* CONTROL is all of the control file, which is written anew in
				* place of the old one: see queue_control_outgrown(). At S5;
				* never may_be_lost. After a failure the next one is whole, too */
	bool link_remote;      /* with preprocess and is_whole: the names that it shall have */
	const char *const *link_services;
	size_t link_service_count;
	int result;       /* out: 0 or -errno */
	bool is_in_doubt; /* out: it failed, but CONTROL, or a part of it, stands in the control
			   * file: appended again and again it would grow */
};

/* Carries out all updates together: bounce records are written and durable
 * first; then control records are written, the names of preprocessing made, and
 * both durable. (With QUEUE_SYNC_ORDERED preprocessing is durable as soon as the
 * removal from todo/ that follows it is, and not before: a power failure leaves
 * S4 or the whole of S5.) An update that may be lost becomes durable when the system
 * pleases, or with the next one of its message that may not: a power failure before
 * leaves the message as if it had not been tried. An update that fails has no later
 * step done.
 * A file found with a torn last line (no newline) gets that line ended before
 * records are appended; every text ends with a newline. After a failure the same
 * texts must be given again (what was written may never reach the disk), so an
 * update that preprocesses has the map block in its control text: -EINVAL when
 * that is empty. No try makes a file longer than the one before: what did not fit is cut off
 * again, and so are the bounce records of an update that failed; after a failed sync of the
 * control file, whose bytes nothing may be written over, the next update is to be whole
 * (queue_update_account()). May run in a thread of its own, one call at a time.
 *
 * A control file that is written anew is made in intd/ and is durable, bytes and size,
 * before it has another name; then its names in local/ and remote/, then that in info/,
 * which alone is read, take the place of the old file's. So there is the old file, which has
 * all that was durable, or the new one. What is appended to the new one counts only when
 * the name is durable, too: the update returns after that; and the first append of a
 * process to a file in a directory of info/ syncs that directory, since an earlier process
 * may have been ended between the two. */
void queue_update_commit_group(struct queue_store *store, struct queue_update **updates,
			       size_t count);

/* Notes in CONTROL, which is that of UPDATE's message, how long its file is now, and whether
 * the next update has to write it anew. After each commit, whatever its result. */
void queue_update_account(struct queue_control *control, const struct queue_update *update);

/* A place whose deliveries are all done loses its name: local/SERVICE/X/ID, or
 * remote/X/ID when SERVICE is NULL. No error when it is gone already. */
MUST_CHECK int queue_update_leave(struct queue_store *store, uint64_t number, const char *service);

/* S5 to S2, after the bounce was handled: local, remote, bounce and then info
 * lose their names. SERVICES: all that the queue knows. Then "queue" may be told
 * to remove the data. */
MUST_CHECK int queue_update_finish(struct queue_store *store, uint64_t number,
				   const char *const *services, size_t service_count);

/* Removes bounce/X/ID once its bounce is durably queued. */
MUST_CHECK int queue_update_bounced(struct queue_store *store, uint64_t number);

/* A message that is found at S4 after a crash, before anybody works on it: what is left
 * of a way to S5 that was cut off (info/, mess/) is removed, unless it has arrived but for
 * the removal from todo/. REMOVED, if not NULL, is told the paths. */
MUST_CHECK int queue_update_settle(struct queue_store *store, enum mail_stage stage,
				   uint64_t number,
				   void (*removed)(void *context, const char *path), void *context);

/* Reads what the queue says of a message at todo/STAGE (STAGE not NULL) or info into
 * TEXT (appended): its control file, or before it has one the envelope. -ENOENT,
 * -EFBIG; -ENODATA: there is none. */
MUST_CHECK int queue_update_read(struct queue_store *store, const enum mail_stage *stage,
				 uint64_t number, struct buffer *text);
/* The same, parsed; the number and the stage in it must be these: -EBADMSG when
 * they are not (a name that points to another message's file is damage: it is
 * never delivered). Errors of queue_control_parse(), whose *LINE_OUT is 0 when
 * no line is to blame. One at S5 without data has ended, and a power failure brought its
 * names back: -ENOENT. */
MUST_CHECK int queue_update_load(struct queue_store *store, const enum mail_stage *stage,
				 uint64_t number, struct queue_control **control_out,
				 unsigned *line_out);
/* Reads bounce/X/ID. */
MUST_CHECK int queue_update_read_bounce(struct queue_store *store, uint64_t number,
					struct buffer *text);
/* Appends the SIZE bytes of data of a message at todo/STAGE (STAGE not NULL) or at S5.
 * -EBADMSG: there are fewer. What is appended is this message's when the caller is "send",
 * or when queue_update_is_still() says so afterwards (queue/spare.c). */
MUST_CHECK int queue_update_read_data(struct queue_store *store, const enum mail_stage *stage,
				      uint64_t number, uint64_t size, struct buffer *data);
/* The same at most: fewer are no error. */
MUST_CHECK int queue_update_read_beginning(struct queue_store *store, const enum mail_stage *stage,
					   uint64_t number, uint64_t size, struct buffer *data);
/* For those who hold no lock, after they read and before they show it: 1 when the message is
 * still ID there, and so all that was read of it is its own; 0 when it has ended or gone on
 * from S4 to S5. What is read here is opened by its name, which goes before the file is used
 * again and comes back only when all of it is the next message's. */
MUST_CHECK int queue_update_is_still(struct queue_store *store, const enum mail_stage *stage,
				     struct mail_id id);
/* Opens the data file of a message at todo/STAGE (STAGE not NULL) or at S5 for reading: a
 * descriptor or -errno, as queue_store_look(). The descriptor may be given away only where the
 * message is larger than QUEUE_BY_VALUE_MAX: its file is not used again. Any other is closed in the
 * same turn. */
MUST_CHECK int queue_update_open_data(struct queue_store *store, const enum mail_stage *stage,
				      uint64_t number);

/* The same in a queue that may be a copy. */
MUST_CHECK int queue_update_open_copy(struct queue_store *store, const enum mail_stage *stage,
				      uint64_t number);

/* Sets when the message is next due (the control file's modification time). */
MUST_CHECK int queue_update_set_due(struct queue_store *store, uint64_t number, int64_t due_us);

#endif
