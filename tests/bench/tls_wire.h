// SPDX-License-Identifier: ISC
/*
 * tests/bench/tls_wire.h - a socket of a load generator or sink, with or without TLS: as few calls
 * as possible, because these programs share the processors with what they measure.
 *
 * What is written is gathered, and leaves by one send() (tls_wire_flush()), so that the last flight
 * of a handshake and the command after it are one segment. One read takes what is there.
 */
#ifndef BENCH_TLS_WIRE_H
#define BENCH_TLS_WIRE_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <sys/types.h>

struct tls_wire {
	int socket;
	SSL *tls; /* NULL: plain text */
	char *out;
	size_t out_length, out_size;
};

/* "PROGRAM: WHAT: WHY" to standard error, and the end. */
_Noreturn void tls_wire_fail(const char *what, const char *why);
/* The same, with OpenSSL's error. */
_Noreturn void tls_wire_fail_tls(const char *what);

/* What both sides need of a context: no buffers for idle connections, reading ahead. CIPHERS of
 * TLS 1.3; NULL: OpenSSL's. */
void tls_wire_prepare(SSL_CTX *context, const char *ciphers);

/* Keeps the memory that WIRE, which was closed or is zeroed, has. */
void tls_wire_open(struct tls_wire *wire, int socket);
/* From now on with TLS; then SSL_set_connect_state(wire->tls) or SSL_set_accept_state(). */
void tls_wire_secure(struct tls_wire *wire, SSL_CTX *context);
/* Without close_notify: nobody waits for it. */
void tls_wire_close(struct tls_wire *wire);
/* Gives its memory back; nothing must be unsent. */
void tls_wire_shrink(struct tls_wire *wire);

/* 1: the handshake is done; 0: it waits for the other side; -1: it has failed. */
int tls_wire_shake_hands(struct tls_wire *wire);
/* How many bytes; 0: the end; -1: nothing now; -2: the connection is lost. */
ssize_t tls_wire_read(struct tls_wire *wire, char *place, size_t room);
/* Whether a read may return something that poll does not report. */
bool tls_wire_has_more(const struct tls_wire *wire);
void tls_wire_write(struct tls_wire *wire, const char *text, size_t length);
/* 1: all is sent; 0: it has to wait until the socket can be written; -1: the connection is lost. */
int tls_wire_flush(struct tls_wire *wire);

#endif
