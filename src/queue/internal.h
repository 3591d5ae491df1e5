// SPDX-License-Identifier: ISC
/*
 * queue/internal.h - what the files of this folder share.
 */
#ifndef QUEUE_INTERNAL_H
#define QUEUE_INTERNAL_H

#include "base/table.h"
#include "mail/package.h"
#include "os/process/process.h"
#include "queue/message.h"
#include "queue/store.h"
#include <pthread.h>
#include <stdatomic.h>

enum { QUEUE_LOCKS_MAX = 4, QUEUE_SPLIT_DEFAULT = 97, QUEUE_SPLIT_MAX = 10007 };

struct queue_store {
	int directory;
	uint32_t split;
	enum queue_sync sync;       /* the current mode, unless ORDER_WATCH reports a change */
	int order_watch;            /* -1: none */
	atomic_bool has_order;      /* the last answer of the kernel */
	int locks[QUEUE_LOCKS_MAX]; /* held files */
	size_t lock_count;
	bool has_lost;           /* a sync of queue_update_commit_group() failed */
	bool *has_settled;       /* [split]; owned: info/X has no names from an earlier process
				  * that are not durable */
	char boot[OS_BOOT_SIZE]; /* identifies this boot of the machine; "" if unknown */
};

/* directory/filesystem.c: -ENOTSUP and a sentence in REASON when the filesystem of DIRECTORY cannot
 * be relied upon. */
MUST_CHECK int queue_filesystem_check(int directory, struct buffer *reason);
/* The same, by experiment: needs the queue's directories. Old files in lock/ that other
 * processes left when they died during this experiment are removed. */
MUST_CHECK int queue_filesystem_probe(int directory, struct buffer *reason);

/* directory/create.c: creates what is missing of a queue in DIRECTORY; its format file last.
 * -EEXIST: another process has just done so. */
MUST_CHECK int queue_create(int directory, uint32_t split);
/* The same without the format file, also in a directory with other files. */
MUST_CHECK int queue_create_lacking(int directory, uint32_t split);
/* Makes what is missing of NAME and its X directories. */
MUST_CHECK int queue_make_split(int directory, const char *name, uint32_t split);

/* directory/folder.c: the directory of NUMBER's name in FOLDER. */
void queue_store_directory_path(const struct queue_store *store, enum queue_folder folder,
				const char *name, uint64_t number, char path[QUEUE_PATH_SIZE]);
/* The directory X of FOLDER. */
void queue_store_part_path(enum queue_folder folder, const char *name, uint64_t x,
			   char path[QUEUE_PATH_SIZE]);
/* Whether NAME is a message's number that belongs in the directory X. */
bool queue_store_is_number(const struct queue_store *store, const char *name, uint64_t x,
			   uint64_t *number_out);
/* Whether FOLDER has a name for NUMBER: 1, 0 or -errno. */
MUST_CHECK int queue_store_has(const struct queue_store *store, enum queue_folder folder,
			       const char *name, uint64_t number);
/* Whether NUMBER has a name in any todo/STAGE or, looked at last, in info: the message is S4 or
 * S5. */
MUST_CHECK int queue_store_is_live(const struct queue_store *store, uint64_t number);
/* Whether NUMBER has a name, of a message or of what is left of one, but for those of services: a
 * new file must not have it. */
MUST_CHECK int queue_store_has_any(const struct queue_store *store, uint64_t number);
/* directory/aside_name.c: a free name for PATH in the directory ASIDE, damaged/ or litter/:
 * "damaged/info_7_457", or with ".2" after it ... */
enum { QUEUE_ASIDE_PATH_SIZE = 512 };
MUST_CHECK int queue_store_aside_name(const struct queue_store *store, const char *aside,
				      const char *path, char out[QUEUE_ASIDE_PATH_SIZE]);
/* The same; 1: OUT is such a name that the file INODE has already. */
MUST_CHECK int queue_store_find_aside(const struct queue_store *store, const char *aside,
				      const char *path, uint64_t inode,
				      char out[QUEUE_ASIDE_PATH_SIZE]);
/* Unlinks; no error when the name is gone already. 1 when it was there. */
MUST_CHECK int queue_store_drop(const struct queue_store *store, enum queue_folder folder,
				const char *name, uint64_t number);

/* intake/clean.c: the same, and makes the removal durable: the next new file may get this number.
 */
MUST_CHECK int queue_store_drop_durably(const struct queue_store *store, enum queue_folder folder,
					const char *name, uint64_t number);
/* store.c: how to sync a group that begins now. Each group that relied on order asks the kernel
 * at its end, so this asks only if there was no order before: it may be back. */
