// SPDX-License-Identifier: ISC
/* mailbox/internal.h - shared by the parts of mailbox/. */
#ifndef MAILBOX_INTERNAL_H
#define MAILBOX_INTERNAL_H

#include "mailbox/copy.h"
#include "mailbox/maildir.h"

enum {
	MAILDIR_BLOCK = 256 << 10,  /* bytes read and written at once */
	MAILDIR_CLEAN_SLOTS = 4096, /* Maildirs whose last cleaning is remembered */
	MAILDIR_PATH_MAX = 4096,    /* with its NUL */
};

struct maildir {
	char *host; /* escaped for a file name */
	enum maildir_sync sync;
	uint64_t root_device; /* 0: unknown */
	struct maildir_order {
		uint64_t device; /* 0: unknown */
		int watch;       /* os_file_order_watch(); negative: order is not guaranteed */
	} order;                 /* of the device last examined */
	uint64_t count;          /* of deliveries started, for names */
	char *input;             /* MAILDIR_BLOCK bytes */
	struct buffer output;
	char *durable_parent; /* all directories down to this one are durable */
	struct maildir_cleaned {
		uint64_t path; /* hash */
		int64_t at_us;
	} * cleaned; /* MAILDIR_CLEAN_SLOTS */
};

/* A path below a directory's; on the stack, without allocation. */
struct maildir_path {
	char text[MAILDIR_PATH_MAX];
};
/* "PATH/FOLDER" or "PATH/FOLDER/NAME" (NAME may be NULL). -ENAMETOOLONG. */
MUST_CHECK int maildir_path_join(struct maildir_path *out, struct str path, const char *folder,
				 const char *name);

/* A delivery under way. If it fails, it stays in the group, with its error. */
struct maildir_work {
	struct maildir_delivery *delivery;
	struct str path;        /* of the Maildir or the folder in it */
	char *folder_path;      /* owned: PATH of a folder; NULL: it is the delivery's */
	const char *box;        /* "new" or "cur" */
	const char *doing;      /* for the text of an error */
	int error;              /* 0 or -errno of the first step that failed */
	int file;               /* in tmp/; negative: none */
	enum maildir_sync sync; /* how it is made durable; equal for all on the same device */
	bool is_durable;        /* MAILDIR_SYNC_ORDERED: its name is durable, or never will be */
	bool is_loop;
	bool is_sealed;     /* binary, and cannot be encoded */
	bool is_counted;    /* in the quota */
	bool lacks_mailbox; /* there was no tmp/ */
	uint64_t inode;
	uint64_t device;
	uint64_t size;
	uint64_t virtual_size;
	int stem; /* bytes of its names before the host */
	char tmp_name[MAILDIR_NAME_SIZE];
	char new_name[MAILDIR_NAME_SIZE]; /* empty: not renamed */
};

/* Records RESULT if it is the first error. */
void maildir_work_fail(struct maildir_work *work, const char *doing, int result);

/* A group waits for the disk twice (sync.c). When all files are written: PLAN, then FILES; when
 * all are renamed: FOLDERS. */
void maildir_sync_plan(struct maildir *maildir, struct maildir_work *works, size_t count);
void maildir_sync_files(struct maildir_work *works, size_t count);
void maildir_sync_folders(struct maildir *maildir, struct maildir_work *works, size_t count);

/* Writes the message of a delivery to FILE (write.c). 0, with its sizes, with LF and with CRLF;
 * MAILBOX_COPY_LOOP; MAILBOX_COPY_SEALED; -errno. */
MUST_CHECK int maildir_write(struct maildir *maildir, const struct maildir_delivery *delivery,
			     int file, uint64_t *size_out, uint64_t *virtual_size_out);

/* Makes the Maildir at PATH, that of a folder is to be made in, unless it is there. */
MUST_CHECK int maildir_create_root(struct maildir *maildir, struct str path);
/* Marks the Maildir at PATH, between the first two steps below, as a folder of Maildir++. */
MUST_CHECK int maildir_create_mark(struct str path);

/* Creates the Maildir at PATH and the missing directories above it, in three steps, so that those
 * of a group wait for the disk together (create.c). tmp/ comes last: if it exists, everything above
 * and beside it is durable, even if the process that created it died. So a delivery that finds tmp/
 * needs to sync only its own file and new/. */
MUST_CHECK int maildir_create_names(struct maildir *maildir, struct str path);
MUST_CHECK int maildir_create_sync(struct str path);
MUST_CHECK int maildir_create_tmp(struct str path);

/* Removes files older than 36 hours from PATH's tmp/, at most once
 * in 36 hours for each Maildir and process (clean.c). Examines 1000 names at most; if old ones were
 * among them, the next call continues. Ignores errors. */
void maildir_clean(struct maildir *maildir, struct str path);

#endif
