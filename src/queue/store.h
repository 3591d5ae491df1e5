// SPDX-License-Identifier: ISC
/*
 * queue/store.h - the queue directory, format 1.
 *
 *   format               "stagepost-queue 1" and "split N"
 *   pid/NAME             a data file that is not a message: new, a spare kept for
 *                        reuse, or being written
 *   todo/STAGE/X/ID      the data file: the message (CRLF lines, trace headers
 *                        first), then its envelope (queue/control/control.h, up to "end:", and
 *                        the checksums of both),
 *                        then a line that says where the envelope begins,
 *                        "at: 00000000000000018233": queued at STAGE
 *   mess/X/ID            the data file of a message that is preprocessed
 *   intd/X/ID            the control file, under construction: the first, or a shorter
 *                        one that will replace the one in info (queue/update.h)
 *   intd/due             when the messages in info are due, by the last scan (queue/due.h)
 *   info/X/ID            the control file: preprocessed
 *   local/SERVICE/X/ID   the control file: not done for that local service
 *   remote/X/ID          the control file: not done for other hosts
 *   bounce/X/ID          permanent failures not yet reported
 *   handed/NODE/NAME     the data file: another node handed it over as package NAME, and
 *                        may do so again (queue/handed.h)
 *   peers/NODE           empty: packages for that node may be outstanding
 *   trigger/NAME         triggers being waited on
 *   damaged/NAME         what is left of messages that the disk has damaged, for people
 *   litter/NAME          what a power failure seems to have left, for 36 hours (queue/cleaner.h)
 *   lock/trigger lock/queue lock/send
 *   directory            what the node has seen of its directory's data
 * (directory/store/guard/guard.h): not part of the queue; kept here because it belongs to the node
 *
 * X is ID modulo the split; ID is the inode number of the data file. Names in todo and mess are
 * hard links to the data file; those in info, local and remote are hard links to the control file,
 * which is made when the message has to wait.
 *
 *          pid todo intd mess info local remote bounce
 *   S1      +   -    -    -    -    -     -      -     not in use
 *   S2      +   -    -    -    -    -     -      -     being written
 *   S3      +   -    -    -    -    -     -      -     the envelope follows the data
 *   S4      -   +    ?    ?    ?    ?     ?      ?     queued
 *   S5      -   -    ?    +    +    ?     ?      ?     preprocessed
 *   end     -   -    -    +    -    -     -      -     done; the data file goes next
 *
 * At S4 bounce has records only while the control file is made: outcomes are known before the
 * message is preprocessed, and a failure is recorded before the outcome that says so. (In the
 * sources bounce comes after S5.) At S5 intd may have a shorter control file.
 *
 * Only the name in info is read. Those in local and remote are for people and for counting: after a
 * crash they may lead to an older control file, or be missing.
 *
 * (Sources: qmail internals, section 2; the hard links to one append-only textual control file are
 * from the distributed design.)
 *
 * Only the process "queue" makes names in pid, todo and handed, and removes names in pid, todo,
 * handed and, at the end of a message, mess. Only "send" makes names in mess, makes and removes
 * names in intd, info, local, remote, bounce, trigger, peers, damaged and litter, and writes
 * control files.
 */
#ifndef QUEUE_STORE_H
#define QUEUE_STORE_H

#include "base/attributes.h"
#include "base/buffer.h"
#include "base/timestamp.h"
#include "config/config.h"
#include "mail/envelope.h"

enum { QUEUE_PATH_SIZE = 128 }; /* any path below the queue directory, with its NUL */

enum queue_sync {
	QUEUE_SYNC_AUTO,       /* ORDERED where the filesystem promises it; FILESYSTEM where the
				* queue is a mount point; else FILES */
	QUEUE_SYNC_FILES,      /* sync each file and each directory concerned */
	QUEUE_SYNC_FILESYSTEM, /* syncfs */
	QUEUE_SYNC_ORDERED,    /* write out, name, sync one directory: see os/file/order.c */
};

struct queue_options {
	bool create;       /* create the directory if it does not exist or is empty */
	bool read_only;    /* only look: creates nothing, does not check the filesystem */
	bool make_lacking; /* make the directories and locks that a copy does not have */
	bool unsafe;       /* accept a filesystem that fails the checks */
	uint32_t split;    /* for creation; 0: 97 */
	enum queue_sync sync;
};

#define QUEUE_DAMAGED "damaged"
#define QUEUE_LITTER  "litter"

/* An unfinished file of this age is litter: the sources, section 6. */
#define QUEUE_LITTER_AGE_US (36 * HOUR_US)

struct queue_store;

/* Opens (or creates) the queue directory PATH and checks that its filesystem keeps inode numbers
 * over rename and link and honours sync.
 *
 * If a sync fails (-EIO) while the queue is created, remove the directory before you try again:
 * a second sync could report success although nothing was written.
 *
 * -ENOENT, -EACCES ...; -EPROTO: not a queue, or of an unknown format, or lacking directories;
 * -ENOTSUP: the filesystem fails a check and options->unsafe is false. In each case one sentence
 * for people is appended to *REASON, if not NULL; also on success, when an unsafe filesystem was
 * accepted. */
