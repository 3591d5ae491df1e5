// SPDX-License-Identifier: ISC
/*
 * filing/filing.h - records messages, and files each copy of them once, from any number of threads,
 * processes and machines. Blocks; each thread that files has its own.
 *
 * A group of messages shares transactions and the store's syncs. Each copy goes through the two
 * transactions of filing/record/record.h; filing/copy.h has the table of its life.
 */
#ifndef FILING_FILING_H
#define FILING_FILING_H

#include "filing/decode/identity.h"
#include "filing/mailstore/mailstore.h"
#include "filing/record/record.h"
#include "mail/envelope.h"
#include "mail/mailbox/quota.h"
#include "mail/verdict.h"

enum { FILING_FOLDERS_A_DAY = 32 }; /* that mail may make in a mailbox by the sender's choice */

/* One copy of a message. A message has one for each user and purpose; two with the same mailbox are
 * filed once. */
struct filing_copy {
	/* Out, too: if the folder was decided before, as it was then, in KEPT_FOLDER and KEPT_RULE.
	 */
	struct record_mailbox mailbox;
	struct record_decision decision;
	const struct mail_quota *quota; /* of the mailbox; NULL: none is counted */
	bool refuses_over_quota;        /* then it fails, instead of waiting */
	struct str recipient;           /* written as Delivered-To; "": the sender's copy */
	bool is_choice; /* the folder's name is the sender's choice, so that few are made a day */
	struct str other_folder; /* where it goes if the store refuses the folder; "": nowhere */
	bool is_settled;         /* its verdict is final, from a call before: it is left alone */
	/* Out: OK 2.0.0: it is in the mailbox, now or before; WAIT 4.3.0 (the record or the store);
	 * WAIT or FAIL as the store says. */
	struct mail_verdict verdict;
	bool is_early; /* out, with WAIT 4.4.5: an attempt that was lost may still file it: nothing
			* was done; other copies of the message are not concerned */
	char kept_folder[RECORD_FOLDER_MAX + 1];
	char kept_rule[RECORD_RULE_MAX + 1];
};

struct filing_message {
	const struct decode_identity *identity;
	const struct decode_message *decoded;
	struct mail_id queue_id; /* for the log; of number 0: it is in no queue */
	struct ipc_content content;
	bool is_binary;    /* BINARYMIME: its copies are encoded, and identified by what came */
	struct str sender; /* of the envelope; "": the null sender */
	struct filing_copy *copies;
	size_t copy_count;
	/* A copy of it was lost before: the mailbox is looked into even if the record does not know
	 * of that, as it does not after the failover to an asynchronous standby. */
	bool is_in_doubt;
	bool is_lost; /* out: a copy may be in its mailbox, and is not recorded there */
	bool is_away; /* out: it was not filed because the record, or the store, cannot be reached,
		       * or takes nothing from anybody: other messages would fare no better now */
	bool is_busy; /* out: another one has the lock of its Message-ID: nothing was decided of
		       * what was not settled */
};

enum filing_event_kind {
	FILING_RECORDED,  /* the message is new */
	FILING_DIFFERENT, /* its Message-ID is known, with another content */
	FILING_FILED,
	FILING_KNOWN,   /* the copy was filed before */
	FILING_FOUND,   /* in doubt: a copy was found in the mailbox */
	FILING_MISSING, /* in doubt: no copy was found, so it is appended */
	FILING_SURPLUS, /* in doubt: more than one was found; this one was removed */
	FILING_MOVED,   /* its folder is refused, or one too many a day, as TEXT says: it goes to
			 * other_folder */
	FILING_FAILED,  /* TEXT says why */
	FILING_EVENTS,
};

/* For the log; valid during the call. */
struct filing_event {
	enum filing_event_kind kind;
	const struct filing_message *message;
	const struct filing_copy *copy; /* NULL: about the message */
	const char *text;               /* "": nothing to add */
};

struct filing;

/* RECORD and STORE are borrowed. EVENT is called from within filing_group(). */
struct filing *filing_new(struct record *record, struct mailstore *store,
			  void (*event)(void *context, const struct filing_event *event),
			  void *context);
/* NULL is allowed. */
void filing_free(struct filing *filing);

/* Files the copies of MESSAGES, of which no two are one (by Message-ID and digest), and sets each
 * copy's verdict, or the message's is_busy: the failure of one message, or of one copy, does not
 * prevent another's.
 */
void filing_group(struct filing *filing, struct filing_message *messages, size_t count);

#endif
