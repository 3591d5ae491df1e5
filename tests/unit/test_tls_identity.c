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
#include <openssl/x509v3.h>
#include <stdlib.h>
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

enum { WANTED_MAX = 16, MANY = 600 /* more than may wait for signatures at once */ };

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

static void a_handshake_waits_for_its_signature(void **state)
{
	struct tls_context *context = open_simple(P256);
	SSL_CTX *client = handshake_client(0, NULL);
	struct handshake handshake;

	(void)state;
	handshake_begin(&handshake, context, client, NULL);
	handshake_step(&handshake);
	assert_int_equal(scene.waiting_count, 1);
	for (unsigned turn = 0; turn < 10; turn++) { /* nothing else makes it go on */
		assert_int_equal(tls_connection_handshake(handshake.server), -EAGAIN);
		assert_int_equal(tls_connection_read(handshake.server, &(char){0}, 1), -EAGAIN);
		assert_int_equal(tls_connection_wants(handshake.server, true), OS_WATCH_NONE);
		assert_int_equal(tls_connection_write_wants(handshake.server), OS_WATCH_NONE);
		assert_int_equal(handshake.resumed, 0);
		assert_int_equal(scene.waiting_count, 1);
	}
	assert_true(signer_scene_answer(&scene));
	assert_int_equal(handshake.resumed, 1);
	handshake_step(&handshake);
	assert_int_equal(tls_connection_wants(handshake.server, false), OS_WATCH_READ);
	agree(&handshake);
	assert_int_equal(tls_connection_wants(handshake.server, false), OS_WATCH_READ);
	assert_int_equal(handshake.resumed, 1);
	handshake_end(&handshake);
	SSL_CTX_free(client);
	tls_context_free(context);
}

/* Many times, since a job that is lost each time would use up the pool. */
static void a_signature_can_be_given_up(void **state)
{
	struct tls_context *context = open_simple(P256);
	SSL_CTX *clients[] = {handshake_client(TLS1_2_VERSION, NULL),
			      handshake_client(TLS1_3_VERSION, NULL)};
	size_t before = scene.cancelled;
	struct handshake handshake;

	(void)state;
	for (unsigned i = 0; i < MANY; i++) {
		handshake_begin(&handshake, context, clients[i % 2], NULL);
		handshake_step(&handshake);
		assert_int_equal(scene.waiting_count, 1);
		handshake_end(&handshake);
		assert_int_equal(scene.waiting_count, 0);
		assert_int_equal(handshake.resumed, 0);
	}
	assert_int_equal(scene.cancelled - before, MANY);
	/* one that has its answer, but did not go on, has nothing to cancel */
	handshake_begin(&handshake, context, clients[1], NULL);
	handshake_step(&handshake);
	assert_true(signer_scene_answer(&scene));
	handshake_end(&handshake);
	assert_int_equal(scene.cancelled - before, MANY);
	handshake_begin(&handshake, context, clients[1], NULL);
	agree(&handshake);
	handshake_end(&handshake);
	SSL_CTX_free(clients[0]);
	SSL_CTX_free(clients[1]);
	tls_context_free(context);
}

/* What the client sees of a connection that is given up is an alert, not only an end. */
static void who_is_given_up_is_told(void **state)
{
	struct tls_context *context = open_simple(P256);
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
		struct tls_context *context = open_simple(cases[i].key);
		SSL_CTX *client = handshake_client(cases[i].version, NULL);
		struct handshake handshake;
		struct signer_answer *answer = &scene.answers[0];
		bool is_known;

		handshake_begin(&handshake, context, client, NULL);
		while (scene.waiting_count == 0)
			handshake_step(&handshake);
		is_known = cases[i].length == 0 || cases[i].length > (int)answer->length;
		if (cases[i].length >= 0)
			answer->length = (size_t)cases[i].length;
		else
			answer->signature[answer->length - 1] ^= 1;
		assert_true(signer_scene_answer(&scene));
		handshake_finish(&handshake, &scene);
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
	assert_true(scene.waiting_count < MANY); /* the others wait for their turn */
	return all;
}

