// SPDX-License-Identifier: ISC
/* What clients verify by names, fingerprints and TLSA records, and which sessions they resume. */
#include "certificates.h"
#include "test.h"
#include "tls/client.h"
#include "tls/peer_chain.h"
#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define HOST "mx.example.org"

enum {
	TURNS_MAX = 10000,
	DATA_MAX = 4096,
	DIGEST_MAX = 64,
	RECORDS_MAX = 4,
	LISTED_MAX = 4,
	TOGETHER_MAX = 8
};

static char directory[SCRATCH_SIZE];
static struct tls_client *client;
static struct tls_authorities *authorities;

/* A server of OpenSSL's own, which gives tickets. */
struct server {
	SSL_CTX *context;
	SSL *openssl;
};

static X509 *read_certificate(const char *name)
{
	FILE *file = fopen(certificates_path(directory, name, "pem"), "r");
	X509 *certificate;

	assert_non_null(file);
	certificate = PEM_read_X509(file, NULL, NULL, NULL);
	fclose(file);
	assert_non_null(certificate);
	return certificate;
}

static SSL_CTX *new_server_context(const char *name, bool sends_authority)
{
	SSL_CTX *context = SSL_CTX_new(TLS_server_method());

	assert_int_equal(SSL_CTX_use_certificate_file(context,
						      certificates_path(directory, name, "pem"),
						      SSL_FILETYPE_PEM),
			 1);
	assert_int_equal(SSL_CTX_use_PrivateKey_file(context,
						     certificates_path(directory, name, "key"),
						     SSL_FILETYPE_PEM),
			 1);
	if (sends_authority)
		assert_int_equal(SSL_CTX_add0_chain_cert(context, read_certificate("authority")),
				 1);
	return context;
}

/* The result of the client's handshake, after which it has read a byte: as with TLS 1.3 the tickets
 * come before it. */
static int shake_hands(struct server *server, struct tls_connection *connection)
{
	bool is_greeted = false;
	char byte;

	for (unsigned turn = 0; turn < TURNS_MAX; turn++) {
		int result = tls_connection_handshake(connection);

		assert_int_equal(ERR_peek_error(), 0);
		if (result != -EAGAIN && result != 0)
			return result;
		if (!is_greeted && SSL_do_handshake(server->openssl) == 1)
			is_greeted = SSL_write(server->openssl, "x", 1) == 1;
		ERR_clear_error();
		if (is_greeted && result == 0 && tls_connection_read(connection, &byte, 1) == 1)
			return 0;
	}
	fail();
	return -EAGAIN;
}

static struct tls_connection *connect_to(struct server *server,
					 const struct tls_client_request *request)
{
	int sockets[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sockets), 0);
	server->openssl = SSL_new(server->context);
	assert_int_equal(SSL_set_fd(server->openssl, sockets[0]), 1);
	SSL_set_accept_state(server->openssl);
	return tls_client_connect(client, sockets[1], request);
}

static void hang_up(struct server *server, struct tls_connection *connection)
{
	int socket = SSL_get_fd(server->openssl);

	tls_connection_free(connection);
	SSL_set_shutdown(server->openssl, SSL_SENT_SHUTDOWN); /* or it would forget the session */
	SSL_free(server->openssl);
	close(socket);
}

/* --- what is verified --- */

/* A record as tests write it: "3 1 1 NAME", of the certificate called NAME; '!' in front of the
 * name spoils the data. */
static void make_record(const char *text, struct tls_tlsa *record, unsigned char data[DATA_MAX])
{
	bool is_spoilt = text[6] == '!';
	X509 *certificate = read_certificate(text + 6 + is_spoilt);
	unsigned char *place = data;
	unsigned char digest[DIGEST_MAX];
	unsigned size = 0;
	int length;

	*record = (struct tls_tlsa){(uint8_t)(text[0] - '0'), (uint8_t)(text[2] - '0'),
				    (uint8_t)(text[4] - '0'), STR("")};
	length = record->selector == 0 ? i2d_X509(certificate, &place)
				       : i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &place);
	assert_in_range(length, 1, DATA_MAX);
	X509_free(certificate);
	if (record->matching > 0) {
		const EVP_MD *kind = record->matching == 1 ? EVP_sha256() : EVP_sha512();

		assert_int_equal(EVP_Digest(data, (size_t)length, digest, &size, kind, NULL), 1);
		memcpy(data, digest, size);
		length = (int)size;
	}
	if (is_spoilt)
		data[length - 1] ^= 1;
	record->data = str_slice((const char *)data, (size_t)length);
}

