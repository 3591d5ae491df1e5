// SPDX-License-Identifier: ISC
/*
 * tests/bench/tls.c - what a server's handshakes cost with a private key in the process, and with
 * one that a signer has who answers at once (tls/signer.h): the difference is the provider, the
 * jobs and what is copied. A real signer adds its messages.
 *
 * usage: bench_tls [SECONDS [TYPE [CONNECTIONS]]]
 *
 * Full handshakes for SECONDS (3) each way, in turn, with a key of TYPE ("P-256", "RSA", "ED25519")
 * and TLS 1.2 and 1.3; then the memory of CONNECTIONS (400) that are idle after it. Prints "NAME
 * NUMBER UNIT"; times are the processor's, of the server's side alone.
 */
#include "../unit/tls_scene.h"
#include "base/panic.h"
#include "tls/connection.h"
#include "tls/identity.h"
#include "tls/private_key.h"
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
	struct tls_context *remote; /* asks for signatures */
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
	struct buffer reason = {0};
	int file = mkstemp(path);

	if (file < 0)
		panic("no temporary file");
	close(file);
	buffer_append_str(&both, buffer_view(chain));
	buffer_append_str(&both, buffer_view(key));
	write_file(path, &both);
	if (tls_context_open(TLS_SERVER, &(struct tls_settings){.certificate = path}, &bench->own,
			     &reason) < 0)
		panic(STR_FORMAT, STR_ARGUMENTS(buffer_view(&reason)));
	unlink(path);
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
	buffer_clear(&chain);
	buffer_clear(&key);
}

/* The server's connection after it; the client's socket stays open. */
static struct tls_connection *shake_hands(struct bench *bench, const struct tls_context *context,
					  SSL_CTX *client, int *peer_out)
{
	struct tls_connection *server;
	SSL *openssl = SSL_new(client);
	int sockets[2];
	int result = -EAGAIN;
	double began;

	if (openssl == NULL || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sockets) != 0)
		panic("no socket: %s", strerror(errno));
	SSL_set_fd(openssl, sockets[1]);
	SSL_set_connect_state(openssl);
	began = processor_seconds();
	server = tls_connection_new(context, sockets[0], "");
	bench->seconds += processor_seconds() - began;
	while (result == -EAGAIN) {
		(void)!SSL_do_handshake(openssl);
		began = processor_seconds();
		result = tls_connection_handshake(server);
		answer(bench);
		bench->seconds += processor_seconds() - began;
	}
	if (result < 0)
		panic("no handshake: %s", tls_connection_reason(server));
	SSL_free(openssl);
	*peer_out = sockets[1];
	return server;
}

static void run_round(struct bench *bench, const struct tls_context *context, SSL_CTX *client,
		      double *seconds, unsigned *count)
{
	bench->seconds = 0;
	for (unsigned i = 0; i < ROUND; i++) {
		int peer;

		tls_connection_free(shake_hands(bench, context, client, &peer));
		close(peer);
	}
	*seconds += bench->seconds;
	*count += ROUND;
}

static void measure_speed(struct bench *bench, int version, const char *name, double limit)
{
	SSL_CTX *client = SSL_CTX_new(TLS_client_method());
	double seconds[2] = {0, 0};
	unsigned count[2] = {0, 0};

	SSL_CTX_set_min_proto_version(client, version);
	SSL_CTX_set_max_proto_version(client, version);
	while (seconds[0] < limit || seconds[1] < limit) { /* in turn, for the same machine */
		run_round(bench, bench->own, client, &seconds[0], &count[0]);
		run_round(bench, bench->remote, client, &seconds[1], &count[1]);
	}
	printf("%s_own %.0f handshakes/s\n", name, count[0] / seconds[0]);
	printf("%s_signer %.0f handshakes/s\n", name, count[1] / seconds[1]);
	printf("%s_ratio %.3f\n", name, count[1] / seconds[1] / (count[0] / seconds[0]));
	SSL_CTX_free(client);
}

static void measure_memory(struct bench *bench, const struct tls_context *context, const char *name,
			   unsigned count)
{
	SSL_CTX *client = SSL_CTX_new(TLS_client_method());
	struct tls_connection **all = memory_alloc_zero(count, sizeof *all);
	int *peers = memory_alloc_zero(count, sizeof *peers);
	size_t before = mallinfo2().uordblks;

	for (unsigned i = 0; i < count; i++)
		all[i] = shake_hands(bench, context, client, &peers[i]);
	printf("%s %zu bytes/connection\n", name, (mallinfo2().uordblks - before) / count);
	for (unsigned i = 0; i < count; i++) {
		tls_connection_free(all[i]);
		close(peers[i]);
	}
	free(all);
	free(peers);
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
	measure_memory(&bench, bench.own, "idle_own", connections);
	measure_memory(&bench, bench.remote, "idle_signer", connections);
	tls_context_free(bench.own);
	tls_context_free(bench.remote);
	tls_private_key_free(bench.private_key);
	X509_free(bench.certificate);
	EVP_PKEY_free(bench.key);
	return 0;
}
