// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/fuzz_tls_server.c - a client that says anything to a server whose key a signer has.
 * The first byte chooses the key, what the signer answers, and how much comes at once. Whatever it
 * says, the handshake waits for more, for its signature, or ends with a reason.
 */
#include "base/panic.h"
#include "input.h"
#include "os/loop.h"
#include "tls/connection.h"
#include "tls/identity.h"
#include "tls/private_key.h"
#include "unit/tls/tls_scene.h"
#include <errno.h>
#include <openssl/err.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { KINDS = 3, STEPS_MAX = 100000 };
enum answer { ANSWER_RIGHT, ANSWER_NOTHING, ANSWER_WRONG, ANSWER_NEVER, ANSWERS };

static struct scene {
	struct tls_context *contexts[KINDS];
	struct tls_private_key *keys[KINDS];
	struct tls_signing *waiting;
	uint8_t signature[TLS_SIGNATURE_MAX];
	size_t length;
} scene;

static void sign(void *context, struct tls_signing *signing,
		 const struct tls_signing_request *request)
{
	(void)context;
	if (scene.waiting != NULL)
		panic("two signatures for a handshake");
	for (size_t i = 0; i < KINDS; i++)
		if (memcmp(tls_private_key_id(scene.keys[i]), request->key, TLS_KEY_ID_SIZE) == 0 &&
		    tls_private_key_sign(scene.keys[i], request->scheme, request->hash,
					 request->data, scene.signature, &scene.length) == 0)
			scene.waiting = signing;
	if (scene.waiting == NULL)
		panic("what is asked for cannot be signed");
}

static void cancel(void *context, struct tls_signing *signing)
{
	(void)context;
	if (scene.waiting != signing)
		panic("what is given up was not asked for");
	scene.waiting = NULL;
}

static void wake(void *context)
{
	(void)context;
	panic("no handshake waits for its turn");
}

static void open_context(size_t index, const char *type)
{
	static const struct tls_signer signer = {sign, cancel, wake, NULL};
	static const struct tls_ticket_key ticket_key = {"name", "secret", "mac"};
	EVP_PKEY *key = tls_scene_key(type, 2048);
	X509 *certificate = tls_scene_certificate(&(struct tls_scene_certificate){
		.name = "a", .names = "DNS:mx.example.org,DNS:*.example.org", .key = key});
	struct buffer chain = {0};
	struct buffer pem = {0};
	struct buffer reason = {0};
	struct tls_certificate one;

	tls_scene_write(certificate, &chain);
	tls_scene_write_key(key, &pem);
	one = (struct tls_certificate){.chain = buffer_view(&chain)};
	if (tls_private_key_read(buffer_view(&pem), &scene.keys[index], &reason) < 0 ||
	    tls_identity_open(&(struct tls_identity_settings){.certificates = &one,
							      .certificate_count = 1,
							      .signer = &signer,
							      .ticket_keys = &ticket_key,
							      .ticket_key_count = 1,
							      .asks_clients = true},
			      &scene.contexts[index], &reason) < 0)
		panic(STR_FORMAT, STR_ARGUMENTS(buffer_view(&reason)));
	X509_free(certificate);
	EVP_PKEY_free(key);
	buffer_clear(&chain);
	buffer_clear(&pem);
}

static void answer(enum answer how)
{
	struct tls_signing *signing = scene.waiting;

	if (signing == NULL || how == ANSWER_NEVER)
		return;
	scene.waiting = NULL;
	if (how == ANSWER_WRONG)
		scene.signature[scene.length - 1] ^= 1;
	tls_signing_done(signing, str_slice((const char *)scene.signature,
					    how == ANSWER_NOTHING ? 0 : scene.length));
}

static void drain(int peer)
{
	char data[4096];

	while (recv(peer, data, sizeof data, 0) > 0)
		;
}

/* The handshake as far as it goes without more input. */
static int advance(struct tls_connection *server, int peer, enum answer how)
{
	int result = tls_connection_handshake(server);

	for (unsigned i = 0; scene.waiting != NULL && how != ANSWER_NEVER; i++) {
		if (i > STEPS_MAX)
			panic("the handshake does not end");
		answer(how);
		result = tls_connection_handshake(server);
	}
	drain(peer);
	if (ERR_peek_error() != 0)
		panic("an error is left behind");
	if ((result < 0 && result != -EAGAIN) != (tls_connection_reason(server)[0] != '\0'))
		panic("a handshake has no reason to fail, or one without having failed");
	if (result == -EAGAIN && scene.waiting == NULL &&
	    tls_connection_wants(server, false) == OS_WATCH_NONE)
		panic("a handshake waits for nothing");
	return result;
}

static void play(struct tls_connection *server, int peer, struct input *input, size_t step,
		 enum answer how)
{
	int result = -EAGAIN;

	while (input->rest.length > 0 && result == -EAGAIN) {
		size_t count = input->rest.length < step ? input->rest.length : step;
		ssize_t sent = send(peer, input->rest.data, count, MSG_NOSIGNAL);

		result = advance(server, peer, how);
		if (sent > 0)
			input->rest = str_skip(input->rest, (size_t)sent);
		else if (scene.waiting != NULL)
			break; /* nothing is read until it has its signature */
	}
	if (shutdown(peer, SHUT_WR) != 0)
		panic("a socket cannot be shut down");
	for (unsigned i = 0; result == -EAGAIN && scene.waiting == NULL; i++) {
		if (i > STEPS_MAX)
			panic("the handshake does not notice its end");
		result = advance(server, peer, how);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const types[KINDS] = {"P-256", "RSA", "ED25519"};
	struct input input = {str_slice((const char *)data, size)};
	unsigned choice = input_byte(&input);
	struct tls_connection *server;
	int sockets[2];

	for (size_t i = 0; i < KINDS && scene.contexts[i] == NULL; i++)
		open_context(i, types[i]);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sockets) != 0)
		panic("no sockets");
	server = tls_connection_new(scene.contexts[choice % KINDS], sockets[0], NULL);
	play(server, sockets[1], &input, choice >= 128 ? 1 : 100000,
	     (enum answer)(choice / KINDS % ANSWERS));
	tls_connection_free(server);
	close(sockets[1]);
	if (scene.waiting != NULL)
		panic("a signature is not given up");
	return 0;
}
