// SPDX-License-Identifier: ISC
/* Clients that do not mean well: a handshake ends or waits, whatever they send. */
#include "identity_scene.h"
#include "os/loop.h"
#include "test.h"
#include <errno.h>
#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TURNS_MAX = 60, SPOILT = 400, PIECE = 4096 };

/* A client whose bytes the test carries to the server. */
struct hostile {
	struct tls_connection *server;
	int result; /* of the server's handshake */
	int peer;   /* the server's other end */
	SSL *client;
	BIO *in;
	BIO *out;
	size_t sent;
	size_t limit; /* more than this is not sent */
};

static void begin(struct hostile *hostile, const struct tls_context *context, SSL_CTX *client)
{
	int sockets[2];

	*hostile = (struct hostile){.result = -EAGAIN, .limit = SIZE_MAX};
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sockets), 0);
	hostile->server = tls_connection_new(context, sockets[0], NULL);
	hostile->peer = sockets[1];
	if (client == NULL)
		return;
	hostile->client = SSL_new(client);
	hostile->in = BIO_new(BIO_s_mem());
	hostile->out = BIO_new(BIO_s_mem());
	SSL_set_bio(hostile->client, hostile->in, hostile->out);
	SSL_set_connect_state(hostile->client);
}

static void end(struct hostile *hostile)
{
	SSL_free(hostile->client);
	tls_connection_free(hostile->server);
	assert_int_equal(close(hostile->peer), 0);
	assert_int_equal(ERR_peek_error(), 0);
}

/* As tls_connection_handshake(), whose outcome is consistent with all else. */
static void step_server(struct hostile *hostile)
{
	size_t waiting = scene.signer.waiting_count;

	hostile->result = tls_connection_handshake(hostile->server);
	assert_int_equal(ERR_peek_error(), 0);
	assert_int_equal(hostile->result != -EAGAIN && hostile->result != 0,
			 tls_connection_reason(hostile->server)[0] != '\0');
	if (hostile->result == -EAGAIN && waiting == scene.signer.waiting_count)
		assert_int_not_equal(tls_connection_wants(hostile->server, false) |
					     scene.signer.waiting_count,
				     0);
}

static void send_bytes(struct hostile *hostile, const char *data, size_t length)
{
	size_t left = hostile->limit - hostile->sent;

	length = length < left ? length : left;
	(void)!send(hostile->peer, data, length, MSG_NOSIGNAL);
	hostile->sent += length;
}

/* What each side has said so far is carried to the other; false: neither says anything. */
static bool carry(struct hostile *hostile)
{
	char data[PIECE];
	size_t before = hostile->sent;
	int length;
	ssize_t count;

	(void)!SSL_do_handshake(hostile->client);
	ERR_clear_error();
	length = BIO_read(hostile->out, data, sizeof data);
	if (length > 0)
		send_bytes(hostile, data, (size_t)length);
	step_server(hostile);
	count = recv(hostile->peer, data, sizeof data, 0);
	if (count > 0)
		assert_int_equal(BIO_write(hostile->in, data, (int)count), count);
	return count > 0 || hostile->sent > before;
}

static void play(struct hostile *hostile)
{
	unsigned turns = 0;
	bool is_moving;

	do {
		is_moving = carry(hostile);
		is_moving |= signer_scene_answer(&scene.signer);
		assert_true(turns++ < TURNS_MAX);
	} while (is_moving);
}

/* It stops after LIMIT bytes: true; false: it did not say so many. */
static bool stop_after(const struct tls_context *context, SSL_CTX *client, size_t limit)
{
	struct hostile hostile;
	bool has_stopped;

	begin(&hostile, context, client);
	hostile.limit = limit;
	play(&hostile);
	has_stopped = hostile.sent == limit;
	for (unsigned i = 0; i < 3 && hostile.result != 0; i++) { /* it does nothing by itself */
		step_server(&hostile);
		assert_int_equal(hostile.result, -EAGAIN);
		assert_int_equal(tls_connection_wants(hostile.server, false), OS_WATCH_READ);
	}
	assert_int_equal(shutdown(hostile.peer, SHUT_WR), 0);
	if (hostile.result != 0) {
		step_server(&hostile);
		assert_int_equal(hostile.result, -ECONNRESET);
		assert_non_null(strstr(tls_connection_reason(hostile.server), "closed"));
	}
	end(&hostile);
	return has_stopped;
}

