// SPDX-License-Identifier: ISC
/*
 * directory/lookup.h - what becomes of mail for an address.
 *
 * An answer is a plain value that owns all of its memory: it can be computed at
 * once (as it is now, from the configuration), arrive later from another
 * process, or be kept. How long it may be kept is in it, and so is the version
 * of the data that it came from (DESIGN section 5); the configuration has
 * version 0.
 */
#ifndef DIRECTORY_LOOKUP_H
#define DIRECTORY_LOOKUP_H

#include "base/arena.h"
#include "base/attributes.h"
#include "config/config.h"
#include "mail/verdict.h"

enum { DIRECTORY_TARGETS_MAX = 10000 }; /* deliveries that one address may become */

enum directory_answer {
	DIRECTORY_FOUND,     /* see the targets */
	DIRECTORY_NOT_LOCAL, /* the domain is not ours: for the remote stage as it is */
	DIRECTORY_REFUSED,   /* no such address: see the verdict, of class FAIL */
	DIRECTORY_UNKNOWN,   /* no answer now: see the verdict, of class WAIT */
};

enum directory_target_kind {
	DIRECTORY_TARGET_LOCAL,  /* service and address */
	DIRECTORY_TARGET_REMOTE, /* address */
	DIRECTORY_TARGET_NONE,   /* address, refused with verdict */
};

struct directory_target {
	enum directory_target_kind kind;
	struct str service;
	struct str address;
	struct mail_verdict verdict;
};

struct directory_result {
	enum directory_answer answer;
	struct directory_target *targets; /* DIRECTORY_FOUND: 1 to DIRECTORY_TARGETS_MAX */
	size_t target_count;
	struct mail_verdict verdict; /* what to tell whoever asks */
	int64_t ttl_us;              /* how long the answer may be used; 0: this once */
	uint64_t version;            /* of the data; 0: the configuration */
	struct arena *arena;         /* owns the texts and the targets */
};

/* Answers for ADDRESS, LOCAL@DOMAIN or "postmaster" alone, into RESULT, which
 * the caller clears. A domain of the configuration is compared without case; so
 * is its local part. user+tag is answered as user where user+tag is not listed
 * itself. Where nothing is listed, every local part exists that can name a
 * mailbox. postmaster exists in each of our domains whether it is listed or not
 * (RFC 5321 section 4.5.1); alone, or at our host name, it is that of the host
 * name where that is a domain of ours, or else of our first domain. An address
 * literal is not local. */
void directory_lookup(const struct config *config, struct str address,
		      struct directory_result *result);
void directory_result_clear(struct directory_result *result);

/* Whether a server may accept ADDRESS as a recipient: *VERDICT is of class OK;
 * or FAIL 5.1.1 (no such user), 5.7.1 (not ours, and the client may not relay),
 * 5.1.3 (no mailbox can have such a name); or WAIT while there is no answer. */
void directory_check_recipient(const struct config *config, bool client_may_relay,
			       struct str address, struct mail_verdict *verdict);

#endif
