// SPDX-License-Identifier: ISC
/* The sanitizers find no fault with the stacks of OpenSSL's jobs, also with
 * detect_stack_use_after_return=1: src/tls/provider/signature.c says which variables would be taken
 * for dead ones, and has none. AddressSanitizer may warn once that it ignores
 * __asan_handle_no_return; that is OpenSSL's _longjmp() to a stack that it does not know. */
#include "identity_scene.h"
#include "os/loop.h"
#include "test.h"
#include <errno.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>

enum { MANY = 2 * TLS_SIGNINGS_MAX + 88 };

static void every_kind_of_signature_is_made(void **state)
{
	static const struct {
		int key;
		int version;
		const char *signatures;
		enum tls_scheme scheme;
		enum tls_hash hash;
		int kind;
	} cases[] = {
		{SMALL, TLS1_2_VERSION, "RSA+SHA256", TLS_SCHEME_RSA_PKCS1, TLS_HASH_SHA256,
		 EVP_PKEY_RSA},
		{SMALL, TLS1_2_VERSION, "RSA+SHA384", TLS_SCHEME_RSA_PKCS1, TLS_HASH_SHA384,
		 EVP_PKEY_RSA},
		{SMALL, TLS1_2_VERSION, "RSA+SHA512", TLS_SCHEME_RSA_PKCS1, TLS_HASH_SHA512,
		 EVP_PKEY_RSA},
		{SMALL, TLS1_2_VERSION, NULL, TLS_SCHEME_RSA_PSS, TLS_HASH_SHA256,
		 EVP_PKEY_RSA_PSS},
		{SMALL, TLS1_3_VERSION, NULL, TLS_SCHEME_RSA_PSS, TLS_HASH_SHA256,
		 EVP_PKEY_RSA_PSS},
		{SMALL, TLS1_3_VERSION, "rsa_pss_rsae_sha384", TLS_SCHEME_RSA_PSS, TLS_HASH_SHA384,
		 EVP_PKEY_RSA_PSS},
		{LARGE, TLS1_3_VERSION, "rsa_pss_rsae_sha512", TLS_SCHEME_RSA_PSS, TLS_HASH_SHA512,
		 EVP_PKEY_RSA_PSS},
		{P256, TLS1_2_VERSION, NULL, TLS_SCHEME_ECDSA, TLS_HASH_SHA256, EVP_PKEY_EC},
		{P256, TLS1_3_VERSION, NULL, TLS_SCHEME_ECDSA, TLS_HASH_SHA256, EVP_PKEY_EC},
		{P384, TLS1_2_VERSION, "ECDSA+SHA384", TLS_SCHEME_ECDSA, TLS_HASH_SHA384,
		 EVP_PKEY_EC},
		{P384, TLS1_3_VERSION, NULL, TLS_SCHEME_ECDSA, TLS_HASH_SHA384, EVP_PKEY_EC},
		{P521, TLS1_3_VERSION, NULL, TLS_SCHEME_ECDSA, TLS_HASH_SHA512, EVP_PKEY_EC},
		{ED, TLS1_2_VERSION, NULL, TLS_SCHEME_ED25519, TLS_HASH_NONE, EVP_PKEY_ED25519},
		{ED, TLS1_3_VERSION, NULL, TLS_SCHEME_ED25519, TLS_HASH_NONE, EVP_PKEY_ED25519},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct tls_context *context = identity_scene_simple(cases[i].key);
		SSL_CTX *client = handshake_client(cases[i].version, cases[i].signatures);
		struct handshake handshake;
		int kind = 0;

		handshake_begin(&handshake, context, client, NULL);
		identity_scene_agree(&handshake);
		assert_int_equal(scene.signer.scheme, cases[i].scheme);
		assert_int_equal(scene.signer.hash, cases[i].hash);
		assert_int_equal(SSL_get_peer_signature_type_nid(handshake.client, &kind), 1);
		assert_int_equal(kind, cases[i].kind);
		assert_int_equal(handshake.resumed, 1);
		handshake_end(&handshake);
		SSL_CTX_free(client);
		tls_context_free(context);
	}
}

