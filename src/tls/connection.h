// SPDX-License-Identifier: ISC
/*
 * tls/connection.h - TLS over a non-blocking socket.
 *
 * Nothing here waits or has a timer: the owner of a connection must close it if the peer is too
 * slow. Every failure is final; tls_connection_reason() explains it.
 */
#ifndef TLS_CONNECTION_H
#define TLS_CONNECTION_H

#include "base/attributes.h"
#include "base/str.h"
#include "tls/context.h"
#include <sys/types.h>

struct tls_connection;

enum {
	TLS_NAMES_MAX = 100, /* of a certificate; further ones are ignored */
	TLS_EARLY_MAX = 2048,
	TLS_BINDING_MAX = 64,      /* bytes of a channel binding */
	TLS_FINGERPRINT_SIZE = 65, /* SHA-256 in hexadecimal, lower case, with its end */
};

/* Wraps SOCKET, which is connected, and owns it from now on. NAME, for clients: the host name or
 * literal address that the server's certificate must have among its alternative names (RFC 9525; a
 * wildcard is a whole label). NULL: any certificate that an authority has signed; also for servers.
 */
struct tls_connection *tls_connection_new(const struct tls_context *context, int socket,
					  const char *name);
/* Sends close_notify, if possible without waiting, and closes the socket. NULL is allowed. */
void tls_connection_free(struct tls_connection *connection);

/* While somebody else signs for it (tls/signer.h), a handshake returns -EAGAIN and wants no events.
 * RESUME is called when it can go on: tls_connection_handshake() again. RESUME may free the
 * connection. To be set before the handshake of a context of tls/identity.h. */
void tls_connection_on_resume(struct tls_connection *connection, void (*resume)(void *context),
			      void *context);
/* 0: both sides have authenticated each other (but see tls_connection_read()); -EAGAIN: see
 * tls_connection_wants(); -EACCES: one side rejects the other; -ECONNRESET: the peer has closed the
 * connection; -EPROTO: no TLS, or no common version or parameters; another -errno of the socket. */
MUST_CHECK int tls_connection_handshake(struct tls_connection *connection);

/* As os_socket_read(): 0 after close_notify. If the connection ends without it, -ECONNRESET, so
 * that a truncation is detected. With TLS 1.3 a client learns here that the server rejects its
 * certificate: -EACCES. After a read of SIZE bytes, more may be buffered that poll does not
 * report. */
MUST_CHECK ssize_t tls_connection_read(struct tls_connection *connection, void *data, size_t size);
/* 1 if something can be read; else as tls_connection_read(). */
MUST_CHECK int tls_connection_peek(struct tls_connection *connection);
/* As os_socket_write(). After -EAGAIN the next call must pass the same bytes first, at any
 * address, and may pass more. */
MUST_CHECK ssize_t tls_connection_write(struct tls_connection *connection, const void *data,
					size_t size);
/* The same of what more follows at once, or the end: os_socket_write_part(). */
MUST_CHECK ssize_t tls_connection_write_part(struct tls_connection *connection, const void *data,
					     size_t size);
/* Sends close_notify, so nothing more can be written (RFC 8446 section 6.1): 0, or as write. */
MUST_CHECK int tls_connection_close_notify(struct tls_connection *connection);

/* The events (enum os_watch_events) to wait for after -EAGAIN: of the handshake until it is done;
 * then for reading, and for writing if HAS_OUTPUT. */
unsigned tls_connection_wants(const struct tls_connection *connection, bool has_output);
/* Those for writing alone. */
unsigned tls_connection_write_wants(const struct tls_connection *connection);
/* Whether something may be read that poll does not report; false after a read that was -EAGAIN. */
bool tls_connection_has_pending(const struct tls_connection *connection);
/* Whether a handshake waits for a signature by our own private key, or has failed because there was
 * none: the other side is not to blame. */
bool tls_connection_lacks_signature(const struct tls_connection *connection);
/* BYTES of the peer were already read from the socket, at most TLS_EARLY_MAX: they come first.
 * Before the handshake. */
void tls_connection_preload(struct tls_connection *connection, struct str bytes);
int tls_connection_socket(const struct tls_connection *connection);
/* Why it failed: "certificate has expired". "" if it has not. */
const char *tls_connection_reason(const struct tls_connection *connection);

/* After the handshake: the names in the peer's certificate, which are the DNS names in
 * subjectAltName, or without these the common name (RFC 6125 section 6.4.4). NULL if the peer sent
 * no certificate, or it was not verified. */
const char *const *tls_connection_names(const struct tls_connection *connection, size_t *count_out);
/* Whether NAME is one of these, ignoring case: no wildcards. */
bool tls_connection_has_name(const struct tls_connection *connection, const char *name);
/* The first e-mail address in subjectAltName of a verified certificate; NULL: none. */
const char *tls_connection_email(const struct tls_connection *connection);
/* Whether it has a certificate that an authority of ours has signed. */
bool tls_connection_is_verified(const struct tls_connection *connection);
/* SHA-256 of the peer's certificate and of its SubjectPublicKeyInfo. False: it sent none. */
bool tls_connection_fingerprints(const struct tls_connection *connection,
				 char certificate_out[TLS_FINGERPRINT_SIZE],
				 char key_out[TLS_FINGERPRINT_SIZE]);
/* The channel bindings "tls-exporter" (RFC 9266), and "tls-server-end-point" (RFC 5929 section 4.1)
 * of the server's certificate: their bytes, or 0 if the connection has none. */
size_t tls_connection_exporter(const struct tls_connection *connection,
			       unsigned char out[TLS_BINDING_MAX]);
size_t tls_connection_end_point(const struct tls_connection *connection,
				unsigned char out[TLS_BINDING_MAX]);
/* "TLSv1.3" and "TLS_AES_256_GCM_SHA384" */
const char *tls_connection_version(const struct tls_connection *connection);
const char *tls_connection_cipher(const struct tls_connection *connection);
/* Whether both sides have agreed on the protocol (ALPN) of the settings. */
bool tls_connection_has_protocol(const struct tls_connection *connection);

#endif
