// SPDX-License-Identifier: ISC
/*
 * dns/mx.h - the mail exchangers of a domain, RFC 5321 section 5.1.
 */
#ifndef DNS_MX_H
#define DNS_MX_H

#include "base/attributes.h"
#include "dns/name.h"
#include "dns/resolver.h"

enum { DNS_MX_MAX = 100 }; /* worse ones are left out */

struct dns_mx {
	uint16_t preference;
	char host[DNS_NAME_SIZE]; /* lower case, no dot at the end; "" : the root */
};

/* One rdata: a preference and an uncompressed name. False when it is malformed
 * or the name is no host name. */
bool dns_mx_parse(struct str data, struct dns_mx *mx_out);

/* Reads the rdata of ANSWER into LIST (room for DNS_MX_MAX), best preference
 * first, equal ones in random order. Malformed ones are left out. */
size_t dns_mx_read(const struct dns_answer *answer, struct dns_mx *list);

#endif
