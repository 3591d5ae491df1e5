// SPDX-License-Identifier: ISC
#include "identity_scene.h"
#include "os/sandbox/sandbox.h"
#include "test.h"
#include <errno.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static bool has_name(SSL *client, const char *name)
{
	X509 *certificate = SSL_get0_peer_certificate(client);

	return X509_check_host(certificate, name, 0, 0, NULL) == 1;
}

static void the_name_chooses(void **state)
{
	static const struct wanted wanted[] = {
		{SMALL, "DNS:first-rsa.test,DNS:mx.example.org", {NULL}},
		{P256, "DNS:first-ec.test,DNS:MX.example.ORG,DNS:first-rsa.test", {NULL}},
		{P384, "DNS:second-ec.test,DNS:mx.example.org", {NULL}},
		{P256, "DNS:wild.test,DNS:*.Example.org", {NULL}},
		{SMALL, "DNS:wild-rsa.test,DNS:*.example.org", {NULL}},
		{ED, "DNS:exact.test", {"A.example.org", "b.example.org", NULL}},
		{P384, "DNS:exact-ec.test", {"b.example.org", "*.sub.example.org", NULL}},
	};
	static const struct {
		const char *asked;
		const char *signatures;
		const char *got; /* a name in the certificate */
	} cases[] = {
		{"mx.example.org", NULL, "first-ec.test"},
		{"MX.Example.Org", NULL, "first-ec.test"},
		{"mx.example.org", "RSA-PSS+SHA256", "first-rsa.test"},
		{NULL, NULL, "first-ec.test"}, /* it has the names of the first one */
		{NULL, "RSA-PSS+SHA256", "first-rsa.test"},
		{"unknown.test", NULL, "first-ec.test"},
		{"unknown.test", "RSA-PSS+SHA256", "first-rsa.test"},
		{"example.org", "RSA-PSS+SHA256", "first-rsa.test"},
		{"other.example.org", NULL, "wild.test"},
		{"OTHER.EXAMPLE.ORG", "RSA-PSS+SHA256", "wild-rsa.test"},
		{"a.b.example.org", "RSA-PSS+SHA256", "first-rsa.test"},
		{"a.example.org", "ed25519", "exact.test"}, /* not the wildcard */
		{"b.example.org", "ed25519", "exact.test"},
		{"b.example.org", "ECDSA+SHA384", "exact-ec.test"},
		{"x.sub.example.org", NULL, "exact-ec.test"},
		{"sub.example.org", NULL, "wild.test"},
		{"exact.test", "RSA-PSS+SHA256", "first-rsa.test"}, /* its own name is not given */
		{"*.example.org", "RSA-PSS+SHA256", "first-rsa.test"},
		{"mx.example.org.", NULL, "first-ec.test"},
	};
	struct tls_context *context =
		identity_scene_open(wanted, COUNT_OF(wanted), (struct tls_identity_settings){0});

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
			const char *signatures = cases[i].signatures;
			SSL_CTX *client = handshake_client(version, signatures);
			struct handshake handshake;

			handshake_begin(&handshake, context, client, cases[i].asked);
			identity_scene_agree(&handshake);
			assert_true(has_name(handshake.client, cases[i].got));
			handshake_end(&handshake);
			SSL_CTX_free(client);
		}
	tls_context_free(context);
}

/* An exact name has no certificate for this client: the wildcard's is not taken instead. */
static void no_certificate_for_a_client_is_told(void **state)
{
	struct tls_context *context = identity_scene_simple(ED);
	SSL_CTX *client = handshake_client(0, "ECDSA+SHA256");
	struct handshake handshake;

	(void)state;
	handshake_begin(&handshake, context, client, "mx.example.org");
	handshake_finish(&handshake, &scene.signer);
	assert_int_equal(handshake.server_result, -EPROTO);
	assert_int_equal(handshake.client_result, -EPROTO);
	assert_non_null(strstr(tls_connection_reason(handshake.server), "no suitable signature"));
	handshake_end(&handshake);
	SSL_CTX_free(client);
	tls_context_free(context);
}

/* The first COUNT ciphers of TLS 1.2 that CLIENT knows, which it offers then: as "A:B". */
static void offer_ciphers(SSL_CTX *client, size_t count, struct buffer *names)
{
	STACK_OF(SSL_CIPHER) *all = SSL_CTX_get_ciphers(client);
	size_t found = 0;

	for (int i = 0; i < sk_SSL_CIPHER_num(all) && found < count; i++) {
		const SSL_CIPHER *cipher = sk_SSL_CIPHER_value(all, i);

		if (strcmp(SSL_CIPHER_get_version(cipher), "TLSv1.2") != 0)
			continue;
		buffer_append_format(names, "%s%s", found > 0 ? ":" : "",
				     SSL_CIPHER_get_name(cipher));
		found++;
	}
	assert_int_equal(found, count);
	buffer_append_byte(names, '\0');
	assert_int_equal(SSL_CTX_set_cipher_list(client, buffer_data(names)), 1);
	buffer_truncate(names, names->length - 1);
}

