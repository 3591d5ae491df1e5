// SPDX-License-Identifier: ISC
/* mailbox/internal_mbox.h - shared by the parts of mailbox/mbox.h. */
#ifndef MAILBOX_INTERNAL_MBOX_H
#define MAILBOX_INTERNAL_MBOX_H

#include "mailbox/mbox.h"

enum {
	MBOX_BLOCK = 64 << 10, /* bytes read and written at once */
	MBOX_PATH_MAX = 4096,  /* with its NUL */
	MBOX_HOST_MAX = 64,
};

struct mbox {
	char host[MBOX_HOST_MAX + 1]; /* what a file's name and a line of text can have of it */
	char *input;                  /* MBOX_BLOCK bytes */
	struct buffer copy;           /* a part of a message */
	struct buffer output;         /* the same, quoted */
};

/* A mailbox's file, locked. */
struct mbox_file {
	char path[MBOX_PATH_MAX];
	char lock[MBOX_PATH_MAX];
	char spare[MBOX_PATH_MAX]; /* the lock file before it has its name */
	char folder[MBOX_PATH_MAX];
	int file;          /* negative: not open */
	int record;        /* the lock file; negative: none */
	uint64_t size;     /* complete messages */
	const char *doing; /* at an error: for its text */
	const char *flaw;  /* at -EBADF: what is wrong with the file */
	uint64_t removed;  /* bytes of an incomplete message that were removed */
};

/* mbox_file.c: opens the file at PATH, which is made if it is missing, and locks it. 0; -EAGAIN:
 * somebody else has one of the locks; -EBADF: it is no file of OWNER to write to; -errno. Only
 * after 0 must it be closed. */
MUST_CHECK int mbox_file_open(struct mbox *mbox, struct str path, uid_t owner,
			      struct mbox_file *box);
/* Gives up the locks, and makes durable that the lock file is gone. IS_BROKEN: the file may end in
 * an incomplete message, and the lock file stays for the next delivery to see that. -errno: a lock
 * file may come back after a power failure. */
MUST_CHECK int mbox_file_close(struct mbox_file *box, bool is_broken);

/* mbox_lock.c: makes the lock file of BOX, whose file is open and has the lock of fcntl(2). If
 * there is one that was abandoned, it is replaced, and what an interrupted delivery has left at the
 * file's end is removed. -EAGAIN: somebody else has it. */
MUST_CHECK int mbox_lock_make(struct mbox *mbox, struct mbox_file *box);
/* Has the lock file say that a message which begins with HEAD comes after the first box->size
 * bytes. */
MUST_CHECK int mbox_lock_record(const struct mbox *mbox, const struct mbox_file *box,
				struct str head);

/* mbox_write.c: appends to HEAD what comes before DELIVERY's message: an empty line, if BOX needs
 * one, and the line "From ". */
MUST_CHECK int mbox_write_head(const struct mbox_file *box, const struct maildir_delivery *delivery,
			       struct buffer *head);
/* Writes HEAD and the message at the end of BOX: 0, with the file's new size; MAILBOX_COPY_LOOP,
 * MAILBOX_COPY_SEALED, -errno: any part of it may be there. */
MUST_CHECK int mbox_write(struct mbox *mbox, const struct mbox_file *box,
			  const struct maildir_delivery *delivery, struct str head,
			  uint64_t *size_out);

#endif
