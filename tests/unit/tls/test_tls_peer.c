// SPDX-License-Identifier: ISC
/* A peer's certificates and the names in them: as many as are looked at, and one more. */
#include "base/arena.h"
#include "test.h"
#include "tls/internal.h"
#include "tls/peer_chain.h"
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>

static STACK_OF(X509) * sent; /* by the peer */

SSL *tls_connection_openssl(const struct tls_connection *connection)
{
	(void)connection;
	return NULL;
}

STACK_OF(X509) * SSL_get_peer_cert_chain(const SSL *openssl)
{
	(void)openssl;
	return sent;
}

/* With as many names as COUNT. */
static X509 *certificate_with(unsigned count)
{
	GENERAL_NAMES *all = GENERAL_NAMES_new();
	X509 *certificate = X509_new();

	for (unsigned i = 0; i < count; i++) {
		GENERAL_NAME *name = GENERAL_NAME_new();
		ASN1_IA5STRING *text = ASN1_IA5STRING_new();
		char host[20];

		snprintf(host, sizeof host, "n%u.test", i);
		assert_int_equal(ASN1_STRING_set(text, host, -1), 1);
		GENERAL_NAME_set0_value(name, GEN_DNS, text);
		sk_GENERAL_NAME_push(all, name);
	}
	assert_int_equal(X509_add1_ext_i2d(certificate, NID_subject_alt_name, all, 0, 0), 1);
	GENERAL_NAMES_free(all);
	return certificate;
}

static void so_many_names_are_read(void **state)
{
	(void)state;
	for (unsigned count = TLS_NAMES_MAX; count <= TLS_NAMES_MAX + 1; count++) {
		X509 *certificate = certificate_with(count);
		struct arena *arena = arena_new();
		size_t found;
		const char *const *names = tls_names_read(certificate, arena, &found);
		char last[20];

		assert_int_equal(found, TLS_NAMES_MAX);
		snprintf(last, sizeof last, "n%d.test", TLS_NAMES_MAX - 1);
		assert_string_equal(names[TLS_NAMES_MAX - 1], last);
		arena_free(arena);
		X509_free(certificate);
	}
}

static void so_many_certificates_are_shown(void **state)
{
	(void)state;
	sent = sk_X509_new_null();
	for (unsigned count = 1; count <= TLS_PEER_CHAIN_MAX + 1; count++) {
		const struct tls_peer_certificate *list;
		struct arena *arena = arena_new();

		assert_int_equal(sk_X509_push(sent, certificate_with(count)), count);
		assert_int_equal(tls_peer_chain_read(NULL, arena, &list),
				 count < TLS_PEER_CHAIN_MAX ? count : TLS_PEER_CHAIN_MAX);
		for (size_t i = 0; i < count && i < TLS_PEER_CHAIN_MAX; i++)
			assert_int_equal(list[i].name_count, i + 1);
		arena_free(arena);
	}
	sk_X509_pop_free(sent, X509_free);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(so_many_names_are_read),
		cmocka_unit_test(so_many_certificates_are_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