static void many_wait_for_their_turn(void **state)
{
	struct tls_context *context = open_simple(P256);
	SSL_CTX *client = handshake_client(0, NULL);
	struct handshake *all = begin_many(context, client);
	size_t most = scene.waiting_count;

	(void)state;
	for (unsigned i = 0; i < MANY; i += 3) { /* some go, of those that wait for either */
		handshake_end(&all[i]);
		all[i].server = NULL;
	}
	while (signer_scene_answer(&scene))
		assert_true(scene.waiting_count <= most);
	for (unsigned i = 0; i < MANY; i++) {
		if (all[i].server == NULL)
			continue;
		assert_int_not_equal(tls_connection_wants(all[i].server, false), OS_WATCH_NONE);
		agree(&all[i]);
		handshake_end(&all[i]);
	}
	free(all);
	SSL_CTX_free(client);
	tls_context_free(context);
}

/* A signer that has died answers nothing to all of them. */
static void all_fail_with_their_signer(void **state)
{
	struct tls_context *context = open_simple(P256);
	SSL_CTX *client = handshake_client(0, NULL);
	struct handshake *all = begin_many(context, client);

	(void)state;
	while (scene.waiting_count > 0) {
		scene.answers[0].length = 0;
		assert_true(signer_scene_answer(&scene));
	}
	for (unsigned i = 0; i < MANY; i++) {
		assert_int_equal(all[i].server_result, -EPROTO);
		handshake_end(&all[i]);
	}
	free(all);
	SSL_CTX_free(client);
	tls_context_free(context);
}

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
		open_identity(wanted, COUNT_OF(wanted), (struct tls_identity_settings){0});

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
			const char *signatures = cases[i].signatures;
			SSL_CTX *client = handshake_client(version, signatures);
			struct handshake handshake;

			handshake_begin(&handshake, context, client, cases[i].asked);
			agree(&handshake);
			assert_true(has_name(handshake.client, cases[i].got));
			handshake_end(&handshake);
			SSL_CTX_free(client);
		}
	tls_context_free(context);
}

/* An exact name has no certificate for this client: the wildcard's is not taken instead. */
static void no_certificate_for_a_client_is_told(void **state)
{
	struct tls_context *context = open_simple(ED);
	SSL_CTX *client = handshake_client(0, "ECDSA+SHA256");
	struct handshake handshake;

	(void)state;
	handshake_begin(&handshake, context, client, "mx.example.org");
	handshake_finish(&handshake, &scene);
	assert_int_equal(handshake.server_result, -EPROTO);
	assert_int_equal(handshake.client_result, -EPROTO);
	assert_non_null(strstr(tls_connection_reason(handshake.server), "no suitable signature"));
	handshake_end(&handshake);
	SSL_CTX_free(client);
	tls_context_free(context);
}

static void chains_are_sent(void **state)
{
	struct buffer pem = {0};
	struct buffer reason = {0};
	X509 *certificate = make_certificate(P256, "DNS:mx.example.org");
	struct tls_certificate settings = {{NULL, 0}, NULL, 0};
	const struct tls_identity_settings identity = {
		.certificates = &settings, .certificate_count = 1, .signer = &scene.signer};
	struct tls_context *context;
	SSL_CTX *client = handshake_client(0, NULL);
	struct handshake handshake;

	(void)state;
	tls_scene_write(certificate, &pem);
	tls_scene_write(authority, &pem);
	settings.chain = buffer_view(&pem);
	assert_int_equal(tls_identity_open(&identity, &context, &reason), 0);
	handshake_begin(&handshake, context, client, NULL);
	agree(&handshake);
	assert_int_equal(sk_X509_num(SSL_get_peer_cert_chain(handshake.client)), 2);
	assert_int_equal(
		X509_cmp(sk_X509_value(SSL_get_peer_cert_chain(handshake.client), 1), authority),
		0);
	handshake_end(&handshake);
	SSL_CTX_free(client);
	tls_context_free(context);
	X509_free(certificate);
	buffer_clear(&pem);
}

