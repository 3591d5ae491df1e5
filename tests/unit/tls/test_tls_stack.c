// SPDX-License-Identifier: ISC
/* How much a handshake uses of the stack of its job: nothing guards its end, and what is called
 * there includes callbacks of ours. The stacks are seen by the allocations of OpenSSL. */
#include "identity_scene.h"
#include "test.h"
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

enum {
	STACK_SIZE = 32 * 1024, /* of OpenSSL's jobs */
	STACK_LIMIT = STACK_SIZE / 2,
	UNTOUCHED = 0xa5,
};

static unsigned char *stack; /* of the only job */

static void *allocate(size_t size, const char *file, int line)
{
	unsigned char *memory = malloc(size);

	(void)file;
	(void)line;
	if (size == STACK_SIZE && stack == NULL && memory != NULL) {
		memset(memory, UNTOUCHED, size);
		stack = memory;
	}
	return memory;
}

static void *resize(void *memory, size_t size, const char *file, int line)
{
	(void)file;
	(void)line;
	return realloc(memory, size);
}

static void release(void *memory, const char *file, int line)
{
	(void)file;
	(void)line;
	free(memory);
}

/* It grows downwards. */
static size_t depth(void)
{
	size_t untouched = 0;

	assert_non_null(stack);
	while (untouched < STACK_SIZE && stack[untouched] == UNTOUCHED)
		untouched++;
	return STACK_SIZE - untouched;
}

/* A client with a chain of certificates of all kinds, which the server verifies. */
static void present_chain(SSL_CTX *client)
{
	struct tls_scene_certificate wanted = {.name = "Middle",
					       .is_authority = true,
					       .key = identity_scene_key(P521),
					       .issuer = scene.authority,
					       .signer = identity_scene_key(AUTHORITY)};
	X509 *middle = tls_scene_certificate(&wanted);
	X509 *low;
	X509 *own;

	wanted = (struct tls_scene_certificate){.name = "Low",
						.is_authority = true,
						.key = identity_scene_key(LARGE),
						.issuer = middle,
						.signer = identity_scene_key(P521)};
	low = tls_scene_certificate(&wanted);
	wanted = (struct tls_scene_certificate){.name = "client.example",
						.names = "DNS:client.example",
						.key = identity_scene_key(SMALL),
						.issuer = low,
						.signer = identity_scene_key(LARGE)};
	own = tls_scene_certificate(&wanted);
	assert_int_equal(SSL_CTX_use_certificate(client, own), 1);
	assert_int_equal(SSL_CTX_use_PrivateKey(client, identity_scene_key(SMALL)), 1);
	assert_int_equal(SSL_CTX_add1_chain_cert(client, low), 1);
	assert_int_equal(SSL_CTX_add1_chain_cert(client, middle), 1);
	X509_free(own);
	X509_free(low);
	X509_free(middle);
}

static void shake_hands(int key, int version, struct str authorities)
{
	static const struct tls_ticket_key ticket_key = {"name", "secret", "mac"};
	const struct wanted wanted = {key, "DNS:*.a-name-that-is-not-so-short.example.org", {NULL}};
	struct tls_context *context = identity_scene_open(
		&wanted, 1,
		(struct tls_identity_settings){.ticket_keys = &ticket_key,
					       .ticket_key_count = 1,
					       .client_authorities = authorities});
	SSL_CTX *client = handshake_client(version, NULL);
	struct handshake handshake;

	present_chain(client);
	handshake_begin(&handshake, context, client, "mx.a-name-that-is-not-so-short.example.org");
	identity_scene_agree(&handshake);
	assert_true(tls_connection_is_verified(handshake.server));
	handshake_end(&handshake);
	SSL_CTX_free(client);
	tls_context_free(context);
}

static void the_stack_of_a_job_suffices(void **state)
{
	struct buffer authorities = identity_scene_text(scene.authority);

	(void)state;
	for (int key = 0; key < AUTHORITY; key++)
		for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++)
			shake_hands(key, version, buffer_view(&authorities));
	assert_in_range(depth(), 1024, STACK_LIMIT);
	buffer_clear(&authorities);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_stack_of_a_job_suffices),
	};

	/* before OpenSSL allocates anything */
	if (CRYPTO_set_mem_functions(allocate, resize, release) != 1)
		return EXIT_FAILURE;
	return cmocka_run_group_tests(tests, identity_scene_make, identity_scene_free);
}
