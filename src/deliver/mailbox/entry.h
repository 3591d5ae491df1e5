// SPDX-License-Identifier: ISC
/*
 * deliver/mailbox/entry.h - a job of a mailbox service, made into a message to file, and what
 * became of it.
 */
#ifndef DELIVER_MAILBOX_ENTRY_H
#define DELIVER_MAILBOX_ENTRY_H

#include "config/config.h"
#include "deliver/helper.h"
#include "deliver/mailbox/copies.h"
#include "deliver/quotas.h"
#include "directory/lookup/lookup.h"
#include "filing/decode/client.h"

/* In its job's arena. */
struct mailbox_entry {
	struct deliver_helper_job *job;
	struct decode_identity identity;
	struct decode_message decoded;
	struct filing_message message;
	struct mailbox_copies copies;
	struct deliver_quotas_wanted wanted; /* of each copy's mailbox */
	struct mailbox_rules_fields fields;  /* by the configuration of GENERATION */
	unsigned generation;
	size_t *copy_of; /* of job->recipients[i]: which copy; MAILBOX_NO_COPY: none, it was
			    reported */
	size_t sent;     /* the sender's copy; MAILBOX_NO_COPY: none */
	/* By os_clock_monotonic_us(), while it waits (deliver/mailbox/turns.h): how long it may; 0:
	 * it has not waited yet; and when it is tried again. */
	int64_t until_us;
	int64_t retry_us;
	bool is_at_sent; /* all but the sender's copy has ended */
	bool is_lost;    /* its outcome is not reported */
	bool is_last;    /* it waits for no lock any more: its service, or this process, ends */
	const char
		*trigger; /* "service.NAME": what it waits for if the record or the store is away */
	void *owner;      /* of the code that files */
	struct decode_question *question; /* while it is decoded */
	struct directory_request request; /* while the sender is looked up */
	struct mailbox_entry *next, *previous;
};

/* The entry of JOB, without copies; it is not identified yet. */
struct mailbox_entry *mailbox_entry_new(struct deliver_helper_job *job);
/* Reads its content to find out which message it is, and for its fields; a thread may call this. 0
 * or -errno: it cannot be read. */
MUST_CHECK int mailbox_entry_identify(struct mailbox_entry *entry);
/* Adds what was decoded, which is copied. */
void mailbox_entry_decoded(struct mailbox_entry *entry, const struct decode_message *decoded);
/* Then adds the copies of its recipients, and reports those that can have no mailbox. */
void mailbox_entry_decide(struct mailbox_entry *entry, const struct config *config,
			  const struct config_service *service);
/* The address whose mailbox gets the sender's copy, if any is kept: "": nobody's. */
struct str mailbox_entry_sender(const struct mailbox_entry *entry);
/* Adds the sender's copy, into the mailbox of ADDRESS. */
void mailbox_entry_add_sent(struct mailbox_entry *entry, struct str address);
/* Then names, in WANTED, the mailboxes whose quotas are to be found; and takes these. */
void mailbox_entry_want_quotas(struct mailbox_entry *entry);
void mailbox_entry_take_quotas(struct mailbox_entry *entry);

/* After an attempt to file it: what that has settled is not tried again. */
void mailbox_entry_settle(struct mailbox_entry *entry);
/* Whether a recipient's copy has to wait for an attempt that was lost. */
bool mailbox_entry_is_early(const struct mailbox_entry *entry);
/* Whether no recipient has to be tried again, and the sender's copy may be, as it was lost on its
 * way, or the store. */
bool mailbox_entry_wants_sent(const struct mailbox_entry *entry);
/* Reports the verdicts of the recipients' copies, each for itself, and ends the job, or ends it
 * without reports if it is lost. A sender's copy that was not filed is given up if there is no
 * recipient to be tried again, and that is logged. */
void mailbox_entry_finish(struct mailbox_entry *entry);
/* Ends the job: WHY for every recipient whose copy is not settled, who waits for the trigger if
 * message.is_away; NULL: without a report. */
void mailbox_entry_give_up(struct mailbox_entry *entry, const struct mail_verdict *why);

#endif
