// SPDX-License-Identifier: ISC
/* The sanitizers find no fault with the stacks of OpenSSL's jobs, also with
 * detect_stack_use_after_return=1: src/tls/provider_signature.c says which variables would be taken
 * for dead ones, and has none. AddressSanitizer may warn once that it ignores
 * __asan_handle_no_return; that is OpenSSL's _longjmp() to a stack that it does not know. */
#include "os/loop.h"
#include "signer_scene.h"
#include "test.h"
#include <errno.h>
#include <openssl/err.h>
#include <string.h>

/* The keys of all tests: RSA takes long. */
enum { SMALL, LARGE, P256, P384, P521, ED, AUTHORITY, KEYS };
static EVP_PKEY *keys[KEYS];
static X509 *authority;
static struct signer_scene scene;

struct wanted { /* a certificate of an identity */
	int key;
	const char *names; /* in it */
	const char *selected[4];
};

static X509 *make_certificate(int key, const char *names)
{
	return tls_scene_certificate(&(struct tls_scene_certificate){.name = "test.example",
								     .names = names,
								     .key = keys[key],
								     .issuer = authority,
								     .signer = keys[AUTHORITY]});
}

enum { WANTED_MAX = 16 };

static struct tls_context *open_identity(const struct wanted *wanted, size_t count,
					 struct tls_identity_settings settings)
{
	struct tls_certificate certificates[WANTED_MAX];
	struct buffer chains[WANTED_MAX] = {0};
	struct buffer reason = {0};
	struct tls_context *context = NULL;

	for (size_t i = 0; i < count; i++) {
		X509 *certificate = make_certificate(wanted[i].key, wanted[i].names);
		size_t names = 0;

		tls_scene_write(certificate, &chains[i]);
		X509_free(certificate);
		while (names < COUNT_OF(wanted[i].selected) && wanted[i].selected[names] != NULL)
			names++;
		certificates[i] = (struct tls_certificate){buffer_view(&chains[i]),
							   wanted[i].selected, names};
	}
	settings.certificates = certificates;
	settings.certificate_count = count;
	settings.signer = &scene.signer;
	assert_int_equal(tls_identity_open(&settings, &context, &reason), 0);
	assert_int_equal(reason.length, 0);
	assert_int_equal(ERR_peek_error(), 0);
	for (size_t i = 0; i < count; i++)
		buffer_clear(&chains[i]);
	return context;
}

static struct tls_context *open_simple(int key)
{
	const struct wanted wanted = {key, "DNS:mx.example.org", {NULL}};

	return open_identity(&wanted, 1, (struct tls_identity_settings){0});
}

static void agree(struct handshake *handshake)
{
	handshake_finish(handshake, &scene);
	assert_int_equal(handshake->client_result, 0);
	assert_int_equal(handshake->server_result, 0);
	assert_true(handshake_exchange(handshake));
}

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
		{SMALL, TLS1_2_VERSION, NULL, TLS_SCHEME_RSA_PSS, TLS_HASH_SHA256, EVP_PKEY_RSA_PSS},
		{SMALL, TLS1_3_VERSION, NULL, TLS_SCHEME_RSA_PSS, TLS_HASH_SHA256, EVP_PKEY_RSA_PSS},
		{SMALL, TLS1_3_VERSION, "rsa_pss_rsae_sha384", TLS_SCHEME_RSA_PSS, TLS_HASH_SHA384,
		 EVP_PKEY_RSA_PSS},
		{LARGE, TLS1_3_VERSION, "rsa_pss_rsae_sha512", TLS_SCHEME_RSA_PSS,
		 TLS_HASH_SHA512, EVP_PKEY_RSA_PSS},
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
		struct tls_context *context = open_simple(cases[i].key);
		SSL_CTX *client = handshake_client(cases[i].version, cases[i].signatures);
		struct handshake handshake;
		int kind = 0;

		handshake_begin(&handshake, context, client, NULL);
		agree(&handshake);
		assert_int_equal(scene.scheme, cases[i].scheme);
		assert_int_equal(scene.hash, cases[i].hash);
		assert_int_equal(SSL_get_peer_signature_type_nid(handshake.client, &kind), 1);
		assert_int_equal(kind, cases[i].kind);
		assert_int_equal(handshake.resumed, 1);
		handshake_end(&handshake);
		SSL_CTX_free(client);
		tls_context_free(context);
	}
}

static int make_keys(void **state)
{
	(void)state;
	keys[SMALL] = tls_scene_key("RSA", 2048);
	keys[LARGE] = tls_scene_key("RSA", 3072);
	keys[P256] = tls_scene_key("P-256", 0);
	keys[P384] = tls_scene_key("P-384", 0);
	keys[P521] = tls_scene_key("P-521", 0);
	keys[ED] = tls_scene_key("ED25519", 0);
	keys[AUTHORITY] = tls_scene_key("P-256", 0);
	authority = tls_scene_certificate(&(struct tls_scene_certificate){
		.name = "Authority", .is_authority = true, .key = keys[AUTHORITY]});
	signer_scene_open(&scene);
	for (int i = 0; i < AUTHORITY; i++)
		signer_scene_add(&scene, keys[i]);
	return 0;
}

static int free_keys(void **state)
{
	(void)state;
	signer_scene_close(&scene);
	for (int i = 0; i < KEYS; i++)
		EVP_PKEY_free(keys[i]);
	X509_free(authority);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_of_signature_is_made),
	};

	return cmocka_run_group_tests(tests, make_keys, free_keys);
}
