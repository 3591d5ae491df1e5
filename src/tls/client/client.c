// SPDX-License-Identifier: ISC
#include "tls/client.h"
#include "base/panic.h"
#include "os/socket/socket.h"
#include "tls/client/internal.h"
#include "tls/internal.h"
#include <stdlib.h>
#include <string.h>

/* Forward secrecy first; but what an old server can do is better than plain text. */
static const char CLIENT_CIPHERS[] =
	"ECDHE+AESGCM:ECDHE+CHACHA20:DHE+AESGCM:DHE+CHACHA20:ECDHE+AES:"
	"DHE+AES:RSA+AESGCM:RSA+AES:!aNULL:!PSK:!SRP";

enum {
	CLIENT_CHAIN_MAX = 8,           /* intermediate certificates of a server */
	CLIENT_CHAIN_SIZE = 100 * 1024, /* bytes of all that it sends: more ends the handshake */
	LEVEL_LOW = 1,                  /* OpenSSL's, for servers of which nothing is verified */
	LEVEL_HIGH = 2,                 /* 112 bits */
};

/* What a connection needs of its request later. */
struct tls_client_part {
	struct tls_client *client;
	enum tls_verify_by by;
	bool has_key;
	uint8_t key[TLS_CLIENT_KEY_SIZE]; /* of its session */
	enum tls_verified verified;       /* of the session that it continues */
};

struct tls_client {
	SSL_CTX *openssl; /* NULL until the first connection */
	int index;        /* of the part in an SSL's own data */
	struct tls_sessions *sessions;
};

static const char *const verified_names[] = {
	[TLS_VERIFIED_NOT] = "no",
	[TLS_VERIFIED_AUTHORITY] = "authority",
	[TLS_VERIFIED_FINGERPRINT] = "fingerprint",
	[TLS_VERIFIED_DANE_TA] = "dane-ta",
	[TLS_VERIFIED_DANE_EE] = "dane-ee",
};

const char *tls_verified_name(enum tls_verified verified)
{
	return verified_names[verified];
}

static void require_success(bool is_done)
{
	if (!is_done)
		panic("no memory for TLS");
}

static enum tls_verified learn_verified(const SSL *openssl, const struct tls_client_part *part)
{
	uint8_t usage;

	if (SSL_session_reused(openssl) == 1)
		return part->verified;
	if (part->by == TLS_VERIFY_AUTHORITIES && SSL_get_verify_result(openssl) != X509_V_OK)
		return TLS_VERIFIED_NOT;
	if (part->by == TLS_VERIFY_AUTHORITIES)
		return TLS_VERIFIED_AUTHORITY;
	if (part->by == TLS_VERIFY_FINGERPRINTS)
		return TLS_VERIFIED_FINGERPRINT;
	/* its parameter is not const before OpenSSL 3.2 */
	if (part->by == TLS_VERIFY_TLSA &&
	    SSL_get0_dane_tlsa((SSL *)openssl, &usage, NULL, NULL, NULL, NULL) >= 0)
		return usage == TLS_TLSA_USAGE_EE ? TLS_VERIFIED_DANE_EE : TLS_VERIFIED_DANE_TA;
	return TLS_VERIFIED_NOT;
}

static void free_part(void *parent, void *data, CRYPTO_EX_DATA *all, int index, long number,
		      void *context)
{
	(void)parent;
	(void)all;
	(void)index;
	(void)number;
	(void)context;
	free(data);
}

/* Once in a process: an index cannot be given back. */
static int part_index(void)
{
	static int index = -1;

	if (index < 0)
		index = SSL_get_ex_new_index(0, NULL, NULL, NULL, free_part);
	require_success(index >= 0);
	return index;
}

static struct tls_client_part *part_of(const SSL *openssl)
{
	return SSL_get_ex_data(openssl, part_index());
}

/* 1: the reference to SESSION is kept. */
static int on_session(SSL *openssl, SSL_SESSION *session)
{
	const struct tls_client_part *part = part_of(openssl);

	if (!part->has_key || SSL_SESSION_is_resumable(session) != 1)
		return 0;
	tls_sessions_put(part->client->sessions, part->key, session, learn_verified(openssl, part));
	return 1;
}