/* Files change while connections are in any state. */
static void contexts_may_go_before_their_connections(void **state)
{
	SSL_CTX *client = handshake_client(0, NULL);
	struct handshake handshakes[4];
	struct tls_context *context = open_simple(P256);

	(void)state;
	for (size_t i = 0; i < COUNT_OF(handshakes); i++)
		handshake_begin(&handshakes[i], context, client, "mx.example.org");
	handshake_step(&handshakes[1]);
	agree(&handshakes[2]);
	handshake_step(&handshakes[3]);
	tls_context_free(context);
	context = open_simple(SMALL);
	handshake_end(&handshakes[3]);
	for (size_t i = 0; i < 3; i++) {
		agree(&handshakes[i]);
		assert_int_equal(EVP_PKEY_get_base_id(X509_get0_pubkey(
					 SSL_get0_peer_certificate(handshakes[i].client))),
				 EVP_PKEY_EC);
		handshake_end(&handshakes[i]);
	}
	handshake_begin(&handshakes[0], context, client, NULL);
	agree(&handshakes[0]);
	handshake_end(&handshakes[0]);
	tls_context_free(context);
	SSL_CTX_free(client);
}

static const struct tls_ticket_key TICKET_KEYS[] = {
	{"key number 1", "secret 1", "mac 1"},
	{"key number 2", "secret 2", "mac 2"},
	{"key number 3", "secret 3", "mac 3"},
};

static struct tls_context *open_tickets(const int *which, size_t count, bool asks,
					struct str authorities)
{
	const struct wanted wanted[] = {
		{P256, "DNS:mx.example.org", {NULL}},
		{P256, "DNS:mx2.example.org", {NULL}},
	};
	struct tls_ticket_key chosen[TLS_TICKET_KEYS_MAX];

	for (size_t i = 0; i < count; i++)
		chosen[i] = TICKET_KEYS[which[i] - 1];
	return open_identity(wanted, COUNT_OF(wanted),
			     (struct tls_identity_settings){.ticket_keys = chosen,
							    .ticket_key_count = count,
							    .asks_clients = asks,
							    .client_authorities = authorities});
}

static int keep_session(SSL *client, SSL_SESSION *session)
{
	SSL_SESSION **kept = SSL_get_app_data(client);

	SSL_SESSION_free(*kept);
	*kept = session;
	return 1;
}

/* One handshake with CONTEXT, which begins with *SESSION and ends with a new one or the same. */
static bool is_resumed(const struct tls_context *context, SSL_CTX *client, SSL_SESSION **session,
		       struct handshake *handshake)
{
	SSL_SESSION *old = *session;
	bool is_resumed;

	SSL_CTX_set_session_cache_mode(client,
				       SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL_STORE);
	SSL_CTX_sess_set_new_cb(client, keep_session);
	handshake_begin(handshake, context, client, "mx2.example.org");
	SSL_set_app_data(handshake->client, session);
	if (old != NULL)
		assert_int_equal(SSL_set_session(handshake->client, old), 1);
	agree(handshake);
	is_resumed = SSL_session_reused(handshake->client) == 1;
	if (SSL_version(handshake->client) ==
	    TLS1_2_VERSION) { /* the callback is for new ones only */
		SSL_SESSION_free(*session);
		*session = SSL_get1_session(handshake->client);
	}
	return is_resumed;
}

/* The ticket of SESSION, or its first bytes. */
struct ticket {
	unsigned char bytes[64];
};

static struct ticket ticket_of(const SSL_SESSION *session)
{
	struct ticket ticket = {{0}};
	const unsigned char *bytes;
	size_t length;

	SSL_SESSION_get0_ticket(session, &bytes, &length);
	if (length > 0)
		memcpy(ticket.bytes, bytes,
		       length < sizeof ticket.bytes ? length : sizeof ticket.bytes);
	return ticket;
}