struct scenario {
	const char *server; /* its certificate */
	const char *names[LISTED_MAX];
	const char *records[RECORDS_MAX];
	const char *fingerprint; /* of this certificate */
	bool is_of_key;
	bool sends_authority;
	enum tls_verified verified; /* NOT: it is rejected, except where nothing is verified */
	bool verifies_nothing;
};

#define ANY      .verifies_nothing = true
#define BY_NAME  .verified = TLS_VERIFIED_AUTHORITY
#define BY_PRINT .verified = TLS_VERIFIED_FINGERPRINT
#define BY_EE    .verified = TLS_VERIFIED_DANE_EE
#define BY_TA    .verified = TLS_VERIFIED_DANE_TA

static const struct scenario scenarios[] = {
	{HOST, ANY},
	{"foreign-" HOST, ANY},
	{"expired-" HOST, ANY},

	{HOST, {HOST}, BY_NAME},
	{HOST, {"MX.Example.Org"}, BY_NAME},
	{HOST, {"other.example.org", HOST}, BY_NAME},
	{HOST, {"other.example.org"}},
	{HOST, {".example.org"}, BY_NAME},
	{HOST, {".org"}, BY_NAME},
	{HOST, {".mx.example.org"}},
	{HOST, {"example.org", ".example.org"}, BY_NAME},
	{HOST, {"127.0.0.1"}},
	{"loopback-" HOST, {"127.0.0.1"}, BY_NAME},
	{"loopback-" HOST, {"127.0.0.2"}},
	{"many-example.net", {"b.example.net"}, BY_NAME},
	{"many-example.net", {"example.net"}},
	{"many-example.net", {"c.b.example.net"}},
	{"common-" HOST, {HOST}},
	{"foreign-" HOST, {HOST}},
	{"expired-" HOST, {HOST}},

	{HOST, .fingerprint = HOST, BY_PRINT},
	{HOST, .fingerprint = HOST, .is_of_key = true, BY_PRINT},
	{"expired-" HOST, .fingerprint = "expired-" HOST, BY_PRINT},
	{"foreign-" HOST, .fingerprint = "foreign-" HOST, .is_of_key = true, BY_PRINT},
	{"foreign-" HOST, .fingerprint = HOST},
	{HOST, .fingerprint = "authority", .sends_authority = true},

	/* usage 3: names and dates do not matter */
	{HOST, {HOST}, {"3 1 1 " HOST}, BY_EE},
	{HOST, {HOST}, {"3 0 1 " HOST}, BY_EE},
	{HOST, {HOST}, {"3 0 2 " HOST}, BY_EE},
	{HOST, {HOST}, {"3 1 2 " HOST}, BY_EE},
	{HOST, {HOST}, {"3 0 0 " HOST}, BY_EE},
	{HOST, {HOST}, {"3 1 0 " HOST}, BY_EE},
	{HOST, {"other.example.com"}, {"3 1 1 " HOST}, BY_EE},
	{"expired-" HOST, {"other.example.com"}, {"3 1 1 expired-" HOST}, BY_EE},
	{"foreign-" HOST, {HOST}, {"3 1 1 foreign-" HOST}, BY_EE},
	{HOST, {HOST}, {"3 1 1 !" HOST}},
	{HOST, {HOST}, {"3 1 1 foreign-" HOST}},
	{HOST, {HOST}, {"3 1 1 foreign-" HOST, "3 1 1 " HOST}, BY_EE},
	{HOST, {HOST}, {"3 1 1 authority"}, .sends_authority = true},

	/* usage 2: they do */
	{HOST, {HOST}, {"2 0 1 authority"}, .sends_authority = true, BY_TA},
	{HOST, {HOST}, {"2 1 1 authority"}, .sends_authority = true, BY_TA},
	{HOST, {HOST}, {"2 0 0 authority"}, BY_TA},
	{HOST, {"example.org", HOST}, {"2 1 1 authority"}, .sends_authority = true, BY_TA},
	{HOST, {"other.example.com"}, {"2 1 1 authority"}, .sends_authority = true},
	{"expired-" HOST, {HOST}, {"2 1 1 authority"}, .sends_authority = true},
	{"foreign-" HOST, {HOST}, {"2 1 1 authority"}, .sends_authority = true},
	{HOST, {HOST}, {"2 1 1 foreign"}, .sends_authority = true},
	{HOST, {HOST}, {"2 1 1 authority"}}, /* which the server must send */
	{"expired-" HOST, {HOST}, {"2 1 1 authority", "3 1 1 expired-" HOST}, BY_EE},
	{"common-" HOST, {HOST}, {"2 1 1 authority"}, .sends_authority = true, BY_TA},
	{"common-" HOST, {"other.example.com"}, {"2 1 1 authority"}, .sends_authority = true},
	{"common-" HOST, {HOST}, {"2 1 1 authority", "3 1 1 common-" HOST}, BY_EE},

	/* what cannot be used protects from nobody, and lets nobody in */
	{HOST, {HOST}, {"1 1 1 " HOST}},
	{HOST, {HOST}, {"0 1 1 authority"}, .sends_authority = true},
	{HOST, {HOST}, {"1 1 1 foreign-" HOST, "3 1 1 " HOST}, BY_EE},
};

