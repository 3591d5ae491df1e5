// SPDX-License-Identifier: ISC
/*
 * dns/reverse.h - the confirmed name of a client: a name in the reverse DNS (PTR) of its address
 * that the forward DNS (A, AAAA) resolves to the same address. Without this check anybody could
 * give his address any name (RFC 8501 section 4, RFC 1912 section 2.1).
 */
#ifndef DNS_REVERSE_H
#define DNS_REVERSE_H

#include "dns/name.h"
#include "dns/resolver.h"
#include <netinet/in.h>

enum { DNS_REVERSE_NAMES_MAX = 10 }; /* names of an address that are checked */

struct dns_reverse_answer {
	const char *name;  /* dns_name_is_host(); "": there is no confirmed one */
	bool is_temporary; /* no name now, but a later search may find one */
	uint32_t ttl;      /* seconds for which the answer is valid */
};

struct dns_reverse;

/* Searches for the name of ADDRESS (IPv4 mapped). Calls DONE once, never before returning; ANSWER
 * is valid until dns_reverse_free(). */
struct dns_reverse *dns_reverse_new(struct dns_resolver *resolver, const struct in6_addr *address,
				    void (*done)(void *context,
						 const struct dns_reverse_answer *answer),
				    void *context);
/* Cancels it if it has not finished. NULL is allowed. */
void dns_reverse_free(struct dns_reverse *reverse);

#endif