static void tickets_count_everywhere(void **state)
{
	static const struct {
		int first[TLS_TICKET_KEYS_MAX]; /* keys of the context of the first session */
		size_t first_count;
		int second[TLS_TICKET_KEYS_MAX];
		size_t second_count;
		bool is_resumed;
		bool is_renewed; /* with TLS 1.2; with 1.3 always */
	} cases[] = {
		{{1}, 1, {1}, 1, true, false},    {{1, 2}, 2, {1, 2}, 2, true, false},
		{{1}, 1, {2, 1}, 2, true, true},  {{1}, 1, {3, 2, 1}, 3, true, true},
		{{2, 1}, 2, {1}, 1, false, true}, {{1}, 1, {2}, 1, false, true},
		{{1}, 1, {0}, 0, false, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
			struct tls_context *first =
				open_tickets(cases[i].first, cases[i].first_count, false, STR(""));
			struct tls_context *second = open_tickets(
				cases[i].second, cases[i].second_count, false, STR(""));
			SSL_CTX *client = handshake_client(version, NULL);
			SSL_SESSION *session = NULL;
			struct ticket old;
			struct ticket new;
			struct handshake handshake;

			assert_false(is_resumed(first, client, &session, &handshake));
			handshake_end(&handshake);
			tls_context_free(first);
			assert_non_null(session);
			old = ticket_of(session);
			assert_int_equal(is_resumed(second, client, &session, &handshake),
					 cases[i].is_resumed);
			new = ticket_of(session);
			if (cases[i].second_count > 0)
				assert_int_equal(memcmp(&old, &new, sizeof old) != 0,
						 cases[i].is_renewed || version == TLS1_3_VERSION);
			/* no signature was needed */
			assert_int_equal(handshake.resumed, cases[i].is_resumed ? 0 : 1);
			handshake_end(&handshake);
			SSL_SESSION_free(session);
			SSL_CTX_free(client);
			tls_context_free(second);
		}
}

static void there_are_no_tickets_without_keys(void **state)
{
	(void)state;
	for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
		struct tls_context *context = open_tickets(NULL, 0, false, STR(""));
		SSL_CTX *client = handshake_client(version, NULL);
		SSL_SESSION *session = NULL;
		struct handshake handshake;

		assert_false(is_resumed(context, client, &session, &handshake));
		assert_true(session == NULL || !SSL_SESSION_has_ticket(session));
		SSL_SESSION_free(session);
		handshake_end(&handshake);
		SSL_CTX_free(client);
		tls_context_free(context);
	}
}

static void early_data_are_not_taken(void **state)
{
	static const int first[] = {1};
	struct tls_context *context = open_tickets(first, 1, false, STR(""));
	SSL_CTX *client = handshake_client(TLS1_3_VERSION, NULL);
	SSL_SESSION *session = NULL;
	struct handshake handshake;

	(void)state;
	assert_false(is_resumed(context, client, &session, &handshake));
	assert_int_equal(SSL_SESSION_get_max_early_data(session), 0);
	handshake_end(&handshake);
	SSL_SESSION_free(session);
	SSL_CTX_free(client);
	tls_context_free(context);
}

static struct buffer write_authority(X509 *certificate)
{
	struct buffer pem = {0};

	tls_scene_write(certificate, &pem);
	return pem;
}

/* What a client presents. */
enum presents { NOTHING_PRESENTED, OURS, FOREIGN, EXPIRED };

static void present(SSL_CTX *client, enum presents presents)
{
	struct tls_scene_certificate wanted = {.name = "client.example",
					       .names = "DNS:client.example",
					       .key = keys[P256],
					       .issuer = authority,
					       .signer = keys[AUTHORITY]};
	X509 *certificate;

	if (presents == NOTHING_PRESENTED)
		return;
	if (presents == FOREIGN)
		wanted.issuer = NULL;
	if (presents == EXPIRED) {
		wanted.begins = -7200;
		wanted.ends = -3600;
	}
	certificate = tls_scene_certificate(&wanted);
	assert_int_equal(SSL_CTX_use_certificate(client, certificate), 1);
	assert_int_equal(SSL_CTX_use_PrivateKey(client, keys[P256]), 1);
	X509_free(certificate);
}

