// SPDX-License-Identifier: ISC
/*
 * auth/server/failures.h - how often authentication has failed of late: for each client, its
 * network, and each user.
 *
 * A client is an address of IPv4, or a /64 of IPv6, of which one machine has all addresses; its
 * network is the /24 or /48. Each failure is answered late, the later the more there were. Over a
 * limit a client, or its network, is refused for a while without a check. A user is never shut out:
 * whoever knows his name could do that to him.
 *
 * Counts are forgotten some time after the last failure. The tables are bounded: the failure that
 * is the longest ago makes room.
 */
#ifndef AUTH_SERVER_FAILURES_H
#define AUTH_SERVER_FAILURES_H

#include "base/str.h"
#include "base/timestamp.h"
#include "config/config.h"
#include <netinet/in.h>

enum {
	AUTH_FAILURES_MAX = 100000, /* entries */
	AUTH_FAILURES_NETWORK = 5,  /* times as many failures of a network as of a client */
};

#define AUTH_DELAY_LEAST_US (SECOND_US / 2)
#define AUTH_DELAY_MOST_US  (5 * SECOND_US)

struct auth_failures;

struct auth_failures_settings {
	unsigned limit;                      /* of a client; 0: none */
	int64_t memory_us;                   /* after the last failure */
	const struct config_network *exempt; /* clients that are many users: only the failures of
					      * each user count there. Borrowed */
	size_t exempt_count;
};

struct auth_failures *auth_failures_new(void);
/* NULL is allowed. */
void auth_failures_free(struct auth_failures *failures);
/* Applies to what is counted already, too. */
void auth_failures_configure(struct auth_failures *failures,
			     const struct auth_failures_settings *settings);

/* Whether the client, or its network, is over the limit. */
bool auth_failures_is_refused(struct auth_failures *failures, const struct in6_addr *client,
			      int64_t now_us);
/* The client's failures of late. */
unsigned auth_failures_count(struct auth_failures *failures, const struct in6_addr *client,
			     int64_t now_us);
/* Counts a failure; USER: empty if no valid name was said. Returns how long after the attempt to
 * answer. */
int64_t auth_failures_add(struct auth_failures *failures, const struct in6_addr *client,
			  struct str user, int64_t now_us);
/* USER has succeeded from CLIENT: his failures there are forgotten. Those of other users are not,
 * or somebody with a password of his own could guess those of others. */
void auth_failures_forgive(struct auth_failures *failures, const struct in6_addr *client,
			   struct str user);

/* What of ADDRESS (IPv4 mapped) is one client. */
struct in6_addr auth_failures_client(const struct in6_addr *address);

#endif
