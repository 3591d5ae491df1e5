// SPDX-License-Identifier: ISC
#include "tls_keys.h"
#include "base/panic.h"
#include "config/config.h"
#include "ipc/channel.h"
#include "ipc/pack.h"
#include "keys/protocol.h"
#include "keys/server.h"
#include "os/socket/socket.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PATH_SIZE = 64, UNDER_WAY = 64 };

struct tls_keys {
	char folder[PATH_SIZE];
	char certificate[PATH_SIZE + 16];
	char socket[PATH_SIZE + 16];
	pid_t process;
	struct os_loop *loop;
	struct keys *client;
	/* of tls_keys_sign() */
	struct ipc_client *asker;
	struct buffer request;
	double until; /* of the process's time */
	unsigned count;
};

static void write_file(const char *path, struct str text)
{
	FILE *file = fopen(path, "w");

	if (file == NULL || fwrite(text.data, 1, text.length, file) != text.length ||
	    fclose(file) != 0)
		panic("%s: %s", path, strerror(errno));
}

static void serve(const struct tls_keys *keys, int listening)
{
	struct config_certificate section = {
		.name = "bench", .chain = keys->certificate, .key = ""};
	const struct config config = {.certificates = &section, .certificate_count = 1};
	const uid_t user = getuid();
	struct os_loop *loop = os_loop_new();
	struct keys_server *server = keys_server_new(loop, listening, &config);

	keys_server_set_users(server, &user, 1);
	keys_server_set_acceptors(server, &user, 1);
	os_loop_run(loop);
	_exit(0);
}

static void on_changed(void *context)
{
	struct tls_keys *keys = context;

	os_loop_stop(keys->loop);
}

struct tls_keys *tls_keys_new(struct str pem)
{
	struct tls_keys *keys = memory_alloc_zero(1, sizeof *keys);
	int listening;

	snprintf(keys->folder, PATH_SIZE, "/tmp/bench-keys-XXXXXX");
	if (mkdtemp(keys->folder) == NULL)
		panic("no temporary directory: %s", strerror(errno));
	snprintf(keys->certificate, sizeof keys->certificate, "%s/pem", keys->folder);
	snprintf(keys->socket, sizeof keys->socket, "%s/keys", keys->folder);
	write_file(keys->certificate, pem);
	listening = os_socket_listen_unix(keys->socket, SOCK_SEQPACKET, 0600);
	if (listening < 0)
		panic("no socket: %s", strerror(-listening));
	keys->process = fork();
	if (keys->process < 0)
		panic("no process: %s", strerror(errno));
	if (keys->process == 0)
		serve(keys, listening);
	os_socket_close(listening);
	keys->loop = os_loop_new();
	keys->client = keys_new(keys->loop, keys->socket, on_changed, keys);
	os_loop_run(keys->loop);
	return keys;
}

void tls_keys_free(struct tls_keys *keys)
{
	kill(keys->process, SIGKILL);
	waitpid(keys->process, NULL, 0);
	keys_free(keys->client);
	os_loop_free(keys->loop);
	unlink(keys->certificate);
	unlink(keys->socket);
	rmdir(keys->folder);
	free(keys);
}

struct os_loop *tls_keys_loop(struct tls_keys *keys)
{
	return keys->loop;
}

const struct tls_signer *tls_keys_signer(const struct tls_keys *keys)
{
	return keys_signer(keys->client);
}

struct str tls_keys_chain(const struct tls_keys *keys)
{
	const struct keys_set *set = keys_set(keys->client);
	struct str chain = keys_set_find(set->certificates, set->certificate_count, STR("bench"));

	if (chain.length == 0)
		panic("\"keys\" has no certificate");
	return chain;
}

double tls_keys_seconds(const struct tls_keys *keys)
{
	struct timespec now;
	clockid_t clock;

	if (clock_getcpuclockid(keys->process, &clock) != 0 || clock_gettime(clock, &now) != 0)
		panic("\"keys\" has ended");
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* --- signatures alone --- */

static void ask(struct tls_keys *keys)
{
	ipc_channel_send(ipc_client_channel(keys->asker), KEYS_SIGN, 1, buffer_view(&keys->request),
			 NULL, 0);
}

static void on_connected(void *context)
{
	struct tls_keys *keys = context;

	for (unsigned i = 0; i < UNDER_WAY; i++)
		ask(keys);
}

static void on_signed(void *context, struct ipc_message *message)
{
	struct tls_keys *keys = context;
	struct unpack unpack = {message->body, false};

	if (message->type != KEYS_SIGNED)
		return;
	if (unpack_str(&unpack).length == 0)
		panic("\"keys\" does not sign");
	keys->count++;
	if (keys->count % UNDER_WAY == 0 && tls_keys_seconds(keys) >= keys->until)
		os_loop_stop(keys->loop);
	else
		ask(keys);
}

static void on_lost(void *context)
{
	(void)context;
	panic("\"keys\" has closed the connection");
}

unsigned tls_keys_sign(struct tls_keys *keys, const struct tls_signing_request *request,
		       double seconds)
{
	static const struct ipc_client_handler handler = {on_connected, on_signed, on_lost};

	pack_str(&keys->request, str_slice((const char *)request->key, sizeof request->key));
	pack_u32(&keys->request, request->scheme);
	pack_u32(&keys->request, request->hash);
	pack_str(&keys->request, request->data);
	keys->count = 0;
	keys->until = tls_keys_seconds(keys) + seconds;
	keys->asker = ipc_client_new(keys->loop, keys->socket, &handler, keys);
	os_loop_run(keys->loop);
	ipc_client_free(keys->asker);
	buffer_clear(&keys->request);
	return keys->count;
}
