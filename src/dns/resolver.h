// SPDX-License-Identifier: ISC
/*
 * dns/resolver.h - questions to the DNS, answered through the event loop.
 *
 * libunbound resolves in a thread of its own, which starts with the first
 * question, and keeps what it learns until its time to live ends.
 */
#ifndef DNS_RESOLVER_H
#define DNS_RESOLVER_H

#include "base/attributes.h"
#include "base/str.h"
#include "os/loop.h"

struct dns_resolver;
struct dns_query;

enum dns_type { DNS_TYPE_A = 1, DNS_TYPE_PTR = 12, DNS_TYPE_MX = 15, DNS_TYPE_AAAA = 28 };

enum dns_status {
	DNS_FOUND,
	DNS_NO_DATA, /* the name exists, but not with this type */
	DNS_NO_NAME,
	DNS_FAILED, /* no answer, or none that says anything: try again later */
};

struct dns_answer {
	enum dns_status status;
	const char *reason; /* DNS_FAILED: "no name server answers", "timeout"; for ever */
	char *const *data;  /* rdata; a CNAME was followed */
	const int *lengths; /* of each rdata */
	size_t count;
	uint32_t ttl; /* seconds; of DNS_FAILED 0 */
};

/* SERVER is "ADDRESS@PORT", which is asked everything, or "" for those that
 * /etc/resolv.conf names. -EINVAL when libunbound does not take it. */
MUST_CHECK int dns_resolver_new(struct os_loop *loop, const char *server,
				struct dns_resolver **resolver_out);
/* After its queries were cancelled or answered. */
void dns_resolver_free(struct dns_resolver *resolver);

/* Asks for NAME (text, without a dot at the end). DONE is called once, never
 * before this returns; ANSWER is valid during the call, QUERY no longer is. */
struct dns_query *dns_query_new(struct dns_resolver *resolver, const char *name, enum dns_type type,
				void (*done)(void *context, const struct dns_answer *answer),
				void *context);
/* DONE is not called any more. */
void dns_query_cancel(struct dns_query *query);

#endif
