// SPDX-License-Identifier: ISC
/*
 * directory/client/dialer.h - connections to directory servers on other machines, by mutual TLS.
 *
 * The addresses of a host are tried one after the other. The server's certificate has to be of
 * the name, or the address, that was dialled. A connection is made when the server has
 * begun to speak: by TLS 1.3 (RFC 8446 section 4.4.2.4) only then it is known that it takes us.
 */
#ifndef DIRECTORY_CLIENT_DIALER_H
#define DIRECTORY_CLIENT_DIALER_H

#include "directory/wire/transport.h"
#include "dns/resolver.h"
#include "os/loop.h"
#include "tls/context.h"

struct directory_tls_dialer;

/* TLS, of a client, outlives it, or is replaced; NULL: whoever is dialled is not reached, -EACCES.
 * RESOLVER outlives it, too; NULL: only literals of addresses are dialled. */
struct directory_tls_dialer *directory_tls_dialer_new(struct os_loop *loop,
						      const struct tls_context *tls,
						      struct dns_resolver *resolver);
/* What directory_client_new() takes; as long as the dialer lives. */
const struct directory_dialer *directory_tls_dialer(struct directory_tls_dialer *dialer);
/* For what is dialled from now on. What is being dialled fails with -ECANCELED. */
void directory_tls_dialer_configure(struct directory_tls_dialer *dialer,
				    const struct tls_context *tls);
/* With nothing being dialled. NULL is allowed. */
void directory_tls_dialer_free(struct directory_tls_dialer *dialer);

#endif
