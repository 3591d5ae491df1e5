// SPDX-License-Identifier: ISC
/* Peers that know each other: who shows no certificate of the authority gets no connection. */
#include "identity_scene.h"
#include "test.h"
#include "tls/mutual.h"
#include <errno.h>
#include <openssl/ssl.h>
#include <string.h>

static struct buffer chain, authority;

static int make_texts(void **state)
{
	X509 *certificate;

	if (identity_scene_make(state) != 0)
		return -1;
	certificate = identity_scene_certificate(P256, "DNS:mx.example.org");
	tls_scene_write(certificate, &chain);
	tls_scene_write(scene.authority, &authority);
	X509_free(certificate);
	return 0;
}

static int free_texts(void **state)
{
	buffer_clear(&chain);
	buffer_clear(&authority);
	return identity_scene_free(state);
}

static struct tls_context *open_mutual(const char *protocol)
{
	const struct tls_mutual_settings settings = {buffer_view(&chain), buffer_view(&authority),
						     &scene.signer.signer, protocol};
	struct tls_context *context = NULL;
	struct buffer reason = {0};

	assert_int_equal(tls_mutual_open(TLS_SERVER, &settings, &context, &reason), 0);
	assert_int_equal(reason.length, 0);
	return context;
}

/* That shows a certificate with KEY, signed by the authority, or (IS_KNOWN false) by itself. */
static SSL_CTX *client_with(int key, bool is_known)
{
	SSL_CTX *client = handshake_client(0, NULL);
	const struct tls_scene_certificate own = {.name = "own", .key = identity_scene_key(key)};
	X509 *certificate = is_known ? identity_scene_certificate(key, "DNS:client.example.org")
				     : tls_scene_certificate(&own);

	assert_int_equal(SSL_CTX_use_certificate(client, certificate), 1);
	assert_int_equal(SSL_CTX_use_PrivateKey(client, identity_scene_key(key)), 1);
	X509_free(certificate);
	return client;
}

static void only_who_is_known_is_served(void **state)
{
	struct tls_context *context = open_mutual(NULL);
	SSL_CTX *clients[] = {client_with(P384, true), client_with(P384, false),
			      handshake_client(0, NULL)};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(clients); i++) {
		struct handshake handshake;

		handshake_begin(&handshake, context, clients[i], NULL);
		if (i == 0) {
			identity_scene_agree(&handshake);
			assert_true(
				tls_connection_has_name(handshake.server, "client.example.org"));
		} else {
			handshake_finish(&handshake, &scene.signer);
			assert_true(handshake.server_result < 0);
		}
		handshake_end(&handshake);
		SSL_CTX_free(clients[i]);
	}
	tls_context_free(context);
}

/* The context may be gone before its connections have agreed. */
static void a_connection_outlives_its_context(void **state)
{
	struct tls_context *context = open_mutual(NULL);
	SSL_CTX *client = client_with(P384, true);
	struct handshake handshake;

	(void)state;
	handshake_begin(&handshake, context, client, NULL);
	tls_context_free(context);
	identity_scene_agree(&handshake);
	handshake_end(&handshake);
	SSL_CTX_free(client);
}

static void another_protocol_is_refused(void **state)
{
	static const unsigned char ours[] = "\x03our", theirs[] = "\x06theirs";
	struct tls_context *context = open_mutual("our");

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		SSL_CTX *client = client_with(P384, true);
		struct handshake handshake;

		assert_int_equal(
			i == 0 ? SSL_CTX_set_alpn_protos(client, ours, sizeof ours - 1)
			       : SSL_CTX_set_alpn_protos(client, theirs, sizeof theirs - 1),
			0);
		handshake_begin(&handshake, context, client, NULL);
		if (i == 0) {
			identity_scene_agree(&handshake);
		} else {
			handshake_finish(&handshake, &scene.signer);
			assert_true(handshake.server_result < 0);
		}
		handshake_end(&handshake);
		SSL_CTX_free(client);
	}
	tls_context_free(context);
}

static void what_is_wrong_is_told(void **state)
{
	const struct {
		struct str chain, authorities;
	} cases[] = {{STR("no certificate"), buffer_view(&authority)},
		     {buffer_view(&chain), STR("no certificate")}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const struct tls_mutual_settings settings = {cases[i].chain, cases[i].authorities,
							     &scene.signer.signer, NULL};
		struct tls_context *context = NULL;
		struct buffer reason CLEANUP(buffer_clear) = {0};

		assert_int_equal(tls_mutual_open(TLS_SERVER, &settings, &context, &reason),
				 -EINVAL);
		assert_null(context);
		assert_true(reason.length > 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_who_is_known_is_served),
		cmocka_unit_test(a_connection_outlives_its_context),
		cmocka_unit_test(another_protocol_is_refused),
		cmocka_unit_test(what_is_wrong_is_told),
	};

	return cmocka_run_group_tests(tests, make_texts, free_texts);
}
