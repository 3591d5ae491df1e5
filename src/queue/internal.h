// SPDX-License-Identifier: ISC
/*
 * queue/internal.h - what the files of this folder share.
 */
#ifndef QUEUE_INTERNAL_H
#define QUEUE_INTERNAL_H

#include "os/process.h"
#include "queue/message.h"
#include "queue/store.h"
#include <pthread.h>
#include <stdatomic.h>

enum { QUEUE_LOCKS_MAX = 4, QUEUE_SPLIT_DEFAULT = 23, QUEUE_SPLIT_MAX = 10007 };

struct queue_store {
	int directory;
	uint32_t split;
	enum queue_sync sync;       /* while ORDER_WATCH tells of no other */
	int order_watch;            /* -1: none */
	atomic_bool has_order;      /* when it was asked last */
	int locks[QUEUE_LOCKS_MAX]; /* held files */
	size_t lock_count;
	bool has_lost;           /* a sync of queue_update_commit_group() failed */
	bool *has_settled;       /* [split]; owned: no process before us has names in info/X that
				  * are not durable */
	char boot[OS_BOOT_SIZE]; /* which time the machine runs, "" where that is not known */
};

/* filesystem.c: -ENOTSUP and a sentence in REASON when the filesystem of
 * DIRECTORY cannot be relied upon. */
MUST_CHECK int queue_filesystem_check(int directory, struct buffer *reason);
/* The same, by trying it: needs the queue's directories. What others left in lock/ when they
 * died while they tried is removed, when it is old. */
MUST_CHECK int queue_filesystem_probe(int directory, struct buffer *reason);

/* create.c: makes what is missing of a queue in DIRECTORY; its format file last. -EEXIST:
 * somebody else has just done so. */
MUST_CHECK int queue_create(int directory, uint32_t split);
/* The same without the format file, also where other things stand. */
MUST_CHECK int queue_create_lacking(int directory, uint32_t split);
/* Makes NAME and its X directories, durably. */
MUST_CHECK int queue_create_split(int directory, const char *name, uint32_t split);

/* place.c: the directory that NUMBER's name in PLACE stands in. */
void queue_store_directory_path(const struct queue_store *store, enum queue_place place,
				const char *name, uint64_t number, char path[QUEUE_PATH_SIZE]);
/* The directory X of PLACE. */
void queue_store_part_path(enum queue_place place, const char *name, uint64_t x,
			   char path[QUEUE_PATH_SIZE]);
/* Whether NAME is a message's number that belongs into the directory X. */
bool queue_store_is_number(const struct queue_store *store, const char *name, uint64_t x,
			   uint64_t *number_out);
/* Whether PLACE has a name for NUMBER: 1, 0 or -errno. */
MUST_CHECK int queue_store_has(const struct queue_store *store, enum queue_place place,
			       const char *name, uint64_t number);
/* The same in any todo/STAGE, then info: whether the message is S4 or S5. */
MUST_CHECK int queue_store_is_live(const struct queue_store *store, uint64_t number);
/* Unlinks; no error when the name is gone already. 1 when it was there. */
MUST_CHECK int queue_store_drop(const struct queue_store *store, enum queue_place place,
				const char *name, uint64_t number);

/* clean.c: the same, durably when it was there: the next new file may get this number. */
MUST_CHECK int queue_store_drop_durably(const struct queue_store *store, enum queue_place place,
					const char *name, uint64_t number);
/* store.c: how a group that begins is to be synced. The kernel is asked at the end of each group
 * that relied on order, so here only where there was none: it may be back. */
enum queue_sync queue_store_begin_sync(struct queue_store *store);
/* Whether the order that a group relied upon is there still, at its end. */
bool queue_store_kept_order(struct queue_store *store);

/* directories.c: directories that are to be made durable together. */
struct queue_directories {
	struct queue_directory {
		char path[QUEUE_PATH_SIZE];
		int file;   /* open for the sync, owned; -1: not (yet) */
		int result; /* why it is not open; or of its sync */
	} * items;          /* owned */
	size_t count;
	size_t capacity;
};

/* Adds the one that NUMBER's name in PLACE stands in, once; its position. */
size_t queue_directories_add(struct queue_directories *list, const struct queue_store *store,
			     enum queue_place place, const char *name, uint64_t number);
