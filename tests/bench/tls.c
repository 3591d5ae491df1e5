// SPDX-License-Identifier: ISC
/*
 * tests/bench/tls.c - what a server's full handshakes cost with a private key in the process; with
 * one that a signer has who answers at once (tls/signer.h), which adds the provider, the jobs and
 * what is copied; and with one that a real process "keys" has, which adds its messages, on both
 * sides.
 *
 * usage: bench_tls [SECONDS [TYPE [CONNECTIONS]]]
 *
 * Handshakes for SECONDS (3) each way, in turn, ROUND at a time, with a key of TYPE ("P-256",
 * "RSA", "ED25519") and TLS 1.2 and 1.3; then signatures by "keys" alone; then the memory of
 * CONNECTIONS (400) that are idle after it. Prints "NAME NUMBER UNIT"; times are the processor's,
 * of the server's side alone, "keys" included. The "ratio" is the rate by "keys" to the rate
 * without it.
 */
#include "base/panic.h"
#include "os/loop.h"
#include "tls/connection.h"
#include "tls/identity.h"
#include "tls/private_key.h"
#include "tls_keys.h"
#include "unit/tls/tls_file_context.h"
#include "unit/tls/tls_scene.h"
#include <errno.h>
#include <malloc.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { ROUND = 50, PATH_SIZE = 64 };

struct bench {
	EVP_PKEY *key;
	X509 *certificate;
	struct tls_private_key *private_key;
	struct tls_context *own;    /* has the key */
	struct tls_context *remote; /* asks for signatures, and is answered at once */
	struct tls_context *asking; /* asks "keys" */
	struct tls_keys *keys;
	unsigned waiting_count; /* handshakes that wait for "keys" */
	struct tls_signing *waiting;
	struct tls_signing_request request;
	char data[TLS_SIGNED_MAX];
	double seconds; /* of the server */
};

static double processor_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void sign(void *context, struct tls_signing *signing,
		 const struct tls_signing_request *request)
{
	struct bench *bench = context;

	bench->waiting = signing;
	bench->request = *request;
	memcpy(bench->data, request->data.data, request->data.length);
	bench->request.data.data = bench->data;
}

static void cancel(void *context, struct tls_signing *signing)
{
	(void)context;
	(void)signing;
	panic("a signature is given up");
}

static void wake(void *context)
{
	(void)context;
	panic("no handshake waits for its turn");
}

static void answer(struct bench *bench)
{
	struct tls_signing *signing = bench->waiting;
	uint8_t signature[TLS_SIGNATURE_MAX];
	size_t length;

	if (signing == NULL)
		return;
	bench->waiting = NULL;
	if (tls_private_key_sign(bench->private_key, bench->request.scheme, bench->request.hash,
				 bench->request.data, signature, &length) < 0)
		panic("the key does not sign");
	tls_signing_done(signing, str_slice((const char *)signature, length));
}

static void write_file(const char *path, const struct buffer *text)
{
	FILE *file = fopen(path, "w");

	if (file == NULL || fwrite(buffer_data(text), 1, text->length, file) != text->length ||
	    fclose(file) != 0)
		panic("%s: %s", path, strerror(errno));
}

static void open_own(struct bench *bench, const struct buffer *chain, const struct buffer *key)
{
	char path[PATH_SIZE] = "/tmp/bench-tls-XXXXXX";
	struct buffer both = {0};
	int file = mkstemp(path);

	if (file < 0)
		panic("no temporary file");
	close(file);
	buffer_append_str(&both, buffer_view(chain));
	buffer_append_str(&both, buffer_view(key));
	write_file(path, &both);
	bench->own =
		tls_file_context_open(TLS_SERVER, &(struct tls_file_context){.certificate = path});
	unlink(path);
	buffer_clear(&both);
}

static void open_keys(struct bench *bench, const struct buffer *chain, const struct buffer *key)
{
	struct buffer both = {0};
	struct buffer reason = {0};
	struct tls_certificate certificate;

	buffer_append_str(&both, buffer_view(chain));
	buffer_append_str(&both, buffer_view(key));
	bench->keys = tls_keys_new(buffer_view(&both));
	certificate = (struct tls_certificate){.chain = tls_keys_chain(bench->keys)};
	if (tls_identity_open(
		    &(struct tls_identity_settings){.certificates = &certificate,
						    .certificate_count = 1,
						    .signer = tls_keys_signer(bench->keys)},
		    &bench->asking, &reason) < 0)
		panic(STR_FORMAT, STR_ARGUMENTS(buffer_view(&reason)));
	buffer_clear(&both);
}

