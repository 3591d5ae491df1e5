// SPDX-License-Identifier: ISC
/*
 * intake/security/security.h - TLS of the sessions of a listener: with which certificates, and who
 * may relay by one of his own.
 */
#ifndef INTAKE_SECURITY_SECURITY_H
#define INTAKE_SECURITY_SECURITY_H

#include "config/config.h"
#include "os/loop.h"
#include "tls/context.h"

/* All of a process: the certificates, from the process "keys". */
struct intake_tls;

/* One listener's. */
struct intake_security;

/* PATH: the socket of "keys". CHANGED is called whenever certificates have come from there, and are
 * in use. CONFIG stays valid until the next intake_tls_configure(). */
struct intake_tls *intake_tls_new(struct os_loop *loop, const char *path,
				  const struct config *config, void (*changed)(void *context),
				  void *context);
void intake_tls_configure(struct intake_tls *tls, const struct config *config);

/* For the sessions of LISTEN, of which it keeps a copy; lives as long as the process. TLS is NULL
 * if the configuration has none. */
struct intake_security *intake_security_new(struct intake_tls *tls,
					    const struct config_listen *listen);
/* The context for new connections; NULL: there is no TLS, or no certificate at the moment. */
const struct tls_context *intake_security_context(const struct intake_security *security);
/* Whether a client at ADDRESS may connect at all. */
bool intake_security_admits(const struct intake_security *security, const struct in6_addr *address);
/* Whether those who may connect may also relay. */
bool intake_security_trusts_all(const struct intake_security *security);
/* Whether it is to have TLS, for which no certificate can be used now: then nobody is served. */
bool intake_security_lacks_tls(const struct intake_security *security);
/* Whether TLS begins with the connection. */
bool intake_security_is_implicit(const struct intake_security *security);

/* Whether AUTH is offered without TLS to a client that IS_LOCAL, by loopback or a UNIX socket. */
bool intake_security_allows_clear_auth(const struct intake_security *security, bool is_local);
/* Whether mechanisms that bind to the connection are offered. */
bool intake_security_offers_binding(const struct intake_security *security);
/* "submission" */
const char *intake_security_protocol(const struct intake_security *security);

struct tls_connection;
/* Whether the client of CONNECTION may relay by its certificate. */
bool intake_security_may_relay(const struct intake_security *security,
			       const struct tls_connection *connection);

#endif
