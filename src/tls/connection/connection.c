// SPDX-License-Identifier: ISC
#include "tls/connection.h"
#include "base/panic.h"
#include "os/loop.h"
#include "os/socket/socket.h"
#include "tls/connection/internal.h"
#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>

/* A literal is compared with the certificate's addresses, and not sent as SNI. */
enum { OFFERED_MAX = 12 }; /* ciphers of a client that are named */

static void expect_name(SSL *openssl, const char *name)
{
	union os_socket_address address;
	X509_VERIFY_PARAM *rules = SSL_get0_param(openssl);
	int is_set;

	if (os_socket_address_parse(name, 0, &address)) {
		is_set = X509_VERIFY_PARAM_set1_ip_asc(rules, name);
	} else {
		tls_rules_set_names(rules, TLS_COMMON_NAME_NEVER);
		is_set = X509_VERIFY_PARAM_set1_host(rules, name, 0) == 1 &&
			 SSL_set_tlsext_host_name(openssl, name) == 1;
	}
	if (is_set != 1)
		panic("no memory for TLS");
}

struct tls_connection *tls_connection_wrap(SSL *openssl, struct tls_identity *identity,
					   enum tls_side side, int socket)
{
	struct tls_connection *connection = memory_alloc_zero(1, sizeof *connection);
	BIO *bio = tls_socket_bio(&connection->socket);

	connection->socket.descriptor = socket;
	connection->socket.openssl = openssl;
	connection->openssl = openssl;
	SSL_set_bio(openssl, bio, bio);
	if (side == TLS_SERVER)
		SSL_set_accept_state(openssl);
	else
		SSL_set_connect_state(openssl);
	connection->read_wants = side == TLS_SERVER ? OS_WATCH_READ : OS_WATCH_WRITE;
	connection->write_wants = OS_WATCH_WRITE;
	if (identity != NULL) {
		connection->identity = tls_identity_hold(identity);
		(void)SSL_set_mode(openssl, SSL_MODE_ASYNC);
	}
	return connection;
}

struct tls_connection *tls_connection_new(const struct tls_context *context, int socket,
					  const char *name)
{
	SSL *openssl;

	tls_errors_clear();
	openssl = SSL_new(context->openssl);
	if (openssl == NULL)
		panic("no memory for TLS");
	if (context->side == TLS_CLIENT && name != NULL)
		expect_name(openssl, name);
	return tls_connection_wrap(openssl, context->identity, context->side, socket);
}

SSL *tls_connection_openssl(const struct tls_connection *connection)
{
	return connection->openssl;
}

void tls_connection_free(struct tls_connection *connection)
{
	if (connection == NULL)
		return;
	connection->socket.has_more = true; /* the end */
	if (connection->is_made && connection->failure == 0 && !connection->has_said_end)
		(void)!tls_connection_close_notify(connection);
	tls_job_end(&connection->job, connection->openssl);
	SSL_free(connection->openssl);
	tls_identity_release(connection->identity);
	/* so that the peer can still read an alert */
	os_socket_close_politely(connection->socket.descriptor);
	buffer_clear(&connection->reason);
	buffer_clear(&connection->socket.early);
	arena_free(connection->arena);
	free(connection);
	tls_errors_clear();
}

/* Whether the error is about one side's certificate. */
static bool is_certificate_refusal(unsigned long error)
{
	switch (ERR_GET_REASON(error)) {
	case SSL_R_CERTIFICATE_VERIFY_FAILED:
	case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
	case SSL_R_NO_CERTIFICATES_RETURNED:
	case SSL_R_SSLV3_ALERT_NO_CERTIFICATE:
	case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
	case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
	case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
	case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
	case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
	case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
	case SSL_R_TLSV1_ALERT_ACCESS_DENIED:
	case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
		return true;
	default:
		return false;
	}
}

static const char *version_name(int version)
{
	switch (version) {
	case SSL3_VERSION:
		return "SSLv3";
	case TLS1_VERSION:
		return "TLSv1";
	case TLS1_1_VERSION:
		return "TLSv1.1";
	case TLS1_2_VERSION:
		return "TLSv1.2";
	default:
		return "another version";
	}
}

/* What the client of a server has offered, of which nothing will do. Names of OpenSSL: what it does
 * not know at all is left out. */
