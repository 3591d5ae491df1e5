// SPDX-License-Identifier: ISC
/* tls/connection/internal.h - a connection, for the files that know parts of it. */
#ifndef TLS_CONNECTION_INTERNAL_H
#define TLS_CONNECTION_INTERNAL_H

#include "tls/connection.h"
#include "tls/internal.h"

struct tls_connection {
	SSL *openssl;
	struct tls_identity *identity; /* NULL: the context has no signer */
	struct tls_socket socket;
	bool is_made; /* the handshake is done */
	int failure;  /* -errno; the connection cannot be used any more */
	bool has_said_end;
	bool is_drained;     /* the last read has found nothing whole */
	unsigned read_wants; /* also for the handshake */
	unsigned write_wants;
	struct tls_job job;   /* the handshake's, if a signer signs */
	struct buffer reason; /* ends with a NUL, unless empty */
	struct arena *arena;
	const char *const *names;
	size_t name_count;
	const char *email; /* in ARENA; NULL: none */
};

/* After the handshake: makes what tls_connection_names() returns. */
void tls_peer_learn(struct tls_connection *connection);

#endif
