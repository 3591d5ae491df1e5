// SPDX-License-Identifier: ISC
/*
 * directory/server/acceptor.h - accepts the directory's clients on other machines, by mutual TLS.
 *
 * A client without a certificate of a trusted authority fails the handshake; one whose names
 * (tls_connection_names()) are not in the configuration is rejected after it. Both are logged
 * (directory_refused). A handshake times out after ten seconds; if too many are under way, the
 * oldest is dropped.
 */
#ifndef DIRECTORY_SERVER_ACCEPTOR_H
#define DIRECTORY_SERVER_ACCEPTOR_H

#include "config/config.h"
#include "directory/wire/transport.h"
#include "os/loop.h"
#include "tls/context.h"

struct directory_acceptor;

#define DIRECTORY_TLS_PROTOCOL "stagepost-directory/1" /* ALPN; optional for clients */

enum { DIRECTORY_HANDSHAKES_MAX = 256 }; /* under way at once */

/* Called for a new client with ROLES (enum directory_role); PEER is "NAME[ADDRESS]", valid during
 * the call. The callback owns TRANSPORT. */
typedef void directory_accepted(void *context, const struct directory_transport *transport,
				unsigned roles, const char *peer);

/* Accepts at LISTENING, which the caller owns. TLS (tls/mutual.h) and CONFIG (its readers and
 * changers) must live until directory_acceptor_configure() replaces them, or longer than the
 * acceptor. */
struct directory_acceptor *directory_acceptor_new(struct os_loop *loop, int listening,
						  const struct tls_context *tls,
						  const struct config_directory *config,
						  directory_accepted *accepted, void *context);
/* For clients that connect from now on; CONFIG also counts for those whose handshake is under way.
 */
void directory_acceptor_configure(struct directory_acceptor *acceptor,
				  const struct tls_context *tls,
				  const struct config_directory *config);
/* Connections already accepted stay open. NULL is allowed. */
void directory_acceptor_free(struct directory_acceptor *acceptor);

#endif
