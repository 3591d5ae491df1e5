// SPDX-License-Identifier: ISC
/*
 * mailbox/copy.h - a message as a mailbox or a program gets it: "Return-Path:
 * <SENDER>" and "Delivered-To: RECIPIENT" in front, lines that end in LF.
 */
#ifndef MAILBOX_COPY_H
#define MAILBOX_COPY_H

#include "base/attributes.h"
#include "base/buffer.h"
#include "ipc/content.h"

enum { MAILBOX_COPY_LOOP = 1 };

struct mailbox_copy {
	struct ipc_content content; /* the message, CRLF lines */
	uint64_t offset;
	struct str recipient;
	uint64_t lines; /* so far: LF that a reader turns into CRLF */
	bool held_cr;   /* the last byte was CR: what follows decides */
	char last;      /* byte appended */
};

/* Appends what stands in front to OUT. RECIPIENT is borrowed, what CONTENT refers to as well. */
void mailbox_copy_begin(struct mailbox_copy *copy, const struct ipc_content *content,
			struct str sender, struct str recipient, struct buffer *out);
bool mailbox_copy_is_done(const struct mailbox_copy *copy);
/* Appends what becomes of up to BLOCK_SIZE more bytes, perhaps read into BLOCK, to OUT: 0,
 * MAILBOX_COPY_LOOP when the header, as far as it stands in the first block, has
 * a Delivered-To of the same recipient already, or -errno (-EIO when the file is
 * shorter than was said). */
MUST_CHECK int mailbox_copy_next(struct mailbox_copy *copy, char *block, size_t block_size,
				 struct buffer *out);

#endif
