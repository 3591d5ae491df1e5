// SPDX-License-Identifier: ISC
/*
 * tls/mutual.h - contexts for peers that know each other: both sides show a certificate that an
 * authority of theirs has signed, or the handshake fails.
 *
 * The rules are those of tls/context.h. The private key is the signer's (tls/signer.h), so that
 * tls_connection_on_resume() is to be set before a handshake.
 */
#ifndef TLS_MUTUAL_H
#define TLS_MUTUAL_H

#include "base/attributes.h"
#include "base/buffer.h"
#include "tls/context.h"
#include "tls/signer.h"

struct tls_mutual_settings {
	struct str chain;                /* PEM: our certificate, then the intermediate ones */
	struct str authorities;          /* PEM: at least one */
	const struct tls_signer *signer; /* must outlive the context and its connections */
	/* The only protocol accepted from peers that use ALPN (RFC 7301); NULL: it is not used. */
	const char *protocol;
};

/* 0; or -EINVAL with a REASON. The context is freed by tls_context_free(), after which its
 * connections may go on, also with their handshakes. */
MUST_CHECK int tls_mutual_open(enum tls_side side, const struct tls_mutual_settings *settings,
			       struct tls_context **context_out, struct buffer *reason);

#endif