static void append_offer(const struct tls_connection *connection, struct buffer *out)
{
	STACK_OF(SSL_CIPHER) *ciphers = SSL_get_client_ciphers(connection->openssl);
	int count = ciphers != NULL ? sk_SSL_CIPHER_num(ciphers) : 0;

	buffer_append_format(out, "; offered: at most %s",
			     version_name(SSL_client_version(connection->openssl)));
	for (int i = 0; i < count && i < OFFERED_MAX; i++)
		buffer_append_format(out, "%s%s", i == 0 ? ", " : ":",
				     SSL_CIPHER_get_name(sk_SSL_CIPHER_value(ciphers, i)));
	if (count > OFFERED_MAX)
		buffer_append_format(out, " and %d more", count - OFFERED_MAX);
}

static bool is_about_offer(unsigned long error)
{
	switch (ERR_GET_REASON(error)) {
	case SSL_R_NO_SHARED_CIPHER:
	case SSL_R_UNSUPPORTED_PROTOCOL:
	case SSL_R_VERSION_TOO_LOW:
	case SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM:
		return true;
	default:
		return false;
	}
}

static void explain_tls_failure(struct tls_connection *connection, const char *text)
{
	struct buffer *reason = &connection->reason;
	bool is_offer = text == NULL && SSL_is_server(connection->openssl) == 1 &&
			is_about_offer(ERR_peek_error());

	if (text != NULL)
		buffer_append_string(reason, text);
	else
		tls_errors_take(reason);
	if (is_offer)
		append_offer(connection, reason);
	buffer_append_byte(reason, '\0');
}

static int fail_by_protocol(struct tls_connection *connection)
{
	unsigned long error = ERR_peek_error();
	long verified = SSL_get_verify_result(connection->openssl);

	if (connection->socket.error < 0) {
		explain_tls_failure(connection, strerror(-connection->socket.error));
		return connection->socket.error;
	}
	if (connection->job.has_failed) {
		explain_tls_failure(connection, "there is no signature by the private key");
		return -EPROTO;
	}
	if (error == 0 || ERR_GET_REASON(error) == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
		explain_tls_failure(connection, "the other side has closed the connection");
		return -ECONNRESET;
	}
	if (ERR_GET_REASON(error) == SSL_R_CERTIFICATE_VERIFY_FAILED && verified != X509_V_OK)
		explain_tls_failure(connection, X509_verify_cert_error_string(verified));
	else
		explain_tls_failure(connection, NULL);
	return is_certificate_refusal(error) ? -EACCES : -EPROTO;
}

/* The result of an OpenSSL call that returned COUNT: COUNT; -EAGAIN, with *WANTS set; or the
 * failure of the connection. */
static int conclude_tls_call(struct tls_connection *connection, int count, unsigned *wants)
{
	int status = SSL_get_error(connection->openssl, count);
	int result;

	if (count <= 0 && connection->socket.error < 0)
		status = SSL_ERROR_SYSCALL; /* also after the peer's close_notify */
	switch (status) {
	case SSL_ERROR_NONE:
		result = count;
		break;
	case SSL_ERROR_WANT_READ:
		*wants = OS_WATCH_READ;
		result = -EAGAIN;
		break;
	case SSL_ERROR_WANT_WRITE:
		*wants = OS_WATCH_WRITE;
		result = -EAGAIN;
		break;
	case SSL_ERROR_ZERO_RETURN:
		result = 0;
		break;
	default:
		connection->failure = fail_by_protocol(connection);
		result = connection->failure;
	}
	tls_errors_clear();
	return result;
}

/* As SSL_do_handshake() and conclude_tls_call(). */
static int try_handshake(struct tls_connection *connection)
{
	int count;

	if (connection->identity == NULL)
		return conclude_tls_call(connection, SSL_do_handshake(connection->openssl),
					 &connection->read_wants);
	if (tls_job_is_waiting(&connection->job))
		return -EAGAIN;
	count = tls_job_handshake(&connection->job, connection->openssl);
	if (tls_job_is_waiting(&connection->job)) {
		connection->read_wants = OS_WATCH_NONE;
		return -EAGAIN;
	}
	return conclude_tls_call(connection, count, &connection->read_wants);
}