static void check_client(const struct handshake *handshake, bool is_verified, bool is_known)
{
	char certificate[TLS_FINGERPRINT_SIZE] = "";
	char key[TLS_FINGERPRINT_SIZE];
	size_t count = 77;

	assert_int_equal(tls_connection_is_verified(handshake->server), is_verified);
	assert_int_equal(tls_connection_names(handshake->server, &count) != NULL, is_verified);
	assert_int_equal(count, is_verified ? 1 : 0);
	assert_int_equal(tls_connection_has_name(handshake->server, "client.example"), is_verified);
	assert_int_equal(tls_connection_fingerprints(handshake->server, certificate, key),
			 is_known);
	assert_int_equal(strlen(certificate), is_known ? 64 : 0);
}

static void clients_are_known_and_verified(void **state)
{
	static const int ticket_keys[] = {1};
	static const struct {
		bool has_authorities;
		bool asks;
		enum presents presents;
		bool is_verified;
		bool is_known;
	} cases[] = {
		{false, false, OURS, false, false},
		{false, true, NOTHING_PRESENTED, false, false},
		{false, true, OURS, false, true},
		{false, true, FOREIGN, false, true},
		{true, false, NOTHING_PRESENTED, false, false},
		{true, false, OURS, true, true},
		{true, true, OURS, true, true},
		{true, true, FOREIGN, false, true},
		{true, false, EXPIRED, false, true},
	};
	struct buffer pem = write_authority(authority);

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
			struct str authorities =
				cases[i].has_authorities ? buffer_view(&pem) : STR("");
			struct tls_context *context =
				open_tickets(ticket_keys, 1, cases[i].asks, authorities);
			SSL_CTX *client = handshake_client(version, NULL);
			SSL_SESSION *session = NULL;
			struct handshake handshake;

			present(client, cases[i].presents);
			assert_false(is_resumed(context, client, &session, &handshake));
			check_client(&handshake, cases[i].is_verified, cases[i].is_known);
			handshake_end(&handshake);
			/* a session that goes on is that of the same client */
			assert_true(is_resumed(context, client, &session, &handshake));
			check_client(&handshake, cases[i].is_verified, cases[i].is_known);
			handshake_end(&handshake);
			SSL_SESSION_free(session);
			SSL_CTX_free(client);
			tls_context_free(context);
		}
	buffer_clear(&pem);
}

