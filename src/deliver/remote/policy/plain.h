// SPDX-License-Identifier: ISC
/*
 * deliver/remote/policy/plain.h - servers where TLS may be left out. Those whose TLS has failed a
 * short while ago get plain text at once, so that a handshake that stalls does not delay each
 * message. So do those whose connections break inside TLS again and again, before a message was
 * sent: somebody between us may not be up to it. Those whose TLS worked within a day and is not
 * offered any more get plain text, too, but that is logged: somebody may have taken STARTTLS out of
 * what they offer.
 */
#ifndef DELIVER_REMOTE_POLICY_PLAIN_H
#define DELIVER_REMOTE_POLICY_PLAIN_H

#include "dns/search.h"
#include "os/socket/socket.h"
#include <stdbool.h>

/* So many connections in a row to a server must break inside TLS. */
enum { REMOTE_PLAIN_BREAKS = 2 };

/* At most 1000 servers of each kind, each for 15 minutes, or an hour if connections break; the most
 * recent ones stay. */
struct remote_plain;

struct remote_plain *remote_plain_new(void);
void remote_plain_free(struct remote_plain *plain);
/* Also logs it, with the REASON. */
void remote_plain_add(struct remote_plain *plain, const struct dns_server *server,
		      const char *reason);
/* Whether TLS may be left out. HAS_LOGIN: a password would go by the connection, too, for which it
 * is not enough that others broke. */
bool remote_plain_has(struct remote_plain *plain, const union os_socket_address *address,
		      bool has_login);

/* A connection to SERVER was lost after EHLO and before the message was sent, because of REASON: by
 * TLS (IS_TLS), which may be left out; or in plain text, as TLS was. Then TLS was not to blame, and
 * is used again. */
void remote_plain_broke(struct remote_plain *plain, const struct dns_server *server, bool is_tls,
			const char *reason);
/* A connection by TLS has not been lost so. */
void remote_plain_held(struct remote_plain *plain, const struct dns_server *server);

/* A connection to SERVER is used, and would have had TLS if that had been offered. At most 10,000
 * servers with TLS are remembered; the most recent ones stay. */
void remote_plain_learn(struct remote_plain *plain, const struct dns_server *server,
			bool is_secured, bool is_refused);

#endif