/* Of many ciphers some are named. */
static void what_a_client_offers_is_told(void **state)
{
	enum { NAMED = 12, MOST = 14 };
	struct tls_context *context = identity_scene_simple(ED);

	(void)state;
	for (size_t count = 1; count <= MOST; count++) {
		struct buffer named CLEANUP(buffer_clear) = {0};
		struct buffer wanted CLEANUP(buffer_clear) = {0};
		SSL_CTX *some = handshake_client(TLS1_2_VERSION, "RSA+SHA256:ECDSA+SHA256");
		SSL_CTX *client = handshake_client(TLS1_2_VERSION, "RSA+SHA256:ECDSA+SHA256");
		struct handshake handshake;
		const char *told;

		offer_ciphers(some, count < NAMED ? count : NAMED, &named);
		buffer_append_format(&wanted, "; offered: at most TLSv1.2, " STR_FORMAT,
				     STR_ARGUMENTS(buffer_view(&named)));
		if (count > NAMED)
			buffer_append_format(&wanted, " and %zu more", count - NAMED);
		buffer_append_byte(&wanted, '\0');
		buffer_reset(&named);
		offer_ciphers(client, count, &named);
		handshake_begin(&handshake, context, client, "mx.example.org");
		handshake_finish(&handshake, &scene.signer);
		assert_int_equal(handshake.server_result, -EPROTO);
		told = strstr(tls_connection_reason(handshake.server), "; offered");
		assert_non_null(told);
		assert_string_equal(told, buffer_data(&wanted));
		handshake_end(&handshake);
		SSL_CTX_free(client);
		SSL_CTX_free(some);
	}
	tls_context_free(context);
}

static void chains_are_sent(void **state)
{
	struct buffer pem = {0};
	struct buffer reason = {0};
	X509 *certificate = identity_scene_certificate(P256, "DNS:mx.example.org");
	struct tls_certificate settings = {{NULL, 0}, NULL, 0};
	const struct tls_identity_settings identity = {
		.certificates = &settings, .certificate_count = 1, .signer = &scene.signer.signer};
	struct tls_context *context;
	SSL_CTX *client = handshake_client(0, NULL);
	struct handshake handshake;

	(void)state;
	tls_scene_write(certificate, &pem);
	tls_scene_write(scene.authority, &pem);
	settings.chain = buffer_view(&pem);
	assert_int_equal(tls_identity_open(&identity, &context, &reason), 0);
	handshake_begin(&handshake, context, client, NULL);
	identity_scene_agree(&handshake);
	assert_int_equal(sk_X509_num(SSL_get_peer_cert_chain(handshake.client)), 2);
	assert_int_equal(X509_cmp(sk_X509_value(SSL_get_peer_cert_chain(handshake.client), 1),
				  scene.authority),
			 0);
	handshake_end(&handshake);
	SSL_CTX_free(client);
	tls_context_free(context);
	X509_free(certificate);
	buffer_clear(&pem);
}

static void refuse(const struct tls_identity_settings *settings, const char *expected)
{
	struct tls_context *context = NULL;
	struct buffer reason = {0};

	assert_int_equal(tls_identity_open(settings, &context, &reason), -EINVAL);
	assert_null(context);
	buffer_append_byte(&reason, '\0');
	assert_ptr_equal(strstr(buffer_data(&reason), expected), buffer_data(&reason));
	assert_int_equal(ERR_peek_error(), 0);
	buffer_clear(&reason);
}

