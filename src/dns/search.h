// SPDX-License-Identifier: ISC
/*
 * dns/search.h - which addresses take the mail of a domain, best first.
 *
 * A domain that says that it takes no mail (RFC 7505), that does not exist, or
 * whose mail would come back to this host is a permanent failure; what the DNS
 * cannot tell now is a temporary one. Addresses that are no host's are passed by.
 */
#ifndef DNS_SEARCH_H
#define DNS_SEARCH_H

#include "dns/mx.h"
#include "dns/self.h"
#include "mail/verdict.h"
#include "os/socket.h"

enum { DNS_SERVERS_MAX = 10 };

struct dns_server {
	union os_socket_address address;
	const char *host; /* the name that had this address */
};

struct dns_servers {
	struct mail_verdict verdict; /* MAIL_OK, or why there are none */
	struct dns_server list[DNS_SERVERS_MAX];
	size_t count;
};

struct dns_search;

/* Searches the mail exchangers of DOMAIN. SELF is used during the call and until
 * DONE. DONE is called once, never before this returns; SERVERS are valid until
 * dns_search_free(). */
struct dns_search *dns_search_exchangers(struct dns_resolver *resolver, const char *domain,
					 const struct dns_self *self, uint16_t port,
					 void (*done)(void *context,
						      const struct dns_servers *servers),
					 void *context);
/* Searches the addresses of HOST, a relay that the operator chose: any address
 * will do, and what is wrong is temporary. */
struct dns_search *dns_search_relay(struct dns_resolver *resolver, const char *host, uint16_t port,
				    void (*done)(void *context, const struct dns_servers *servers),
				    void *context);
/* Cancels it when it is not done. NULL is allowed. */
void dns_search_free(struct dns_search *search);

#endif
