// SPDX-License-Identifier: ISC
#include "base/timestamp.h"
#include "test.h"
#include "tls/certificate.h"
#include "tls/identity.h"
#include "tls/private_key.h"
#include "tls_scene.h"
#include <errno.h>
#include <openssl/err.h>
#include <string.h>
#include <time.h>

/* An authority, one below it, and a server's certificate, with the keys of each. */
enum { ROOT, MIDDLE, SERVER, COUNT };
static EVP_PKEY *keys[COUNT];
static X509 *certificates[COUNT];

static void append(struct buffer *pem, const int *which, size_t count)
{
	for (size_t i = 0; i < count; i++)
		tls_scene_write(certificates[which[i]], pem);
}

static void read_right(struct buffer *pem, struct arena *arena, struct tls_chain *chain)
{
	struct buffer reason = {0};

	assert_int_equal(tls_chain_read(buffer_view(pem), arena, chain, &reason), 0);
	assert_int_equal(reason.length, 0);
	assert_int_equal(ERR_peek_error(), 0);
	buffer_clear(pem);
}

static void refuse(struct str pem, const char *expected)
{
	struct arena *arena = arena_new();
	struct buffer reason = {0};
	struct tls_chain chain = {.bits = 77};

	assert_int_equal(tls_chain_read(pem, arena, &chain, &reason), -EINVAL);
	assert_int_equal(chain.bits, 77);
	buffer_append_byte(&reason, '\0');
	assert_ptr_equal(strstr(buffer_data(&reason), expected), buffer_data(&reason));
	assert_int_equal(ERR_peek_error(), 0);
	buffer_clear(&reason);
	arena_free(arena);
}

static void a_chain_is_described(void **state)
{
	const int whole[] = {SERVER, MIDDLE};
	const int64_t now = (int64_t)time(NULL) * SECOND_US;
	struct arena *arena = arena_new();
	struct buffer pem = {0};
	struct buffer key_pem = {0};
	struct buffer reason = {0};
	struct tls_private_key *key;
	struct tls_chain chain;

	(void)state;
	tls_scene_write_key(keys[SERVER], &pem); /* other blocks are passed over */
	append(&pem, whole, COUNT_OF(whole));
	read_right(&pem, arena, &chain);
	assert_int_equal(chain.link_count, 2);
	assert_string_equal(chain.links[0].subject, "CN=common.example,O=Tests");
	assert_string_equal(chain.links[0].issuer, "CN=Middle \\C3\\A9,O=Tests");
	assert_string_equal(chain.links[1].subject, "CN=Middle \\C3\\A9,O=Tests");
	assert_string_equal(chain.links[1].issuer, "CN=Root,O=Tests");
	assert_true(chain.links[0].begins_us <= now - HOUR_US);
	assert_true(chain.links[0].begins_us > now - HOUR_US - MINUTE_US);
	assert_true(chain.links[0].ends_us <= now + DAY_US);
	assert_true(chain.links[0].ends_us > now + DAY_US - MINUTE_US);
	assert_int_equal(chain.broken_at, 0);
	assert_int_equal(chain.kind, TLS_KEY_ECDSA);
	assert_int_equal(chain.bits, 256);
	assert_int_equal(chain.name_count, 2); /* not the common name */
	assert_string_equal(chain.names[0], "mx.Example.org");
	assert_string_equal(chain.names[1], "*.example.net");
	tls_scene_write_key(keys[SERVER], &key_pem);
	assert_int_equal(tls_private_key_read(buffer_view(&key_pem), &key, &reason), 0);
	assert_memory_equal(chain.key, tls_private_key_id(key), TLS_KEY_ID_SIZE);
	tls_private_key_free(key);
	buffer_clear(&key_pem);
	arena_free(arena);
}