static void what_is_wrong_with_a_certificate_is_told(void **state)
{
	static char large[TLS_CHAIN_SIZE_MAX + 1];
	EVP_PKEY *weak_key = tls_scene_key("RSA", 1024);
	X509 *weak = tls_scene_certificate(
		&(struct tls_scene_certificate){.name = "weak", .key = weak_key});
	X509 *good = identity_scene_certificate(P256, "DNS:mx.example.org");
	struct buffer weak_pem = identity_scene_text(weak);
	struct buffer good_pem = identity_scene_text(good);
	const struct {
		struct str pem;
		const char *reason;
	} cases[] = {
		{STR(""), "certificate 2: it holds no certificate in PEM form"},
		{STR("rubbish"), "certificate 2: it holds no certificate in PEM form"},
		{STR("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"),
		 "certificate 2: a certificate in it is damaged"},
		{str_slice(buffer_data(&good_pem), good_pem.length / 2),
		 "certificate 2: a certificate in it is damaged"},
		{str_slice(large, sizeof large), "certificate 2: it is too large"},
		{buffer_view(&weak_pem), "certificate 2: its RSA key has 1024 bits"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const struct tls_certificate certificates[] = {{buffer_view(&good_pem), NULL, 0},
							       {cases[i].pem, NULL, 0}};
		uint8_t id[TLS_KEY_ID_SIZE];
		struct buffer reason = {0};

		refuse(&(struct tls_identity_settings){.certificates = certificates,
						       .certificate_count = 2,
						       .signer = &scene.signer.signer},
		       cases[i].reason);
		assert_int_equal(tls_identity_key(cases[i].pem, id, &reason), -EINVAL);
		assert_memory_equal(buffer_data(&reason), strstr(cases[i].reason, ": ") + 2,
				    strlen(strstr(cases[i].reason, ": ") + 2));
		buffer_clear(&reason);
		if (cases[i].pem.length == 0)
			continue; /* there are no authorities then */
		refuse(&(struct tls_identity_settings){.certificates = certificates,
						       .certificate_count = 1,
						       .signer = &scene.signer.signer,
						       .client_authorities = STR("rubbish")},
		       "authorities: it holds no certificate in PEM form");
	}
	X509_free(weak);
	X509_free(good);
	EVP_PKEY_free(weak_key);
	buffer_clear(&weak_pem);
	buffer_clear(&good_pem);
}

static void a_key_is_known_by_its_certificate(void **state)
{
	(void)state;
	for (int i = 0; i < AUTHORITY; i++) {
		X509 *certificate = identity_scene_certificate(i, "DNS:mx.example.org");
		struct buffer pem = identity_scene_text(certificate);
		struct buffer reason = {0};
		uint8_t id[TLS_KEY_ID_SIZE];

		assert_int_equal(tls_identity_key(buffer_view(&pem), id, &reason), 0);
		assert_memory_equal(id, tls_private_key_id(scene.signer.keys[scene.places[i]]),
				    TLS_KEY_ID_SIZE);
		X509_free(certificate);
		buffer_clear(&pem);
	}
}

static void old_ways_are_refused(void **state)
{
	struct tls_context *context = identity_scene_simple(SMALL);
	const struct {
		int version;
		const char *ciphers;
		bool is_refused;
	} cases[] = {
		{TLS1_1_VERSION, "ALL:@SECLEVEL=0", true},
		{TLS1_VERSION, "ALL:@SECLEVEL=0", true},
		{TLS1_2_VERSION, "AES128-GCM-SHA256", true},
		{TLS1_2_VERSION, "ECDHE-RSA-AES128-SHA256", true},
		{TLS1_2_VERSION, "ECDHE-RSA-AES256-GCM-SHA384", false},
		{TLS1_2_VERSION, "ECDHE-RSA-CHACHA20-POLY1305", false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		SSL_CTX *client = handshake_client(cases[i].version, NULL);
		struct handshake handshake;

		assert_int_equal(SSL_CTX_set_cipher_list(client, cases[i].ciphers), 1);
		handshake_begin(&handshake, context, client, NULL);
		handshake_finish(&handshake, &scene.signer);
		assert_int_equal(handshake.server_result, cases[i].is_refused ? -EPROTO : 0);
		assert_int_equal(handshake.client_result, cases[i].is_refused ? -EPROTO : 0);
		handshake_end(&handshake);
		SSL_CTX_free(client);
	}
	tls_context_free(context);
}

/* The client's wish is answered by an alert, and not by a handshake that nobody signs. */
static void nothing_is_negotiated_again(void **state)
{
	struct tls_context *context = identity_scene_simple(P256);
	SSL_CTX *client = handshake_client(TLS1_2_VERSION, NULL);
	struct handshake handshake;
	char byte;

	(void)state;
	handshake_begin(&handshake, context, client, NULL);
	identity_scene_agree(&handshake);
	assert_int_equal(SSL_renegotiate(handshake.client), 1);
	(void)!SSL_do_handshake(handshake.client);
	ERR_clear_error();
	for (unsigned turn = 0; turn < 10; turn++) {
		assert_true(tls_connection_read(handshake.server, &byte, 1) < 0);
		(void)!SSL_do_handshake(handshake.client);
		ERR_clear_error();
		assert_int_equal(scene.signer.waiting_count, 0);
	}
	assert_int_equal(SSL_renegotiate_pending(handshake.client), 1);
	handshake_end(&handshake);
	SSL_CTX_free(client);
	tls_context_free(context);
}

/* In a process that may do next to nothing any more: files were read by another one. */
static int work_in_sandbox(void)
{
	const struct os_sandbox sandbox = {0};
	struct tls_context *context = identity_scene_simple(P256);
	SSL_CTX *client = handshake_client(0, NULL);
	struct handshake handshake;
	unsigned lacks;

	handshake_begin(&handshake, context, client, "mx.example.org");
	if (os_sandbox_enter(&sandbox, &lacks) < 0)
		return 2;
	tls_context_free(context);
	context = identity_scene_simple(SMALL);
	handshake_finish(&handshake, &scene.signer);
	if (handshake.server_result != 0 || !handshake_exchange(&handshake))
		return 3;
	tls_context_free(context);
	return 0;
}

static void the_sandbox_lets_it_work(void **state)
{
	int status;
	pid_t child = fork();

	(void)state;
	assert_true(child >= 0);
	if (child == 0)
		_exit(work_in_sandbox());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* What can be no client_authorities is told before anybody gets it. */
static void authorities_are_judged(void **state)
{
	struct buffer good = identity_scene_text(scene.authority);
	struct buffer damaged = {0};
	struct buffer reason = {0};

	(void)state;
	buffer_append(&damaged, buffer_data(&good), good.length / 2);
	assert_int_equal(tls_identity_judge_authorities(buffer_view(&good), &reason), 0);
	assert_int_equal(reason.length, 0);
	assert_int_equal(tls_identity_judge_authorities(STR(""), &reason), -EINVAL);
	assert_int_equal(tls_identity_judge_authorities(buffer_view(&damaged), &reason), -EINVAL);
	assert_true(reason.length > 0);
	buffer_clear(&damaged);
	buffer_clear(&reason);
	buffer_clear(&good);
}

/* Both sides have the same, and another connection has another. */
static void connections_are_bound(void **state)
{
	static const struct {
		int key;
		int version;
		size_t length; /* of what binds to the certificate, whose signer has P-256 */
	} cases[] = {
		{P256, TLS1_3_VERSION, 32},
		{SMALL, TLS1_2_VERSION, 32},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct tls_context *context = identity_scene_simple(cases[i].key);
		SSL_CTX *client = handshake_client(cases[i].version, NULL);
		unsigned char last[TLS_BINDING_MAX] = {0};

		for (int round = 0; round < 2; round++) {
			struct handshake handshake;
			unsigned char ours[TLS_BINDING_MAX];
			unsigned char theirs[EVP_MAX_MD_SIZE];
			unsigned length = 0;

			handshake_begin(&handshake, context, client, NULL);
			assert_int_equal(tls_connection_exporter(handshake.server, ours), 0);
			assert_int_equal(tls_connection_end_point(handshake.server, ours), 0);
			identity_scene_agree(&handshake);
			assert_int_equal(tls_connection_exporter(handshake.server, ours), 32);
			assert_int_equal(SSL_export_keying_material(handshake.client, theirs, 32,
								    "EXPORTER-Channel-Binding", 24,
								    (const unsigned char *)"", 0,
								    1),
					 1);
			assert_memory_equal(ours, theirs, 32);
			assert_memory_not_equal(ours, last, 32);
			memcpy(last, ours, 32);
			assert_int_equal(tls_connection_end_point(handshake.server, ours),
					 cases[i].length);
			assert_int_equal(X509_digest(SSL_get0_peer_certificate(handshake.client),
						     EVP_sha256(), theirs, &length),
					 1);
			assert_memory_equal(ours, theirs, length);
			handshake_end(&handshake);
		}
		SSL_CTX_free(client);
		tls_context_free(context);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_name_chooses),
		cmocka_unit_test(no_certificate_for_a_client_is_told),
		cmocka_unit_test(what_a_client_offers_is_told),
		cmocka_unit_test(chains_are_sent),
		cmocka_unit_test(what_is_wrong_with_a_certificate_is_told),
		cmocka_unit_test(a_key_is_known_by_its_certificate),
		cmocka_unit_test(old_ways_are_refused),
		cmocka_unit_test(nothing_is_negotiated_again),
		cmocka_unit_test(the_sandbox_lets_it_work),
		cmocka_unit_test(authorities_are_judged),
		cmocka_unit_test(connections_are_bound),
	};

	return cmocka_run_group_tests(tests, identity_scene_make, identity_scene_free);
}
