// SPDX-License-Identifier: ISC
/*
 * dns/reverse.h - the name of a client: what the reverse DNS says (PTR) of its address, when the
 * forward DNS (A, AAAA) of that name leads back to the address. Without the second half anybody
 * could call his address what he likes (RFC 8501 section 4, RFC 1912 section 2.1).
 */
#ifndef DNS_REVERSE_H
#define DNS_REVERSE_H

#include "dns/name.h"
#include "dns/resolver.h"
#include <netinet/in.h>

enum { DNS_REVERSE_NAMES_MAX = 10 }; /* of one address that are looked at */

struct dns_reverse_answer {
	const char *name;  /* dns_name_is_host(); "": it has none that is confirmed */
	bool is_temporary; /* none, but a later search may find one */
	uint32_t ttl;      /* seconds for which this is so */
};

struct dns_reverse;

/* Searches the name of ADDRESS (IPv4 mapped). DONE is called once, never before this
 * returns; ANSWER is valid until dns_reverse_free(). */
struct dns_reverse *dns_reverse_new(struct dns_resolver *resolver, const struct in6_addr *address,
				    void (*done)(void *context,
						 const struct dns_reverse_answer *answer),
				    void *context);
/* Cancels it when it is not done. NULL is allowed. */
void dns_reverse_free(struct dns_reverse *reverse);

#endif
