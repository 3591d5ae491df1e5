// SPDX-License-Identifier: ISC
/*
 * filing/decode/identity.h - which message a content is: its Message-ID, a digest of what its
 * author wrote, and whose it is. Found by a parser of our own in the trusted process; it needs
 * neither charsets nor parts.
 *
 * Each delivery of one message adds fields of its own in front: the digest leaves out Received,
 * Return-Path, Delivered-To, X-Original-To and X-Stagepost-Loop, a first line "From " (mbox), the
 * difference between CRLF and LF, and whether the last line ends. Two contents with one Message-ID
 * and different digests are different messages.
 */
#ifndef FILING_DECODE_IDENTITY_H
#define FILING_DECODE_IDENTITY_H

#include "base/arena.h"
#include "base/attributes.h"
#include "filing/decode/message.h"
#include "ipc/content.h"

enum {
	DECODE_ID_MAX = 255, /* bytes of a Message-ID; a longer one is replaced by its digest */
	DECODE_HEADER_MAX = 1 << 20, /* bytes of header that are looked at for fields, without those
				      * that the digest leaves out */
};

struct decode_identity {
	/* The Message-ID with its angle brackets, at most DECODE_ID_MAX bytes of printable ASCII.
	 * If the field is missing, malformed, too long, or has other bytes: "<sha256-HEX@invalid>",
	 * of the field's bytes if there are any, else of all fields Received and DIGEST: what comes
	 * twice without a Message-ID is one message only if it came the same way. If there are
	 * several fields, the first counts. One that itself looks like that is malformed. */
	struct str id;
	bool is_derived; /* ID is not what the message has */
	unsigned char digest[DECODE_DIGEST_SIZE];
	struct str from;         /* the first address of From; "": none that is valid */
	struct str delivered_to; /* the topmost Delivered-To, an address; "": none */
	bool is_automatic;       /* a report, or a list's: Auto-Submitted other than "no", List-Id,
				  * Precedence bulk, list or junk */
};

/* A header field that is asked for. */
struct decode_field {
	struct str name;
	struct str value; /* out: of the first of that name, without folds and the white space at
			   * both ends, at most DECODE_TEXT_MAX bytes; without data: there is none.
			   * Whoever wrote the message chose the bytes */
};

/* Reads all of CONTENT once. Texts are in ARENA. 0 or -errno of reading. */
MUST_CHECK int decode_identify(const struct ipc_content *content, struct arena *arena,
			       struct decode_identity *out);
/* Likewise; takes COUNT FIELDS, too. */
MUST_CHECK int decode_identify_fields(const struct ipc_content *content, struct arena *arena,
				      struct decode_field *fields, size_t count,
				      struct decode_identity *out);

#endif