enum queue_sync queue_store_begin_sync(struct queue_store *store);
/* At the end of a group: whether the filesystem still keeps the order that the group relied
 * upon. */
bool queue_store_kept_order(struct queue_store *store);

/* directory/directories.c: directories that are made durable together. */
struct queue_directories {
	struct queue_directory {
		char path[QUEUE_PATH_SIZE];
		int file;   /* open for the sync, owned; -1: not (yet) */
		int result; /* the error of opening it, or of its sync */
	} * items;          /* owned */
	size_t count;
	size_t capacity;
};

/* Adds the directory of NUMBER's name in FOLDER, once; returns its position. */
size_t queue_directories_add(struct queue_directories *list, const struct queue_store *store,
			     enum queue_folder folder, const char *name, uint64_t number);
/* Opens those that are not open; returns the first error. At this point everything can still be
 * undone and tried again. */
MUST_CHECK int queue_directories_open(struct queue_directories *list,
				      const struct queue_store *store);
/* Syncs all that are open; the first error of a sync. */
MUST_CHECK int queue_directories_sync(struct queue_directories *list);
/* Closes and removes all. */
void queue_directories_reset(struct queue_directories *list);
void queue_directories_clear(struct queue_directories *list);

/* A data file in pid/ that belongs to no message, or to one being written. Its name is "mNUMBER"
 * when it was a message's before, "nPROCESS-SERIAL" when it is new. */
struct queue_spare {
	uint64_t number; /* its inode */
	uint64_t serial; /* 0: it was a message's before */
	int file;        /* open for writing, owned; -1: remove it */
	uint64_t size;   /* its length, if only this process writes to it */
};

struct queue_spare_list {
	struct queue_spare *items; /* owned */
	size_t count;
	size_t capacity;
};

/* intake/kept.c: the messages that were committed here and whose files may be reused. */
struct queue_kept;
struct queue_kept_list {
	struct queue_kept *by_number;
	struct queue_kept *oldest_open; /* all that were added before it are closed */
	size_t open_count;
};

/* A message that was refused, but whose name in todo/ could not be removed. */
struct queue_refused {
	enum mail_stage stage;
	uint64_t number;
};

/* Directories of nodes in which a name was made or removed; "": handed/ itself. */
struct queue_dirty_nodes {
	char (*names)[MAIL_NODE_MAX + 1]; /* [count], owned */
	size_t count;
	size_t capacity;
};

/* handed/table.c: what is known of a name in handed/NODE/. */
enum queue_handed_state {
	QUEUE_HANDED_COMMITTING,
	QUEUE_HANDED_TAKEN,
	QUEUE_HANDED_ENDING, /* has NAME.done too, which has to become durable before another name
			      * goes */
	QUEUE_HANDED_ENDED,  /* has NAME.done */
	QUEUE_HANDED_UNDONE, /* its commit failed: the name goes when the removal from todo/ is
			      * durable */
};

struct handed_node;
struct queue_handed_name {
	uint64_t number;
	struct handed_node *node;
	char name[MAIL_PACKAGE_SIZE];
	char *numbers; /* of its deliveries, owned; NULL: not read yet */
	enum queue_handed_state state;
	enum mail_stage stage; /* of one that was committed here */
	bool is_reported;      /* a manager may have begun it */
	uint64_t durable;      /* ENDING: what queue_intake_durable() must reach, */
	unsigned failures;     /* and queue_spare_epoch() must still be */
	UT_hash_handle hh;     /* by name, in its node */
	UT_hash_handle by_number;
};

/* Directories in which a removal must be durable before a number or file is reused. */
enum queue_dirty { QUEUE_DIRTY_INFO = MAIL_STAGE_COUNT, QUEUE_DIRTY_COUNT };

