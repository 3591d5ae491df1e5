// SPDX-License-Identifier: ISC
/*
 * deliver/remote/route/route.h - the next hop for a domain.
 *
 * smtproutes and qmtproutes as in s/qmail: for the null sender first "!", then the domain itself,
 * then ".suffix", the longest first, then "". At each of these qmtproutes comes before smtproutes.
 * Before "" comes the sender's route of senderroutes (deliver/remote/route/sender.h), unless its
 * relay is empty. The first one found decides; an empty relay means the domain's mail exchangers
 * after all, by SMTP, but with "!" that the search goes on.
 */
#ifndef DELIVER_REMOTE_ROUTE_ROUTE_H
#define DELIVER_REMOTE_ROUTE_ROUTE_H

#include "base/arena.h"
#include "config/config.h"
#include "dns/mx.h"
#include "os/socket/socket.h"

enum remote_hop_kind {
	REMOTE_HOP_EXCHANGERS, /* of the domain NAME */
	REMOTE_HOP_RELAY,      /* the host NAME, chosen by the operator */
	REMOTE_HOP_ADDRESS,    /* the address, chosen by the operator */
	REMOTE_HOP_LITERAL,    /* the address, chosen by the sender */
};

enum { REMOTE_HOP_KEY_SIZE = DNS_NAME_SIZE + CONFIG_USER_MAX + 24 };

struct remote_hop {
	enum remote_hop_kind kind;
	bool is_qmtp;
	uint16_t port;
	char name[DNS_NAME_SIZE];        /* also shown to people */
	union os_socket_address address; /* for ADDRESS and LITERAL */
	char user[CONFIG_USER_MAX + 1];  /* to log in as; "": no login */
	char key[REMOTE_HOP_KEY_SIZE];   /* hops with the same key are the same servers */
};

struct remote_routes;

/* What CONFIG has of them is borrowed. */
struct remote_routes *remote_routes_of(const struct config *config);
/* SMTP's alone; borrowed. */
struct remote_routes *remote_routes_new(const struct config_route *routes, size_t count);
void remote_routes_free(struct remote_routes *routes);

/* The hop for mail from SENDER to DOMAIN (lower case; may be "[literal]"). False when the domain
 * or the route's relay is not a valid host. */
MUST_CHECK bool remote_routes_choose(const struct remote_routes *routes, struct str sender,
				     struct str domain, struct remote_hop *hop_out);

/* The hop that ROUTE leads to; it has a relay. False: that is not a valid host. */
MUST_CHECK bool remote_route_hop(const struct config_route *route, bool is_qmtp,
				 struct remote_hop *hop_out);

/* The relay as sections "tls" name it: a host name, or "[address]"; NULL: there is none. */
const char *remote_hop_relay(const struct remote_hop *hop, struct arena *arena);

#endif
