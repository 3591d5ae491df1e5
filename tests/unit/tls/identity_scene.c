// SPDX-License-Identifier: ISC
#include "identity_scene.h"
#include "test.h"
#include <openssl/err.h>

struct identity_scene scene;

EVP_PKEY *identity_scene_key(int key)
{
	static const struct {
		const char *type;
		size_t bits;
	} kinds[IDENTITY_KEYS] = {
		[SMALL] = {"RSA", 2048},    [LARGE] = {"RSA", 3072}, [P256] = {"P-256", 0},
		[P384] = {"P-384", 0},      [P521] = {"P-521", 0},   [ED] = {"ED25519", 0},
		[AUTHORITY] = {"P-256", 0},
	};

	if (scene.keys[key] != NULL)
		return scene.keys[key];
	scene.keys[key] = tls_scene_key(kinds[key].type, kinds[key].bits);
	if (key != AUTHORITY) {
		scene.places[key] = scene.signer.key_count;
		signer_scene_add(&scene.signer, scene.keys[key]);
	}
	return scene.keys[key];
}

X509 *identity_scene_certificate(int key, const char *names)
{
	return tls_scene_certificate(
		&(struct tls_scene_certificate){.name = "test.example",
						.names = names,
						.key = identity_scene_key(key),
						.issuer = scene.authority,
						.signer = identity_scene_key(AUTHORITY)});
}

enum { WANTED_MAX = 16 };

struct tls_context *identity_scene_open(const struct wanted *wanted, size_t count,
					struct tls_identity_settings settings)
{
	struct tls_certificate certificates[WANTED_MAX];
	struct buffer chains[WANTED_MAX] = {0};
	struct buffer reason = {0};
	struct tls_context *context = NULL;

	for (size_t i = 0; i < count; i++) {
		X509 *certificate = identity_scene_certificate(wanted[i].key, wanted[i].names);
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
	settings.signer = &scene.signer.signer;
	assert_int_equal(tls_identity_open(&settings, &context, &reason), 0);
	assert_int_equal(reason.length, 0);
	assert_int_equal(ERR_peek_error(), 0);
	for (size_t i = 0; i < count; i++)
		buffer_clear(&chains[i]);
	return context;
}

struct tls_context *identity_scene_simple(int key)
{
	const struct wanted wanted = {key, "DNS:mx.example.org", {NULL}};

	return identity_scene_open(&wanted, 1, (struct tls_identity_settings){0});
}

void identity_scene_agree(struct handshake *handshake)
{
	handshake_finish(handshake, &scene.signer);
	assert_int_equal(handshake->client_result, 0);
	assert_int_equal(handshake->server_result, 0);
	assert_true(handshake_exchange(handshake));
}

struct buffer identity_scene_text(X509 *certificate)
{
	struct buffer pem = {0};

	tls_scene_write(certificate, &pem);
	return pem;
}

int identity_scene_make(void **state)
{
	(void)state;
	signer_scene_open(&scene.signer);
	scene.authority = tls_scene_certificate(&(struct tls_scene_certificate){
		.name = "Authority", .is_authority = true, .key = identity_scene_key(AUTHORITY)});
	return 0;
}

int identity_scene_free(void **state)
{
	(void)state;
	signer_scene_close(&scene.signer);
	for (int i = 0; i < IDENTITY_KEYS; i++)
		EVP_PKEY_free(scene.keys[i]);
	X509_free(scene.authority);
	return 0;
}
