// SPDX-License-Identifier: ISC
/*
 * directory/client/dialer.h - connections to directory servers on other machines, by mutual TLS.
 *
 * The addresses of a host are tried one after the other. The server's certificate must match the
 * name that the caller expects, or else the dialled name or address. A connection counts as established when the server has begun to speak:
 * with TLS 1.3 (RFC 8446 section 4.4.2.4) the client learns only then that it was accepted.
 */
#ifndef DIRECTORY_CLIENT_DIALER_H
#define DIRECTORY_CLIENT_DIALER_H

#include "directory/wire/transport.h"
#include "dns/resolver.h"
#include "os/loop.h"
#include "tls/context.h"

struct directory_tls_dialer;

/* TLS, a client's context (tls/mutual.h), must outlive the dialer or be replaced; while it is NULL,
 * dials wait for one, and fail with -EACCES after five seconds. RESOLVER must outlive it, too; if
 * NULL, only literal addresses can be dialled. */
struct directory_tls_dialer *directory_tls_dialer_new(struct os_loop *loop,
						      const struct tls_context *tls,
						      struct dns_resolver *resolver);
/* For directory_client_new(); valid while the dialer exists. */
const struct directory_dialer *directory_tls_dialer(struct directory_tls_dialer *dialer);
/* Replaces the context. Handshakes under way keep the one that they began with. */
void directory_tls_dialer_configure(struct directory_tls_dialer *dialer,
				    const struct tls_context *tls);
/* No dial may be under way. NULL is allowed. */
void directory_tls_dialer_free(struct directory_tls_dialer *dialer);

#endif
