// SPDX-License-Identifier: ISC
/*
 * deliver/remote/route/source.h - from which section source a connection to a server comes, and
 * from which of its addresses.
 *
 * The first that applies: sender_sources for the sender (deliver/remote/route/sender.h),
 * domain_sources for the recipients' domain, the class of the server, setting source. Of the
 * addresses of the server's family the one is next that was used longest ago for that server's
 * host; what is known about the hosts is bounded, and begins anew with each configuration.
 */
#ifndef DELIVER_REMOTE_ROUTE_SOURCE_H
#define DELIVER_REMOTE_ROUTE_SOURCE_H

#include "config/config.h"
#include "dns/search.h"

/* Of "NAME[ADDRESS]". */
enum { REMOTE_SOURCE_SIZE = 40 + OS_SOCKET_TEXT_SIZE };

struct remote_sources;

/* Borrows CONFIG. */
struct remote_sources *remote_sources_new(const struct config *config);
/* NULL is allowed. */
void remote_sources_free(struct remote_sources *sources);

/* What the settings for senders and domains say; NULL: nothing. */
const struct config_source *remote_sources_of_mail(const struct remote_sources *sources,
						   struct str sender, struct str domain);
/* What is said about SERVER; NULL: nothing, the system chooses. */
const struct config_source *remote_sources_of_server(const struct remote_sources *sources,
						     const struct dns_server *server);

/* Connects to SERVER from the next address of SOURCE that this machine has: a descriptor, and the
 * address; logs those that it does not have. -EADDRNOTAVAIL: it has none of the family; or another
 * -errno. */
MUST_CHECK int remote_source_connect(struct remote_sources *sources,
				     const struct config_source *source,
				     const struct dns_server *server, struct in6_addr *address_out);

/* Why not, after -EADDRNOTAVAIL: nothing can be said about SERVER. */
void remote_source_explain(const struct config_source *source, const struct dns_server *server,
			   struct mail_verdict *verdict_out);

#endif