/* Opens those that are not; the first error. Nothing has happened then that could not be
 * tried again. */
MUST_CHECK int queue_directories_open(struct queue_directories *list,
				      const struct queue_store *store);
/* Syncs all that are open; the first error of a sync. */
MUST_CHECK int queue_directories_sync(struct queue_directories *list);
/* Closes and forgets all. */
void queue_directories_reset(struct queue_directories *list);
void queue_directories_clear(struct queue_directories *list);

/* A data file in pid/: of no message, or of one that is being written. Its name is
 * "mNUMBER" when it was a message's before, "nPROCESS-SERIAL" when it is new. */
struct queue_spare {
	uint64_t number; /* its inode */
	uint64_t serial; /* 0: it was a message's */
	int file;        /* open for writing, owned; -1: to be removed */
	uint64_t size;   /* of a file that only this process writes: how long it is */
};

struct queue_spare_list {
	struct queue_spare *items; /* owned */
	size_t count;
	size_t capacity;
};

/* kept.c: the messages that were committed here and whose files may be used again. */
struct queue_kept;
struct queue_kept_list {
	struct queue_kept *by_number;
	struct queue_kept *oldest_open; /* all that were added before it are closed */
	size_t open_count;
};

/* A message that was refused, but whose name in todo/ the disk did not let go. */
struct queue_refused {
	enum mail_stage stage;
	uint64_t number;
};

/* Directories whose removals matter to those who reuse numbers and files. */
enum queue_dirty { QUEUE_DIRTY_INFO = MAIL_STAGE_COUNT, QUEUE_DIRTY_COUNT };

struct queue_intake {
	struct queue_store *store;
	struct queue_intake_options options;
	pid_t process;                 /* ours, for names */
	uint64_t next_serial;          /* of new files; main thread */
	bool is_clean;                 /* a new file's number has no old names; main thread */
	pthread_mutex_t mutex;         /* guards what follows; never held over a disk call */
	struct queue_spare_list ready; /* for use */
	struct queue_spare_list quarantine;
	struct queue_spare_list stuck; /* the disk did not let them be removed; no descriptors */
	struct queue_spare_list full;  /* set aside, not emptied yet; no descriptors */
	struct queue_refused *refused; /* [refused_count], owned */
	size_t refused_count;
	bool *dirty;       /* [QUEUE_DIRTY_COUNT][split] */
	bool is_unknown;   /* any directory may be dirty from a process before us */
	bool must_prove;   /* a sync failed, and none has succeeded since */
	unsigned epoch;    /* how many syncs have failed: what was begun before is in doubt */
	bool has_doubts;   /* a sync failed, of ours or of a process before us in this boot */
	int64_t doubts_us; /* a data file that was changed later than that is free of them */
	bool is_blind;     /* the system does not tell who can write to a file */
	int pid_directory; /* open for life: removals can always be made durable */
	struct queue_kept_list kept;
	struct queue_message *messages; /* handed out, not committed */
};

struct queue_message {
	struct queue_intake *intake;
	struct queue_message *next;
	struct queue_message **link; /* what points to this one */
	struct queue_spare data;
	enum mail_stage stage;
	bool has_envelope; /* S3, whole */
	bool is_shared;    /* others may have a descriptor: it is not used again */
	bool is_lent;      /* they do: nothing is queued before they gave it back */
	bool has_failed;   /* its files are not used again */
};

/* message.c: closes and frees; the file stays. */
void queue_message_release(struct queue_message *message);
/* The same; the file is removed. */
void queue_message_discard(struct queue_message *message);

/* lend.c: MESSAGE's file is nobody's but ours from now on. -ETXTBSY: somebody kept it. */
MUST_CHECK int queue_message_take_back(struct queue_message *message);

/* spare_list.c */
void queue_spare_path(const struct queue_intake *intake, const struct queue_spare *spare,
		      char path[QUEUE_PATH_SIZE]);
void queue_spare_list_add(struct queue_spare_list *list, struct queue_spare spare);
bool queue_spare_list_take(struct queue_spare_list *list, struct queue_spare *spare_out);
/* Closes the descriptors; the files stay. */
void queue_spare_list_clear(struct queue_spare_list *list);

