// SPDX-License-Identifier: ISC
#include "certificates.h"
#include "os/loop.h"
#include "os/sandbox/sandbox.h"
#include "test.h"
#include "tls/client.h"
#include "tls/connection.h"
#include "tls_file_context.h"
#include <errno.h>
#include <openssl/err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TURNS_MAX = 100000, MANY = 1 << 20, SPOILT = 500 };

static char directory[SCRATCH_SIZE];

struct pair {
	struct tls_context *contexts[2]; /* by enum tls_side */
	struct tls_connection *server;
	struct tls_connection *client;
};

static const char *file(const char *name, const char *suffix)
{
	return name != NULL ? certificates_path(directory, name, suffix) : NULL;
}

static struct tls_context *open_context(enum tls_side side, const char *name, const char *authority,
					const char *protocol)
{
	const struct tls_file_context settings = {file(name, "pem"), file(name, "key"),
						  file(authority, "pem"), protocol};

	return tls_file_context_open(side, &settings);
}

static void connect_pair(struct pair *pair, const char *name)
{
	int sockets[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sockets), 0);
	pair->server = tls_connection_new(pair->contexts[TLS_SERVER], sockets[0], NULL);
	pair->client = tls_connection_new(pair->contexts[TLS_CLIENT], sockets[1], name);
}

static void open_pair(struct pair *pair, const char *server, const char *client, const char *name)
{
	pair->contexts[TLS_SERVER] = open_context(TLS_SERVER, server, "authority", NULL);
	pair->contexts[TLS_CLIENT] = open_context(TLS_CLIENT, client, "authority", NULL);
	connect_pair(pair, name);
}

static void close_pair(struct pair *pair)
{
	tls_connection_free(pair->server);
	tls_connection_free(pair->client);
	tls_context_free(pair->contexts[TLS_SERVER]);
	tls_context_free(pair->contexts[TLS_CLIENT]);
	assert_int_equal(ERR_peek_error(), 0);
}

/* Both sides until neither waits for the other any more. */
static void shake_hands(const struct pair *pair, int *server_out, int *client_out)
{
	for (unsigned turn = 0; turn < TURNS_MAX; turn++) {
		*client_out = tls_connection_handshake(pair->client);
		assert_int_equal(ERR_peek_error(), 0);
		*server_out = tls_connection_handshake(pair->server);
		assert_int_equal(ERR_peek_error(), 0);
		if (*client_out != -EAGAIN && *server_out != -EAGAIN)
			return;
		if (*client_out != -EAGAIN && *client_out != 0)
			assert_int_not_equal(tls_connection_wants(pair->server, false), 0);
	}
	fail();
}

static void agree(const struct pair *pair)
{
	int server;
	int client;

	shake_hands(pair, &server, &client);
	assert_int_equal(server, 0);
	assert_int_equal(client, 0);
}

