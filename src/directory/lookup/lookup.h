// SPDX-License-Identifier: ISC
/*
 * directory/lookup/lookup.h - what becomes of mail for an address, for those who move mail.
 *
 * Without section `directory` the configuration says so, at once. With it the process
 * `directory` does, over RUN/directory; its answers are kept for as long as they are true
 * (directory/client/client.h), and what it says is read with distrust. While it does not answer,
 * mail waits: an address is never refused because nobody knows of it now.
 */
#ifndef DIRECTORY_LOOKUP_LOOKUP_H
#define DIRECTORY_LOOKUP_LOOKUP_H

#include "base/arena.h"
#include "config/config.h"
#include "directory/client/client.h"
#include "directory/expand/expand.h"
#include "mail/quota.h"
#include "mail/verdict.h"

enum directory_answer {
	DIRECTORY_FOUND,     /* see the targets */
	DIRECTORY_NOT_LOCAL, /* the domain is not ours: for the remote stage as it is */
	DIRECTORY_REFUSED,   /* no such address: see the verdict, of class FAIL */
	DIRECTORY_UNKNOWN,   /* no answer now: see the verdict, of class WAIT */
};

enum directory_target_kind {
	DIRECTORY_TARGET_LOCAL,  /* service and address */
	DIRECTORY_TARGET_REMOTE, /* address */
	DIRECTORY_TARGET_LIST,   /* address, the list's; owner */
	DIRECTORY_TARGET_NONE,   /* address, refused with verdict */
};

struct directory_target {
	enum directory_target_kind kind;
	struct str service;
	struct str server;  /* LOCAL: the one that the directory names; empty: the service's own */
	struct str address; /* as in mail: quotes where they are needed */
	struct str owner;   /* empty: none is known */
	bool verp;          /* each member has a sender of his own */
	enum directory_post post; /* LIST: see directory/lookup/post.h */
	struct mail_verdict verdict;
};

struct directory_result {
	enum directory_answer answer;
	struct directory_target *targets; /* DIRECTORY_FOUND: 1 to DIRECTORY_TARGETS_MAX */
	size_t target_count;
	struct mail_verdict verdict; /* what to tell whoever asks */
	bool is_away;                /* UNKNOWN because the directory does not answer */
	int64_t ttl_us;              /* how long the answer may be used; 0: this once */
	uint64_t version;            /* of the data; 0: the configuration */
	struct arena *arena;         /* owns the texts and the targets */
};

struct directory;

/* PATH: the socket of the process `directory`, copied. CONFIG outlives it, or the next call
 * of directory_configure(). */
struct directory *directory_new(struct os_loop *loop, const struct config *config,
				const char *path);
/* What waits goes on. */
void directory_configure(struct directory *directory, const struct config *config);
/* Whether there is a section `directory`. */
bool directory_is_served(const struct directory *directory);
/* With nothing under way. NULL is allowed. */
void directory_free(struct directory *directory);

/* RESULT is freed after the call. */
typedef void directory_found(void *context, const struct directory_result *result);

/* A question under way: storage of the caller, zeroed at first, until it is answered or
 * cancelled. */
struct directory_request {
	directory_found *found;
	void *context;
	struct directory *directory; /* NULL: nothing waits */
	struct directory_question question;
};

/* Answers for ADDRESS, LOCAL@DOMAIN or "postmaster" alone, perhaps before it returns.
 * As directory/expand/expand.h has it; without section `directory` from the domains of the
 * configuration alone, where every local part exists that can name a mailbox unless addresses are
 * listed. A target whose service this configuration lacks, or does not let deliver to its server,
 * makes the answer UNKNOWN, 4.3.5; no answer UNKNOWN, 4.4.3. */
void directory_lookup(struct directory *directory, struct str address, directory_found *found,
		      void *context, struct directory_request *request);
/* Nothing is called. Nothing happens where nothing waits. */
void directory_request_cancel(struct directory_request *request);

/* Whether a server may accept an address with RESULT as a recipient: *VERDICT is of class OK;
 * or FAIL 5.1.1 (no such user), 5.7.1 (not ours, and the client may not relay), 5.1.3 (no
 * mailbox can have such a name), or as the record says; or WAIT while there is no answer. The
 * verdict says nothing of how we are made: where it leaves out what the operator wants to know,
 * that is returned, which lives as long as RESULT; otherwise NULL. */
const char *directory_judge_recipient(const struct directory_result *result, bool client_may_relay,
				      struct mail_verdict *verdict);

/* The members of a list, in the order of their keys, DIRECTORY_LIST_MAX at most. */
struct directory_members {
	bool is_known; /* false: no answer now, as VERDICT says */
	const struct str
		*members; /* addresses in the form of directory/record/key.h; not checked */
	size_t count;
	bool is_end; /* none follow */
	struct mail_verdict verdict;
};

typedef void directory_members_listed(void *context, const struct directory_members *members);

struct directory_members_request {
	directory_members_listed *listed;
	void *context;
	struct directory *directory; /* NULL: nothing waits */
	struct buffer prefix;        /* of the keys; owned while it waits */
	struct directory_question question;
};

/* Those of LIST, an address in that form, that are behind AFTER; empty: from the first. */
void directory_list_members(struct directory *directory, struct str list, struct str after,
			    directory_members_listed *listed, void *context,
			    struct directory_members_request *request);
/* The lists that have MEMBER as a member, as MEMBERS; or addresses that were lists once, and whose
 * records of members are there still. */
void directory_list_memberships(struct directory *directory, struct str member, struct str after,
				directory_members_listed *listed, void *context,
				struct directory_members_request *request);
void directory_members_cancel(struct directory_members_request *request);

enum directory_quota_answer {
	DIRECTORY_QUOTA_FOUND,   /* the record of the mailbox has one */
	DIRECTORY_QUOTA_NONE,    /* it has none, or there is no record */
	DIRECTORY_QUOTA_UNKNOWN, /* no answer now, or the record is malformed */
};

/* QUOTA: not NULL, of FOUND. */
typedef void directory_quota_found(void *context, enum directory_quota_answer answer,
				   const struct mail_quota *quota);

struct directory_quota_request {
	directory_quota_found *found;
	void *context;
	struct directory *directory; /* NULL: nothing waits */
	struct directory_question question;
};

/* What the mailbox ADDRESS may hold, as a service is told it: LOCAL+EXTENSION@DOMAIN. Answers at
 * once where the answer is kept. Where directory_is_served(). */
void directory_find_quota(struct directory *directory, struct str address,
			  directory_quota_found *found, void *context,
			  struct directory_quota_request *request);
void directory_quota_cancel(struct directory_quota_request *request);

/* Calls BACK once, as soon as the directory answers: a fraction of a second after it does.
 * Again before that: nothing more happens. */
void directory_await(struct directory *directory, void (*back)(void *context), void *context);

#endif