/* spare.c */
/* Removes the file and closes its descriptor; see queue_intake_remove_stuck(). */
void queue_spare_remove(struct queue_intake *intake, struct queue_spare spare);
/* Takes a ready spare off; false when there is none. */
bool queue_spare_take(struct queue_intake *intake, struct queue_spare *spare_out);
/* Adds a file that may be used again at once; cuts or removes it first where it
 * is too large or one too many. */
void queue_spare_give(struct queue_intake *intake, struct queue_spare spare);
/* Before a file's names are removed; for queue_spare_hold(). */
unsigned queue_spare_epoch(struct queue_intake *intake);
/* Holds SPARE, whose names were removed since EPOCH, back until the next sync that begins
 * from now on. */
void queue_spare_hold(struct queue_intake *intake, struct queue_spare spare, unsigned epoch);
/* Closes all descriptors that are only kept to save time. */
void queue_spare_close_all(struct queue_intake *intake);
void queue_spare_mark_dirty(struct queue_intake *intake, unsigned which, uint64_t number);
/* What is held back becomes ready (IS_SAFE), or is set aside. */
void queue_spare_settle(struct queue_intake *intake, struct queue_spare_list *held, bool is_safe);

/* update_end.c: whether a message at S4 has a control file that is whole, map and
 * all, because only the removal from todo/ lacks: 1, 0 or -errno. */
MUST_CHECK int queue_update_is_interrupted(const struct queue_store *store, enum mail_stage stage,
					   uint64_t number);

/* aside.c: the data file PATH goes out of the way, so that its number stays taken. Closes it.
 * -errno: it still has the name PATH. */
MUST_CHECK int queue_aside_put(struct queue_intake *intake, const char *path,
			       struct queue_spare spare);
/* The same of a file between two messages; one that cannot go stays, and is not used. */
void queue_aside_put_spare(struct queue_intake *intake, struct queue_spare spare);
/* Of what is in pid/ as NAME: whether that is a file which was set aside, by whom ever. */
bool queue_aside_parse(const struct queue_intake *intake, const char *name, uint64_t *number_out,
		       bool *is_of_this_boot_out);
/* One that an earlier process left in this boot: it is emptied, and there are doubts. */
void queue_aside_adopt(struct queue_intake *intake, const char *name, uint64_t number);
/* A sync has failed. Whatever was to be made durable by it is set aside. */
void queue_aside_after_failure(struct queue_intake *intake);
/* Whether the removal of a name from todo/ may never become durable: PATH is the data file
 * of a message at S5 that ends. */
bool queue_aside_is_doubtful(struct queue_intake *intake, const char *path);
/* A message was refused, but its name in todo/ could not be taken back yet. */
void queue_aside_refuse(struct queue_intake *intake, enum mail_stage stage, uint64_t number);
/* Tries again what the disk did not allow. */
void queue_aside_again(struct queue_intake *intake);

/* remove.c: the data file FROM goes to pid/ as SPARE and waits there, to be removed or, with a
 * descriptor, to be reused. Closes that at last. No error when it is gone. */
MUST_CHECK int queue_retire(struct queue_intake *intake, const char *from,
			    struct queue_spare spare);
/* The same for one in mess/. */
MUST_CHECK int queue_retire_data(struct queue_intake *intake, const char *from, uint64_t number);

/* Remembers that DATA was never shared, and keeps its descriptor as long as there is room for
 * it (-1: nothing is remembered). What was remembered of an earlier message with that number is
 * forgotten. */
void queue_kept_put(struct queue_intake *intake, const struct queue_spare *data);
/* Closes the descriptor; it is still remembered. */
void queue_kept_close(struct queue_intake *intake, uint64_t number);
/* Closes all: others need them. */
void queue_kept_close_all(struct queue_intake *intake);
/* Whether NUMBER's file was never shared; its descriptor (-1: closed meanwhile) and size. It is
 * forgotten. */
bool queue_kept_take(struct queue_intake *intake, uint64_t number, struct queue_spare *spare_out);
void queue_kept_clear(struct queue_intake *intake);

#endif