struct queue_intake {
	struct queue_store *store;
	struct queue_intake_options options;
	pid_t process;                 /* for names of files */
	uint64_t next_serial;          /* of new files; main thread */
	bool is_clean;                 /* no number of a new file has old names; main thread */
	pthread_mutex_t mutex;         /* guards what follows; never held over a disk call */
	struct queue_spare_list ready; /* ready for use */
	struct queue_spare_list quarantine;
	struct queue_spare_list stuck; /* could not be removed; without descriptors */
	struct queue_spare_list full;  /* set aside, not emptied yet; without descriptors */
	struct queue_refused *refused; /* [refused_count], owned */
	size_t refused_count;
	bool *dirty;        /* [QUEUE_DIRTY_COUNT][split] */
	uint64_t moved;     /* names of messages at S5 that were removed from todo/, so far */
	uint64_t settled;   /* so many of these removals, the first ones, are durable */
	bool is_unknown;    /* any directory may be dirty, from an earlier process */
	bool must_prove;    /* a sync failed, and none has succeeded since */
	unsigned epoch;     /* number of failed syncs: what was begun before the last is in doubt */
	bool has_doubts;    /* a sync failed in this boot, in this or an earlier process */
	int64_t doubts_us;  /* a data file changed after this time is not in doubt */
	bool is_blind;      /* the system cannot tell who has a file open for writing */
	uint64_t awaited;   /* changes that somebody waits for, so far (queue_intake_await()) */
	uint64_t durable;   /* so many of them, the first ones, are durable */
	uint64_t retired;   /* files that have come into quarantine, so far */
	uint64_t lost;      /* so many of them, the first ones, were there before a failed sync */
	uint64_t released;  /* so many, of the others, may be used again */
	bool must_sync_all; /* so that they are, all of the filesystem is synced */
	struct queue_dirty_nodes dirty_nodes;
	int pid_directory; /* always open, so that removals can always be made durable */
	struct queue_kept_list kept;
	struct queue_message *messages; /* handed out, not committed */
	struct queue_handed *handed;    /* NULL: nobody hands over. Main thread */
};

/* The package that a message becomes. */
struct queue_message_handed {
	char node[MAIL_NODE_MAX + 1];
	char path[QUEUE_PATH_SIZE]; /* of its name in handed/ */
	bool is_named;              /* that may exist */
	struct buffer records;      /* of its map, with checksums; they follow the envelope */
};

struct queue_message {
	struct queue_intake *intake;
	struct queue_message *next;
	struct queue_message **link; /* the pointer that points to this one */
	struct queue_spare data;
	enum mail_stage stage;
	bool has_envelope; /* S3, complete */
	bool is_shared;    /* others may have a descriptor: it is not reused */
	bool is_lent;      /* others have a descriptor: it is not queued until they give it back */
	bool has_failed;   /* its files are not reused */
	struct queue_message_handed *handed; /* owned; NULL: it is no package */
};

/* message.c: closes and frees; the file is kept. */
void queue_message_release(struct queue_message *message);
/* The same; the file is removed. */
void queue_message_discard(struct queue_message *message);

/* intake/lend.c: from now on only this process has MESSAGE's file open. -ETXTBSY: another process
 * still has it open. */
MUST_CHECK int queue_message_take_back(struct queue_message *message);

/* directory/folder.c */
void queue_spare_path(const struct queue_intake *intake, const struct queue_spare *spare,
		      char path[QUEUE_PATH_SIZE]);

/* intake/spare_list.c */
void queue_spare_list_add(struct queue_spare_list *list, struct queue_spare spare);
bool queue_spare_list_take(struct queue_spare_list *list, struct queue_spare *spare_out);
/* Closes the descriptors; the files are kept. */
void queue_spare_list_clear(struct queue_spare_list *list);

/* intake/spare.c */
/* Removes the file and closes its descriptor; see queue_intake_remove_stuck(). */
void queue_spare_remove(struct queue_intake *intake, struct queue_spare spare);
/* Takes a ready spare; false when there is none. */
bool queue_spare_take(struct queue_intake *intake, struct queue_spare *spare_out);
/* Adds a file that may be reused at once; truncates it if it is too large, removes it if there
 * are too many. */
void queue_spare_give(struct queue_intake *intake, struct queue_spare spare);
/* To be called before a file's names are removed; the value is for queue_spare_hold(). */
unsigned queue_spare_epoch(struct queue_intake *intake);
/* Quarantines SPARE, whose names were removed since EPOCH, until the next sync that begins after
 * this call. */
void queue_spare_hold(struct queue_intake *intake, struct queue_spare spare, unsigned epoch);
/* Closes all descriptors that are kept only to save time. */
void queue_spare_close_all(struct queue_intake *intake);
void queue_spare_mark_dirty(struct queue_intake *intake, unsigned which, uint64_t number);
/* The same after the name in todo/ of a message at S5 was removed. Where order is kept, that is as
 * good as durable: it comes to the disk before anything that is done later. */
void queue_spare_mark_moved(struct queue_intake *intake, enum mail_stage stage, uint64_t number);
/* Quarantined files become ready (IS_SAFE), or are set aside. */
void queue_spare_settle(struct queue_intake *intake, struct queue_spare_list *held, bool is_safe);

/* update/load.c: whether a message at S4 has a complete control file, including the map, so that
 * only the removal from todo/ is missing: 1, 0 or -errno. */
