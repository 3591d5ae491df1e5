// SPDX-License-Identifier: ISC
/*
 * intake/client.h - how many sessions each client has: an IPv4 address, or an IPv6
 * network of 64 bits, since whoever has one address there has them all.
 */
#ifndef INTAKE_CLIENT_H
#define INTAKE_CLIENT_H

#include "base/attributes.h"
#include <netinet/in.h>
#include <stdint.h>

struct intake_client;

/* One session more for the client at ADDRESS (IPv4 mapped). NULL, and no session more,
 * when it has LIMIT of them. *CLIENTS is all of them; NULL at first. */
MUST_CHECK struct intake_client *
intake_client_enter(struct intake_client **clients, const struct in6_addr *address, uint32_t limit);
/* One session less. Frees the client with its last one. */
void intake_client_leave(struct intake_client **clients, struct intake_client *client);

#endif
