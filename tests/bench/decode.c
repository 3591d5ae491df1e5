// SPDX-License-Identifier: ISC
/*
 * tests/bench/decode.c - how many messages a second the process "decode" decodes for one client,
 * and how many are identified (filing/decode/identity.h).
 *
 * usage: bench_decode [SECONDS]     for each measurement; 2
 */
#include "base/buffer.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "filing/decode/client.h"
#include "filing/decode/identity.h"
#include "filing/decode/mime.h"
#include "filing/decode/server.h"
#include "os/clock.h"
#include "os/socket/socket.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char folder[] = "/tmp/stagepost-bench-decode";
static const char path[] = "/tmp/stagepost-bench-decode/decode";

static struct {
	struct os_loop *loop;
	struct decode_client *client;
	struct ipc_content content;
	uint64_t count;
	int64_t until_us;
} bench;

static void append_body(struct buffer *out, size_t size, const char *line)
{
	while (out->length < size)
		buffer_append_string(out, line);
}

/* SIZE bytes; with an attachment, if it is large. */
static void make_message(struct buffer *out, size_t size)
{
	static const char text[] = "The quick brown fox jumps over the lazy dog, and again.\r\n";
	static const char base64[] =
		"QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xtbm9wcXJzdHV2d3h5ejAx\r\n";

	buffer_append_string(out, "Received: from a.test by b.test with ESMTP; Thu, 1 Jan 1970 "
				  "00:00:00 +0000\r\nFrom: Lisa <lisa@a.test>\r\n"
				  "To: scuba@b.test, Doug <doug@b.test>\r\n"
				  "Subject: =?utf-8?q?Our_next_meeting_=E2=82=AC?=\r\n"
				  "Date: Thu, 1 Jan 1970 00:00:00 +0000\r\n"
				  "Message-ID: <1@a.test>\r\nMIME-Version: 1.0\r\n");
	if (size < 50000) {
		buffer_append_string(out, "Content-Type: text/plain; charset=utf-8\r\n\r\n");
		append_body(out, size, text);
		return;
	}
	buffer_append_string(out, "Content-Type: multipart/mixed; boundary=\"=_x\"\r\n\r\n"
				  "--=_x\r\nContent-Type: text/plain\r\n\r\n");
	append_body(out, 2048, text);
	buffer_append_string(out, "--=_x\r\nContent-Type: application/pdf; name=\"a.pdf\"\r\n"
				  "Content-Transfer-Encoding: base64\r\n\r\n");
	append_body(out, size, base64);
	buffer_append_string(out, "--=_x--\r\n");
}

static void on_decoded(void *context, const struct decode_message *message)
{
	(void)context;
	if (message->problem.length > 0)
		panic("a message was not decoded");
	bench.count++;
	if (os_clock_monotonic_us() < bench.until_us)
		decode_client_ask(bench.client, &bench.content, on_decoded, NULL);
	else
		os_loop_stop(bench.loop);
}

static _Noreturn void serve(int listening)
{
	static struct ipc_tokens tokens;
	struct os_loop *loop = os_loop_new();
	struct decode_server *server;

	decode_mime_begin();
	if (!ipc_tokens_add(&tokens, STR("mailbox"), STR("secret")) ||
	    decode_server_new(loop, listening, &tokens, &server) < 0)
		panic("no server");
	decode_server_set_user(server, getuid());
	os_loop_run(loop);
	_exit(0);
}

static void print_rate(const char *what, size_t size, uint64_t count, int64_t began_us)
{
	double seconds = (double)(os_clock_monotonic_us() - began_us) / (double)SECOND_US;

	printf("%-10s %7zu bytes: %8.0f a second\n", what, size, (double)count / seconds);
}

static void measure(size_t size, int64_t length_us)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct arena *arena = arena_new();
	int64_t began_us = os_clock_monotonic_us();

	make_message(&text, size);
	bench.content =
		(struct ipc_content){.bytes = buffer_view(&text), .file = -1, .size = text.length};
	bench.count = 0;
	bench.until_us = began_us + length_us;
	decode_client_ask(bench.client, &bench.content, on_decoded, NULL);
	os_loop_run(bench.loop);
	print_rate("decoded", size, bench.count, began_us);
	began_us = os_clock_monotonic_us();
	bench.count = 0;
	while (os_clock_monotonic_us() < began_us + length_us) {
		struct decode_identity identity;

		if (decode_identify(&bench.content, arena, &identity) < 0)
			panic("a message was not identified");
		arena_reset(arena);
		bench.count++;
	}
	print_rate("identified", size, bench.count, began_us);
	arena_free(arena);
}

int main(int argc, char **argv)
{
	int64_t length_us = (argc > 1 ? atoi(argv[1]) : 2) * SECOND_US;
	int listening;
	pid_t server;

	(void)mkdir(folder, 0700);
	listening = os_socket_listen_unix(path, SOCK_SEQPACKET, 0600);
	if (listening < 0)
		panic("%s cannot be used", path);
	server = fork();
	if (server == 0)
		serve(listening);
	bench.loop = os_loop_new();
	bench.client = decode_client_new(bench.loop, folder, STR("secret"), NULL);
	measure(1024, length_us);
	measure(10240, length_us);
	measure(102400, length_us);
	decode_client_free(bench.client);
	os_loop_free(bench.loop);
	(void)kill(server, SIGKILL);
	(void)waitpid(server, NULL, 0);
	(void)unlink(path);
	(void)rmdir(folder);
	return 0;
}