static void open_bench(struct bench *bench, const char *type)
{
	static struct tls_signer signer = {sign, cancel, wake, NULL};
	struct buffer chain = {0};
	struct buffer key = {0};
	struct buffer reason = {0};
	struct tls_certificate certificate;

	signer.context = bench;
	bench->key = tls_scene_key(type, 2048);
	bench->certificate = tls_scene_certificate(&(struct tls_scene_certificate){
		.name = "mx.example.org", .names = "DNS:mx.example.org", .key = bench->key});
	tls_scene_write(bench->certificate, &chain);
	tls_scene_write_key(bench->key, &key);
	certificate = (struct tls_certificate){.chain = buffer_view(&chain)};
	if (tls_private_key_read(buffer_view(&key), &bench->private_key, &reason) < 0 ||
	    tls_identity_open(&(struct tls_identity_settings){.certificates = &certificate,
							      .certificate_count = 1,
							      .signer = &signer},
			      &bench->remote, &reason) < 0)
		panic(STR_FORMAT, STR_ARGUMENTS(buffer_view(&reason)));
	open_own(bench, &chain, &key);
	open_keys(bench, &chain, &key);
	buffer_clear(&chain);
	buffer_clear(&key);
}

struct pair {
	struct bench *bench;
	struct tls_connection *server;
	SSL *client;
	int peer;   /* the client's socket */
	int result; /* the server's */
};

static void shake_server(void *context)
{
	struct pair *pair = context;

	pair->result = tls_connection_handshake(pair->server);
	answer(pair->bench);
	if (pair->result < 0 && pair->result != -EAGAIN)
		panic("no handshake: %s", tls_connection_reason(pair->server));
}

static void on_signed(void *context)
{
	struct pair *pair = context;

	if (pair->bench->waiting_count == 0)
		return; /* was answered at once */
	shake_server(pair);
	if (--pair->bench->waiting_count == 0)
		os_loop_stop(tls_keys_loop(pair->bench->keys));
}

static void open_pair(struct bench *bench, struct pair *pair, const struct tls_context *context,
		      SSL_CTX *client)
{
	int sockets[2];
	double began;

	*pair = (struct pair){.bench = bench, .client = SSL_new(client), .result = -EAGAIN};
	if (pair->client == NULL ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sockets) != 0)
		panic("no socket: %s", strerror(errno));
	pair->peer = sockets[1];
	SSL_set_fd(pair->client, pair->peer);
	SSL_set_connect_state(pair->client);
	began = processor_seconds();
	pair->server = tls_connection_new(context, sockets[0], "");
	tls_connection_on_resume(pair->server, on_signed, pair);
	bench->seconds += processor_seconds() - began;
}

/* One step of all that are not done; false: all are. */
static bool step(struct bench *bench, struct pair *pairs, unsigned count, bool is_asking)
{
	bool is_under_way = false;
	double began;

	for (unsigned i = 0; i < count; i++)
		if (pairs[i].result == -EAGAIN)
			(void)!SSL_do_handshake(pairs[i].client);
	began = processor_seconds();
	for (unsigned i = 0; i < count; i++) {
		if (pairs[i].result != -EAGAIN)
			continue;
		is_under_way = true;
		shake_server(&pairs[i]);
		if (is_asking && pairs[i].result == -EAGAIN &&
		    tls_connection_wants(pairs[i].server, false) == OS_WATCH_NONE)
			bench->waiting_count++;
	}
	if (bench->waiting_count > 0)
		os_loop_run(tls_keys_loop(bench->keys));
	bench->seconds += processor_seconds() - began;
	return is_under_way;
}

/* The servers' connections after it; the clients' sockets stay open. */
static void shake_hands(struct bench *bench, const struct tls_context *context, SSL_CTX *client,
			struct pair *pairs, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		open_pair(bench, &pairs[i], context, client);
	while (step(bench, pairs, count, context == bench->asking))
		continue;
	for (unsigned i = 0; i < count; i++)
		SSL_free(pairs[i].client);
}

