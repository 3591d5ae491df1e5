// SPDX-License-Identifier: ISC
/*
 * queue/update.h - what the process "send" does to a queued message: S4 to S5,
 * outcomes, bounce records, the end.
 */
#ifndef QUEUE_UPDATE_H
#define QUEUE_UPDATE_H

#include "queue/control/control.h"
#include "queue/store.h"

/* A change to one message. Storage of the caller; the texts are borrowed until
 * the commit returns. */
struct queue_update {
	uint64_t number;
	int64_t born_us;       /* not 0: -ESTALE if the control file belongs to another message */
	bool is_queued;        /* at S4, with the envelope in todo/STAGE/X/ID */
	enum mail_stage stage; /* if is_queued */
	struct str bounce;     /* records for bounce/X/ID; may be empty */
	struct str control;    /* records for the control file, without checksums, which are added
				* if the file is of format 2, as is a synced record if they are
				* synced; may be empty */
	uint64_t synced;       /* bytes after the head of the control file that are durable
				* (queue_control.synced); only for what is appended at S5 */
	bool may_be_lost;      /* CONTROL only says when to try again: do not sync it. At S5,
				* without bounce records */
	bool preprocess;       /* is_queued only: link the data file to mess/, make the control
				* file, with CONTROL after the envelope, under the names in info/
				* and the places below: S5 except for todo, from which "queue"
				* removes it when told */
	bool is_whole;         /* CONTROL is the complete control file, with its checksums, which
				* replaces the old one: see queue_control_outgrown(). At S5; never
				* may_be_lost. After a failure the next update must be whole too */
	bool link_remote;      /* with preprocess and is_whole: the names to make */
	const char *const *link_services;
	size_t link_service_count;
	int result;       /* out: 0 or -errno */
	uint64_t length;  /* out: bytes of CONTROL in the file, with checksums and synced record */
	uint64_t size;    /* out: bytes of the control file with them, if they were written */
	bool is_in_doubt; /* out: it failed, but at least part of CONTROL is in the control file,
			   * which would grow if it were appended again and again */
	bool is_bounced;  /* out: BOUNCE is durable, also if the update failed later: the next
			   * update must not have it again */
};

/* Carries out all updates together. First bounce records are written and made durable; then
 * control records are written, the names of preprocessing made, and both made durable. (With
 * QUEUE_SYNC_ORDERED preprocessing becomes durable together with the removal from todo/ that
 * follows it, and not before: a power failure leaves S4 or all of S5.) An update that may be
 * lost becomes durable when the kernel writes it, or with the message's next update that may not
 * be lost: after a power failure before that, the message looks as if it had not been tried. If
 * an update fails, its later steps are not done. If a file ends with a torn line (no newline), that
 * line is canceled before records are appended (QUEUE_CONTROL_CANCEL); every text ends with a
 * newline. After a failure the same texts must be given again (what was written may never reach the
 * disk), so the control text of an update that preprocesses must contain the map block: -EINVAL
 * when it is empty. Repeated attempts do not make a file longer: a partial append is truncated
 * again, and so are bounce records that did not become durable. Those that did stay, because the
 * outcome may be in the control file, whatever failed: a failure without its record there would
 * count as reported where the queue is adopted. After a failed sync the bytes of the control file
 * must not be overwritten, so the next update must be whole (queue_update_account()). May run in a
 * thread of its own, one call at a time.
 *
 * What is appended and synced begins with a synced record that says update->synced, and so does not
 * depend on its own sync: whatever a power failure leaves of the append is never taken for damage,
 * and what was durable before it always is. The records of preprocessing end with one that covers
 * them, because at S5 they are durable; those that an interrupted step has left are taken over
 * without the lines that cannot be read.
 *
 * A rewritten control file is made in intd/ and is durable, bytes and size, before it gets
 * another name. Its names in local/ and remote/ are replaced first, then the one in info/, the
 * only one that is read. So after a crash there is either the old file, with all that was
 * durable, or the new one. Records appended to the new file count only when its name is durable
 * too: the update returns only after that; and the first append of a process to a file in a
 * directory of info/ syncs that directory, because an earlier process may have ended between the
 * two. */
void queue_update_commit_group(struct queue_store *store, struct queue_update **updates,
			       size_t count);

/* Records in CONTROL, which belongs to UPDATE's message, how long its file is now, how much of it
 * is durable, and whether the next update must rewrite it. Call after each commit, whatever its
 * result. */
void queue_update_account(struct queue_control *control, const struct queue_update *update);

/* When all deliveries of a place are done: removes local/SERVICE/X/ID, or remote/X/ID when
 * SERVICE is NULL. No error when it is gone already. */
MUST_CHECK int queue_update_leave(struct queue_store *store, uint64_t number, const char *service);

