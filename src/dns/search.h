// SPDX-License-Identifier: ISC
/*
 * dns/search.h - the addresses to which mail of a domain can be sent, by preference.
 *
 * It is a permanent failure if a domain declares that it accepts no mail (RFC 7505), does not
 * exist, or is to be delivered to this host; if the DNS cannot answer now, it is a temporary one.
 * Addresses that cannot be those of a host are ignored. Equal exchangers, and the addresses of one
 * host, come in random order.
 */
#ifndef DNS_SEARCH_H
#define DNS_SEARCH_H

#include "dns/mx.h"
#include "dns/self.h"
#include "mail/verdict.h"
#include "os/socket/socket.h"

enum { DNS_SERVERS_MAX = 10 };

struct dns_server {
	union os_socket_address address;
	const char *host; /* the name to which the address belongs */
	/* For dns/tlsa.h, from a search. */
	const char *canonical;    /* what HOST is an alias of in the end; HOST if of nothing */
	bool is_host_secure;      /* no DNS has chosen HOST, or DNSSEC proves that it is right */
	bool is_addresses_secure; /* DNSSEC proves that all of HOST's addresses are right */
};

struct dns_servers {
	struct mail_verdict verdict; /* MAIL_OK, or why there are no addresses */
	struct dns_server list[DNS_SERVERS_MAX];
	size_t count;
	bool is_backup; /* this host is an exchanger too, after those of the list */
};

/* Of the addresses of each host, in turn one of each family, or only those of one. */
enum dns_families { DNS_IPV6_FIRST, DNS_IPV4_FIRST, DNS_IPV4_ONLY, DNS_IPV6_ONLY };

struct dns_search;

/* Searches for the mail exchangers of DOMAIN. SELF must live until DONE. Calls DONE once, never
 * before returning; SERVERS are valid until dns_search_free(). */
struct dns_search *dns_search_exchangers(struct dns_resolver *resolver, const char *domain,
					 const struct dns_self *self, uint16_t port,
					 void (*done)(void *context,
						      const struct dns_servers *servers),
					 void *context);
/* Searches for the addresses of HOST, a relay that the operator chose: any address is
 * acceptable, and every failure is temporary. */
struct dns_search *dns_search_relay(struct dns_resolver *resolver, const char *host, uint16_t port,
				    void (*done)(void *context, const struct dns_servers *servers),
				    void *context);
/* Which addresses are wanted, by default IPv6 first; before DONE is called. It is a temporary
 * failure if there are only others. */
void dns_search_prefer(struct dns_search *search, enum dns_families families);
/* Cancels it if it has not finished. NULL is allowed. */
void dns_search_free(struct dns_search *search);

#endif