static void a_stop_after_each_byte_is_an_end(void **state)
{
	struct tls_context *context = identity_scene_simple(P256);

	(void)state;
	for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
		SSL_CTX *client = handshake_client(version, NULL);
		size_t limit = 0;

		while (stop_after(context, client, limit))
			limit++;
		assert_true(limit > 200); /* both flights */
		SSL_CTX_free(client);
	}
	tls_context_free(context);
}

/* The server cannot write any more, at whatever time. */
static void a_client_may_vanish_at_any_time(void **state)
{
	struct tls_context *context = identity_scene_simple(P256);
	SSL_CTX *client = handshake_client(0, NULL);

	(void)state;
	for (unsigned turns = 0; turns < 4; turns++)
		for (unsigned is_answered = 0; is_answered < 2; is_answered++) {
			struct hostile hostile;

			begin(&hostile, context, client);
			for (unsigned i = 0; i < turns; i++) {
				(void)carry(&hostile);
				if (is_answered)
					(void)signer_scene_answer(&scene.signer);
			}
			close(hostile.peer);
			for (unsigned i = 0; i < 3; i++) {
				(void)signer_scene_answer(&scene.signer);
				step_server(&hostile);
			}
			assert_true(hostile.result == 0 || hostile.result == -ECONNRESET ||
				    hostile.result == -EPIPE);
			assert_true(turns > 2 || hostile.result < 0);
			hostile.peer = dup(STDIN_FILENO);
			end(&hostile);
		}
	SSL_CTX_free(client);
	tls_context_free(context);
}

static void rubbish_is_refused(void **state)
{
	static const struct {
		const char *bytes;
		size_t length;
		int result;
	} cases[] = {
#define BYTES(literal) literal, sizeof(literal) - 1
		{BYTES("EHLO mx.example.org\r\n"), -EPROTO},
		{BYTES("\x00"), -EAGAIN},
		{BYTES("\x00\x00\x00\x00\x00"), -EPROTO},
		{BYTES("\xff\xff\xff\xff\xff"), -EPROTO},
		{BYTES("\x16\x03\x01\x00"), -EAGAIN},
		{BYTES("\x16\x03\x01\x00\x00"), -EAGAIN},         /* an empty record */
		{BYTES("\x16\x03\x01\x40\x01"), -EAGAIN},         /* a little too large */
		{BYTES("\x16\x03\x01\xff\xff"), -EPROTO},         /* far too large */
		{BYTES("\x16\x02\x00\x00\x10"), -EPROTO},         /* no such version */
		{BYTES("\x17\x03\x01\x00\x01x"), -EPROTO},        /* data */
		{BYTES("\x14\x03\x01\x00\x01\x01"), -EPROTO},     /* change_cipher_spec */
		{BYTES("\x15\x03\x01\x00\x02\x02\x28"), -EPROTO}, /* an alert */
		{BYTES("\x15\x03\x01\x00\x02\x01\x00"), -EPROTO}, /* close_notify */
		{BYTES("\x15\x03\x01\x00\x01\x02"), -EPROTO},
		{BYTES("\x16\x03\x01\x00\x04\x01\xff\xff\xff"), -EPROTO}, /* a hello of 16 MiB */
		{BYTES("\x16\x03\x01\x00\x04\x01\x00\x00\x00"), -EPROTO},
		{BYTES("\x16\x03\x01\x00\x04\x02\x00\x00\x00"), -EPROTO}, /* a server's */
		{BYTES("\x16\x03\x01\x00\x04\x18\x00\x00\x00"), -EPROTO}, /* key_update */
		{BYTES("\x80\x05\x01\x03\x01\x00\x00"), -EPROTO},         /* a hello as of SSL 2 */
#undef BYTES
	};
	struct tls_context *context = identity_scene_simple(P256);

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct hostile hostile;

		begin(&hostile, context, NULL);
		send_bytes(&hostile, cases[i].bytes, cases[i].length);
		step_server(&hostile);
		assert_int_equal(hostile.result, cases[i].result);
		assert_int_equal(scene.signer.waiting_count, 0);
		end(&hostile);
	}
	tls_context_free(context);
}