static size_t count_of(const char *const texts[], size_t most)
{
	size_t count = 0;

	while (count < most && texts[count] != NULL)
		count++;
	return count;
}

static void find_fingerprint(const char *name, bool is_of_key, char out[TLS_FINGERPRINT_SIZE])
{
	struct server server = {.context = new_server_context(name, false)};
	const struct tls_client_request request = {.host = HOST};
	struct tls_connection *connection = connect_to(&server, &request);
	char other[TLS_FINGERPRINT_SIZE];

	assert_int_equal(shake_hands(&server, connection), 0);
	assert_true(tls_connection_fingerprints(connection, is_of_key ? other : out,
						is_of_key ? out : other));
	hang_up(&server, connection);
	SSL_CTX_free(server.context);
}

static void verify(const struct scenario *scenario, const struct tls_client_request *request)
{
	struct server server = {
		.context = new_server_context(scenario->server, scenario->sends_authority)};
	struct tls_connection *connection = connect_to(&server, request);
	bool is_accepted = scenario->verified != TLS_VERIFIED_NOT || scenario->verifies_nothing;

	if (shake_hands(&server, connection) != (is_accepted ? 0 : -EACCES))
		fail_msg("scenario %zu: %s", (size_t)(scenario - scenarios),
			 tls_connection_reason(connection));
	if (is_accepted)
		assert_int_equal(tls_connection_verified(connection), scenario->verified);
	assert_int_equal(ERR_peek_error(), 0);
	hang_up(&server, connection);
	SSL_CTX_free(server.context);
}

static void play(const struct scenario *scenario)
{
	static unsigned char data[RECORDS_MAX][DATA_MAX];
	struct tls_tlsa records[RECORDS_MAX];
	char fingerprint[TLS_FINGERPRINT_SIZE];
	const char *const fingerprints[] = {fingerprint};
	struct tls_client_request request = {.host = HOST, .peer = scenario->server};
	struct tls_verify *by = &request.verify;

	by->names = scenario->names;
	by->name_count = count_of(scenario->names, LISTED_MAX);
	by->authorities = authorities;
	by->records = records;
	by->record_count = count_of(scenario->records, RECORDS_MAX);
	for (size_t i = 0; i < by->record_count; i++)
		make_record(scenario->records[i], &records[i], data[i]);
	if (scenario->fingerprint != NULL) {
		find_fingerprint(scenario->fingerprint, scenario->is_of_key, fingerprint);
		by->fingerprints = fingerprints;
		by->fingerprint_count = 1;
		by->by = TLS_VERIFY_FINGERPRINTS;
	} else if (!scenario->verifies_nothing) {
		by->by = by->record_count > 0 ? TLS_VERIFY_TLSA : TLS_VERIFY_AUTHORITIES;
	}
	verify(scenario, &request);
}

