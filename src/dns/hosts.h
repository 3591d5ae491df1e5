// SPDX-License-Identifier: ISC
/*
 * dns/hosts.h - the addresses of /etc/hosts, hosts(5).
 *
 * Only addresses come from there: whether a domain has mail exchangers, or anything else, is the
 * DNS's to say, also of a name that is in the file.
 */
#ifndef DNS_HOSTS_H
#define DNS_HOSTS_H

#include "base/attributes.h"
#include "dns/resolver.h"

enum {
	DNS_HOSTS_FILE_MAX = 16 << 20, /* bytes that are read; what follows counts for nothing */
	DNS_HOSTS_ADDRESSES_MAX = 16,  /* of a name and family; more count for nothing */
	DNS_HOSTS_TTL = 60,            /* seconds, of its answers */
};

struct dns_hosts;

/* Reads the file now; one that cannot be read has no names. */
struct dns_hosts *dns_hosts_read(void);
/* The same of TEXT. */
struct dns_hosts *dns_hosts_parse(struct str text);
void dns_hosts_free(struct dns_hosts *hosts);

/* An answer, and what it points to. */
struct dns_hosts_answer {
	struct dns_answer answer;
	char *data[DNS_HOSTS_ADDRESSES_MAX];
	int lengths[DNS_HOSTS_ADDRESSES_MAX];
	char bytes[DNS_HOSTS_ADDRESSES_MAX][16];
};

/* Whether NAME, in any case, is in the file, and TYPE is A or AAAA: then *OUT is the answer, which
 * is DNS_NO_DATA if it has only addresses of the other family. */
MUST_CHECK bool dns_hosts_find(const struct dns_hosts *hosts, const char *name, enum dns_type type,
			       struct dns_hosts_answer *out);

#endif