/* Records that say nothing could keep a server busy, or make it wait for ever. */
static void floods_are_refused(void **state)
{
	static const struct {
		const char *record;
		size_t length;
	} cases[] = {
		{"\x16\x03\x01\x00\x00", 5},         /* nothing */
		{"\x15\x03\x01\x00\x02\x01\x5a", 7}, /* a warning: user_canceled */
	};
	struct tls_context *context = identity_scene_simple(P256);

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct hostile hostile;

		begin(&hostile, context, NULL);
		for (unsigned turn = 0; turn < 100 && hostile.result == -EAGAIN; turn++) {
			send_bytes(&hostile, cases[i].record, cases[i].length);
			step_server(&hostile);
		}
		assert_int_equal(hostile.result, -EPROTO);
		end(&hostile);
	}
	tls_context_free(context);
}

/* One record for each byte of the hello, one byte at a time. */
static void small_pieces_are_put_together(void **state)
{
	struct tls_context *context = identity_scene_simple(P256);
	SSL_CTX *client = handshake_client(0, NULL);
	struct hostile hostile;
	char hello[PIECE];
	int length;

	(void)state;
	begin(&hostile, context, client);
	(void)!SSL_do_handshake(hostile.client);
	ERR_clear_error();
	length = BIO_read(hostile.out, hello, sizeof hello);
	assert_true(length > 5);
	for (int i = 5; i < length; i++) {
		const char record[] = {0x16, 0x03, 0x01, 0x00, 0x01, hello[i]};

		for (size_t j = 0; j < sizeof record; j++) {
			assert_int_equal(hostile.result, -EAGAIN);
			send_bytes(&hostile, &record[j], 1);
			step_server(&hostile);
		}
	}
	play(&hostile);
	assert_int_equal(hostile.result, 0);
	end(&hostile);
	SSL_CTX_free(client);
	tls_context_free(context);
}

static size_t spoil(char *data, size_t count, unsigned *seed)
{
	size_t place = (size_t)rand_r(seed) % count;

	switch (rand_r(seed) % 8) {
	case 0:
		data[place] = (char)rand_r(seed);
		break;
	case 1:
		data[place] = (char)(data[place] ^ (1 << rand_r(seed) % 8));
		break;
	case 2:
		return place;
	case 3:
		memmove(data + place, data, count - place);
		break;
	default:
		break;
	}
	return count;
}

/* One connection, whose bytes are spoilt here and there, and whose signer does as it likes. */
static void play_spoilt(const struct tls_context *context, SSL_CTX *client, unsigned seed)
{
	struct hostile hostile;
	char data[PIECE];

	begin(&hostile, context, client);
	for (unsigned turn = 0; turn < 8; turn++) {
		int length;
		ssize_t count;

		(void)!SSL_do_handshake(hostile.client);
		ERR_clear_error();
		length = BIO_read(hostile.out, data, sizeof data);
		if (length > 0)
			send_bytes(&hostile, data, spoil(data, (size_t)length, &seed));
		step_server(&hostile);
		if (scene.signer.waiting_count > 0 && rand_r(&seed) % 8 == 0)
			scene.signer.answers[0].length = 0;
		if (rand_r(&seed) % 4 != 0)
			(void)signer_scene_answer(&scene.signer);
		count = recv(hostile.peer, data, sizeof data, 0);
		if (count > 0)
			BIO_write(hostile.in, data, (int)count);
	}
	end(&hostile);
	assert_int_equal(scene.signer.waiting_count, 0);
}

static void spoilt_handshakes_do_no_harm(void **state)
{
	static const int kinds[] = {P256, SMALL, ED};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(kinds); i++) {
		struct tls_context *context = identity_scene_simple(kinds[i]);
		SSL_CTX *clients[] = {handshake_client(TLS1_2_VERSION, NULL),
				      handshake_client(TLS1_3_VERSION, NULL)};

		for (unsigned seed = 0; seed < SPOILT; seed++)
			play_spoilt(context, clients[seed % 2], seed);
		SSL_CTX_free(clients[0]);
		SSL_CTX_free(clients[1]);
		tls_context_free(context);
	}
}

