// SPDX-License-Identifier: ISC
/*
 * What it costs to ask for what is kept.
 *
 * usage: directory_kept SOCKET ROUNDS < KEYS
 *
 * Asks a directory server for the route of each key once, then ROUNDS times more, out of what the
 * client has kept. Prints "KEPT NANOSECONDS": how many questions were answered from there, and what
 * one of them took on average. Fails when one went to the server.
 */
#include "base/buffer.h"
#include "base/timestamp.h"
#include "directory/client/client.h"
#include "os/clock.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { CHUNK = 64 * 1024, KEYS_MAX = 50000 };

struct kept {
	struct os_loop *loop;
	struct directory_client *client;
	struct str keys[KEYS_MAX];
	struct directory_question questions[KEYS_MAX];
	size_t count;
	size_t answered;
	size_t failed;
};

static void read_keys(struct kept *kept, struct buffer *text)
{
	struct str rest;
	ssize_t count;

	while ((count = read(STDIN_FILENO, buffer_reserve(text, CHUNK), CHUNK)) > 0)
		buffer_commit(text, (size_t)count);
	rest = buffer_view(text);
	while (rest.length > 0 && kept->count < KEYS_MAX)
		(void)str_split(&rest, '\n', &kept->keys[kept->count++]);
}

static void on_answer(void *context, const struct directory_answer_text *answer)
{
	struct kept *kept = context;

	kept->failed += answer->error != DIRECTORY_ERROR_NONE;
	if (++kept->answered == kept->count)
		os_loop_stop(kept->loop);
}

static void ask_all(struct kept *kept)
{
	kept->answered = 0;
	for (size_t i = 0; i < kept->count; i++) {
		kept->questions[i] = (struct directory_question){on_answer, kept, NULL};
		directory_client_get(kept->client, "route", kept->keys[i], MINUTE_US,
				     &kept->questions[i]);
	}
}

int main(int argc, char **argv)
{
	static const struct directory_client_handler handler = {NULL};
	static struct kept kept;
	struct buffer text = {0};
	struct buffer server = {0};
	const char *servers[1];
	unsigned long rounds;
	int64_t begun_us;
	int64_t took_us;

	if (argc != 3) {
		fprintf(stderr, "usage: directory_kept SOCKET ROUNDS < KEYS\n");
		return 2;
	}
	rounds = strtoul(argv[2], NULL, 10);
	read_keys(&kept, &text);
	buffer_append_format(&server, "unix:%s", argv[1]);
	buffer_append_byte(&server, '\0');
	servers[0] = buffer_data(&server);
	kept.loop = os_loop_new();
	kept.client = directory_client_new(kept.loop, servers, 1, NULL, &handler, &kept);
	ask_all(&kept);
	os_loop_run(kept.loop);
	begun_us = os_clock_monotonic_us();
	for (unsigned long i = 0; i < rounds; i++) {
		ask_all(&kept);
		if (kept.answered != kept.count)
			break;
	}
	took_us = os_clock_monotonic_us() - begun_us;
	if (kept.failed > 0 || kept.answered != kept.count) {
		fprintf(stderr, "directory_kept: not all was kept\n");
		return 1;
	}
	printf("%zu %.1f\n", kept.count * rounds,
	       (double)took_us * 1000 / (double)(kept.count * rounds));
	directory_client_free(kept.client);
	os_loop_free(kept.loop);
	buffer_clear(&text);
	buffer_clear(&server);
	return 0;
}
