// SPDX-License-Identifier: ISC
/*
 * directory/wire/transport_acceptor.h - accepts peers on other machines, by mutual TLS.
 *
 * A peer without a certificate of a trusted authority fails the handshake; one whose names
 * (tls_connection_names()) the handler does not know is rejected after it. A handshake times out
 * after ten seconds; if too many are under way, the oldest is dropped.
 */
#ifndef DIRECTORY_WIRE_TRANSPORT_ACCEPTOR_H
#define DIRECTORY_WIRE_TRANSPORT_ACCEPTOR_H

#include "directory/wire/transport.h"
#include "os/loop.h"
#include "tls/connection.h"
#include "tls/context.h"
#include <stdint.h>

struct transport_acceptor;

enum { TRANSPORT_HANDSHAKES_MAX = 256 }; /* under way at once */

struct transport_acceptor_handler {
	/* The name in the peer's certificate by which it is accepted, valid until ACCEPTED; NULL:
	 * none, because of *REASON_OUT, a text for people that stays. */
	const char *(*name)(void *context, const struct tls_connection *connection,
			    const char **reason_out);
	/* Owns TRANSPORT. PEER: "NAME[ADDRESS]", valid during the call. */
	void (*accepted)(void *context, const struct directory_transport *transport,
			 const char *name, const char *peer);
	/* A peer at ADDRESS is refused, to be logged; UNSAID others were before, without a call, so
	 * that nobody can fill the log. NAME: the first of its certificate, or "". */
	void (*refused)(void *context, const char *address, const char *name, const char *reason,
			int64_t unsaid);
	/* A connection could not be accepted: ERROR. */
	void (*failed)(void *context, int error);
};

/* Accepts at LISTENING, which the caller owns. TLS (tls/mutual.h) must live until
 * transport_acceptor_configure() replaces it, or longer than the acceptor. */
struct transport_acceptor *
transport_acceptor_new(struct os_loop *loop, int listening, const struct tls_context *tls,
		       const struct transport_acceptor_handler *handler, void *context);
/* For peers that connect from now on. */
void transport_acceptor_configure(struct transport_acceptor *acceptor,
				  const struct tls_context *tls);
/* Connections already accepted stay open. NULL is allowed. */
void transport_acceptor_free(struct transport_acceptor *acceptor);

#endif
