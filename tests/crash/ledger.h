// SPDX-License-Identifier: ISC
/*
 * tests/crash/ledger.h - what was promised, kept off the disk that is judged.
 */
#ifndef TESTS_CRASH_LEDGER_H
#define TESTS_CRASH_LEDGER_H

#include "base/buffer.h"
#include "queue/control/control.h"
#include "queue/message.h"
#include "queue/store.h"

enum { LEDGER_MESSAGES_MAX = 16, LEDGER_DELIVERIES_MAX = 40 };

struct promise {                   /* of one delivery */
	enum queue_outcome tried;  /* may be on the disk */
	enum queue_outcome marked; /* must be on the disk, or what was tried later */
	bool may_wait;             /* was noted so without a sync, before what was tried last */
	bool is_reported;          /* its failure was: in bounce/, or by a bounce */
	bool may_be_requeued;      /* the order to map it anew may be on the disk */
	bool is_requeued;          /* it must be, until: */
	bool may_have_moved;       /* it may be mapped anew, to a remote host */
	bool has_moved;            /* it must be */
};

struct entry {           /* of one message */
	int64_t born_us; /* names it */
	uint64_t number;
	enum mail_stage stage;
	struct buffer data;
	struct buffer control;
	uint64_t synced;        /* bytes after the envelope that are durable for certain */
	bool is_answered;       /* 250 was said */
	bool is_ended;          /* nothing more is owed for it */
	bool is_gone;           /* another machine was told that it is, durably */
	bool is_updated;        /* its control file may have more than the envelope */
	bool has_queued_bounce; /* its failures are reported by another message */
	const char *package;    /* of the node a1, which handed it over; NULL: nobody did */
	bool is_denied;         /* a1 was told that it is not here */
	bool is_settled;        /* a1 has said that it has removed it */
	struct promise deliveries[LEDGER_DELIVERIES_MAX + 1]; /* by number */
};

struct ledger {
	struct entry messages[LEDGER_MESSAGES_MAX];
	size_t count;
	uint64_t version; /* of the promises */
	enum queue_sync sync;
	uint32_t spares;
	bool has_queue;      /* it was created */
	bool may_be_damaged; /* names were removed by hand */
	uint64_t run;        /* of a1: it was greeted with that one; 0: with none */
	uint64_t damaged;    /* a message that the last cleaner called damaged; 0: none */
};

extern struct ledger ledger;

void ledger_reset(void);
struct entry *ledger_add(void);

/* Starts the queue as after a power cut on the disk that os_file_... works on,
 * and compares it with the ledger; then ends every message and looks for what
 * is left. False: *WHY says which promise is broken. */
bool ledger_holds(struct buffer *why);

/* packages.c: a1 connects in its run RUN: groups are committed until it is greeted. Then it is told
 * what is here: IS_KEPT of each message of the ledger. */
MUST_CHECK int ledger_greet(struct queue_intake *intake, uint64_t run, bool *is_kept);
/* Whether what a1 was told still holds for the messages that were found; then all is settled, and
 * no name of a package is left. -EBADMSG: WHY says what does not. */
MUST_CHECK int ledger_check_packages(struct queue_store *store, struct queue_intake *intake,
				     const bool *is_found, struct buffer *why);
MUST_CHECK int ledger_settle_packages(struct queue_store *store, struct queue_intake *intake,
				      struct buffer *why);

/* As "send" cleans after a crash: the first error. */
MUST_CHECK int ledger_clean(struct queue_store *store, struct queue_intake *intake);

extern const char *const ledger_services[];
enum { LEDGER_SERVICES = 1 };

#endif
