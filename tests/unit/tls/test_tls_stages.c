// SPDX-License-Identifier: ISC
/* Each call of a connection at each stage of it: before the handshake, after it, when the peer has
 * said that it ends, and when the connection has failed; of a server's and of a client's. Names at
 * the bounds of what clients may ask for. What is NULL can be freed. */
#include "identity_scene.h"
#include "os/loop.h"
#include "test.h"
#include "tls/client.h"
#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- stages of a server's connection --- */

/* What CONNECTION says of itself: what was agreed upon and with whom. IS_MADE: the handshake is
 * done. */
static void check_what_is_known(const struct tls_connection *connection, bool is_made)
{
	unsigned char binding[TLS_BINDING_MAX];
	char certificate[TLS_FINGERPRINT_SIZE], key[TLS_FINGERPRINT_SIZE];
	size_t count = 77;

	assert_int_equal(tls_connection_exporter(connection, binding), is_made ? 32 : 0);
	assert_int_equal(tls_connection_end_point(connection, binding), is_made ? 32 : 0);
	assert_false(tls_connection_is_verified(connection));
	assert_false(tls_connection_fingerprints(connection, certificate, key));
	assert_false(tls_connection_has_name(connection, "mx.example.org"));
	assert_false(tls_connection_has_protocol(connection));
	assert_null(tls_connection_names(connection, &count));
	assert_int_equal(count, 0);
	assert_null(tls_connection_email(connection));
	assert_int_equal(ERR_peek_error(), 0);
}

static void before_the_handshake(void **state)
{
	struct tls_context *context = identity_scene_simple(P256);
	SSL_CTX *client = handshake_client(0, NULL);
	struct handshake handshake;
	char byte = 'x';

	(void)state;
	handshake_begin(&handshake, context, client, "mx.example.org");
	check_what_is_known(handshake.server, false);
	assert_int_equal(tls_connection_wants(handshake.server, true), OS_WATCH_READ);
	assert_int_equal(tls_connection_read(handshake.server, &byte, 1), -EAGAIN);
	assert_int_equal(tls_connection_peek(handshake.server), -EAGAIN);
	assert_int_equal(tls_connection_write(handshake.server, "x", 1), -EAGAIN);
	assert_int_equal(tls_connection_close_notify(handshake.server), -EAGAIN);
	assert_false(tls_connection_has_pending(handshake.server));
	assert_int_equal(tls_connection_wants(handshake.server, false), OS_WATCH_READ);
	assert_int_equal(tls_connection_wants(handshake.server, true), OS_WATCH_READ);
	assert_int_equal(tls_connection_write_wants(handshake.server), OS_WATCH_READ);
	assert_string_equal(tls_connection_reason(handshake.server), "");
	identity_scene_agree(&handshake); /* nothing was spoilt */
	check_what_is_known(handshake.server, true);
	handshake_end(&handshake);
	SSL_CTX_free(client);
	tls_context_free(context);
}

static void after_the_handshake(void **state)
{
	(void)state;
	for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
		struct tls_context *context = identity_scene_simple(P256);
		SSL_CTX *client = handshake_client(version, NULL);
		struct handshake handshake;
		char bytes[3] = "";

		handshake_begin(&handshake, context, client, "mx.example.org");
		identity_scene_agree(&handshake);
		assert_int_equal(tls_connection_write(handshake.server, "", 0), 0);
		assert_int_equal(tls_connection_peek(handshake.server), -EAGAIN);
		assert_false(tls_connection_has_pending(handshake.server));
		assert_int_equal(SSL_write(handshake.client, "abc", 3), 3);
		assert_int_equal(tls_connection_peek(handshake.server), 1);
		assert_true(tls_connection_has_pending(handshake.server));
		assert_int_equal(tls_connection_read(handshake.server, bytes, 2), 2);
		assert_true(tls_connection_has_pending(handshake.server));
		assert_int_equal(tls_connection_read(handshake.server, bytes + 2, 1), 1);
		assert_memory_equal(bytes, "abc", 3);
		assert_false(tls_connection_has_pending(handshake.server));
		/* our end, which the other side reads; it may still write */
		assert_int_equal(tls_connection_close_notify(handshake.server), 0);
		assert_true(SSL_read(handshake.client, bytes, 1) <= 0);
		assert_int_equal(SSL_get_shutdown(handshake.client), SSL_RECEIVED_SHUTDOWN);
		assert_int_equal(SSL_write(handshake.client, "d", 1), 1);
		assert_int_equal(tls_connection_read(handshake.server, bytes, 1), 1);
		/* and its own */
		assert_int_equal(SSL_shutdown(handshake.client), 1);
		assert_int_equal(tls_connection_read(handshake.server, bytes, 1), 0);
		assert_int_equal(ERR_peek_error(), 0);
		handshake_end(&handshake);
		SSL_CTX_free(client);
		tls_context_free(context);
	}
}

