// SPDX-License-Identifier: ISC
/*
 * dns/resolver.h - asynchronous DNS queries in the event loop.
 *
 * libunbound resolves in a thread of its own, which starts with the first
 * query, and caches answers for their TTL. Addresses of names in /etc/hosts
 * come from there, whatever servers are asked (dns/hosts.h). The system's files
 * are read once, by dns_resolver_new(): whoever has read them must be told when
 * they change (supervisor/names.c).
 *
 * With trust anchors it validates (DNSSEC, RFC 4035 section 4.3): an answer is
 * secure (signed, by a chain from a trust anchor), insecure (proven not to be
 * signed) or bogus, which is a failure. Without, no answer is secure or bogus.
 */
#ifndef DNS_RESOLVER_H
#define DNS_RESOLVER_H

#include "base/attributes.h"
#include "base/str.h"
#include "os/loop.h"

struct dns_resolver;
struct dns_query;

enum dns_type {
	DNS_TYPE_A = 1,
	DNS_TYPE_CNAME = 5,
	DNS_TYPE_PTR = 12,
	DNS_TYPE_MX = 15,
	DNS_TYPE_TXT = 16,
	DNS_TYPE_AAAA = 28,
	DNS_TYPE_TLSA = 52,
};

enum dns_status {
	DNS_FOUND,
	DNS_NO_DATA, /* the name exists, but has no records of this type */
	DNS_NO_NAME,
	DNS_FAILED, /* no usable answer: try again later */
};

struct dns_answer {
	enum dns_status status;
	/* DNS_FAILED: "no name server answers", "timeout", "bogus: signature expired"; one
	 * printable line */
	const char *reason;
	char *const *data;  /* rdata, after following CNAMEs */
	const int *lengths; /* of the rdata */
	size_t count;
	uint32_t ttl; /* seconds; 0 for DNS_FAILED */
	/* The answer, or that there is none, is proven, and so is every CNAME on the way. */
	bool is_secure;
	/* The name that the query's name is an alias of in the end: lower case, without a trailing
	 * dot; "": it is no alias, or of a name that is not dns_name_is_host(). */
	const char *canonical;
};

/* How to validate; plain values. */
struct dns_trust {
	struct str anchors; /* lines, from dns_anchor_read(); empty: nothing is validated */
	const char *const *unsigned_domains; /* these and all below are insecure, whatever is above:
					      * private names that the root does not know */
	size_t unsigned_count;
};

/* SERVER is "ADDRESS@PORT", to which all queries go, or "" for the servers in
 * /etc/resolv.conf. Does not validate. -EINVAL: libunbound rejects it. */
MUST_CHECK int dns_resolver_new(struct os_loop *loop, const char *server,
				struct dns_resolver **resolver_out);
/* Validates as TRUST says, which is copied. The servers must pass on signatures (RFC 4035 section
 * 3.2): else all answers are bogus. */
MUST_CHECK int dns_resolver_new_validating(struct os_loop *loop, const char *server,
					   const struct dns_trust *trust,
					   struct dns_resolver **resolver_out);
/* All queries must have been cancelled or answered. Takes at most a second: what libunbound does
 * not give back by then goes with the process. */
void dns_resolver_free(struct dns_resolver *resolver);

/* Queries NAME (text, without a trailing dot). Calls DONE once, never before
 * returning; ANSWER is valid during the call, QUERY no longer. */
struct dns_query *dns_query_new(struct dns_resolver *resolver, const char *name, enum dns_type type,
				void (*done)(void *context, const struct dns_answer *answer),
				void *context);
/* DONE will not be called. */
void dns_query_cancel(struct dns_query *query);

#endif