/* Marks the data and the control file of the message ID as those of a message that has ended: the
 * time of each becomes its birth, which no file has by itself (not the data of a later message
 * either, whose birth is another). No sync: where order is kept, no name that is removed after this
 * is gone without the mark. No error when there are no such files, or they are another user's. */
MUST_CHECK int queue_update_mark_ended(struct queue_store *store, struct mail_id id);
/* Whether a file with the time MODIFIED_US is so marked, of a message born at BORN_US. */
bool queue_update_is_marked(int64_t modified_us, int64_t born_us);

/* S5 to S2, after the bounce was handled: marks the message ID as ended; removes the names in
 * local, remote, bounce, intd (what an interrupted update has left) and then info. SERVICES: all
 * services that the queue knows. After that "queue" may be told to remove the data. */
MUST_CHECK int queue_update_finish(struct queue_store *store, struct mail_id id,
				   const char *const *services, size_t service_count);

/* Removes bounce/X/ID once its bounce is durably queued. */
MUST_CHECK int queue_update_bounced(struct queue_store *store, uint64_t number);

struct queue_settling {
	struct queue_store *store;
	const char *const *services; /* all that the queue knows */
	size_t service_count;
	void (*removed)(void *context, const char *path); /* called with the paths, or NULL */
	void *context;
};

/* For a message found at S4 after a crash, before anybody works on it: removes what an
 * interrupted step to S5 left (intd/, and all other names of S5, unless only the removal from todo/
 * is missing). While somebody works on it, the cleaner leaves such names alone. */
MUST_CHECK int queue_update_settle(const struct queue_settling *settling, enum mail_stage stage,
				   uint64_t number);

/* Reads the control file of a message at todo/STAGE (STAGE not NULL) or info into TEXT
 * (appended); before it has one, the envelope. -ENOENT, -EFBIG; -ENODATA: it has neither. */
MUST_CHECK int queue_update_read(struct queue_store *store, const enum mail_stage *stage,
				 uint64_t number, struct buffer *text);
/* The same, parsed; the number and stage in it must match: -EBADMSG when they do not (a name
 * that leads to another message's file is damage: it is never delivered). Errors of
 * queue_control_parse(), whose *LINE_OUT is 0 when the error is not in one line. A message at S5
 * without data has ended, and a power failure brought its names back: -ENOENT. */
MUST_CHECK int queue_update_load(struct queue_store *store, const enum mail_stage *stage,
				 uint64_t number, struct queue_control **control_out,
				 unsigned *line_out);
/* Makes durable what the control file of NUMBER, at S5, has: 0 or -errno. Waits for the disk. */
MUST_CHECK int queue_update_sync_control(struct queue_store *store, uint64_t number);
/* Reads bounce/X/ID. */
MUST_CHECK int queue_update_read_bounce(struct queue_store *store, uint64_t number,
					struct buffer *text);
/* Appends the SIZE bytes of data of a message at todo/STAGE (STAGE not NULL) or at S5. -EBADMSG:
 * there are fewer. The bytes are certainly this message's if the caller is "send", or if
 * queue_update_is_still() says so afterwards (queue/intake/spare.c). */
MUST_CHECK int queue_update_read_data(struct queue_store *store, const enum mail_stage *stage,
				      uint64_t number, uint64_t size, struct buffer *data);
/* The same, but fewer bytes are not an error. */
MUST_CHECK int queue_update_read_beginning(struct queue_store *store, const enum mail_stage *stage,
					   uint64_t number, uint64_t size, struct buffer *data);
/* For callers without a lock, after reading and before showing what was read: 1 when the message
 * is still ID there, so that all that was read belongs to it; 0 when it has ended or moved from
 * S4 to S5. Files are opened by name here; a name is removed before its file is reused, and is
 * made again only when the file is completely the next message's. */
MUST_CHECK int queue_update_is_still(struct queue_store *store, const enum mail_stage *stage,
				     struct mail_id id);
/* Opens the data file of a message at todo/STAGE (STAGE not NULL) or at S5 for reading: a
 * descriptor or -errno, as queue_store_look(). The descriptor may be given to others only if the
 * message is larger than QUEUE_BY_VALUE_MAX: its file is not reused. Any other must be closed in
 * the same turn. */
MUST_CHECK int queue_update_open_data(struct queue_store *store, const enum mail_stage *stage,
				      uint64_t number);

/* The same in a queue that may be a copy. */
MUST_CHECK int queue_update_open_copy(struct queue_store *store, const enum mail_stage *stage,
				      uint64_t number);

/* The checksum of the first SIZE bytes of such a file (base/checksum.h). -EBADMSG: it has fewer. */
MUST_CHECK int queue_update_checksum_data(int file, uint64_t size, uint32_t *checksum_out);

/* Sets when the message is next due (the control file's modification time). */
MUST_CHECK int queue_update_set_due(struct queue_store *store, uint64_t number, int64_t due_us);

#endif