static void who_is_accepted(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(scenarios); i++) {
		play(&scenarios[i]);
		tls_client_forget(client);
	}
}

static void which_records_can_be_used(void **state)
{
	static const struct {
		const char *record;
		size_t length; /* of its data; 0: as it is */
		bool is_usable;
	} cases[] = {
		{"3 1 1 " HOST, 0, true},   {"3 0 1 " HOST, 0, true},   {"3 1 2 " HOST, 0, true},
		{"2 0 1 " HOST, 0, true},   {"2 0 0 " HOST, 0, true},   {"3 1 0 " HOST, 0, true},
		{"0 1 1 " HOST, 0, false},  {"1 1 1 " HOST, 0, false},  {"4 1 1 " HOST, 0, false},
		{"3 2 1 " HOST, 0, false},  {"3 1 3 " HOST, 0, false},  {"3 1 1 " HOST, 31, false},
		{"3 1 2 " HOST, 32, false}, {"3 0 0 " HOST, 20, false}, {"3 1 0 " HOST, 90, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		static unsigned char data[DATA_MAX];
		struct tls_tlsa record;

		make_record(cases[i].record, &record, data);
		if (cases[i].length > 0)
			record.data.length = cases[i].length;
		if (tls_tlsa_is_usable(&record) != cases[i].is_usable)
			fail_msg("%s", cases[i].record);
		assert_int_equal(ERR_peek_error(), 0);
	}
}

/* --- resumption --- */

static bool is_resumed(struct server *server, const struct tls_client_request *request)
{
	struct tls_connection *connection = connect_to(server, request);
	bool is_resumed;

	assert_int_equal(shake_hands(server, connection), 0);
	is_resumed = tls_connection_is_resumed(connection);
	if (request->verify.by == TLS_VERIFY_AUTHORITIES)
		assert_int_equal(tls_connection_verified(connection), TLS_VERIFIED_AUTHORITY);
	hang_up(server, connection);
	return is_resumed;
}

static void sessions_are_resumed_by_equal_requests_only(void **state)
{
	static const char *const names[] = {HOST, ".example.org"};
	struct server server = {.context = new_server_context(HOST, false)};
	struct tls_client_request request = {.host = HOST, .peer = "192.0.2.1:25"};
	struct tls_client_request other;

	(void)state;
	assert_false(is_resumed(&server, &request));
	assert_true(is_resumed(&server, &request));
	assert_true(is_resumed(&server, &request));
	other = request;
	other.peer = "192.0.2.2:25";
	assert_false(is_resumed(&server, &other));
	other = request;
	other.verify = (struct tls_verify){.by = TLS_VERIFY_AUTHORITIES,
					   .authorities = authorities,
					   .names = names,
					   .name_count = 1};
	assert_false(is_resumed(&server, &other));
	assert_true(is_resumed(&server, &other));
	other.verify.name_count = 2;
	assert_false(is_resumed(&server, &other));
	other.peer = NULL;
	assert_false(is_resumed(&server, &other));
	assert_false(is_resumed(&server, &other));
	tls_client_forget(client);
	assert_false(is_resumed(&server, &request));
	SSL_CTX_free(server.context);
}

/* How many of so many connections, begun at a time, continue an earlier session. */
static size_t resumed_together(SSL_CTX *context, const struct tls_client_request *request,
			       size_t count)
{
	struct server servers[TOGETHER_MAX];
	struct tls_connection *connections[TOGETHER_MAX];
	size_t resumed = 0;

	for (size_t i = 0; i < count; i++) {
		servers[i] = (struct server){.context = context};
		connections[i] = connect_to(&servers[i], request);
	}
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(shake_hands(&servers[i], connections[i]), 0);
		resumed += tls_connection_is_resumed(connections[i]);
	}
	for (size_t i = 0; i < count; i++)
		hang_up(&servers[i], connections[i]);
	return resumed;
}

