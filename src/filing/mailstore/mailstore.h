// SPDX-License-Identifier: ISC
/*
 * filing/mailstore/mailstore.h - where the copies of messages are: Maildirs
 * (filing/mailstore/maildir.h) or an IMAP server (filing/mailstore/imap.h). Calls block: each
 * thread that files has its own.
 *
 * A store does not know what is filed: it appends what it is given, and finds what is there.
 */
#ifndef FILING_MAILSTORE_MAILSTORE_H
#define FILING_MAILSTORE_MAILSTORE_H

#include "base/arena.h"
#include "base/attributes.h"
#include "filing/decode/message.h"
#include "ipc/content.h"
#include "mail/mailbox/quota.h"
#include "mail/verdict.h"

enum { MAILSTORE_COPY_SIZE = 256, MAILSTORE_MARK_SIZE = 33 }; /* with its NUL */

enum mailstore_flags {
	MAILSTORE_SEEN = 1,
	MAILSTORE_FLAGGED = 2,
	MAILSTORE_DRAFT = 4,
};

/* Which message, in which mailbox. */
struct mailstore_location {
	struct str user;             /* LOCAL@DOMAIN in canonical form */
	struct str folder;           /* "INBOX", "Sent", "Lists/dev"; UTF-8, '/' between levels */
	struct str id;               /* its Message-ID, as decode_identity.id */
	const unsigned char *digest; /* DECODE_DIGEST_SIZE bytes, likewise */
	/* for a find: likewise of the form that copies have, if they are encoded; NULL: as digest
	 */
	const unsigned char *encoded_digest;
};

struct mailstore_append {
	struct mailstore_location location;
	struct ipc_content content; /* lines end in CRLF or LF */
	bool is_binary;             /* or not in lines (BINARYMIME): it is encoded */
	struct str sender;          /* of the envelope: written as Return-Path, and */
	struct str recipient; /* written as Delivered-To, each unless the content has it on top
			       * (mailbox_copy_begin_filed()); "": neither is written (Sent) */
	unsigned flags;
	const struct mail_quota *quota; /* Maildir: of the mailbox; NULL: none is counted */
	bool refuses_over_quota;        /* FAIL 5.2.2 over quota, instead of WAIT 4.2.2 */
	int64_t date_us;                /* since 1970: IMAP's internal date */
	struct mail_verdict verdict; /* out: OK once it is durable; WAIT or FAIL: see is_unknown */
	bool is_unknown;             /* out: it may have been appended all the same */
	bool is_away;                /* out: as the store's below */
	bool is_refused; /* out: it is the folder that cannot be or is refused, for good: another
			  * one of the user may well take it; nothing was appended */
	char copy[MAILSTORE_COPY_SIZE]; /* out, if OK: where; Maildir: the part of the file's name
					 * before ':'; IMAP: "UIDVALIDITY:UID", or "" if the server
					 * does not say */
};

struct mailstore_found {
	const char *copy; /* as above, in the arena */
};

/* Asked right before copies can be in a mailbox, after all that takes its time: once for a group,
 * or before each copy of it. 0, or nothing is appended any more. */
struct mailstore_gate {
	int (*pass)(void *context);
	void *context;
};

struct mailstore;

/* A copy, and the mark in its name; the same one may come twice. */
typedef void mailstore_surveyed(void *context, const char *copy, const char *mark);

struct mailstore_operations {
	void (*append)(struct mailstore *store, struct mailstore_append *appends, size_t count,
		       const struct mailstore_gate *gate);
	int (*fence)(struct mailstore *store, const struct mailstore_location *location);
	int (*find)(struct mailstore *store, const struct mailstore_location *location,
		    struct arena *arena, struct mailstore_found **found_out, size_t *count_out);
	int (*remove)(struct mailstore *store, const struct mailstore_location *location,
		      const char *copy);
	/* NULL: what a store cannot do */
	int (*survey)(struct mailstore *store, struct str user, struct str folder,
		      mailstore_surveyed *each, void *context);
	int (*open)(struct mailstore *store, struct str user, struct str folder, const char *copy,
		    struct ipc_content *content_out);
	void (*free)(struct mailstore *store);
};

struct mailstore {
	const struct mailstore_operations *operations;
	/* How long an append that has passed its gate can still take effect after its process died
	 * or lost its connection, whatever fence() did; 0: not longer than the process is there. */
	int64_t append_max_us;
	char error[256]; /* of the last find or remove that failed, for people: one line */
	/* After a call that failed: the store cannot be reached, for whichever mailbox. */
	bool is_away;
};

/* Appends all of APPENDS, one failure not preventing the others, and makes missing mailboxes. GATE:
 * NULL: none. */
void mailstore_append(struct mailstore *store, struct mailstore_append *appends, size_t count,
		      const struct mailstore_gate *gate);
/* Appends of this message by others, anywhere, that have passed their gate and are not in the
 * mailbox when this returns fail (but for append_max_us): for who has the turn now. -errno: it is
 * not certain. */
MUST_CHECK int mailstore_fence(struct mailstore *store, const struct mailstore_location *location);
/* The copies of a message in a mailbox, the oldest first: of equal Message-ID and equal digest,
 * whatever flags they have by now; durable, though whoever appended them may have died. A mailbox
 * that does not exist has none. -errno: it is not known.
 */
MUST_CHECK int mailstore_find(struct mailstore *store, const struct mailstore_location *location,
			      struct arena *arena, struct mailstore_found **found_out,
			      size_t *count_out);
/* The digest of the binary message CONTENT as copies of it are, encoded. -errno; -EINVAL: it cannot
 * be encoded, so that there are none. */
MUST_CHECK int mailstore_encoded_digest(const struct ipc_content *content,
					unsigned char out[DECODE_DIGEST_SIZE]);
/* Removes one copy for good, and nothing else. -ENOENT: it is not there. */
MUST_CHECK int mailstore_remove(struct mailstore *store, const struct mailstore_location *location,
				const char *copy);
/* 128 bits in hexadecimal digits that stand for the message of LOCATION: its id and digest. */
void mailstore_mark(const struct mailstore_location *location, char out[MAILSTORE_MARK_SIZE]);
/* Calls EACH for all copies of a folder that have marks in their names: other ones were not filed
 * through a store. -errno; -EOPNOTSUPP: this store has no marks. */
MUST_CHECK int mailstore_survey(struct mailstore *store, struct str user, struct str folder,
				mailstore_surveyed *each, void *context);
/* Opens COPY, as a file that the caller closes. -ENOENT: it is not there; -EOPNOTSUPP. */
MUST_CHECK int mailstore_open(struct mailstore *store, struct str user, struct str folder,
			      const char *copy, struct ipc_content *content_out);
/* NULL is allowed. */
void mailstore_free(struct mailstore *store);

#endif
