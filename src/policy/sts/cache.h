// SPDX-License-Identifier: ISC
/*
 * policy/sts/cache.h - the policies of domains: looked up when somebody asks, kept to their
 * max_age in memory and on disk, and refreshed before that.
 *
 * A known policy is answered at once, and checked in the background: its id is looked up once an
 * hour at most, and the policy is fetched when its id has changed or it is due
 * (sts_policy_refresh_us()). While that fails the old one stays valid to its end. A question about
 * a domain that is not known waits for the lookup, at most STS_LOOKUP_SECONDS. That a domain has
 * no policy is remembered for 5 minutes to an hour, as long as the DNS says. After a failed fetch
 * the next one waits 5 minutes, then 10, up to an hour.
 *
 * The age of a policy does not depend on the time of day (policy/sts/age.h): when the clock is set,
 * no valid policy is lost, and none is valid for longer.
 *
 * At most STS_KEPT_MAX domains with a policy, and as many without: those not asked for the longest
 * time are dropped for others.
 */
#ifndef POLICY_STS_CACHE_H
#define POLICY_STS_CACHE_H

#include "dns/resolver.h"
#include "policy/https/https.h"
#include "policy/sts/answer.h"

enum { STS_KEPT_MAX = 10000, STS_LOOKUP_SECONDS = 60 };

/* Whose question it is. The lookups of a higher rank come before those of the lower ones, and have
 * places that these cannot take. */
enum sts_rank {
	STS_RANK_REMOTE, /* the process's */
	STS_RANK_OWNER,  /* commands of the queue's owner */
	STS_RANK_ROOT,   /* commands of root */
	STS_RANKS,
};

struct sts_cache;
struct sts_entry;

/* PATH: the directory for the policies; if it cannot be used, they are only in memory, and that is
 * logged. RESOLVER and HTTPS are borrowed. */
struct sts_cache *sts_cache_new(struct os_loop *loop, struct dns_resolver *resolver,
				struct https *https, const char *path);
/* Only after all requests were answered or cancelled. NULL is allowed. */
void sts_cache_free(struct sts_cache *cache);

/* Storage of the caller, all zero or as it was left, except DONE, CONTEXT and RANK. */
struct sts_request {
	/* Called once; ANSWER is valid during the call. */
	void (*done)(void *context, const struct sts_answer *answer);
	void *context;
	enum sts_rank rank;
	struct sts_entry *entry; /* NULL: not waiting */
	struct sts_request *next, *previous;
};

/* DOMAIN: a host name of at most STS_DOMAIN_MAX bytes, lower case. DONE may be called before this
 * returns. */
void sts_cache_ask(struct sts_cache *cache, struct str domain, struct sts_request *request);
/* Appends the lines of DOMAIN's policy, '\n' between them, as a report shows it (RFC 8460 section
 * 4.4), and points *PATTERNS_OUT to its hosts. False: none is known. */
MUST_CHECK bool sts_cache_describe(struct sts_cache *cache, struct str domain, struct buffer *out,
				   struct str *patterns_out);
/* DONE is not called any more. Does nothing if it is not waiting. */
void sts_request_cancel(struct sts_request *request);

#endif