/* A third connection begins when the first of two has another session for it. */
static void check_interleaved(SSL_CTX *context, const struct tls_client_request *request)
{
	struct server servers[3];
	struct tls_connection *connections[3];

	for (size_t i = 0; i < COUNT_OF(servers); i++)
		servers[i] = (struct server){.context = context};
	connections[0] = connect_to(&servers[0], request);
	connections[1] = connect_to(&servers[1], request);
	for (size_t i = 0; i < COUNT_OF(servers); i++) {
		assert_int_equal(shake_hands(&servers[i], connections[i]), 0);
		assert_true(tls_connection_is_resumed(connections[i]));
		if (i == 0)
			connections[2] = connect_to(&servers[2], request);
	}
	for (size_t i = 0; i < COUNT_OF(servers); i++)
		hang_up(&servers[i], connections[i]);
}

/* A server that keeps the sessions itself accepts each once, and sends two after a handshake
 * without one, else another one. */
static void parallel_connections_resume(void **state)
{
	static const unsigned char own[] = "test";
	static const struct tls_client_request request = {.host = HOST, .peer = "192.0.2.1:25"};
	SSL_CTX *context = new_server_context(HOST, false);

	(void)state;
	tls_client_forget(client);
	(void)SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
	assert_int_equal(SSL_CTX_set_session_id_context(context, own, sizeof own), 1);
	assert_int_equal(resumed_together(context, &request, 1), 0);
	assert_int_equal(resumed_together(context, &request, 2), 2);
	check_interleaved(context, &request);
	assert_int_equal(resumed_together(context, &request, 4), 2);
	assert_int_equal(resumed_together(context, &request, 4), 4);
	assert_int_equal(resumed_together(context, &request, TOGETHER_MAX), 4);
	assert_int_equal(resumed_together(context, &request, 4), 4);
	for (unsigned i = 0; i < 20; i++)
		assert_int_equal(resumed_together(context, &request, 1), 1);
	tls_client_forget(client);
	assert_int_equal(resumed_together(context, &request, 1), 0);
	SSL_CTX_free(context);
}

static void what_was_sent_is_shown(void **state)
{
	struct server server = {.context = new_server_context("foreign-" HOST, true)};
	static const char *const names[] = {HOST};
	const struct tls_client_request request = {.verify = {.by = TLS_VERIFY_AUTHORITIES,
							      .authorities = authorities,
							      .names = names,
							      .name_count = 1}};
	struct tls_connection *connection = connect_to(&server, &request);
	const struct tls_peer_certificate *chain;
	struct arena *arena = arena_new();

	(void)state;
	assert_int_equal(shake_hands(&server, connection), -EACCES);
	assert_int_equal(tls_peer_chain_read(connection, arena, &chain), 2);
	assert_string_equal(chain[0].subject, "CN=" HOST ",O=Tests");
	assert_string_equal(chain[0].issuer, "CN=foreign,O=Tests");
	assert_string_equal(chain[1].subject, "CN=authority,O=Tests");
	assert_int_equal(chain[0].name_count, 1);
	assert_string_equal(chain[0].names[0], HOST);
	assert_int_equal(chain[1].name_count, 0); /* its common name is none */
	assert_true(chain[0].not_before_us < chain[0].not_after_us);
	assert_int_equal(strlen(chain[0].fingerprint), 64);
	arena_free(arena);
	hang_up(&server, connection);
	SSL_CTX_free(server.context);
}

/* --- a server that stops, or is somebody else --- */

struct wire { /* between the client, whose socket is at its other end, and the server */
	int client;
	int server;
	size_t from_server; /* bytes that were passed to the client */
	size_t most;        /* then it is cut; a byte more and that one is spoilt */
	bool spoils;
};

static void pass_on(struct wire *wire)
{
	char data[DATA_MAX];
	ssize_t count = read(wire->client, data, sizeof data);
	size_t left = wire->most - wire->from_server;

	if (count > 0)
		assert_int_equal(write(wire->server, data, (size_t)count), count);
	count = read(wire->server, data, sizeof data);
	if (count <= 0)
		return;
	if ((size_t)count > left && !wire->spoils) {
		assert_int_equal(write(wire->client, data, left), left);
		shutdown(wire->client, SHUT_WR);
		wire->from_server = wire->most;
		return;
	}
	if ((size_t)count > left && left < sizeof data)
		data[left] ^= 1;
	assert_int_equal(write(wire->client, data, (size_t)count), count);
	wire->from_server += (size_t)count;
	if (wire->from_server > wire->most)
		wire->most = SIZE_MAX;
}

