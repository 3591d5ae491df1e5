// SPDX-License-Identifier: ISC
/*
 * deliver/remote/policy/plain.h - servers where TLS may be left out. Those whose TLS has failed a
 * short while ago get plain text at once, so that a handshake that stalls does not delay each
 * message. Those whose TLS worked within a day and is not offered any more get plain text, too, but
 * that is logged: somebody may have taken STARTTLS out of what they offer.
 */
#ifndef DELIVER_REMOTE_POLICY_PLAIN_H
#define DELIVER_REMOTE_POLICY_PLAIN_H

#include "dns/search.h"
#include "os/socket/socket.h"
#include <stdbool.h>

/* At most 1000 servers, each for 15 minutes; the most recent ones stay. */
struct remote_plain;

struct remote_plain *remote_plain_new(void);
void remote_plain_free(struct remote_plain *plain);
/* Also logs it, with the REASON. */
void remote_plain_add(struct remote_plain *plain, const struct dns_server *server,
		      const char *reason);
bool remote_plain_has(struct remote_plain *plain, const union os_socket_address *address);

/* A connection to SERVER is used, and would have had TLS if that had been offered. At most 10,000
 * servers with TLS are remembered; the most recent ones stay. */
void remote_plain_learn(struct remote_plain *plain, const struct dns_server *server,
			bool is_secured, bool is_refused);

#endif