static void a_handshake_waits_for_its_signature(void **state)
{
	struct tls_context *context = identity_scene_simple(P256);
	SSL_CTX *client = handshake_client(0, NULL);
	struct handshake handshake;

	(void)state;
	handshake_begin(&handshake, context, client, NULL);
	handshake_step(&handshake);
	assert_int_equal(scene.signer.waiting_count, 1);
	for (unsigned turn = 0; turn < 10; turn++) { /* nothing else makes it go on */
		assert_int_equal(tls_connection_handshake(handshake.server), -EAGAIN);
		assert_int_equal(tls_connection_read(handshake.server, &(char){0}, 1), -EAGAIN);
		assert_int_equal(tls_connection_wants(handshake.server, true), OS_WATCH_NONE);
		assert_int_equal(tls_connection_write_wants(handshake.server), OS_WATCH_NONE);
		assert_int_equal(handshake.resumed, 0);
		assert_int_equal(scene.signer.waiting_count, 1);
	}
	assert_true(signer_scene_answer(&scene.signer));
	assert_int_equal(handshake.resumed, 1);
	handshake_step(&handshake);
	assert_int_equal(tls_connection_wants(handshake.server, false), OS_WATCH_READ);
	identity_scene_agree(&handshake);
	assert_int_equal(tls_connection_wants(handshake.server, false), OS_WATCH_READ);
	assert_int_equal(handshake.resumed, 1);
	handshake_end(&handshake);
	SSL_CTX_free(client);
	tls_context_free(context);
}

/* Many times, since a job that is lost each time would use up the pool. */
static void a_signature_can_be_given_up(void **state)
{
	struct tls_context *context = identity_scene_simple(P256);
	SSL_CTX *clients[] = {handshake_client(TLS1_2_VERSION, NULL),
			      handshake_client(TLS1_3_VERSION, NULL)};
	size_t before = scene.signer.cancelled;
	struct handshake handshake;

	(void)state;
	for (unsigned i = 0; i < MANY; i++) {
		handshake_begin(&handshake, context, clients[i % 2], NULL);
		handshake_step(&handshake);
		assert_int_equal(scene.signer.waiting_count, 1);
		handshake_end(&handshake);
		assert_int_equal(scene.signer.waiting_count, 0);
		assert_int_equal(handshake.resumed, 0);
	}
	assert_int_equal(scene.signer.cancelled - before, MANY);
	/* one that has its answer, but did not go on, has nothing to cancel */
	handshake_begin(&handshake, context, clients[1], NULL);
	handshake_step(&handshake);
	assert_true(signer_scene_answer(&scene.signer));
	handshake_end(&handshake);
	assert_int_equal(scene.signer.cancelled - before, MANY);
	handshake_begin(&handshake, context, clients[1], NULL);
	identity_scene_agree(&handshake);
	handshake_end(&handshake);
	SSL_CTX_free(clients[0]);
	SSL_CTX_free(clients[1]);
	tls_context_free(context);
}

/* What the client sees of a connection that is given up is an alert, not only an end. */
static void who_is_given_up_is_told(void **state)
{
	struct tls_context *context = identity_scene_simple(P256);
	SSL_CTX *client = handshake_client(0, NULL);
	struct handshake handshake;
	int count;

	(void)state;
	handshake_begin(&handshake, context, client, NULL);
	handshake_step(&handshake);
	tls_connection_free(handshake.server);
	handshake.server = NULL;
	count = SSL_do_handshake(handshake.client);
	assert_int_equal(SSL_get_error(handshake.client, count), SSL_ERROR_SSL);
	assert_int_equal(ERR_GET_REASON(ERR_peek_error()), SSL_R_TLSV1_ALERT_INTERNAL_ERROR);
	ERR_clear_error();
	handshake_end(&handshake);
	SSL_CTX_free(client);
	tls_context_free(context);
}