/* Who frees a connection that works says that it ends, once. */
static void the_end_is_said(void **state)
{
	(void)state;
	for (int is_said = 0; is_said <= 1; is_said++) {
		struct tls_context *context = identity_scene_simple(P256);
		SSL_CTX *client = handshake_client(0, NULL);
		struct handshake handshake;
		char byte = 'x';

		handshake_begin(&handshake, context, client, "mx.example.org");
		identity_scene_agree(&handshake);
		assert_int_equal(tls_connection_wants(handshake.server, false), OS_WATCH_READ);
		assert_int_equal(tls_connection_wants(handshake.server, true),
				 OS_WATCH_READ | OS_WATCH_WRITE);
		assert_int_equal(tls_connection_write_wants(handshake.server), OS_WATCH_WRITE);
		if (is_said)
			assert_int_equal(tls_connection_close_notify(handshake.server), 0);
		tls_connection_free(handshake.server);
		handshake.server = NULL;
		assert_int_equal(SSL_read(handshake.client, &byte, 1), 0);
		assert_int_equal(SSL_get_shutdown(handshake.client), SSL_RECEIVED_SHUTDOWN);
		handshake_end(&handshake);
		SSL_CTX_free(client);
		tls_context_free(context);
	}
}

/* What was read before TLS began is the beginning of it, however much that is. */
static void what_was_read_early(void **state)
{
	(void)state;
	for (size_t early = 1; early <= 600; early = early * 2 + 3) {
		struct tls_context *context = identity_scene_simple(P256);
		SSL_CTX *client = handshake_client(0, NULL);
		struct handshake handshake;
		char bytes[TLS_EARLY_MAX];
		ssize_t count;

		handshake_begin(&handshake, context, client, "mx.example.org");
		assert_int_equal(SSL_do_handshake(handshake.client), -1);
		count = read(tls_connection_socket(handshake.server), bytes, early);
		assert_true(count > 0);
		tls_connection_preload(handshake.server, str_slice(bytes, (size_t)count / 2));
		tls_connection_preload(handshake.server,
				       str_slice(bytes + count / 2, (size_t)(count - count / 2)));
		identity_scene_agree(&handshake);
		handshake_end(&handshake);
		SSL_CTX_free(client);
		tls_context_free(context);
	}
}

/* Every later call says the same; nothing is sent any more. */
static void after_a_failure(void **state)
{
	struct tls_context *context = identity_scene_simple(P256);
	SSL_CTX *client = handshake_client(0, NULL);
	struct handshake handshake;
	char byte = 'x';

	(void)state;
	handshake_begin(&handshake, context, client, "mx.example.org");
	identity_scene_agree(&handshake);
	assert_int_equal(write(SSL_get_fd(handshake.client), "no record at all", 16), 16);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(tls_connection_read(handshake.server, &byte, 1), -EPROTO);
		assert_int_equal(tls_connection_peek(handshake.server), -EPROTO);
		assert_int_equal(tls_connection_write(handshake.server, "x", 1), -EPROTO);
		assert_int_equal(tls_connection_write_part(handshake.server, "x", 1), -EPROTO);
		assert_int_equal(tls_connection_close_notify(handshake.server), -EPROTO);
		assert_int_equal(tls_connection_handshake(handshake.server), -EPROTO);
		assert_false(tls_connection_has_pending(handshake.server));
		assert_string_equal(tls_connection_reason(handshake.server),
				    "wrong version number");
	}
	handshake_end(&handshake);
	SSL_CTX_free(client);
	tls_context_free(context);
}

/* --- a client's --- */