int tls_connection_handshake(struct tls_connection *connection)
{
	int result;

	if (connection->failure < 0 || connection->is_made)
		return connection->failure;
	tls_errors_clear();
	result = try_handshake(connection);
	if (result == 0) { /* close_notify during the handshake */
		explain_tls_failure(connection, "the other side has closed the connection");
		connection->failure = -ECONNRESET;
	}
	if (result <= 0)
		return connection->failure < 0 ? connection->failure : result;
	connection->is_made = true;
	connection->read_wants = OS_WATCH_READ;
	/* nothing is signed any more, so reading and writing needs no jobs */
	(void)SSL_clear_mode(connection->openssl, SSL_MODE_ASYNC);
	tls_peer_learn(connection);
	return 0;
}

static int at_most(size_t size)
{
	return size < INT_MAX ? (int)size : INT_MAX;
}

/* OpenSSL also counts a part of a record as pending, whose rest only poll can report. */
static ssize_t note_drained(struct tls_connection *connection, ssize_t result)
{
	connection->is_drained = result == -EAGAIN;
	return result;
}

ssize_t tls_connection_read(struct tls_connection *connection, void *data, size_t size)
{
	int error = tls_connection_handshake(connection);

	if (error < 0)
		return error;
	connection->read_wants = OS_WATCH_READ;
	return note_drained(connection,
			    conclude_tls_call(connection,
					      SSL_read(connection->openssl, data, at_most(size)),
					      &connection->read_wants));
}

int tls_connection_peek(struct tls_connection *connection)
{
	int error = tls_connection_handshake(connection);
	char byte;

	if (error < 0)
		return error;
	connection->read_wants = OS_WATCH_READ;
	return (int)note_drained(
		connection, conclude_tls_call(connection, SSL_peek(connection->openssl, &byte, 1),
					      &connection->read_wants));
}

ssize_t tls_connection_write(struct tls_connection *connection, const void *data, size_t size)
{
	int error = tls_connection_handshake(connection);

	if (error < 0 || size == 0)
		return error;
	connection->write_wants = OS_WATCH_WRITE;
	return conclude_tls_call(connection, SSL_write(connection->openssl, data, at_most(size)),
				 &connection->write_wants);
}

ssize_t tls_connection_write_part(struct tls_connection *connection, const void *data, size_t size)
{
	ssize_t count;

	connection->socket.has_more = true;
	count = tls_connection_write(connection, data, size);
	connection->socket.has_more = false;
	return count;
}

int tls_connection_close_notify(struct tls_connection *connection)
{
	int error = tls_connection_handshake(connection);
	int said;

	if (error < 0)
		return error;
	connection->has_said_end = true;
	said = SSL_shutdown(connection->openssl);
	if (said >= 0) { /* 0: the peer has not sent its close_notify, which is optional */
		tls_errors_clear();
		return 0;
	}
	error = conclude_tls_call(connection, said, &connection->write_wants);
	return error < 0 ? error : 0;
}

unsigned tls_connection_wants(const struct tls_connection *connection, bool has_output)
{
	bool is_writing = has_output && connection->is_made;

	return connection->read_wants | (is_writing ? connection->write_wants : OS_WATCH_NONE);
}

unsigned tls_connection_write_wants(const struct tls_connection *connection)
{
	return connection->is_made ? connection->write_wants : connection->read_wants;
}

bool tls_connection_has_pending(const struct tls_connection *connection)
{
	return connection->is_made && connection->failure == 0 && !connection->is_drained &&
	       SSL_has_pending(connection->openssl) == 1;
}

void tls_connection_preload(struct tls_connection *connection, struct str bytes)
{
	if (bytes.length > TLS_EARLY_MAX)
		panic("too much was read before TLS");
	buffer_append_str(&connection->socket.early, bytes);
}

int tls_connection_socket(const struct tls_connection *connection)
{
	return connection->socket.descriptor;
}

const char *tls_connection_reason(const struct tls_connection *connection)
{
	return connection->reason.length > 0 ? buffer_data(&connection->reason) : "";
}

bool tls_connection_lacks_signature(const struct tls_connection *connection)
{
	return connection->job.has_failed || tls_job_is_waiting(&connection->job);
}

void tls_connection_on_resume(struct tls_connection *connection, void (*resume)(void *context),
			      void *context)
{
	connection->job.resume = resume;
	connection->job.context = context;
}
