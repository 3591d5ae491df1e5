// SPDX-License-Identifier: ISC
/*
 * tls/context.h - our certificate and the trusted authorities for TLS, read from files once, before
 * the sandbox is entered.
 *
 * TLS 1.2 and 1.3 (RFC 5246, RFC 8446) with ciphers that have forward secrecy and authenticate
 * (RFC 9325 section 4); no renegotiation, compression or session resumption.
 */
#ifndef TLS_CONTEXT_H
#define TLS_CONTEXT_H

#include "base/attributes.h"
#include "base/buffer.h"

struct tls_context;

enum tls_side { TLS_SERVER, TLS_CLIENT };

struct tls_settings { /* texts; "" means NULL */
	/* PEM: our certificate, then the intermediate ones. NULL: a client without a
	 * certificate. */
	const char *certificate;
	const char *key; /* PEM, without a passphrase. NULL: in the certificate's file */
	/* PEM: one of these must have signed the peer's certificate. NULL: peers are not
	 * verified. */
	const char *authority;
	/* The only protocol accepted from peers that use ALPN (RFC 7301). NULL: ALPN is not
	 * used. */
	const char *protocol;
};

/* Reads the files. 0; or -errno, with "FILE: why" in REASON: -ENOENT, -EACCES, -EINVAL for invalid
 * contents. */
MUST_CHECK int tls_context_open(enum tls_side side, const struct tls_settings *settings,
				struct tls_context **context_out, struct buffer *reason);
/* Connections may stay open if their handshake is done; there must be no others. NULL is allowed.
 * */
void tls_context_free(struct tls_context *context);

#endif
