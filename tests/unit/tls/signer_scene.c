// SPDX-License-Identifier: ISC
#include "signer_scene.h"
#include "base/panic.h"
#include "os/loop.h"
#include "test.h"
#include <errno.h>
#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TURNS_MAX = 1000 };

static const struct tls_private_key *find_key(const struct signer_scene *scene, const uint8_t *id)
{
	for (size_t i = 0; i < scene->key_count; i++)
		if (memcmp(tls_private_key_id(scene->keys[i]), id, TLS_KEY_ID_SIZE) == 0)
			return scene->keys[i];
	return NULL;
}

static void sign(void *context, struct tls_signing *signing,
		 const struct tls_signing_request *request)
{
	struct signer_scene *scene = context;
	struct signer_answer *answer = &scene->answers[scene->waiting_count];

	assert_true(scene->waiting_count < SIGNER_WAITING_MAX);
	assert_non_null(find_key(scene, request->key));
	assert_int_equal(tls_private_key_sign(find_key(scene, request->key), request->scheme,
					      request->hash, request->data, answer->signature,
					      &answer->length),
			 0);
	scene->scheme = request->scheme;
	scene->hash = request->hash;
	tls_signing_set_state(signing, scene);
	scene->waiting[scene->waiting_count++] = signing;
}

static void forget(struct signer_scene *scene, size_t index)
{
	size_t left = --scene->waiting_count - index;

	memmove(&scene->waiting[index], &scene->waiting[index + 1], left * sizeof(void *));
	memmove(&scene->answers[index], &scene->answers[index + 1],
		left * sizeof scene->answers[0]);
}

static void cancel(void *context, struct tls_signing *signing)
{
	struct signer_scene *scene = context;

	assert_ptr_equal(tls_signing_state(signing), scene);
	scene->cancelled++;
	for (size_t i = 0; i < scene->waiting_count; i++)
		if (scene->waiting[i] == signing) {
			forget(scene, i);
			return;
		}
	fail();
}

static void wake(void *context)
{
	struct signer_scene *scene = context;

	scene->woken++;
}

void signer_scene_open(struct signer_scene *scene)
{
	*scene = (struct signer_scene){.signer = {sign, cancel, wake, scene}};
	scene->answers = memory_alloc_zero(SIGNER_WAITING_MAX, sizeof *scene->answers);
}

void signer_scene_close(struct signer_scene *scene)
{
	assert_int_equal(scene->waiting_count, 0);
	for (size_t i = 0; i < scene->key_count; i++)
		tls_private_key_free(scene->keys[i]);
	free(scene->answers);
}

void signer_scene_add(struct signer_scene *scene, EVP_PKEY *key)
{
	struct buffer pem = {0};
	struct buffer reason = {0};

	assert_true(scene->key_count < SIGNER_KEYS_MAX);
	tls_scene_write_key(key, &pem);
	assert_int_equal(
		tls_private_key_read(buffer_view(&pem), &scene->keys[scene->key_count++], &reason),
		0);
	buffer_clear(&pem);
}

bool signer_scene_answer(struct signer_scene *scene)
{
	struct signer_answer answer;
	struct tls_signing *signing;

	if (scene->waiting_count == 0)
		return false;
	answer = scene->answers[0];
	signing = scene->waiting[0];
	forget(scene, 0);
	tls_signing_done(signing, str_slice((const char *)answer.signature, answer.length));
	assert_int_equal(ERR_peek_error(), 0);
	return true;
}

static void count_resumed(void *context)
{
	struct handshake *handshake = context;

	handshake->resumed++;
}

void handshake_begin(struct handshake *handshake, const struct tls_context *server, SSL_CTX *client,
		     const char *name)
{
	int sockets[2];

	*handshake = (struct handshake){.server_result = -EAGAIN, .client_result = -EAGAIN};
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sockets), 0);
	handshake->server = tls_connection_new(server, sockets[0], NULL);
	tls_connection_on_resume(handshake->server, count_resumed, handshake);
	handshake->client = SSL_new(client);
	assert_int_equal(SSL_set_fd(handshake->client, sockets[1]), 1);
	if (name != NULL)
		assert_int_equal(SSL_set_tlsext_host_name(handshake->client, name), 1);
	SSL_set_connect_state(handshake->client);
}

static int step_client(SSL *client)
{
	int count = SSL_do_handshake(client);
	int status = SSL_get_error(client, count);

	ERR_clear_error();
	if (status == SSL_ERROR_WANT_READ || status == SSL_ERROR_WANT_WRITE)
		return -EAGAIN;
	return count == 1 ? 0 : -EPROTO;
}

void handshake_step(struct handshake *handshake)
{
	if (handshake->client_result == -EAGAIN)
		handshake->client_result = step_client(handshake->client);
	handshake->server_result = tls_connection_handshake(handshake->server);
	assert_int_equal(ERR_peek_error(), 0);
}

static bool is_done(const struct handshake *handshake)
{
	return handshake->server_result != -EAGAIN && handshake->client_result != -EAGAIN;
}

void handshake_finish(struct handshake *handshake, struct signer_scene *scene)
{
	for (unsigned turn = 0; turn < TURNS_MAX && !is_done(handshake); turn++) {
		handshake_step(handshake);
		(void)signer_scene_answer(scene);
	}
	assert_true(is_done(handshake));
}

bool handshake_exchange(struct handshake *handshake)
{
	char byte;
	int got;

	if (SSL_write(handshake->client, "q", 1) != 1 ||
	    tls_connection_read(handshake->server, &byte, 1) != 1 || byte != 'q' ||
	    tls_connection_write(handshake->server, "a", 1) != 1)
		return false;
	got = SSL_read(handshake->client, &byte, 1);
	ERR_clear_error();
	return got == 1 && byte == 'a';
}

void handshake_end(struct handshake *handshake)
{
	int socket = SSL_get_fd(handshake->client);

	/* else OpenSSL would not resume its session */
	SSL_set_shutdown(handshake->client, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
	SSL_free(handshake->client);
	tls_connection_free(handshake->server);
	assert_int_equal(close(socket), 0);
	assert_int_equal(ERR_peek_error(), 0);
}

SSL_CTX *handshake_client(int version, const char *signatures)
{
	SSL_CTX *client = SSL_CTX_new(TLS_client_method());

	assert_non_null(client);
	SSL_CTX_set_min_proto_version(client, version);
	SSL_CTX_set_max_proto_version(client, version);
	if (signatures != NULL)
		assert_int_equal(SSL_CTX_set1_sigalgs_list(client, signatures), 1);
	return client;
}