MUST_CHECK int queue_store_open(const char *path, const struct queue_options *options,
				struct queue_store **store_out, struct buffer *reason);
/* Whether the filesystem of a queue at PATH, which may still have to be made, can be relied upon:
 * 0, -ENOTSUP and why not in REASON, or another -errno: that cannot be seen. Changes nothing. */
MUST_CHECK int queue_store_check_place(const char *path, struct buffer *reason);
void queue_store_close(struct queue_store *store);

/* A descriptor of the queue directory; all paths here are relative to it. */
int queue_store_directory(const struct queue_store *store);
uint32_t queue_store_split(const struct queue_store *store);
/* The mode of the last group: with QUEUE_SYNC_AUTO it changes if the filesystem is remounted
 * with other options. May be called in any thread. */
enum queue_sync queue_store_sync(const struct queue_store *store);
/* The configured value as enum queue_sync; and the word for it in the configuration. */
enum queue_sync queue_sync_of(enum config_sync sync);
const char *queue_sync_name(enum queue_sync sync);

/* Creates the directories of a local service if they are missing. Without a sync: each process
 * that makes names in them does so when it starts, and a power failure may take such names anyway.
 */
MUST_CHECK int queue_store_add_service(struct queue_store *store, const char *service);

/* The same for folders that a queue of an earlier version does not have: damaged/, litter/, handed/
 * and peers/. Before the process is confined. */
MUST_CHECK int queue_store_make_folders(const struct queue_store *store);

enum queue_folder {
	QUEUE_MESS,
	QUEUE_INTD,
	QUEUE_TODO, /* with a stage name */
	QUEUE_INFO,
	QUEUE_LOCAL, /* with a service name */
	QUEUE_REMOTE,
	QUEUE_BOUNCE,
};

/* "todo/arrive/7/457". NAME is the stage or service name where the folder needs
 * one, else NULL. */
void queue_store_path(const struct queue_store *store, enum queue_folder folder, const char *name,
		      uint64_t number, char path[QUEUE_PATH_SIZE]);

/* Calls EACH with the number of every message that has a name in FOLDER; stops when EACH returns
 * something else than 0, and returns that. Names that are not numbers or are in the wrong X are
 * passed to STRAY (may be NULL), as paths. */
MUST_CHECK int queue_store_each(struct queue_store *store, enum queue_folder folder,
				const char *name, int (*each)(void *context, uint64_t number),
				int (*stray)(void *context, const char *path), void *context);
/* The same for one directory X. */
MUST_CHECK int queue_store_each_part(struct queue_store *store, enum queue_folder folder,
				     const char *name, uint32_t x,
				     int (*each)(void *context, uint64_t number),
				     int (*stray)(void *context, const char *path), void *context);

/* Whether the file in todo/STAGE (in mess/ when STAGE is NULL) under NUMBER can be a message.
 * -ENOENT: there is none; -EUCLEAN: its inode number is different (*INODE_OUT, may be NULL): the
 * queue was copied; -ENODATA: it is empty: a name of a refused or ended message that a power
 * failure brought back after a failed sync (intake/aside.c). */
MUST_CHECK int queue_store_look(const struct queue_store *store, const enum mail_stage *stage,
				uint64_t number, uint64_t *inode_out);

/* Whether a process other than "queue" is still committing the file in todo/STAGE under NUMBER:
 * its name may be removed again. 1, 0 or -errno. */
MUST_CHECK int queue_store_is_committing(const struct queue_store *store, enum mail_stage stage,
					 uint64_t number);

/* A file whose inode number differs from the number in its name. */
struct queue_misnamed {
	char path[QUEUE_PATH_SIZE];
	uint64_t inode;
};
/* Looks at all data files if there are few, else at some in each directory, for half a second at
 * most: 1 when one is misnamed (the first), 0 or -errno. */
MUST_CHECK int queue_store_sample(struct queue_store *store, struct queue_misnamed *misnamed_out);

/* What is set aside because of failed syncs: the number of files, and bytes that could not be
 * freed. */
MUST_CHECK int queue_store_aside(struct queue_store *store, uint64_t *count_out,
				 uint64_t *bytes_out);

/* Takes lock/queue or lock/send until the store is closed; -EAGAIN when a
 * process of that kind runs already. */
MUST_CHECK int queue_store_lock(struct queue_store *store, const char *name);

/* Pulls lock/trigger: writes a byte without blocking; no error when nobody listens. */
void queue_store_pull_trigger(struct queue_store *store);

/* Whether SIZE bytes and RESERVE are free, and as many inodes as go with that; -ENOSPC when not. */
MUST_CHECK int queue_store_has_room(struct queue_store *store, uint64_t size, uint64_t reserve);
/* The same without inodes: for files that exist already. */
MUST_CHECK int queue_store_has_bytes(struct queue_store *store, uint64_t bytes);

#endif
