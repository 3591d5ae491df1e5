// SPDX-License-Identifier: ISC
/*
 * filing/repair.h - compares the record with the mailboxes, after a restore of either, and repairs
 * what can be known: one mailbox at a time, each message under the lock of its Message-ID. It may
 * run while messages are filed. No copy is ever appended. Blocks.
 *
 * The names of a Maildir's files tell which messages they hold (mailstore_survey()): only what does
 * not fit the record is looked into. On an IMAP server each message is searched for, and copies
 * that have no row are not found.
 */
#ifndef FILING_REPAIR_H
#define FILING_REPAIR_H

#include "base/arena.h"
#include "filing/filing.h"

enum filing_repair_kind {
	FILING_REPAIR_MISSING,   /* "filed", and not in the mailbox: its reader may have moved or
				  * removed it. Only if asked, the row is removed: then it is filed
				  * again when it comes again */
	FILING_REPAIR_RENAMED,   /* "filed" as another copy than is there: that is noted */
	FILING_REPAIR_UNMARKED,  /* "filing", and in the mailbox: it becomes "filed" */
	FILING_REPAIR_ABANDONED, /* "filing", and not in the mailbox: the row is removed, so that it
				  * is filed when it comes again */
	FILING_REPAIR_SURPLUS,   /* a copy more than one: it is removed */
	FILING_REPAIR_UNRECORDED, /* a copy without a row: it is recorded */
	FILING_REPAIR_RECENT,     /* being filed, or within the last minute: left alone */
	FILING_REPAIR_FAILED,     /* TEXT says why it could not be looked at or repaired */
	FILING_REPAIR_KINDS,
};

/* "missing", "renamed" and so on. */
const char *filing_repair_name(enum filing_repair_kind kind);

struct filing_repair_finding {
	enum filing_repair_kind kind;
	const struct record_mailbox *mailbox;
	struct str id;    /* "": not known */
	const char *copy; /* "": none */
	const char *text; /* "": nothing to add */
	bool is_repaired;
};

struct filing_repair {
	struct record *record;
	bool applies; /* otherwise nothing is changed */
	bool forgets; /* what is missing */
	int64_t lock_us;
	/* The store of a mailbox; NULL, with *WHY_OUT: it is not known. */
	struct mailstore *(*store)(void *context, const struct record_mailbox *mailbox,
				   const char **why_out);
	/* Decodes CONTENT. */
	void (*decode)(void *context, const struct ipc_content *content, struct arena *arena,
		       struct decode_message *out);
	void (*found)(void *context, const struct filing_repair_finding *finding);
	/* ROWS and copies without one were compared so far. */
	void (*progress)(void *context, uint64_t rows);
	void *context;
	uint64_t rows; /* out, to be 0 at first */
};

/* Reconciles the mailbox MAILBOX. 0, or -errno of the record, with record_error(): it was not
 * finished.
 */
MUST_CHECK int filing_repair_mailbox(struct filing_repair *repair,
				     const struct record_mailbox *mailbox);

#endif
