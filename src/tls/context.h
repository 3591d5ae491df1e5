// SPDX-License-Identifier: ISC
/*
 * tls/context.h - who we are to others by TLS, and whom we believe: what is read from
 * files, once, before the sandbox is entered.
 *
 * TLS 1.2 and 1.3 (RFC 5246, RFC 8446) with ciphers that keep forward secrecy and
 * authenticate (RFC 9325 section 4); no renegotiation, no compression, no session that is resumed.
 */
#ifndef TLS_CONTEXT_H
#define TLS_CONTEXT_H

#include "base/attributes.h"
#include "base/buffer.h"

struct tls_context;

enum tls_side { TLS_SERVER, TLS_CLIENT };

struct tls_settings { /* texts; "" is as NULL */
	/* PEM: our certificate, then those between it and an authority. NULL: a client shows
	 * none. */
	const char *certificate;
	const char *key; /* PEM, without a passphrase. NULL: in the file of the certificate */
	/* PEM: a peer has to show a certificate that one of these stands for. NULL: any peer
	 * will do. */
	const char *authority;
	/* The only one that is spoken where the peer names some (ALPN, RFC 7301). NULL: it is not
	 * spoken of. */
	const char *protocol;
};

/* Reads the files. 0; or -errno and "FILE: why" in REASON: -ENOENT,
 * -EACCES, -EINVAL for what is in them. */
MUST_CHECK int tls_context_open(enum tls_side side, const struct tls_settings *settings,
				struct tls_context **context_out, struct buffer *reason);
/* Connections whose handshake is done live on; there may be no other ones. NULL is allowed. */
void tls_context_free(struct tls_context *context);

#endif