static void run_round(struct bench *bench, const struct tls_context *context, SSL_CTX *client,
		      double *seconds, unsigned *count)
{
	static struct pair pairs[ROUND];
	double keys_began = tls_keys_seconds(bench->keys);

	bench->seconds = 0;
	shake_hands(bench, context, client, pairs, ROUND);
	for (unsigned i = 0; i < ROUND; i++) {
		tls_connection_free(pairs[i].server);
		close(pairs[i].peer);
	}
	*seconds += bench->seconds;
	if (context == bench->asking)
		*seconds += tls_keys_seconds(bench->keys) - keys_began;
	*count += ROUND;
}

static void measure_speed(struct bench *bench, int version, const char *name, double limit)
{
	SSL_CTX *client = SSL_CTX_new(TLS_client_method());
	const struct {
		const char *name;
		const struct tls_context *context;
	} ways[] = {{"own", bench->own}, {"signer", bench->remote}, {"keys", bench->asking}};
	double seconds[COUNT_OF(ways)] = {0};
	unsigned count[COUNT_OF(ways)] = {0};

	SSL_CTX_set_min_proto_version(client, version);
	SSL_CTX_set_max_proto_version(client, version);
	while (seconds[0] < limit || seconds[1] < limit || seconds[2] < limit)
		for (size_t i = 0; i < COUNT_OF(ways); i++) /* in turn, for the same machine */
			run_round(bench, ways[i].context, client, &seconds[i], &count[i]);
	for (size_t i = 0; i < COUNT_OF(ways); i++)
		printf("%s_%s %.0f handshakes/s\n", name, ways[i].name, count[i] / seconds[i]);
	for (size_t i = 1; i < COUNT_OF(ways); i++)
		printf("%s_%s_ratio %.3f\n", name, ways[i].name,
		       count[i] / seconds[i] / (count[0] / seconds[0]));
	SSL_CTX_free(client);
}

/* How many one process can make, with what it takes to read and write its messages. */
static void measure_signatures(struct bench *bench, double limit)
{
	static const char data[32] = "a digest";
	struct tls_signing_request request = {.hash = TLS_HASH_SHA256,
					      .data = str_slice(data, sizeof data)};
	double began = tls_keys_seconds(bench->keys);
	unsigned count;

	memcpy(request.key, tls_private_key_id(bench->private_key), TLS_KEY_ID_SIZE);
	switch (tls_private_key_kind(bench->private_key)) {
	case TLS_KEY_RSA:
		request.scheme = TLS_SCHEME_RSA_PSS;
		break;
	case TLS_KEY_ECDSA:
		request.scheme = TLS_SCHEME_ECDSA;
		break;
	case TLS_KEY_ED25519:
		request.scheme = TLS_SCHEME_ED25519;
		request.hash = TLS_HASH_NONE;
		break;
	}
	count = tls_keys_sign(bench->keys, &request, limit);
	printf("keys %.0f signatures/s\n", count / (tls_keys_seconds(bench->keys) - began));
}

static void measure_memory(struct bench *bench, const struct tls_context *context, const char *name,
			   unsigned count)
{
	SSL_CTX *client = SSL_CTX_new(TLS_client_method());
	struct pair *pairs = memory_alloc_zero(count, sizeof *pairs);
	size_t before = mallinfo2().uordblks;

	for (unsigned i = 0; i < count; i++)
		shake_hands(bench, context, client, &pairs[i], 1);
	printf("%s %zu bytes/connection\n", name, (mallinfo2().uordblks - before) / count);
	for (unsigned i = 0; i < count; i++) {
		tls_connection_free(pairs[i].server);
		close(pairs[i].peer);
	}
	free(pairs);
	SSL_CTX_free(client);
}

int main(int count, char **arguments)
{
	static struct bench bench;
	double seconds = count > 1 ? strtod(arguments[1], NULL) : 3;
	unsigned connections = count > 3 ? (unsigned)strtoul(arguments[3], NULL, 10) : 400;

	if (connections == 0)
		panic("no connections");
	open_bench(&bench, count > 2 ? arguments[2] : "P-256");
	measure_speed(&bench, TLS1_3_VERSION, "tls13", seconds);
	measure_speed(&bench, TLS1_2_VERSION, "tls12", seconds);
	measure_signatures(&bench, seconds);
	measure_memory(&bench, bench.own, "idle_own", connections);
	measure_memory(&bench, bench.remote, "idle_signer", connections);
	tls_context_free(bench.own);
	tls_context_free(bench.remote);
	tls_context_free(bench.asking);
	tls_keys_free(bench.keys);
	tls_private_key_free(bench.private_key);
	X509_free(bench.certificate);
	EVP_PKEY_free(bench.key);
	return 0;
}