static void a_wrong_signature_ends_the_handshake(void **state)
{
	static const struct {
		int key;
		int version;
		int length; /* -1: of the right one, which is spoilt */
		int server_result;
	} cases[] = {
		{P256, TLS1_3_VERSION, 0, -EPROTO},
		{P256, TLS1_2_VERSION, 0, -EPROTO},
		{SMALL, TLS1_3_VERSION, 0, -EPROTO},
		{ED, TLS1_3_VERSION, 0, -EPROTO},
		{P256, TLS1_3_VERSION, TLS_SIGNATURE_MAX, -EPROTO}, /* larger than can be */
		{SMALL, TLS1_2_VERSION, 257, -EPROTO},
		{ED, TLS1_3_VERSION, 65, -EPROTO},
		{P256, TLS1_3_VERSION, TLS_SIGNATURE_MAX + 1, -EPROTO},
		/* the client notices these, and says so */
		{P256, TLS1_3_VERSION, 1, -EPROTO},
		{SMALL, TLS1_2_VERSION, 255, -EPROTO},
		{P256, TLS1_3_VERSION, -1, -EPROTO},
		{P256, TLS1_2_VERSION, -1, -EPROTO},
		{SMALL, TLS1_3_VERSION, -1, -EPROTO},
		{SMALL, TLS1_2_VERSION, -1, -EPROTO},
		{ED, TLS1_2_VERSION, -1, -EPROTO},
		{ED, TLS1_3_VERSION, -1, -EPROTO},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct tls_context *context = identity_scene_simple(cases[i].key);
		SSL_CTX *client = handshake_client(cases[i].version, NULL);
		struct handshake handshake;
		struct signer_answer *answer = &scene.signer.answers[0];
		bool is_known;

		handshake_begin(&handshake, context, client, NULL);
		while (scene.signer.waiting_count == 0)
			handshake_step(&handshake);
		is_known = cases[i].length == 0 || cases[i].length > (int)answer->length;
		if (cases[i].length >= 0)
			answer->length = (size_t)cases[i].length;
		else
			answer->signature[answer->length - 1] ^= 1;
		assert_true(signer_scene_answer(&scene.signer));
		handshake_finish(&handshake, &scene.signer);
		assert_int_equal(handshake.server_result, cases[i].server_result);
		assert_int_equal(handshake.client_result, -EPROTO);
		assert_int_equal(strcmp(tls_connection_reason(handshake.server),
					"there is no signature by the private key") == 0,
				 is_known);
		handshake_end(&handshake);
		SSL_CTX_free(client);
		tls_context_free(context);
	}
}

/* Sessions pump themselves when they are resumed, as those of smtpd do. */
static void go_on(void *context)
{
	struct handshake *handshake = context;

	handshake->resumed++;
	handshake_step(handshake);
}

static struct handshake *begin_many(const struct tls_context *context, SSL_CTX *client)
{
	struct handshake *all = calloc(MANY, sizeof *all);

	for (unsigned i = 0; i < MANY; i++) {
		handshake_begin(&all[i], context, client, NULL);
		tls_connection_on_resume(all[i].server, go_on, &all[i]);
		handshake_step(&all[i]);
		assert_int_equal(tls_connection_wants(all[i].server, false), OS_WATCH_NONE);
	}
	assert_int_equal(scene.signer.waiting_count,
			 TLS_SIGNINGS_MAX); /* others wait for their turn */
	return all;
}

static void many_wait_for_their_turn(void **state)
{
	struct tls_context *context = identity_scene_simple(P256);
	SSL_CTX *client = handshake_client(0, NULL);
	struct handshake *all = begin_many(context, client);
	size_t most = scene.signer.waiting_count;

	(void)state;
	for (unsigned i = 0; i < MANY; i += 3) { /* some go, of those that wait for either */
		handshake_end(&all[i]);
		all[i].server = NULL;
	}
	while (signer_scene_answer(&scene.signer))
		assert_true(scene.signer.waiting_count <= most);
	for (unsigned i = 0; i < MANY; i++) {
		if (all[i].server == NULL)
			continue;
		assert_int_not_equal(tls_connection_wants(all[i].server, false), OS_WATCH_NONE);
		identity_scene_agree(&all[i]);
		handshake_end(&all[i]);
	}
	free(all);
	SSL_CTX_free(client);
	tls_context_free(context);
}

