// SPDX-License-Identifier: ISC
/*
 * Asks a directory server by its protocol, many questions under way at once.
 *
 * usage: directory_load SOCKET TABLE DEPTH < KEYS
 *
 * KEYS are lines. Prints "ANSWERS NONE SECONDS": how many questions were answered, how many of
 * them with "none" or a refusal, and how long it took. Any error answer ends it.
 */
#include "base/timestamp.h"
#include "directory/wire/frame.h"
#include "os/clock.h"
#include "os/socket/socket.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK = 256 * 1024 };

struct load {
	int socket;
	const char *table;
	size_t depth;
	struct str keys; /* not asked for yet */
	struct buffer input;
	struct buffer output;
	uint64_t asked;
	uint64_t answered;
	uint64_t refused;
};

static void give_up(const char *what, int error)
{
	fprintf(stderr, "directory_load: %s: %s\n", what, strerror(error < 0 ? -error : error));
	exit(1);
}

static void read_keys(struct buffer *keys)
{
	ssize_t count;

	while ((count = read(STDIN_FILENO, buffer_reserve(keys, CHUNK), CHUNK)) > 0)
		buffer_commit(keys, (size_t)count);
	if (count < 0)
		give_up("standard input", errno);
}

static void fill(struct load *load)
{
	while (load->keys.length > 0 && load->asked - load->answered < load->depth) {
		struct directory_frame frame;
		struct str key;

		(void)str_split(&load->keys, '\n', &key);
		directory_frame_begin(&frame, &load->output, "get");
		directory_frame_add_number(&frame, ++load->asked);
		directory_frame_add(&frame, str_from(load->table));
		directory_frame_add(&frame, key);
		directory_frame_end(&frame);
	}
}

static void take_frame(struct load *load, struct str content)
{
	struct str word;
	struct str result = {"", 0};

	if (!directory_frame_word(&content, &word))
		give_up("a frame", EPROTO);
	if (str_equal(word, STR("err")))
		give_up("the server", EPROTO);
	if (!str_equal(word, STR("val")) && !str_equal(word, STR("none")))
		return;
	load->answered++;
	for (int i = 0; i < 4 && content.length > 0; i++)
		if (!directory_frame_word(&content, &result))
			give_up("a frame", EPROTO);
	load->refused += str_equal(word, STR("none")) || str_starts_with(result, STR("refuse "));
}

static void take(struct load *load)
{
	struct str content;
	size_t length;
	int taken;

	while ((taken = directory_frame_take(&load->input, &content, &length)) == 1) {
		take_frame(load, content);
		buffer_consume(&load->input, length);
	}
	if (taken < 0)
		give_up("a frame", taken);
}

/* As much as goes without waiting; whether anything did. */
static bool exchange(struct load *load)
{
	bool has_moved = false;
	ssize_t count;

	if (load->output.length > 0) {
		count = os_socket_write(load->socket, buffer_data(&load->output),
					load->output.length);
		if (count < 0 && count != -EAGAIN)
			give_up("writing", (int)count);
		if (count > 0)
			buffer_consume(&load->output, (size_t)count);
		has_moved |= count > 0;
	}
	count = os_socket_read(load->socket, buffer_reserve(&load->input, CHUNK), CHUNK);
	if (count == 0 || (count < 0 && count != -EAGAIN))
		give_up("reading", count == 0 ? EPIPE : (int)count);
	if (count > 0)
		buffer_commit(&load->input, (size_t)count);
	return has_moved || count > 0;
}

static void run(struct load *load)
{
	fill(load);
	while (load->answered < load->asked) {
		if (!exchange(load) &&
		    os_socket_wait(load->socket, load->output.length > 0, MINUTE_US) < 0)
			give_up("waiting", ETIMEDOUT);
		take(load);
		/* in bursts, as many sessions and messages make them */
		if (load->asked - load->answered <= load->depth / 2)
			fill(load);
	}
}

int main(int argc, char **argv)
{
	struct load load = {0};
	struct buffer keys = {0};
	union os_socket_address address;
	int64_t begun_us;

	if (argc != 4 || !os_socket_address_of_path(argv[1], &address)) {
		fprintf(stderr, "usage: directory_load SOCKET TABLE DEPTH < KEYS\n");
		return 2;
	}
	load.table = argv[2];
	load.depth = strtoul(argv[3], NULL, 10);
	read_keys(&keys);
	load.keys = buffer_view(&keys);
	if (load.keys.length > 0 && load.keys.data[load.keys.length - 1] == '\n')
		load.keys.length--;
	load.socket = os_socket_connect(&address);
	if (load.socket < 0)
		give_up(argv[1], load.socket);
	begun_us = os_clock_monotonic_us();
	run(&load);
	printf("%" PRIu64 " %" PRIu64 " %.6f\n", load.answered, load.refused,
	       (double)(os_clock_monotonic_us() - begun_us) / SECOND_US);
	buffer_clear(&keys);
	buffer_clear(&load.input);
	buffer_clear(&load.output);
	os_socket_close(load.socket);
	return 0;
}
