// SPDX-License-Identifier: ISC
/*
 * world/tls_internal.h - src/tls/ of the world: records and a handshake as of TLS, without
 * cryptography. A certificate says "certificate NAME AUTHORITY" in its PEM block, an authority
 * "authority AUTHORITY".
 *
 * A record is its type, two bytes with the length, and so many bytes. Each side begins with a
 * HELLO: its name, who signed that, and its protocol. As with TLS 1.3 a client is done when it has
 * the server's, and learns later what the server thinks of its own.
 */
#ifndef WORLD_TLS_INTERNAL_H
#define WORLD_TLS_INTERNAL_H

#include "tls/client.h"
#include "tls/connection.h"

enum { NAME_SIZE = 64, HEAD = 3, RECORD_MAX = 16384 };

struct tls_context {
	enum tls_side side;
	char name[NAME_SIZE];      /* ours; "": none */
	char signed_by[NAME_SIZE]; /* who vouches for it */
	char authority[NAME_SIZE]; /* "": peers are not verified */
	char protocol[NAME_SIZE];
};

struct tls_connection {
	struct tls_context context; /* as it was when it began */
	int socket;
	char wanted[NAME_SIZE]; /* the name of the peer; "": any */
	char peer[NAME_SIZE];
	const char *names[1];  /* the same, once it is verified */
	const char *authority; /* of a client's own request; NULL: the context's */
	bool has_protocol;
	bool is_shaken; /* the peer's HELLO has come, and is good */
	bool has_ended; /* END has come */
	int error;
	const char *reason;
	/* to be sent */
	char out[HEAD + RECORD_MAX];
	size_t out_size;
	size_t out_sent;
	size_t promised; /* bytes in OUT that the next write reports */
	/* received: of one record */
	char in[HEAD + RECORD_MAX];
	size_t in_size;
	size_t in_read; /* of its content */
};

/* Bytes of the record in IN. */
size_t tls_connection_content_size(const struct tls_connection *connection);

#endif