/* If all that wait for a signature go, nobody answers any more; yet those in the queue get their
 * turn, but not while the connections of others are closed. */
static void who_goes_makes_room(void **state)
{
	struct tls_context *context = identity_scene_simple(P256);
	SSL_CTX *client = handshake_client(0, NULL);
	struct handshake *all = begin_many(context, client);

	(void)state;
	scene.signer.woken = 0;
	for (unsigned i = 0; i < TLS_SIGNINGS_MAX; i++)
		handshake_end(&all[i]);
	assert_int_equal(scene.signer.waiting_count, 0);
	assert_int_not_equal(scene.signer.woken, 0);
	tls_signing_go_on();
	assert_int_equal(scene.signer.waiting_count, TLS_SIGNINGS_MAX);
	while (signer_scene_answer(&scene.signer))
		continue;
	for (unsigned i = TLS_SIGNINGS_MAX; i < MANY; i++) {
		identity_scene_agree(&all[i]);
		handshake_end(&all[i]);
	}
	/* without a queue there is nobody to be woken */
	scene.signer.woken = 0;
	handshake_begin(&all[0], context, client, NULL);
	handshake_step(&all[0]);
	handshake_end(&all[0]);
	assert_int_equal(scene.signer.woken, 0);
	tls_signing_go_on();
	free(all);
	SSL_CTX_free(client);
	tls_context_free(context);
}

/* A signer that has died answers nothing to all of them. */
static void all_fail_with_their_signer(void **state)
{
	struct tls_context *context = identity_scene_simple(P256);
	SSL_CTX *client = handshake_client(0, NULL);
	struct handshake *all = begin_many(context, client);

	(void)state;
	while (scene.signer.waiting_count > 0) {
		scene.signer.answers[0].length = 0;
		assert_true(signer_scene_answer(&scene.signer));
	}
	for (unsigned i = 0; i < MANY; i++) {
		assert_int_equal(all[i].server_result, -EPROTO);
		handshake_end(&all[i]);
	}
	free(all);
	SSL_CTX_free(client);
	tls_context_free(context);
}

/* Files change while connections are in any state. */
static void contexts_may_go_before_their_connections(void **state)
{
	SSL_CTX *client = handshake_client(0, NULL);
	struct handshake handshakes[4];
	struct tls_context *context = identity_scene_simple(P256);

	(void)state;
	for (size_t i = 0; i < COUNT_OF(handshakes); i++)
		handshake_begin(&handshakes[i], context, client, "mx.example.org");
	handshake_step(&handshakes[1]);
	identity_scene_agree(&handshakes[2]);
	handshake_step(&handshakes[3]);
	tls_context_free(context);
	context = identity_scene_simple(SMALL);
	handshake_end(&handshakes[3]);
	for (size_t i = 0; i < 3; i++) {
		identity_scene_agree(&handshakes[i]);
		assert_int_equal(EVP_PKEY_get_base_id(X509_get0_pubkey(
					 SSL_get0_peer_certificate(handshakes[i].client))),
				 EVP_PKEY_EC);
		handshake_end(&handshakes[i]);
	}
	handshake_begin(&handshakes[0], context, client, NULL);
	identity_scene_agree(&handshakes[0]);
	handshake_end(&handshakes[0]);
	tls_context_free(context);
	SSL_CTX_free(client);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_of_signature_is_made),
		cmocka_unit_test(a_handshake_waits_for_its_signature),
		cmocka_unit_test(a_signature_can_be_given_up),
		cmocka_unit_test(who_is_given_up_is_told),
		cmocka_unit_test(a_wrong_signature_ends_the_handshake),
		cmocka_unit_test(many_wait_for_their_turn),
		cmocka_unit_test(who_goes_makes_room),
		cmocka_unit_test(all_fail_with_their_signer),
		cmocka_unit_test(contexts_may_go_before_their_connections),
	};

	return cmocka_run_group_tests(tests, identity_scene_make, identity_scene_free);
}