/* Who was verified by other authorities, or not at all, is not taken for verified by these. */
static void a_ticket_counts_only_for_the_same_authorities(void **state)
{
	static const int ticket_keys[] = {1};
	X509 *other = tls_scene_certificate(&(struct tls_scene_certificate){
		.name = "Authority", .is_authority = true, .key = keys[P384]});
	struct buffer ours = write_authority(authority);
	struct buffer others = write_authority(other);
	const struct {
		struct str authorities;
		bool asks;
	} cases[] = {
		{buffer_view(&others), false},
		{STR(""), true},
		{STR(""), false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
			struct tls_context *here =
				open_tickets(ticket_keys, 1, false, buffer_view(&ours));
			struct tls_context *there =
				open_tickets(ticket_keys, 1, cases[i].asks, cases[i].authorities);
			SSL_CTX *client = handshake_client(version, NULL);
			SSL_SESSION *session = NULL;
			struct handshake handshake;

			present(client, OURS);
			assert_false(is_resumed(here, client, &session, &handshake));
			check_client(&handshake, true, true);
			handshake_end(&handshake);
			assert_false(is_resumed(there, client, &session, &handshake));
			assert_false(tls_connection_is_verified(handshake.server));
			handshake_end(&handshake);
			assert_false(is_resumed(here, client, &session, &handshake));
			check_client(&handshake, true, true);
			handshake_end(&handshake);
			SSL_SESSION_free(session);
			SSL_CTX_free(client);
			tls_context_free(here);
			tls_context_free(there);
		}
	buffer_clear(&ours);
	buffer_clear(&others);
	X509_free(other);
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
	X509 *good = make_certificate(P256, "DNS:mx.example.org");
	struct buffer weak_pem = write_authority(weak);
	struct buffer good_pem = write_authority(good);
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
						       .signer = &scene.signer},
		       cases[i].reason);
		assert_int_equal(tls_identity_key(cases[i].pem, id, &reason), -EINVAL);
		assert_memory_equal(buffer_data(&reason), strstr(cases[i].reason, ": ") + 2,
				    strlen(strstr(cases[i].reason, ": ") + 2));
		buffer_clear(&reason);
		if (cases[i].pem.length == 0)
			continue; /* there are no authorities then */
		refuse(&(struct tls_identity_settings){.certificates = certificates,
						       .certificate_count = 1,
						       .signer = &scene.signer,
						       .client_authorities = STR("rubbish")},
		       "client authorities: it holds no certificate in PEM form");
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
		X509 *certificate = make_certificate(i, "DNS:mx.example.org");
		struct buffer pem = write_authority(certificate);
		struct buffer reason = {0};
		uint8_t id[TLS_KEY_ID_SIZE];

		assert_int_equal(tls_identity_key(buffer_view(&pem), id, &reason), 0);
		assert_memory_equal(id, tls_private_key_id(scene.keys[i]), TLS_KEY_ID_SIZE);
		X509_free(certificate);
		buffer_clear(&pem);
	}
}

static void old_ways_are_refused(void **state)
{
	struct tls_context *context = open_simple(SMALL);
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
		handshake_finish(&handshake, &scene);
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
	struct tls_context *context = open_simple(P256);
	SSL_CTX *client = handshake_client(TLS1_2_VERSION, NULL);
	struct handshake handshake;
	char byte;

	(void)state;
	handshake_begin(&handshake, context, client, NULL);
	agree(&handshake);
	assert_int_equal(SSL_renegotiate(handshake.client), 1);
	(void)!SSL_do_handshake(handshake.client);
	ERR_clear_error();
	for (unsigned turn = 0; turn < 10; turn++) {
		assert_true(tls_connection_read(handshake.server, &byte, 1) < 0);
		(void)!SSL_do_handshake(handshake.client);
		ERR_clear_error();
		assert_int_equal(scene.waiting_count, 0);
	}
	assert_int_equal(SSL_renegotiate_pending(handshake.client), 1);
	handshake_end(&handshake);
	SSL_CTX_free(client);
	tls_context_free(context);
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
		cmocka_unit_test(a_handshake_waits_for_its_signature),
		cmocka_unit_test(a_signature_can_be_given_up),
		cmocka_unit_test(who_is_given_up_is_told),
		cmocka_unit_test(a_wrong_signature_ends_the_handshake),
		cmocka_unit_test(many_wait_for_their_turn),
		cmocka_unit_test(all_fail_with_their_signer),
		cmocka_unit_test(the_name_chooses),
		cmocka_unit_test(no_certificate_for_a_client_is_told),
		cmocka_unit_test(chains_are_sent),
		cmocka_unit_test(contexts_may_go_before_their_connections),
		cmocka_unit_test(tickets_count_everywhere),
		cmocka_unit_test(there_are_no_tickets_without_keys),
		cmocka_unit_test(early_data_are_not_taken),
		cmocka_unit_test(clients_are_known_and_verified),
		cmocka_unit_test(a_ticket_counts_only_for_the_same_authorities),
		cmocka_unit_test(what_is_wrong_with_a_certificate_is_told),
		cmocka_unit_test(a_key_is_known_by_its_certificate),
		cmocka_unit_test(old_ways_are_refused),
		cmocka_unit_test(nothing_is_negotiated_again),
	};

	return cmocka_run_group_tests(tests, make_keys, free_keys);
}
