// SPDX-License-Identifier: ISC
/*
 * intake/limit/client.h - counts the sessions of each client: an IPv4 address, or an IPv6 /64
 * network, because a client with one address there can use all of them.
 */
#ifndef INTAKE_LIMIT_CLIENT_H
#define INTAKE_LIMIT_CLIENT_H

#include "base/attributes.h"
#include <netinet/in.h>
#include <stdint.h>

struct intake_client;

/* Counts one more session for the client at ADDRESS (IPv4 mapped). NULL, and nothing counted,
 * when it has LIMIT of them. *CLIENTS is the set of all clients; NULL at first. */
MUST_CHECK struct intake_client *
intake_client_enter(struct intake_client **clients, const struct in6_addr *address, uint32_t limit);
/* Counts one session less. Frees the client with its last one. */
void intake_client_leave(struct intake_client **clients, struct intake_client *client);

#endif
