// SPDX-License-Identifier: ISC
/*
 * filing/filing.h - records messages and files each once: in the mailbox of each recipient, and in
 * that of the sender's sent mail. Blocks; each thread that files has its own.
 *
 * A group of messages shares transactions and the store's syncs. Under the lock of its Message-ID
 * each message goes through the steps of record/record.h; the table in filing/life.c has them all.
 */
#ifndef FILING_FILING_H
#define FILING_FILING_H

#include "decode/identity.h"
#include "mail/verdict.h"
#include "mailstore/mailstore.h"
#include "record/record.h"

enum filing_sent {
	FILING_SENT_NONE,
	FILING_SENT_LOCAL, /* of senders for whose domain is_local() says yes */
	FILING_SENT_ALL,
};

struct filing_settings {
	enum filing_sent sent;
	bool (*is_local)(void *context, struct str domain);
	void *context;
	const char *sent_folder; /* "Sent" */
	char delimiter;          /* of "user+folder"; 0: no folders by address */
};

/* One recipient of a message. */
struct filing_recipient {
	struct str address;          /* LOCAL@DOMAIN */
	struct str folder;           /* "INBOX" */
	unsigned flags;              /* enum mailstore_flags */
	struct mail_verdict verdict; /* out: OK 2.0.0; WAIT 4.3.0 (the database or store), 4.4.5 (no
				      * lock in time); FAIL as the store says */
};

struct filing_message {
	const struct decode_identity *identity;
	const struct decode_message *decoded;
	struct ipc_content content;
	struct str sender; /* of the envelope; "": the null sender */
	struct filing_recipient *recipients;
	size_t recipient_count;
	bool is_busy; /* out: another one has the lock; nothing was done, nothing was decided */
};

/* What was decided, for the log; valid during the call. */
struct filing_event {
	enum {
		FILING_RECORDED,  /* the message is new */
		FILING_DIFFERENT, /* the Message-ID was known, with another content */
		FILING_FILED,
		FILING_KNOWN,   /* it was filed before */
		FILING_FOUND,   /* it was in doubt, and a copy was found in the mailbox */
		FILING_SURPLUS, /* a second copy was found, and removed */
		FILING_FAILED,  /* a copy could not be filed: text */
	} kind;
	const struct filing_message *message;
	const struct record_place *place; /* NULL: none */
	const char *text;
};

struct filing;

/* RECORD and STORE are borrowed. EVENT is called from within filing_group(). */
struct filing *filing_new(const struct filing_settings *settings, struct record *record,
			  struct mailstore *store,
			  void (*event)(void *context, const struct filing_event *event),
			  void *context);
/* NULL is allowed. */
void filing_free(struct filing *filing);

/* Files each of MESSAGES, whose Message-IDs are different, and sets each recipient's verdict, or
 * is_busy. The sender's copy that fails makes the recipients whose copies are new wait, too: they
 * find theirs filed at the next attempt. */
void filing_group(struct filing *filing, struct filing_message *messages, size_t count);

#endif
