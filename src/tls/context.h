// SPDX-License-Identifier: ISC
/*
 * tls/context.h - what the connections of a side share: our certificate, trusted authorities, and
 * the rules. tls/identity.h and tls/mutual.h make it.
 *
 * TLS 1.2 and 1.3 (RFC 5246, RFC 8446) with ciphers that have forward secrecy and authenticate
 * (RFC 9325 section 4); no renegotiation or compression.
 */
#ifndef TLS_CONTEXT_H
#define TLS_CONTEXT_H

struct tls_context;

enum tls_side { TLS_SERVER, TLS_CLIENT };

/* Connections may stay open if their handshake is done; there must be no others. NULL is allowed.
 * */
void tls_context_free(struct tls_context *context);

#endif
