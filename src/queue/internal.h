// SPDX-License-Identifier: ISC
/*
 * queue/internal.h - what the files of this folder share.
 */
#ifndef QUEUE_INTERNAL_H
#define QUEUE_INTERNAL_H

#include "queue/message.h"
#include "queue/store.h"
#include <pthread.h>

enum { QUEUE_LOCKS_MAX = 4, QUEUE_SPLIT_DEFAULT = 23, QUEUE_SPLIT_MAX = 10007 };

struct queue_store {
	int directory;
	uint32_t split;
	enum queue_sync sync;
	int locks[QUEUE_LOCKS_MAX]; /* held files */
	size_t lock_count;
	bool has_lost; /* a sync of queue_update_commit_group() failed */
};

/* filesystem.c: -ENOTSUP and a sentence in REASON when the filesystem of
 * DIRECTORY cannot be relied upon. */
MUST_CHECK int queue_filesystem_check(int directory, struct buffer *reason);
/* The same, by trying it: needs the queue's directories. */
MUST_CHECK int queue_filesystem_probe(int directory, struct buffer *reason);

/* create.c: makes what lacks of a queue in DIRECTORY; its format file last. -EEXIST:
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

/* directories.c: directories that are to be made durable together. */
struct queue_directories {
	struct queue_directory {
		char path[QUEUE_PATH_SIZE];
		int result; /* of its sync */
	} * items;          /* owned */
	size_t count;
	size_t capacity;
};

/* Adds the one that NUMBER's name in PLACE stands in, once; its position. */
size_t queue_directories_add(struct queue_directories *list, const struct queue_store *store,
			     enum queue_place place, const char *name, uint64_t number);
/* Syncs all; the first error. */
MUST_CHECK int queue_directories_sync(struct queue_directories *list,
				      const struct queue_store *store);
void queue_directories_clear(struct queue_directories *list);

/* A data file in pid/: of no message, or of one that is being written. Its name is
 * "mNUMBER" when it was a message's before, "nPROCESS-SERIAL" when it is new. */
struct queue_spare {
	uint64_t number; /* its inode */
	uint64_t serial; /* 0: it was a message's */
	int file;        /* open for writing, owned; -1: to be removed */
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

/* Directories whose removals matter to those who reuse numbers and files. */
enum queue_dirty { QUEUE_DIRTY_INFO = MAIL_STAGE_COUNT, QUEUE_DIRTY_COUNT };

struct queue_intake {
	struct queue_store *store;
	struct queue_intake_options options;
	pid_t process;                 /* ours, for names */
	uint64_t next_serial;          /* of new files; main thread */
	bool has_cleaned;              /* once; main thread */
	bool is_clean;                 /* a new file's number has no old names; main thread */
	pthread_mutex_t mutex;         /* guards what follows; never held over a disk call */
	struct queue_spare_list ready; /* for use */
	struct queue_spare_list quarantine;
	struct queue_spare_list stuck; /* the disk did not let them be removed; no descriptors */
	bool *dirty;                   /* [QUEUE_DIRTY_COUNT][split] */
	bool is_unknown;               /* any directory may be dirty from a process before us */
	bool is_poisoned;              /* a sync failed: no removal is sure any more */
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
	bool has_failed;   /* its files are not used again */
};

/* message.c: closes and frees; the file stays. */
void queue_message_release(struct queue_message *message);
/* The same; the file is removed. */
void queue_message_discard(struct queue_message *message);

/* spare.c */
void queue_spare_path(const struct queue_intake *intake, const struct queue_spare *spare,
		      char path[QUEUE_PATH_SIZE]);
void queue_spare_list_add(struct queue_spare_list *list, struct queue_spare spare);
bool queue_spare_list_take(struct queue_spare_list *list, struct queue_spare *spare_out);
/* Closes the descriptors; the files stay. */
void queue_spare_list_clear(struct queue_spare_list *list);
/* Removes the file and closes its descriptor; see queue_intake_remove_stuck(). */
void queue_spare_remove(struct queue_intake *intake, struct queue_spare spare);
/* Takes a ready spare off; false when there is none. */
bool queue_spare_take(struct queue_intake *intake, struct queue_spare *spare_out);
/* Adds a file that may be used again at once; cuts or removes it first where it
 * is too large or one too many. */
void queue_spare_give(struct queue_intake *intake, struct queue_spare spare);
/* Holds SPARE back until the next sync that begins from now on. */
void queue_spare_hold(struct queue_intake *intake, struct queue_spare spare);
void queue_spare_mark_dirty(struct queue_intake *intake, unsigned which, uint64_t number);
/* What is held back becomes ready (IS_SAFE), or is set aside. */
void queue_spare_settle(struct queue_intake *intake, struct queue_spare_list *held, bool is_safe);

/* update_end.c: whether a message at S4 has a control file that is whole, map and
 * all, because only the removal from todo/ lacks: 1, 0 or -errno. */
MUST_CHECK int queue_update_is_interrupted(const struct queue_store *store, enum mail_stage stage,
					   uint64_t number);

/* Out of the way under a name that no later process takes for a spare. Closes it. */
void queue_spare_set_aside(struct queue_intake *intake, const char *path, struct queue_spare spare);

/* remove.c: the data file FROM goes to pid/ and waits there, to be removed or, with FILE, to
 * be reused. Closes FILE at last (-1: none). No error when it is gone. */
MUST_CHECK int queue_retire(struct queue_intake *intake, const char *from, uint64_t number,
			    int file);

/* Remembers that NUMBER's file was never shared, and keeps its descriptor as long as there is
 * room for it. What is remembered of an earlier message with that number is forgotten. */
void queue_kept_put(struct queue_intake *intake, uint64_t number, int file);
/* Closes the descriptor; it is still remembered. */
void queue_kept_close(struct queue_intake *intake, uint64_t number);
/* Whether NUMBER's file was never shared, and the descriptor (-1: closed meanwhile). It is
 * forgotten. */
bool queue_kept_take(struct queue_intake *intake, uint64_t number, int *file_out);
void queue_kept_clear(struct queue_intake *intake);

#endif