MUST_CHECK int queue_update_is_interrupted(const struct queue_store *store, enum mail_stage stage,
					   uint64_t number);

/* Parses TEXT, what queue_update_read() has read of a message: a damaged envelope of one at S5 is
 * replaced by that after its data, in TEXT too. Errors of queue_update_load(). */
MUST_CHECK int queue_update_parse(struct queue_store *store, const enum mail_stage *stage,
				  uint64_t number, struct buffer *text,
				  struct queue_control **control_out, unsigned *line_out);

/* Appends the control file PATH to TEXT: -ENOENT, -EFBIG. */
MUST_CHECK int queue_update_read_file(const struct queue_store *store, const char *path,
				      struct buffer *text);
struct queue_control;
/* Whether CONTROL has all that came with its map. */
bool queue_update_is_complete(const struct queue_control *control);

/* intake/aside.c: moves the data file PATH out of the way, so that its number stays taken. Closes
 * it. -errno: it still has the name PATH. */
MUST_CHECK int queue_aside_put(struct queue_intake *intake, const char *path,
			       struct queue_spare spare);
/* The same for a file in quarantine; one that cannot be moved stays, and is not used. */
void queue_aside_put_spare(struct queue_intake *intake, struct queue_spare spare);
/* Whether NAME in pid/ is a file that was set aside, by any process. */
bool queue_aside_parse(const struct queue_intake *intake, const char *name, uint64_t *number_out,
		       bool *is_of_this_boot_out);
/* A file that an earlier process set aside in this boot: empties it; from now on there are
 * doubts. */
void queue_aside_adopt(struct queue_intake *intake, const char *name, uint64_t number);
/* A sync has failed. Everything that it was to make durable is set aside. */
void queue_aside_after_failure(struct queue_intake *intake);
/* Whether the removal of a name from todo/ may never become durable: PATH is the data file
 * of a message at S5 that ends. */
bool queue_aside_is_doubtful(struct queue_intake *intake, const char *path);
/* A message was refused, but its name in todo/ could not be removed yet. */
void queue_aside_refuse(struct queue_intake *intake, enum mail_stage stage, uint64_t number);
/* Retries removals and truncations that failed before. */
void queue_aside_again(struct queue_intake *intake);

/* Remembers that DATA was never shared, and keeps its descriptor while there is room (-1:
 * nothing is remembered). An entry of an earlier message with that number is dropped. */
void queue_kept_put(struct queue_intake *intake, const struct queue_spare *data);
/* Closes the descriptor; the entry stays. */
void queue_kept_close(struct queue_intake *intake, uint64_t number);
/* Closes all descriptors, because others need them. */
void queue_kept_close_all(struct queue_intake *intake);
/* Whether NUMBER's file was never shared; its descriptor (-1: closed meanwhile) and size. The
 * entry is dropped. */
bool queue_kept_take(struct queue_intake *intake, uint64_t number, struct queue_spare *spare_out);
void queue_kept_clear(struct queue_intake *intake);

/* directory/folder.c: "handed/NODE/NAME", and ".done" after it. */
void queue_handed_path(const char *node, const char *name, bool is_done,
		       char path[QUEUE_PATH_SIZE]);
/* directory/directories.c: as queue_directories_add(). */
size_t queue_directories_add_path(struct queue_directories *list, const char *path);
/* "handed/NODE", or "handed" itself. */
size_t queue_directories_add_node(struct queue_directories *list, const char *node);
void queue_dirty_nodes_add(struct queue_dirty_nodes *list, const char *node);

/* intake/spare.c: names in NODE's directory were made or removed. */
void queue_spare_mark_node(struct queue_intake *intake, const char *node);

/* handed/table.c */
/* The name of the message NUMBER; NULL: it is no package, or a settled one. */
struct queue_handed_name *queue_handed_of(const struct queue_intake *intake, uint64_t number);
/* "handed/NODE/NAME" or "handed/NODE/NAME.done", by its state. */
void queue_handed_name_path(const struct queue_handed_name *name, char path[QUEUE_PATH_SIZE]);
const char *queue_handed_name_node(const struct queue_handed_name *name);
void queue_handed_forget(struct queue_intake *intake, struct queue_handed_name *name);
void queue_handed_free(struct queue_intake *intake);
/* handed/load.c: reads handed/, makes it if it is missing, and removes litter, durably. */
MUST_CHECK int queue_handed_load(struct queue_intake *intake);

/* intake/remove.c: NAME, in state ENDED, is settled: its file becomes a spare like that of any
 * ended message. */
MUST_CHECK int queue_message_remove_ended(struct queue_intake *intake,
					  const struct queue_handed_name *name);

#endif