static void a_break_is_found(void **state)
{
	static const struct {
		int which[3];
		size_t count;
		size_t broken_at;
	} cases[] = {
		{{SERVER}, 1, 0},
		{{SERVER, MIDDLE, ROOT}, 3, 0},
		{{SERVER, ROOT}, 2, 1},
		{{SERVER, ROOT, MIDDLE}, 3, 1},
		{{SERVER, MIDDLE, MIDDLE}, 3, 0}, /* clients take what is repeated */
		{{SERVER, SERVER, MIDDLE}, 3, 0},
		{{MIDDLE, SERVER}, 2, 1},
		{{ROOT, ROOT}, 2, 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct arena *arena = arena_new();
		struct buffer pem = {0};
		struct tls_chain chain;

		append(&pem, cases[i].which, cases[i].count);
		read_right(&pem, arena, &chain);
		assert_int_equal(chain.broken_at, cases[i].broken_at);
		arena_free(arena);
	}
}

/* An issuer with the right name and another key, and one with the right key that is no authority.
 */
static void impostors_do_not_hold_a_chain(void **state)
{
	EVP_PKEY *other = tls_scene_key("P-384", 0);
	const struct tls_scene_certificate impostors[] = {
		{.name = "Middle é", .is_authority = true, .key = other},
		{.name = "Middle é", .is_authority = true, .key = keys[ROOT]},
		{.name = "Middle é", .key = keys[MIDDLE]},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(impostors); i++) {
		struct arena *arena = arena_new();
		struct buffer pem = {0};
		struct tls_chain chain;
		X509 *impostor = tls_scene_certificate(&impostors[i]);

		tls_scene_write(certificates[SERVER], &pem);
		tls_scene_write(impostor, &pem);
		read_right(&pem, arena, &chain);
		assert_int_equal(chain.broken_at, 1);
		X509_free(impostor);
		arena_free(arena);
	}
	EVP_PKEY_free(other);
}

static void names_are_covered(void **state)
{
	static const struct {
		const char *name;
		bool is_covered;
	} cases[] = {
		{"mx.example.org", true},    {"MX.EXAMPLE.ORG", true},
		{"mx2.example.org", false},  {"example.org", false},
		{"a.mx.example.org", false}, {"a.example.net", true},
		{"A.EXAMPLE.NET", true},     {"example.net", false},
		{"a.b.example.net", false},  {".example.net", false},
		{"*.example.net", true},     {"*.Example.NET", true},
		{"*.example.org", false},    {"*.a.example.net", false},
		{"common.example", false},   {"", false},
		{"mx.example.org.", false},
	};
	const int server[] = {SERVER};
	struct arena *arena = arena_new();
	struct buffer pem = {0};
	struct tls_chain chain;

	(void)state;
	append(&pem, server, 1);
	read_right(&pem, arena, &chain);
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_int_equal(tls_chain_covers(&chain, str_from(cases[i].name)),
				 cases[i].is_covered);
	arena_free(arena);
}

static void times_of_all_links_are_told(void **state)
{
	const struct tls_scene_certificate wanted = {
		.name = "old.example", .key = keys[ROOT], .begins = -7200, .ends = -3600};
	const int64_t now = (int64_t)time(NULL) * SECOND_US;
	struct arena *arena = arena_new();
	struct buffer pem = {0};
	struct tls_chain chain;
	X509 *old = tls_scene_certificate(&wanted);

	(void)state;
	tls_scene_write(old, &pem);
	read_right(&pem, arena, &chain);
	assert_true(chain.links[0].ends_us <= now - HOUR_US);
	assert_int_equal(chain.links[0].ends_us - chain.links[0].begins_us, HOUR_US);
	assert_int_equal(chain.name_count, 1);
	assert_string_equal(chain.names[0], "old.example");
	X509_free(old);
	arena_free(arena);
}

static void what_is_no_certificate_is_told(void **state)
{
	static char large[TLS_CHAIN_SIZE_MAX + 1];
	const int server[] = {SERVER};
	struct buffer pem = {0};
	EVP_PKEY *small = tls_scene_key("RSA", 1024);
	X509 *weak =
		tls_scene_certificate(&(struct tls_scene_certificate){.name = "a", .key = small});

	(void)state;
	refuse(STR(""), "it holds no certificate in PEM form");
	refuse(STR("nothing\n"), "it holds no certificate in PEM form");
	refuse(STR("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"),
	       "a certificate in it is damaged");
	refuse(STR("-----BEGIN CERTIFICATE-----\nMIIB"), "a certificate in it is damaged");
	refuse(str_slice(large, sizeof large), "it is too large");
	tls_scene_write_key(keys[SERVER], &pem);
	refuse(buffer_view(&pem), "it holds no certificate in PEM form");
	append(&pem, server, 1);
	refuse(str_slice(buffer_data(&pem), pem.length - 40), "a certificate in it is damaged");
	buffer_append_string(&pem,
			     "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n");
	refuse(buffer_view(&pem), "a certificate in it is damaged");
	buffer_reset(&pem);
	for (int i = 0; i <= TLS_CHAIN_MAX; i++)
		append(&pem, server, 1);
	refuse(buffer_view(&pem), "it holds too many certificates");
	buffer_reset(&pem);
	tls_scene_write(weak, &pem);
	refuse(buffer_view(&pem), "its RSA key has 1024 bits");
	X509_free(weak);
	EVP_PKEY_free(small);
	buffer_clear(&pem);
}

static int make(void **state)
{
	(void)state;
	keys[ROOT] = tls_scene_key("RSA", 2048);
	keys[MIDDLE] = tls_scene_key("P-384", 0);
	keys[SERVER] = tls_scene_key("P-256", 0);
	certificates[ROOT] = tls_scene_certificate(&(struct tls_scene_certificate){
		.name = "Root", .is_authority = true, .key = keys[ROOT]});
	certificates[MIDDLE] =
		tls_scene_certificate(&(struct tls_scene_certificate){.name = "Middle é",
								      .is_authority = true,
								      .key = keys[MIDDLE],
								      .issuer = certificates[ROOT],
								      .signer = keys[ROOT]});
	certificates[SERVER] = tls_scene_certificate(&(struct tls_scene_certificate){
		.name = "common.example",
		.names = "DNS:mx.Example.org,DNS:*.example.net,IP:127.0.0.1",
		.key = keys[SERVER],
		.issuer = certificates[MIDDLE],
		.signer = keys[MIDDLE]});
	return 0;
}

static int free_all(void **state)
{
	(void)state;
	for (int i = 0; i < COUNT; i++) {
		EVP_PKEY_free(keys[i]);
		X509_free(certificates[i]);
	}
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_chain_is_described),
		cmocka_unit_test(a_break_is_found),
		cmocka_unit_test(impostors_do_not_hold_a_chain),
		cmocka_unit_test(names_are_covered),
		cmocka_unit_test(times_of_all_links_are_told),
		cmocka_unit_test(what_is_no_certificate_is_told),
	};

	return cmocka_run_group_tests(tests, make, free_all);
}