/* A record of which the first LENGTH bytes come first. */
static void send_in_two(const struct tls_context *context, SSL_CTX *client, size_t length)
{
	char record[PIECE];
	char text[PIECE / 2] = {0};
	struct hostile hostile;
	int size;

	begin(&hostile, context, client);
	play(&hostile);
	assert_int_equal(hostile.result, 0);
	assert_int_equal(SSL_write(hostile.client, text, sizeof text), sizeof text);
	size = BIO_read(hostile.out, record, sizeof record);
	send_bytes(&hostile, record, length);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(tls_connection_read(hostile.server, text, 1), -EAGAIN);
		assert_false(tls_connection_has_pending(hostile.server));
	}
	send_bytes(&hostile, record + length, (size_t)size - length);
	assert_int_equal(tls_connection_read(hostile.server, text, 1), 1);
	assert_true(tls_connection_has_pending(hostile.server));
	assert_int_equal(tls_connection_read(hostile.server, text, sizeof text), sizeof text - 1);
	assert_false(tls_connection_has_pending(hostile.server));
	end(&hostile);
}

/* A part of a record is nothing that could be read now: who tried again at once would do so until
 * the client sends the rest. */
static void a_part_of_a_record_is_not_pending(void **state)
{
	static const size_t lengths[] = {1, 3, 5, 100};
	struct tls_context *context = identity_scene_simple(P256);

	(void)state;
	for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
		SSL_CTX *client = handshake_client(version, NULL);

		for (size_t i = 0; i < COUNT_OF(lengths); i++)
			send_in_two(context, client, lengths[i]);
		SSL_CTX_free(client);
	}
	tls_context_free(context);
}

/* New keys, again and again, are no reason to read on: others wait. A read takes what one call has
 * got, which is not more than a record can be. */
static void a_read_ends_among_new_keys(void **state)
{
	enum { UPDATES = 2000, UPDATE_SIZE = 27, RECORD_MAX = 16 * 1024 + 512, ALL = 1 << 16 };
	static char all[ALL];
	struct tls_context *context = identity_scene_simple(P256);
	SSL_CTX *client = handshake_client(TLS1_3_VERSION, NULL);
	struct hostile hostile;
	char data[PIECE];
	int length;

	(void)state;
	begin(&hostile, context, client);
	play(&hostile);
	assert_int_equal(hostile.result, 0);
	for (unsigned i = 0; i < UPDATES; i++) {
		assert_int_equal(SSL_key_update(hostile.client, SSL_KEY_UPDATE_NOT_REQUESTED), 1);
		assert_int_equal(SSL_do_handshake(hostile.client), 1);
	}
	assert_int_equal(SSL_write(hostile.client, "x", 1), 1);
	length = BIO_read(hostile.out, all, sizeof all);
	assert_true(length > UPDATES * UPDATE_SIZE && length < ALL);
	send_bytes(&hostile, all, (size_t)length);
	for (int i = 0; i < UPDATES * UPDATE_SIZE / RECORD_MAX; i++)
		assert_int_equal(tls_connection_read(hostile.server, data, 1), -EAGAIN);
	while ((length = (int)tls_connection_read(hostile.server, data, 1)) == -EAGAIN)
		continue;
	assert_int_equal(length, 1);
	end(&hostile);
	SSL_CTX_free(client);
	tls_context_free(context);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stop_after_each_byte_is_an_end),
		cmocka_unit_test(a_client_may_vanish_at_any_time),
		cmocka_unit_test(rubbish_is_refused),
		cmocka_unit_test(floods_are_refused),
		cmocka_unit_test(small_pieces_are_put_together),
		cmocka_unit_test(spoilt_handshakes_do_no_harm),
		cmocka_unit_test(a_part_of_a_record_is_not_pending),
		cmocka_unit_test(a_read_ends_among_new_keys),
	};

	return cmocka_run_group_tests(tests, identity_scene_make, identity_scene_free);
}