void tls_client_set_rules(SSL_CTX *openssl)
{
	SSL_CTX_sess_set_new_cb(openssl, on_session);
	SSL_CTX_set_read_ahead(openssl, 1); /* a call for a record, not one for its head, too */
	(void)SSL_CTX_set_options(openssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
	(void)SSL_CTX_set_session_cache_mode(openssl,
					     SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
	(void)SSL_CTX_set_mode(openssl, SSL_MODE_ENABLE_PARTIAL_WRITE |
						SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
						SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_verify_depth(openssl, CLIENT_CHAIN_MAX);
	(void)SSL_CTX_set_max_cert_list(openssl, CLIENT_CHAIN_SIZE);
	if (SSL_CTX_set_min_proto_version(openssl, TLS1_2_VERSION) != 1 ||
	    SSL_CTX_set_cipher_list(openssl, CLIENT_CIPHERS) != 1 ||
	    SSL_CTX_dane_enable(openssl) != 1)
		panic("this OpenSSL has no ciphers for TLS 1.2");
}

void tls_client_prepare(void)
{
	require_success(OPENSSL_init_ssl(0, NULL) == 1);
	tls_errors_clear();
}

struct tls_client *tls_client_new(void)
{
	struct tls_client *client = memory_alloc_zero(1, sizeof *client);

	client->sessions = tls_sessions_new();
	return client;
}

static SSL_CTX *context_of(struct tls_client *client)
{
	if (client->openssl != NULL)
		return client->openssl;
	client->openssl = SSL_CTX_new(TLS_client_method());
	require_success(client->openssl != NULL);
	tls_client_set_rules(client->openssl);
	return client->openssl;
}

void tls_client_free(struct tls_client *client)
{
	if (client == NULL)
		return;
	tls_sessions_free(client->sessions);
	SSL_CTX_free(client->openssl);
	free(client);
}

void tls_client_forget(struct tls_client *client)
{
	tls_sessions_clear(client->sessions);
}

static bool is_address_literal(const char *name)
{
	union os_socket_address address;

	return os_socket_address_parse(name, 0, &address);
}

/* One of these must be in the certificate. A literal address counts if it comes first, since both
 * an address and a name would have to be there. */
static void expect_names(SSL *openssl, const struct tls_verify *verify)
{
	X509_VERIFY_PARAM *rules = SSL_get0_param(openssl);

	if (is_address_literal(verify->names[0])) {
		require_success(X509_VERIFY_PARAM_set1_ip_asc(rules, verify->names[0]) == 1);
		return;
	}
	tls_rules_set_names(rules, TLS_COMMON_NAME_NEVER);
	for (size_t i = 0; i < verify->name_count; i++)
		if (!is_address_literal(verify->names[i]))
			require_success(SSL_add1_host(openssl, verify->names[i]) == 1);
}

void tls_client_expect_host(void *openssl, const char *host)
{
	X509_VERIFY_PARAM *rules = SSL_CTX_get0_param(openssl);

	tls_rules_set_names(rules, TLS_COMMON_NAME_NEVER);
	require_success(X509_VERIFY_PARAM_set1_host(rules, host, 0) == 1);
}

static void enable_dane(SSL *openssl, const char *name)
{
	require_success(SSL_dane_enable(openssl, name) == 1);
	(void)SSL_dane_set_flags(openssl, DANE_FLAG_NO_DANE_EE_NAMECHECKS);
	tls_rules_set_names(SSL_get0_param(openssl), TLS_COMMON_NAME_ELSE);
}

static void add_tlsa_record(SSL *openssl, uint8_t usage, uint8_t selector, uint8_t matching,
			    struct str data)
{
	require_success(SSL_dane_tlsa_add(openssl, usage, selector, matching,
					  (const unsigned char *)data.data, data.length) >= 0);
}

/* Without a usable record nothing is trusted, so that the handshake fails. */
static void expect_records(SSL *openssl, const struct tls_verify *verify)
{
	enable_dane(openssl, verify->names[0]);
	for (size_t i = 1; i < verify->name_count; i++)
		require_success(SSL_add1_host(openssl, verify->names[i]) == 1);
	for (size_t i = 0; i < verify->record_count; i++) {
		const struct tls_tlsa *record = &verify->records[i];

		if (tls_tlsa_is_usable(record))
			add_tlsa_record(openssl, record->usage, record->selector, record->matching,
					record->data);
	}
}

/* A fingerprint is what a record with usage 3 has, of the certificate or of its key. */
static void expect_fingerprints(SSL *openssl, const struct tls_verify *verify)
{
	enable_dane(openssl, NULL);
	for (size_t i = 0; i < verify->fingerprint_count; i++) {
		char digest[TLS_SHA256_SIZE];
		struct str data = str_slice(digest, sizeof digest);

		if (!tls_fingerprint_parse(verify->fingerprints[i], digest))
			continue;
		add_tlsa_record(openssl, TLS_TLSA_USAGE_EE, TLS_TLSA_CERTIFICATE, TLS_TLSA_SHA256,
				data);
		add_tlsa_record(openssl, TLS_TLSA_USAGE_EE, TLS_TLSA_KEY, TLS_TLSA_SHA256, data);
	}
}

static void set_tls_verification(SSL *openssl, const struct tls_verify *verify)
{
	bool is_verified = verify->by != TLS_VERIFY_NOTHING && !verify->is_tried;

	SSL_set_security_level(openssl, is_verified ? LEVEL_HIGH : LEVEL_LOW);
	SSL_set_verify(openssl, is_verified ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, NULL);
	switch (verify->by) {
	case TLS_VERIFY_NOTHING:
		break;
	case TLS_VERIFY_AUTHORITIES:
		if (verify->authorities != NULL)
			require_success(
				SSL_set1_verify_cert_store(
					openssl, tls_authorities_store(verify->authorities)) == 1);
		expect_names(openssl, verify);
		break;
	case TLS_VERIFY_FINGERPRINTS:
		expect_fingerprints(openssl, verify);
		break;
	case TLS_VERIFY_TLSA:
		expect_records(openssl, verify);
		break;
	}
}

static void set_tls_strength(SSL *openssl, const struct tls_strength *strength)
{
	if (strength->is_1_3)
		require_success(SSL_set_min_proto_version(openssl, TLS1_3_VERSION) == 1);
	if (strength->ciphers != NULL)
		require_success(SSL_set_cipher_list(openssl, strength->ciphers) == 1);
}

/* The session is verified again as it was, so its limit is that of the cache. */
static void resume_kept_session(SSL *openssl, struct tls_client_part *part)
{
	SSL_SESSION *session =
		tls_sessions_find(part->client->sessions, part->key, &part->verified);

	if (session != NULL)
		require_success(SSL_set_session(openssl, session) == 1);
}

struct tls_connection *tls_client_connect(struct tls_client *client, int socket,
					  const struct tls_client_request *request)
{
	const struct tls_client_certificate *certificate = request->certificate;
	struct tls_client_part *part = memory_alloc_zero(1, sizeof *part);
	struct tls_connection *connection;
	SSL *openssl;

	tls_errors_clear();
	openssl = SSL_new(certificate != NULL ? certificate->openssl : context_of(client));
	require_success(openssl != NULL);
	part->client = client;
	part->by = request->verify.by;
	part->has_key = request->peer != NULL;
	require_success(SSL_set_ex_data(openssl, part_index(), part) == 1);
	if (request->host != NULL && !is_address_literal(request->host))
		require_success(SSL_set_tlsext_host_name(openssl, request->host) == 1);
	set_tls_verification(openssl, &request->verify);
	set_tls_strength(openssl, &request->strength);
	if (part->has_key) {
		tls_client_key(request, part->key);
		resume_kept_session(openssl, part);
	}
	connection = tls_connection_wrap(
		openssl, certificate != NULL ? certificate->identity : NULL, TLS_CLIENT, socket);
	tls_errors_clear();
	return connection;
}

enum tls_verified tls_connection_verified(const struct tls_connection *connection)
{
	const SSL *openssl = tls_connection_openssl(connection);

	return learn_verified(openssl, part_of(openssl));
}

enum tls_flaw tls_connection_flaw(const struct tls_connection *connection)
{
	const SSL *openssl = tls_connection_openssl(connection);
	const struct tls_client_part *part = part_of(openssl);

	if (part == NULL || part->by == TLS_VERIFY_NOTHING)
		return TLS_FLAW_NONE;
	switch (SSL_get_verify_result(openssl)) {
	case X509_V_OK:
		return TLS_FLAW_NONE;
	case X509_V_ERR_HOSTNAME_MISMATCH:
	case X509_V_ERR_IP_ADDRESS_MISMATCH:
		return TLS_FLAW_NAME;
	case X509_V_ERR_CERT_HAS_EXPIRED:
	case X509_V_ERR_CERT_NOT_YET_VALID:
		return TLS_FLAW_EXPIRED;
	case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
	case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
	case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
	case X509_V_ERR_CERT_UNTRUSTED:
	case X509_V_ERR_CERT_REJECTED:
		return TLS_FLAW_UNTRUSTED;
	default:
		return TLS_FLAW_OTHER;
	}
}

bool tls_connection_is_resumed(const struct tls_connection *connection)
{
	return SSL_session_reused(tls_connection_openssl(connection)) == 1;
}
