// SPDX-License-Identifier: ISC
/* Clients that present a certificate whose key a signer has. */
#include "identity_scene.h"
#include "os/loop.h"
#include "test.h"
#include "tls/client.h"
#include <errno.h>
#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TURNS_MAX = 1000 };

static struct tls_client *client;

struct pair {
	SSL_CTX *context; /* of the server, which is OpenSSL's own */
	SSL *server;
	int socket;
	struct tls_connection *connection;
	unsigned resumed;
};

static void on_resume(void *context)
{
	((struct pair *)context)->resumed++;
}

static SSL_CTX *new_server(int version)
{
	SSL_CTX *context = SSL_CTX_new(TLS_server_method());
	X509 *certificate = identity_scene_certificate(P256, "DNS:mx.example.org");

	assert_int_equal(SSL_CTX_use_certificate(context, certificate), 1);
	assert_int_equal(SSL_CTX_use_PrivateKey(context, identity_scene_key(P256)), 1);
	assert_int_equal(X509_STORE_add_cert(SSL_CTX_get_cert_store(context), scene.authority), 1);
	SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
	assert_int_equal(SSL_CTX_set_session_id_context(context, (const unsigned char *)"x", 1), 1);
	assert_int_equal(SSL_CTX_set_min_proto_version(context, version), 1);
	assert_int_equal(SSL_CTX_set_max_proto_version(context, version), 1);
	X509_free(certificate);
	return context;
}

static void begin(struct pair *pair, SSL_CTX *server,
		  const struct tls_client_certificate *certificate)
{
	const struct tls_client_request request = {
		.host = "mx.example.org", .peer = "a", .certificate = certificate};
	int sockets[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sockets), 0);
	*pair = (struct pair){.context = server, .server = SSL_new(server), .socket = sockets[0]};
	assert_int_equal(SSL_set_fd(pair->server, sockets[0]), 1);
	SSL_set_accept_state(pair->server);
	pair->connection = tls_client_connect(client, sockets[1], &request);
	tls_connection_on_resume(pair->connection, on_resume, pair);
}

static void end(struct pair *pair)
{
	tls_connection_free(pair->connection);
	SSL_free(pair->server);
	close(pair->socket);
}

/* 0: a byte has come from the server, which has accepted the client; or the failure. */
static int finish(struct pair *pair)
{
	bool is_greeted = false;
	char byte;

	for (unsigned turn = 0; turn < TURNS_MAX; turn++) {
		ssize_t result = tls_connection_read(pair->connection, &byte, 1);

		if (result != -EAGAIN)
			return result == 1 ? 0 : (int)result;
		(void)signer_scene_answer(&scene.signer);
		if (!is_greeted && SSL_do_handshake(pair->server) == 1)
			is_greeted = SSL_write(pair->server, "x", 1) == 1;
		ERR_clear_error();
	}
	return -EAGAIN;
}

static struct tls_client_certificate *open_certificate(int key)
{
	X509 *certificate = identity_scene_certificate(key, "DNS:us.example.org");
	struct buffer text = identity_scene_text(certificate);
	struct buffer reason = {0};
	struct tls_client_certificate *own;

	assert_int_equal(tls_client_certificate_open(buffer_view(&text), &scene.signer.signer, &own,
						     &reason),
			 0);
	assert_int_equal(ERR_peek_error(), 0);
	buffer_clear(&text);
	X509_free(certificate);
	return own;
}

static void the_signer_signs(void **state)
{
	static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
	static const int keys[] = {SMALL, P256, P384, ED};

	(void)state;
	for (size_t i = 0; i < 2 * COUNT_OF(keys); i++) {
		struct tls_client_certificate *own = open_certificate(keys[i / 2]);
		SSL_CTX *server = new_server(versions[i % 2]);
		struct pair pair;

		begin(&pair, server, own);
		assert_int_equal(finish(&pair), 0);
		assert_int_equal(pair.resumed, 1);
		assert_int_equal(SSL_get_verify_result(pair.server), X509_V_OK);
		assert_non_null(SSL_get0_peer_certificate(pair.server));
		end(&pair);
		SSL_CTX_free(server);
		tls_client_certificate_free(own);
	}
}

static void without_a_certificate_or_signature_there_is_no_session(void **state)
{
	struct tls_client_certificate *own = open_certificate(P256);
	SSL_CTX *server = new_server(TLS1_3_VERSION);
	struct pair pair;

	(void)state;
	begin(&pair, server, NULL);
	assert_int_equal(finish(&pair), -EACCES);
	end(&pair);
	begin(&pair, server, own);
	for (unsigned turn = 0; turn < 10 && scene.signer.waiting_count == 0; turn++) {
		assert_int_equal(tls_connection_handshake(pair.connection), -EAGAIN);
		(void)SSL_do_handshake(pair.server);
		ERR_clear_error();
	}
	assert_int_equal(scene.signer.waiting_count, 1);
	assert_int_equal(tls_connection_wants(pair.connection, false), OS_WATCH_NONE);
	end(&pair); /* while it waits */
	assert_int_equal(scene.signer.waiting_count, 0);
	SSL_CTX_free(server);
	tls_client_certificate_free(own);
}

/* A session that began with a certificate is not resumed without it, or with another one. */
static void sessions_belong_to_the_certificate(void **state)
{
	struct tls_client_certificate *own = open_certificate(P256);
	struct tls_client_certificate *other;
	SSL_CTX *server = new_server(TLS1_3_VERSION);
	struct pair pair;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		begin(&pair, server, own);
		assert_int_equal(finish(&pair), 0);
		assert_int_equal(tls_connection_is_resumed(pair.connection), i > 0);
		end(&pair);
	}
	tls_client_certificate_free(own);
	other = open_certificate(P256);
	begin(&pair, server, other);
	assert_int_equal(finish(&pair), 0);
	assert_false(tls_connection_is_resumed(pair.connection));
	end(&pair);
	begin(&pair, server, NULL);
	assert_int_equal(finish(&pair), -EACCES);
	end(&pair);
	SSL_CTX_free(server);
	tls_client_certificate_free(other);
}

static void what_is_no_certificate_is_refused(void **state)
{
	struct tls_client_certificate *own;
	struct buffer reason = {0};

	(void)state;
	assert_int_equal(
		tls_client_certificate_open(STR("nothing"), &scene.signer.signer, &own, &reason),
		-EINVAL);
	assert_true(reason.length > 0);
	buffer_clear(&reason);
}

static int set_up(void **state)
{
	client = tls_client_new();
	return identity_scene_make(state);
}

static int tear_down(void **state)
{
	tls_client_free(client);
	return identity_scene_free(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_signer_signs),
		cmocka_unit_test(without_a_certificate_or_signature_there_is_no_session),
		cmocka_unit_test(sessions_belong_to_the_certificate),
		cmocka_unit_test(what_is_no_certificate_is_refused),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