/* The result of the client's handshake, by a wire that passes MOST bytes of the server whole. */
static int try_wire(struct server *server, size_t most, bool spoils, size_t *passed_out)
{
	static const char *const names[] = {HOST};
	const struct tls_client_request request = {.host = HOST,
						   .verify = {.by = TLS_VERIFY_AUTHORITIES,
							      .authorities = authorities,
							      .names = names,
							      .name_count = 1}};
	struct tls_connection *connection;
	int ends[2][2];
	struct wire wire = {.most = most, .spoils = spoils};
	int result = -EAGAIN;

	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends[i]), 0);
	wire.client = ends[0][1];
	wire.server = ends[1][1];
	server->openssl = SSL_new(server->context);
	assert_int_equal(SSL_set_fd(server->openssl, ends[1][0]), 1);
	SSL_set_accept_state(server->openssl);
	connection = tls_client_connect(client, ends[0][0], &request);
	for (unsigned turn = 0; turn < 20 && result == -EAGAIN; turn++) {
		result = tls_connection_handshake(connection);
		(void)SSL_do_handshake(server->openssl);
		ERR_clear_error();
		pass_on(&wire);
	}
	*passed_out = wire.from_server;
	hang_up(server, connection);
	close(ends[0][1]);
	close(ends[1][1]);
	return result;
}

static void a_server_that_stops_is_no_server(void **state)
{
	struct server server = {.context = new_server_context(HOST, false)};
	size_t whole;
	size_t passed;

	(void)state;
	assert_int_equal(SSL_CTX_set_num_tickets(server.context, 0), 1);
	assert_int_equal(try_wire(&server, SIZE_MAX, false, &whole), 0);
	assert_in_range(whole, 500, DATA_MAX);
	/* the length of a signature varies by a few bytes */
	for (size_t most = 0; most < whole - 10; most += most < 200 ? 1 : 7)
		if (try_wire(&server, most, false, &passed) != -ECONNRESET)
			fail_msg("stopped after %zu bytes", most);
	SSL_CTX_free(server.context);
}

/* Only the version in the heads of records, which nobody looks at, may be anything. */
static void a_spoilt_byte_is_noticed(void **state)
{
	struct server server = {.context = new_server_context(HOST, false)};
	size_t accepted = 0;
	size_t whole;
	size_t passed;

	(void)state;
	assert_int_equal(SSL_CTX_set_num_tickets(server.context, 0), 1);
	assert_int_equal(try_wire(&server, SIZE_MAX, false, &whole), 0);
	for (size_t place = 0; place < whole - 10; place += place < 200 ? 1 : 7)
		accepted += try_wire(&server, place, true, &passed) == 0;
	assert_in_range(accepted, 0, 4);
	SSL_CTX_free(server.context);
}

static int set_up(void **state)
{
	struct buffer reason = {0};

	(void)state;
	if (certificates_make(directory, HOST " foreign-" HOST " expired-" HOST " common-" HOST
					      " loopback-" HOST " many-example.net") != 0)
		return -1;
	client = tls_client_new();
	return tls_authorities_open(certificates_path(directory, "authority", "pem"), &authorities,
				    &reason);
}

static int tear_down(void **state)
{
	(void)state;
	tls_client_free(client);
	tls_authorities_free(authorities);
	return scratch_remove(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_is_accepted),
		cmocka_unit_test(which_records_can_be_used),
		cmocka_unit_test(sessions_are_resumed_by_equal_requests_only),
		cmocka_unit_test(parallel_connections_resume),
		cmocka_unit_test(what_was_sent_is_shown),
		cmocka_unit_test(a_server_that_stops_is_no_server),
		cmocka_unit_test(a_spoilt_byte_is_noticed),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
