// SPDX-License-Identifier: ISC
/*
 * dns/mx.h - the mail exchangers of a domain, RFC 5321 section 5.1.
 */
#ifndef DNS_MX_H
#define DNS_MX_H

#include "base/attributes.h"
#include "dns/name.h"
#include "dns/resolver.h"

enum { DNS_MX_MAX = 100 }; /* further ones, by preference, are ignored */

struct dns_mx {
	uint16_t preference;
	char host[DNS_NAME_SIZE]; /* lower case, without a trailing dot; "": the root */
};

/* Parses the rdata of an MX record: a preference and an uncompressed name. False: it is malformed,
 * or the name is not a host name. */
bool dns_mx_parse(struct str data, struct dns_mx *mx_out);

/* Parses the rdata of ANSWER into LIST (room for DNS_MX_MAX), by preference, and equal ones in
 * random order. Ignores malformed ones. */
size_t dns_mx_read(const struct dns_answer *answer, struct dns_mx *list);

#endif