static void a_client_before_the_handshake(void **state)
{
	struct tls_client *client;
	struct tls_connection *connection;
	char byte = 'x';
	int sockets[2];

	(void)state;
	tls_client_prepare();
	client = tls_client_new();
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sockets), 0);
	connection = tls_client_connect(client, sockets[1],
					&(struct tls_client_request){.host = "mx.example.org"});
	check_what_is_known(connection, false);
	assert_int_equal(tls_connection_wants(connection, false), OS_WATCH_WRITE);
	assert_int_equal(tls_connection_read(connection, &byte, 1), -EAGAIN);
	assert_int_equal(tls_connection_wants(connection, false), OS_WATCH_READ);
	check_what_is_known(connection, false);
	assert_false(tls_connection_is_resumed(connection));
	assert_int_equal(shutdown(sockets[0], SHUT_WR), 0);
	assert_int_equal(tls_connection_read(connection, &byte, 1), -ECONNRESET);
	assert_string_equal(tls_connection_reason(connection),
			    "the other side has closed the connection");
	tls_connection_free(connection);
	tls_client_free(client);
	assert_int_equal(close(sockets[0]), 0);
}

/* --- names --- */

/* Of so many bytes, in labels. */
static char *name_of(size_t length)
{
	char *name = malloc(length + 1);

	assert_non_null(name);
	for (size_t i = 0; i < length; i++)
		name[i] = i % 50 == 49 && i + 2 < length ? '.' : (char)(i == 0 ? 'A' : 'a');
	name[length] = '\0';
	return name;
}

static void names_at_their_bounds(void **state)
{
	(void)state;
	for (size_t length = 253; length <= 257; length++) {
		char *name = name_of(length);
		const struct wanted wanted[] = {{P256, "DNS:first.test", {NULL}},
						{P256, "DNS:long.test", {name, ""}},
						{P256, "DNS:wild.test", {"*.a.test", "*"}}};
		struct tls_context *context = identity_scene_open(
			wanted, COUNT_OF(wanted), (struct tls_identity_settings){0});
		const char *const asked[] = {length <= 255 ? name : "b.a.test", "b.a.test", "b"};
		const char *const got[] = {length <= 255 ? "long.test" : "wild.test", "wild.test",
					   "first.test"};

		for (size_t i = 0; i < COUNT_OF(asked); i++) {
			SSL_CTX *client = handshake_client(0, NULL);
			struct handshake handshake;

			handshake_begin(&handshake, context, client, asked[i]);
			identity_scene_agree(&handshake);
			assert_int_equal(
				X509_check_host(SSL_get0_peer_certificate(handshake.client), got[i],
						0, 0, NULL),
				1);
			handshake_end(&handshake);
			SSL_CTX_free(client);
		}
		tls_context_free(context);
		free(name);
	}
}

/* --- what nobody may do --- */

static void answer_twice(void)
{
	struct handshake handshake;
	struct tls_signing *signing;

	handshake_begin(&handshake, identity_scene_simple(P256), handshake_client(0, NULL), NULL);
	while (scene.signer.waiting_count == 0)
		handshake_step(&handshake);
	signing = scene.signer.waiting[0];
	tls_signing_done(signing, STR("x"));
	tls_signing_done(signing, STR("x"));
}

static void preload_too_much(void)
{
	static char bytes[TLS_EARLY_MAX + 1];
	struct tls_client *client = tls_client_new();
	int sockets[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sockets) == 0)
		tls_connection_preload(
			tls_client_connect(client, sockets[1], &(struct tls_client_request){0}),
			str_slice(bytes, sizeof bytes));
}

static void what_nobody_may_do(void **state)
{
	static void (*const breaks[])(void) = {answer_twice, preload_too_much};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(breaks); i++) {
		int status;
		pid_t child = fork();

		assert_true(child >= 0);
		if (child == 0) {
			if (freopen("/dev/null", "w", stderr) != NULL)
				breaks[i]();
			_exit(0);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	}
}

static void nothing_is_freed(void **state)
{
	(void)state;
	tls_connection_free(NULL);
	tls_context_free(NULL);
	tls_client_free(NULL);
	tls_client_certificate_free(NULL);
	tls_authorities_free(NULL);
	tls_private_key_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(before_the_handshake),
		cmocka_unit_test(after_the_handshake),
		cmocka_unit_test(the_end_is_said),
		cmocka_unit_test(what_was_read_early),
		cmocka_unit_test(after_a_failure),
		cmocka_unit_test(a_client_before_the_handshake),
		cmocka_unit_test(names_at_their_bounds),
		cmocka_unit_test(what_nobody_may_do),
		cmocka_unit_test(nothing_is_freed),
	};

	return cmocka_run_group_tests(tests, identity_scene_make, identity_scene_free);
}
