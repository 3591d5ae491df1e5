// SPDX-License-Identifier: ISC
/*
 * mailbox/copy.h - a message as delivered to a mailbox or a program: "Return-Path:
 * <SENDER>" and "Delivered-To: RECIPIENT" first, and lines that end in LF.
 */
#ifndef MAILBOX_COPY_H
#define MAILBOX_COPY_H

#include "base/attributes.h"
#include "base/buffer.h"
#include "ipc/content.h"

enum { MAILBOX_COPY_LOOP = 1 };

struct mailbox_copy {
	struct ipc_content content; /* the message; lines end in CRLF or LF */
	uint64_t offset;
	struct str recipient;
	uint64_t lines; /* so far: LFs that a reader turns into CRLFs */
	bool held_cr;   /* the last byte was a CR: the next one decides */
	char last;      /* byte appended */
};

/* Appends the added header lines to OUT. Borrows RECIPIENT, and what CONTENT refers to. */
void mailbox_copy_begin(struct mailbox_copy *copy, const struct ipc_content *content,
			struct str sender, struct str recipient, struct buffer *out);
/* Likewise, without header lines that are added, and without looking for a loop. */
void mailbox_copy_begin_bare(struct mailbox_copy *copy, const struct ipc_content *content);
bool mailbox_copy_is_done(const struct mailbox_copy *copy);
/* Appends up to BLOCK_SIZE more bytes, converted, to OUT; BLOCK is scratch memory. 0;
 * MAILBOX_COPY_LOOP if the header, as far as it is in the first block, already has a Delivered-To
 * of the same recipient; or -errno (-EIO if the file is shorter than announced). */
MUST_CHECK int mailbox_copy_next(struct mailbox_copy *copy, char *block, size_t block_size,
				 struct buffer *out);

#endif
