// SPDX-License-Identifier: ISC
/*
 * directory/lookup/lookup.h - resolves addresses for the processes that move mail.
 *
 * Without section `directory` the configuration answers, at once. With it, the process
 * `directory` answers over RUN/directory; its answers are cached for as long as they are valid
 * (directory/client/client.h), and checked before use. While it does not answer, mail waits: an
 * address is never refused because the directory is unavailable.
 */
#ifndef DIRECTORY_LOOKUP_LOOKUP_H
#define DIRECTORY_LOOKUP_LOOKUP_H

#include "base/arena.h"
#include "config/config.h"
#include "directory/client/client.h"
#include "directory/expand/expand.h"
#include "mail/mailbox/quota.h"
#include "mail/verdict.h"

enum directory_answer {
	DIRECTORY_FOUND,     /* see the targets */
	DIRECTORY_NOT_LOCAL, /* the domain is not ours: remote delivery, address unchanged */
	DIRECTORY_REFUSED,   /* no such address: see the verdict, of class FAIL */
	DIRECTORY_UNKNOWN,   /* no answer now: see the verdict, of class WAIT */
};

enum directory_target_kind {
	DIRECTORY_TARGET_LOCAL,  /* service and address */
	DIRECTORY_TARGET_REMOTE, /* address */
	DIRECTORY_TARGET_LIST,   /* the list's address, and owner */
	DIRECTORY_TARGET_NONE,   /* refused: address and verdict */
};

struct directory_target {
	enum directory_target_kind kind;
	struct str service;
	struct str server;        /* LOCAL: named by the directory; empty: the service's own */
	struct str address;       /* as in mail: quoted where required */
	struct str owner;         /* empty: unknown */
	bool verp;                /* each member gets a sender address of his own */
	enum directory_post post; /* LIST: see directory/lookup/post.h */
	struct mail_verdict verdict;
};

struct directory_result {
	enum directory_answer answer;
	struct directory_target *targets; /* DIRECTORY_FOUND: 1 to DIRECTORY_TARGETS_MAX */
	size_t target_count;
	struct mail_verdict verdict; /* the answer to whoever asks */
	bool is_away;                /* UNKNOWN because the directory does not answer */
	int64_t ttl_us;              /* how long the answer may be used; 0: once */
	uint64_t version;            /* of the data; 0: the configuration */
	struct arena *arena;         /* owns the texts and the targets */
};

struct directory;

/* PATH: the socket of the process `directory`, copied. CONFIG must live until
 * directory_configure() replaces it, or longer than the directory. */
struct directory *directory_new(struct os_loop *loop, const struct config *config,
				const char *path);
/* Pending questions continue. */
void directory_configure(struct directory *directory, const struct config *config);
/* Whether there is a section `directory`. */
bool directory_is_served(const struct directory *directory);
/* Calls CALL once, when the process `directory` next greets us; only with section `directory`. */
void directory_when_greeted(struct directory *directory, void (*call)(void *context),
			    void *context);
/* Nothing may be under way. NULL is allowed. */
void directory_free(struct directory *directory);

/* RESULT is freed after the call. */
typedef void directory_found(void *context, const struct directory_result *result);

/* A pending question: storage of the caller, zeroed at first, until it is answered or
 * cancelled. */
struct directory_request {
	directory_found *found;
	void *context;
	struct directory *directory; /* NULL: not pending */
	struct directory_question question;
};

/* Resolves ADDRESS, LOCAL@DOMAIN or "postmaster" alone; may call FOUND before it returns. Rules
 * as in directory/expand/expand.h; without section `directory`, from the domains of the
 * configuration alone: there every local part exists that can name a mailbox, unless addresses are
 * listed. UNKNOWN 4.3.5 if a target's service is not in this configuration, or may not deliver to
 * its server; UNKNOWN 4.4.3 if there is no answer. */
void directory_lookup(struct directory *directory, struct str address, directory_found *found,
		      void *context, struct directory_request *request);
/* Calls nothing. Does nothing if the request is not pending. */
void directory_request_cancel(struct directory_request *request);

/* Whether an SMTP server should accept a recipient with RESULT: sets *VERDICT to class OK; to FAIL
 * 5.1.1 (no such user), 5.7.1 (not ours, and the client may not relay), 5.1.3 (no mailbox can have
 * such a name), or as the record says; or to WAIT while there is no answer. The verdict tells
 * clients nothing about our configuration; details for the operator are returned, valid as long as
 * RESULT; otherwise NULL. */
const char *directory_judge_recipient(const struct directory_result *result, bool client_may_relay,
				      struct mail_verdict *verdict);

/* Refuses SENDER (5.1.7) if the program of one of RESULT's targets, by CONFIG, cannot be given it
 * safely: later that would be a bounce, to whomever a client has named. */
void directory_judge_sender(const struct directory_result *result, const struct config *config,
			    struct str sender, struct mail_verdict *verdict);

/* Whether all that RESULT, of ADDRESS, leads to are mailboxes whose services, by CONFIG, deliver as
 * the user whose mailbox it is (user = "%u"). Appends the names of these, each with a NUL, to
 * NAMES: if this machine has none of them, the recipient does not exist. Not if one of them is the
 * postmaster, or ADDRESS is: his mail always ends with somebody. */
bool directory_result_owners(const struct directory_result *result, const struct config *config,
			     struct str address, struct buffer *names);

/* A page of a list's members, ordered by key, at most DIRECTORY_LIST_MAX. */
struct directory_members {
	bool is_known;             /* false: no answer now, as VERDICT says */
	const struct str *members; /* in canonical form (directory/record/key.h), but not checked */
	size_t count;
	bool is_end; /* no more follow */
	struct mail_verdict verdict;
};

typedef void directory_members_listed(void *context, const struct directory_members *members);

struct directory_members_request {
	directory_members_listed *listed;
	void *context;
	struct directory *directory; /* NULL: not pending */
	struct buffer prefix;        /* of the keys; owned while pending */
	struct directory_question question;
};

/* Lists members of LIST, an address in canonical form, after AFTER; empty: from the first. */
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
	DIRECTORY_QUOTA_NONE,    /* the record has none, or there is no record */
	DIRECTORY_QUOTA_UNKNOWN, /* no answer now, or the record is malformed */
};

/* QUOTA: NULL unless FOUND. */
typedef void directory_quota_found(void *context, enum directory_quota_answer answer,
				   const struct mail_quota *quota);

struct directory_quota_request {
	directory_quota_found *found;
	void *context;
	struct directory *directory; /* NULL: not pending */
	struct directory_question question;
};

/* Finds the quota of the mailbox ADDRESS, which is as its service gets it:
 * LOCAL+EXTENSION@DOMAIN. Calls back at once if the answer is cached. Only if
 * directory_is_served(). */
void directory_find_quota(struct directory *directory, struct str address,
			  directory_quota_found *found, void *context,
			  struct directory_quota_request *request);
void directory_quota_cancel(struct directory_quota_request *request);

/* Calls BACK once, when the directory answers, at most a fraction of a second later. While BACK is
 * pending, a second call does nothing. */
void directory_await(struct directory *directory, void (*back)(void *context), void *context);

#endif
