// SPDX-License-Identifier: ISC
/*
 * mailbox/copy.h - a message as delivered to a mailbox or a program: "Return-Path:
 * <SENDER>", "Delivered-To: RECIPIENT" and a mark (header/loop.h) first, and lines that end in LF.
 * Of a binary message (BINARYMIME, RFC 3030) what is not in lines is encoded
 * (mail/seven_bit/seven_bit.h).
 */
#ifndef MAILBOX_COPY_H
#define MAILBOX_COPY_H

#include "base/attributes.h"
#include "base/buffer.h"
#include "base/hash.h"
#include "ipc/content.h"
#include "mail/seven_bit/seven_bit.h"

enum { MAILBOX_COPY_LOOP = 1, MAILBOX_COPY_SEALED = 2 };

#define MAILBOX_COPY_SEALED_TEXT                                                                \
	"The message is binary (BINARYMIME) and signed, or its parts cannot be told apart: it " \
	"cannot "                                                                               \
	"be encoded as text"

/* Whose copy it is. */
struct mailbox_copy_owner {
	struct str recipient;
	struct str via;      /* the address of the envelope, if that is another one; else empty */
	struct hash_key key; /* of marks; zeros: none is written, and none known */
};

struct mailbox_copy {
	struct ipc_content content; /* the message; lines end in CRLF or LF */
	struct ipc_content_pass pass;
	struct mailbox_copy_owner owner;
	uint64_t lines;              /* so far: LFs that a reader turns into CRLFs */
	bool held_cr;                /* the last byte was a CR: the next one decides */
	char last;                   /* byte appended */
	struct mail_seven_bit *form; /* NULL: it goes as it is */
	struct buffer piece;         /* converted by it */
	struct buffer head;          /* the first block, if something is left out of it */
};

/* Appends the added header lines to OUT. A Return-Path that the header has, as far as it is in the
 * first block, is left out (RFC 5321 section 4.4). Borrows what OWNER and CONTENT refer to. */
void mailbox_copy_begin(struct mailbox_copy *copy, const struct ipc_content *content,
			struct str sender, const struct mailbox_copy_owner *owner,
			struct buffer *out);
/* Likewise, for a copy that a record says is filed once: without looking for a loop, and each of
 * the two lines only unless the topmost one of its name in CONTENT says the same, as another mail
 * system may have added it. BLOCK is scratch memory: what is not in the first block is not seen. 0
 * or -errno. */
MUST_CHECK int mailbox_copy_begin_filed(struct mailbox_copy *copy,
					const struct ipc_content *content, struct str sender,
					struct str recipient, char *block, size_t block_size,
					struct buffer *out);
/* Likewise, without header lines that are added, and without looking for a loop. */
void mailbox_copy_begin_bare(struct mailbox_copy *copy, const struct ipc_content *content);
/* After that: the message is binary. Reads all of it, by BLOCK, to see whether it has to be
 * encoded. 0; MAILBOX_COPY_SEALED if it has to, and must not be or cannot, as it is signed or its
 * parts cannot be told apart; or -errno. */
MUST_CHECK int mailbox_copy_set_binary(struct mailbox_copy *copy, char *block, size_t block_size);
/* Frees what that needs. */
void mailbox_copy_clear(struct mailbox_copy *copy);
bool mailbox_copy_is_done(const struct mailbox_copy *copy);
/* Appends up to BLOCK_SIZE more bytes, converted, to OUT; BLOCK is scratch memory. 0;
 * MAILBOX_COPY_LOOP if the header, as far as it is in the first block, has a mark that shows that
 * its owner had the message before; or -errno of ipc_content_next(). */
MUST_CHECK int mailbox_copy_next(struct mailbox_copy *copy, char *block, size_t block_size,
				 struct buffer *out);

#endif