static void who_is_who_is_verified(void **state)
{
	static const struct {
		const char *server; /* certificates; NULL: none */
		const char *client;
		const char *name; /* that the client wants */
		int client_result;
		const char *client_reason;
		int server_result;
		const char *server_reason;
	} cases[] = {
		{"loopback-dir1.example.org", "mx1.example.org", "dir1.example.org", 0, "", 0, ""},
		{"loopback-dir1.example.org", "mx1.example.org", "DIR1.Example.org", 0, "", 0, ""},
		{"loopback-dir1.example.org", "mx1.example.org", "127.0.0.1", 0, "", 0, ""},
		{"loopback-dir1.example.org", "mx1.example.org", "::1", 0, "", 0, ""},
		{"loopback-dir1.example.org", "mx1.example.org", NULL, 0, "", 0, ""},
		{"loopback-dir1.example.org", "common-mx2.example.org", "dir1.example.org", 0, "",
		 0, ""},
		{"common-mx2.example.org", "common-mx2.example.org", "mx2.example.org", -EACCES,
		 "hostname mismatch", -EACCES, "bad certificate"},
		{"loopback-dir1.example.org", "mx1.example.org", "dir2.example.org", -EACCES,
		 "hostname mismatch", -EACCES, "bad certificate"},
		{"loopback-dir1.example.org", "mx1.example.org", "127.0.0.2", -EACCES,
		 "IP address mismatch", -EACCES, "bad certificate"},
		{"foreign-dir1.example.org", "mx1.example.org", "dir1.example.org", -EACCES,
		 "unable to get local issuer certificate", -EACCES, "unknown ca"},
		{"expired-dir1.example.org", "mx1.example.org", "dir1.example.org", -EACCES,
		 "certificate has expired", -EACCES, "certificate expired"},
		/* what a server thinks of its client, that one reads by TLS 1.3 */
		{"loopback-dir1.example.org", NULL, "dir1.example.org", 0, "certificate required",
		 -EACCES, "peer did not return a certificate"},
		{"loopback-dir1.example.org", "foreign-mx1.example.org", "dir1.example.org", 0,
		 "unknown ca", -EACCES, "unable to get local issuer certificate"},
		{"loopback-dir1.example.org", "expired-mx1.example.org", "dir1.example.org", 0,
		 "certificate expired", -EACCES, "certificate has expired"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct pair pair;
		int server;
		int client;
		char byte;

		open_pair(&pair, cases[i].server, cases[i].client, cases[i].name);
		shake_hands(&pair, &server, &client);
		assert_int_equal(client, cases[i].client_result);
		assert_int_equal(server, cases[i].server_result);
		if (client == 0 && server < 0)
			assert_int_equal(tls_connection_read(pair.client, &byte, 1), -EACCES);
		assert_non_null(strstr(tls_connection_reason(pair.client), cases[i].client_reason));
		assert_non_null(strstr(tls_connection_reason(pair.server), cases[i].server_reason));
		if (server < 0)
			assert_int_equal(tls_connection_write(pair.server, "x", 1), server);
		else
			assert_string_equal(tls_connection_reason(pair.server), "");
		close_pair(&pair);
	}
}

static void names_are_told(void **state)
{
	struct pair pair;
	const char *const *names;
	size_t count;

	(void)state;
	open_pair(&pair, "loopback-dir1.example.org", "common-mx2.example.org", "dir1.example.org");
	agree(&pair);
	names = tls_connection_names(pair.server, &count);
	assert_int_equal(count, 1);
	assert_string_equal(names[0], "mx2.example.org");
	assert_true(tls_connection_has_name(pair.server, "MX2.example.ORG"));
	assert_false(tls_connection_has_name(pair.server, "mx2.example.org.evil.example"));
	assert_false(tls_connection_has_name(pair.server, "x2.example.org"));
	assert_false(tls_connection_has_name(pair.server, ""));
	assert_true(tls_connection_has_name(pair.client, "dir1.example.org"));
	assert_string_equal(tls_connection_version(pair.client), "TLSv1.3");
	assert_non_null(strstr(tls_connection_cipher(pair.server), "TLS_"));
	close_pair(&pair);
	open_pair(&pair, "loopback-dir1.example.org", "many-example.net", "dir1.example.org");
	agree(&pair);
	names = tls_connection_names(pair.server, &count);
	assert_int_equal(count, 2); /* not the common name */
	assert_string_equal(names[0], "a.example.net");
	assert_string_equal(names[1], "*.example.net");
	assert_false(tls_connection_has_name(pair.server, "b.example.net"));
	assert_false(tls_connection_has_name(pair.server, "example.net"));
	close_pair(&pair);
}

static void any_peer_will_do_without_authority(void **state)
{
	struct pair pair = {
		.contexts = {open_context(TLS_SERVER, "foreign-dir1.example.org", NULL, NULL),
			     open_context(TLS_CLIENT, NULL, NULL, NULL)}};
	size_t count;

	(void)state;
	connect_pair(&pair, NULL);
	agree(&pair);
	assert_null(tls_connection_names(pair.client, &count));
	assert_int_equal(count, 0); /* no authority vouches for them */
	close_pair(&pair);
}

static void protocols_are_agreed_upon(void **state)
{
	static const struct {
		const char *server;
		const char *client;
		bool is_agreed;
		bool is_spoken;
	} cases[] = {
		{"stagepost-directory/1", "stagepost-directory/1", true, true},
		{"stagepost-directory/1", NULL, true, false},
		{NULL, "stagepost-directory/1", true, false},
		{"stagepost-directory/1", "stagepost-directory/2", false, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct pair pair = {.contexts = {open_context(TLS_SERVER, "mx1.example.org",
							      "authority", cases[i].server),
						 open_context(TLS_CLIENT, "mx1.example.org",
							      "authority", cases[i].client)}};
		int server;
		int client;

		connect_pair(&pair, "mx1.example.org");
		shake_hands(&pair, &server, &client);
		assert_int_equal(server, cases[i].is_agreed ? 0 : -EPROTO);
		assert_int_equal(client, cases[i].is_agreed ? 0 : -EPROTO);
		assert_int_equal(tls_connection_has_protocol(pair.server), cases[i].is_spoken);
		assert_int_equal(tls_connection_has_protocol(pair.client), cases[i].is_spoken);
		close_pair(&pair);
	}
}

/* Writes from POSITION on until no more is taken. */
static size_t push(struct tls_connection *connection, const char *data, size_t position)
{
	ssize_t count = 0;

	while (position < MANY) {
		count = tls_connection_write(connection, data + position, MANY - position);
		if (count < 0)
			break;
		position += (size_t)count;
	}
	if (count < 0) {
		assert_int_equal(count, -EAGAIN);
		assert_int_equal(tls_connection_wants(connection, true),
				 OS_WATCH_READ | OS_WATCH_WRITE);
		assert_int_equal(tls_connection_wants(connection, false), OS_WATCH_READ);
	}
	return position;
}

static void bytes_come_whole(void **state)
{
	static char sent[MANY];
	static char got[MANY];
	struct pair pair;
	size_t written = 0;
	size_t read = 0;
	unsigned waits = 0;

	(void)state;
	for (size_t i = 0; i < MANY; i++)
		sent[i] = (char)(i * 31 + i / 251);
	open_pair(&pair, "mx1.example.org", "mx1.example.org", "mx1.example.org");
	agree(&pair);
	while (read < MANY) {
		ssize_t count;

		written = push(pair.client, sent, written);
		count = tls_connection_read(pair.server, got + read, MANY - read);
		if (count == -EAGAIN)
			waits++;
		else
			read += (size_t)count;
		assert_true(count > 0 || count == -EAGAIN);
		assert_true(waits < TURNS_MAX);
	}
	assert_memory_equal(sent, got, MANY);
	assert_int_equal(tls_connection_read(pair.server, got, 1), -EAGAIN);
	assert_int_equal(tls_connection_wants(pair.server, false), OS_WATCH_READ);
	close_pair(&pair);
}

static void an_end_is_told_from_a_cut(void **state)
{
	struct pair pair;
	char byte;

	(void)state;
	open_pair(&pair, "mx1.example.org", "mx1.example.org", "mx1.example.org");
	agree(&pair);
	assert_int_equal(tls_connection_peek(pair.server), -EAGAIN);
	assert_int_equal(tls_connection_write(pair.client, "x", 1), 1);
	assert_int_equal(tls_connection_close_notify(pair.client), 0);
	assert_int_equal(tls_connection_peek(pair.server), 1);
	assert_int_equal(tls_connection_read(pair.server, &byte, 1), 1);
	assert_int_equal(tls_connection_read(pair.server, &byte, 1), 0);
	assert_int_equal(tls_connection_read(pair.server, &byte, 1), 0);
	assert_int_equal(tls_connection_write(pair.server, "y", 1), 1); /* the other way is open */
	assert_int_equal(tls_connection_read(pair.client, &byte, 1), 1);
	close_pair(&pair);

	open_pair(&pair, "mx1.example.org", "mx1.example.org", "mx1.example.org");
	agree(&pair);
	assert_int_equal(shutdown(tls_connection_socket(pair.client), SHUT_WR), 0);
	assert_int_equal(tls_connection_read(pair.server, &byte, 1), -ECONNRESET);
	assert_non_null(strstr(tls_connection_reason(pair.server), "closed"));
	close_pair(&pair);

	/* who frees a connection has said its end */
	open_pair(&pair, "mx1.example.org", "mx1.example.org", "mx1.example.org");
	agree(&pair);
	tls_connection_free(pair.client);
	pair.client = NULL;
	assert_int_equal(tls_connection_read(pair.server, &byte, 1), 0);
	assert_int_equal(tls_connection_write(pair.server, "z", 1), -EPIPE);
	close_pair(&pair);
}

static void what_is_no_handshake_is_refused(void **state)
{
	static const struct {
		const char *sent;
		bool is_cut;
		int result;
		const char *reason;
	} cases[] = {
		{"GET / HTTP/1.0\r\n\r\n", false, -EPROTO, "http request"},
		{"EHLO mx1.example.org\r\n", false, -EPROTO, "wrong version number"},
		{"", true, -ECONNRESET, "closed"},
		{"\x16\x03\x01", true, -ECONNRESET, "closed"},
		{"\x16\x03\x01", false, -EAGAIN, ""},
		{"\x16\x03\x01\xff\xff\x01", false, -EPROTO, "length"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct pair pair;
		int peer;

		open_pair(&pair, "mx1.example.org", "mx1.example.org", NULL);
		peer = tls_connection_socket(pair.client);
		assert_int_equal(send(peer, cases[i].sent, strlen(cases[i].sent), 0),
				 strlen(cases[i].sent));
		if (cases[i].is_cut)
			assert_int_equal(shutdown(peer, SHUT_WR), 0);
		assert_int_equal(tls_connection_handshake(pair.server), cases[i].result);
		assert_non_null(strstr(tls_connection_reason(pair.server), cases[i].reason));
		assert_int_equal(tls_connection_handshake(pair.server), cases[i].result);
		close_pair(&pair);
	}
}

/* Moves what FROM has sent to TO, and spoils a byte here and there. */
static bool carry(int from, int to, unsigned *seed)
{
	unsigned char data[4096];
	ssize_t count = recv(from, data, sizeof data, 0);

	if (count <= 0)
		return false;
	if (rand_r(seed) % 4 == 0) {
		size_t place = (size_t)rand_r(seed) % (size_t)count;

		switch (rand_r(seed) % 4) {
		case 0:
			data[place] = (unsigned char)rand_r(seed);
			break;
		case 1:
			data[place] ^= (unsigned char)(1u << rand_r(seed) % 8);
			break;
		case 2:
			count = (ssize_t)place;
			break;
		default:
			memmove(data + place, data, (size_t)count - place);
		}
	}
	return send(to, data, (size_t)count, MSG_NOSIGNAL) == count;
}

static void move(struct tls_connection *connection, bool is_client)
{
	char data[64];
	ssize_t count = is_client ? tls_connection_write(connection, "question", 8)
				  : tls_connection_read(connection, data, sizeof data);

	assert_int_equal(ERR_peek_error(), 0);
	assert_int_equal(count < 0 && count != -EAGAIN,
			 tls_connection_reason(connection)[0] != '\0');
	if (count > 0 && !is_client) { /* whatever comes out is what was said */
		assert_int_equal(count % 8, 0);
		for (ssize_t i = 0; i < count; i += 8)
			assert_memory_equal(data + i, "question", 8);
	}
	if (count >= 0 || count == -EAGAIN)
		assert_int_not_equal(tls_connection_wants(connection, true), OS_WATCH_NONE);
}

static void play_spoilt(const struct tls_context *const *contexts, unsigned seed)
{
	int server[2];
	int client[2];
	struct tls_connection *connections[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, server), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, client), 0);
	connections[0] = tls_connection_new(contexts[TLS_SERVER], server[0], NULL);
	connections[1] = tls_connection_new(contexts[TLS_CLIENT], client[0], "mx1.example.org");
	for (unsigned turn = 0; turn < 12; turn++) {
		move(connections[1], true);
		(void)carry(client[1], server[1], &seed);
		move(connections[0], false);
		(void)carry(server[1], client[1], &seed);
	}
	tls_connection_free(connections[0]);
	tls_connection_free(connections[1]);
	close(server[1]);
	close(client[1]);
}

static void rubbish_does_no_harm(void **state)
{
	const struct tls_context *contexts[2] = {
		open_context(TLS_SERVER, "mx1.example.org", "authority", NULL),
		open_context(TLS_CLIENT, "mx1.example.org", "authority", NULL)};

	(void)state;
	for (unsigned seed = 0; seed < SPOILT; seed++)
		play_spoilt(contexts, seed);
	tls_context_free((struct tls_context *)contexts[TLS_SERVER]);
	tls_context_free((struct tls_context *)contexts[TLS_CLIENT]);
}

/* In a process that may do next to nothing any more. */
static int talk_in_sandbox(void)
{
	const struct os_sandbox sandbox = {0};
	struct pair pair;
	unsigned lacks;
	int server;
	int client;
	char byte;

	open_pair(&pair, "mx1.example.org", "mx1.example.org", "mx1.example.org");
	if (os_sandbox_enter(&sandbox, &lacks) < 0)
		return 2;
	shake_hands(&pair, &server, &client);
	if (server < 0 || client < 0)
		return 3;
	if (tls_connection_write(pair.client, "x", 1) != 1 ||
	    tls_connection_read(pair.server, &byte, 1) != 1 || byte != 'x')
		return 4;
	return 0;
}

static void the_sandbox_lets_it_work(void **state)
{
	pid_t child = fork();
	int status;

	(void)state;
	if (child == 0)
		_exit(talk_in_sandbox());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void write_file(const char *name, const char *text)
{
	FILE *out = fopen(file(name, "pem"), "w");

	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

static void what_is_wrong_with_files_is_told(void **state)
{
	static const struct {
		const char *name;
		int error;
		const char *reason;
	} cases[] = {
		{"none.pem", -ENOENT, "No such file or directory"},
		{".", -EISDIR, "Is a directory"},
		{"empty.pem", -EINVAL, "holds no certificate"},
		{"damaged.pem", -EINVAL, "damaged"},
		{"mx1.example.org.key", -EINVAL, "holds no certificate"},
	};

	(void)state;
	write_file("empty", "");
	write_file("damaged", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n");
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct buffer reason = {0};
		struct tls_authorities *authorities = NULL;
		char path[CERTIFICATES_PATH_SIZE];
		char start[CERTIFICATES_PATH_SIZE + 2];

		snprintf(path, sizeof path, "%s/%s", directory, cases[i].name);
		snprintf(start, sizeof start, "%s: ", path);
		assert_int_equal(tls_authorities_open(path, &authorities, &reason), cases[i].error);
		assert_null(authorities);
		buffer_append_byte(&reason, '\0');
		assert_ptr_equal(strstr(buffer_data(&reason), start), buffer_data(&reason));
		assert_non_null(strstr(buffer_data(&reason), cases[i].reason));
		assert_int_equal(ERR_peek_error(), 0);
		buffer_clear(&reason);
	}
}

static int make_files(void **state)
{
	(void)state;
	return certificates_make(directory,
				 "mx1.example.org loopback-dir1.example.org common-mx2.example.org "
				 "foreign-mx1.example.org foreign-dir1.example.org "
				 "expired-mx1.example.org expired-dir1.example.org "
				 "many-example.net");
}

static int remove_files(void **state)
{
	(void)state;
	return scratch_remove(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_is_who_is_verified),
		cmocka_unit_test(names_are_told),
		cmocka_unit_test(any_peer_will_do_without_authority),
		cmocka_unit_test(protocols_are_agreed_upon),
		cmocka_unit_test(bytes_come_whole),
		cmocka_unit_test(an_end_is_told_from_a_cut),
		cmocka_unit_test(what_is_no_handshake_is_refused),
		cmocka_unit_test(what_is_wrong_with_files_is_told),
		cmocka_unit_test(rubbish_does_no_harm),
		cmocka_unit_test(the_sandbox_lets_it_work),
	};

	return cmocka_run_group_tests(tests, make_files, remove_files);
}
