// SPDX-License-Identifier: ISC
#include "identity_scene.h"
#include "test.h"
#include <openssl/err.h>
#include <string.h>

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
	return identity_scene_open(
		wanted, COUNT_OF(wanted),
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
	identity_scene_agree(handshake);
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

/* What a client presents. */
enum presents { NOTHING_PRESENTED, OURS, FOREIGN, EXPIRED };

static void present(SSL_CTX *client, enum presents presents)
{
	struct tls_scene_certificate wanted = {.name = "client.example",
					       .names = "DNS:client.example",
					       .key = identity_scene_key(P256),
					       .issuer = scene.authority,
					       .signer = identity_scene_key(AUTHORITY)};
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
	assert_int_equal(SSL_CTX_use_PrivateKey(client, identity_scene_key(P256)), 1);
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
	struct buffer pem = identity_scene_text(scene.authority);

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
		.name = "Authority", .is_authority = true, .key = identity_scene_key(P384)});
	struct buffer ours = identity_scene_text(scene.authority);
	struct buffer others = identity_scene_text(other);
	const struct {
		struct str here; /* authorities */
		bool asks_here;
		struct str there;
		bool asks_there;
	} cases[] = {
		{buffer_view(&ours), false, buffer_view(&others), false},
		{buffer_view(&ours), false, STR(""), true},
		{buffer_view(&ours), false, STR(""), false},
		{STR(""), true, STR(""), false},
		{STR(""), true, buffer_view(&others), false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
			struct tls_context *here =
				open_tickets(ticket_keys, 1, cases[i].asks_here, cases[i].here);
			struct tls_context *there =
				open_tickets(ticket_keys, 1, cases[i].asks_there, cases[i].there);
			bool is_verified = cases[i].here.length > 0;
			SSL_CTX *client = handshake_client(version, NULL);
			SSL_SESSION *session = NULL;
			struct handshake handshake;

			present(client, OURS);
			assert_false(is_resumed(here, client, &session, &handshake));
			check_client(&handshake, is_verified, true);
			handshake_end(&handshake);
			assert_false(is_resumed(there, client, &session, &handshake));
			assert_false(tls_connection_is_verified(handshake.server));
			handshake_end(&handshake);
			assert_false(is_resumed(here, client, &session, &handshake));
			check_client(&handshake, is_verified, true);
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

/* What one listener accepts is no way around what another one does. */
static void a_ticket_counts_only_for_the_same_ciphers(void **state)
{
	static const struct tls_strength strengths[] = {
		{.ciphers = TLS_CIPHERS_WIDE}, {0}, {.is_1_3 = true}};
	const struct wanted wanted = {P256, "DNS:mx2.example.org", {NULL}};
	SSL_CTX *client = handshake_client(TLS1_3_VERSION, NULL);
	SSL_SESSION *session = NULL;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(strengths); i++)
		for (int again = 0; again <= 1; again++) {
			struct handshake handshake;
			struct tls_context *context = identity_scene_open(
				&wanted, 1,
				(struct tls_identity_settings){.ticket_keys = TICKET_KEYS,
							       .ticket_key_count = 1,
							       .strength = strengths[i]});

			assert_int_equal(is_resumed(context, client, &session, &handshake), again);
			handshake_end(&handshake);
			tls_context_free(context);
		}
	SSL_SESSION_free(session);
	SSL_CTX_free(client);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tickets_count_everywhere),
		cmocka_unit_test(there_are_no_tickets_without_keys),
		cmocka_unit_test(early_data_are_not_taken),
		cmocka_unit_test(clients_are_known_and_verified),
		cmocka_unit_test(a_ticket_counts_only_for_the_same_authorities),
		cmocka_unit_test(a_ticket_counts_only_for_the_same_ciphers),
	};

	return cmocka_run_group_tests(tests, identity_scene_make, identity_scene_free);
}
