// SPDX-License-Identifier: ISC
#include "directory_peer.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "directory/wire/frame.h"
#include "os/socket/socket.h"
#include <errno.h>
#include <stdlib.h>

static const int64_t PATIENCE_US = 5 * SECOND_US;
/* longer than what is done at once takes, with a sanitizer on a busy machine */
static const int64_t MOMENT_US = SECOND_US / 20;

struct directory_peer {
	struct os_loop *loop;
	int socket;
	struct os_watch *watch;
	struct os_timer *timer;
	struct buffer input;
	struct buffer output;
	struct buffer text;
	bool is_closed;
	bool is_waiting;
	bool is_deaf;
};

static void update(struct directory_peer *peer)
{
	unsigned events = peer->is_deaf || peer->is_closed ? OS_WATCH_NONE : OS_WATCH_READ;

	os_watch_set(peer->watch, peer->output.length > 0 ? events | OS_WATCH_WRITE : events);
}

static void on_ready(void *context, unsigned events)
{
	struct directory_peer *peer = context;
	ssize_t count = -EAGAIN;

	if ((events & OS_WATCH_WRITE) != 0 && peer->output.length > 0) {
		count = os_socket_write(peer->socket, buffer_data(&peer->output),
					peer->output.length);
		if (count > 0)
			buffer_consume(&peer->output, (size_t)count);
		else if (count != -EAGAIN)
			buffer_reset(&peer->output);
	}
	if ((events & OS_WATCH_READ) != 0 && !peer->is_deaf) {
		count = os_socket_read(peer->socket, buffer_reserve(&peer->input, 65536), 65536);
		if (count > 0)
			buffer_commit(&peer->input, (size_t)count);
		else if (count != -EAGAIN)
			peer->is_closed = true;
	}
	update(peer);
	if (peer->is_waiting)
		os_loop_stop(peer->loop);
}

static void on_timeout(void *context)
{
	struct directory_peer *peer = context;

	os_loop_stop(peer->loop);
}

struct directory_peer *directory_peer_new(struct os_loop *loop, int socket)
{
	struct directory_peer *peer = memory_alloc_zero(1, sizeof *peer);

	peer->loop = loop;
	peer->socket = socket;
	peer->timer = os_timer_new(loop, on_timeout, peer);
	peer->watch = os_watch_new(loop, socket, OS_WATCH_READ, on_ready, peer);
	return peer;
}

void directory_peer_say(struct directory_peer *peer, const char *frame)
{
	struct directory_frame out;
	struct str rest = str_from(frame);
	struct str word;
	struct buffer verb = {0};

	(void)str_split(&rest, '|', &word);
	buffer_append_str(&verb, word);
	buffer_append_byte(&verb, '\0');
	directory_frame_begin(&out, &peer->output, buffer_data(&verb));
	while (rest.data != NULL) {
		(void)str_split(&rest, '|', &word);
		directory_frame_add(&out, word);
	}
	directory_frame_end(&out);
	buffer_clear(&verb);
	update(peer);
}

void directory_peer_send(struct directory_peer *peer, struct str bytes)
{
	buffer_append_str(&peer->output, bytes);
	update(peer);
}

/* The first frame as text; NULL: there is none. */
static const char *take(struct directory_peer *peer)
{
	struct str content;
	struct str word;
	size_t length;
	int result = directory_frame_take(&peer->input, &content, &length);

	if (result < 0)
		return "malformed";
	if (result == 0)
		return NULL;
	buffer_reset(&peer->text);
	while (directory_frame_word(&content, &word)) {
		if (peer->text.length > 0)
			buffer_append_byte(&peer->text, '|');
		buffer_append_str(&peer->text, word);
	}
	buffer_append_byte(&peer->text, '\0');
	buffer_consume(&peer->input, length);
	return buffer_data(&peer->text);
}

static const char *hear(struct directory_peer *peer, int64_t patience_us)
{
	const char *text = take(peer);

	os_timer_start(peer->timer, patience_us);
	while (text == NULL && !peer->is_closed && os_timer_is_running(peer->timer)) {
		peer->is_waiting = true;
		os_loop_run(peer->loop);
		peer->is_waiting = false;
		text = take(peer);
	}
	os_timer_stop(peer->timer);
	if (text != NULL)
		return text;
	return peer->is_closed ? "closed" : "nothing";
}

const char *directory_peer_hear(struct directory_peer *peer)
{
	return hear(peer, PATIENCE_US);
}

const char *directory_peer_hear_now(struct directory_peer *peer)
{
	return hear(peer, MOMENT_US);
}

void directory_peer_read(struct directory_peer *peer, bool reads)
{
	peer->is_deaf = !reads;
	update(peer);
}

void directory_peer_free(struct directory_peer *peer)
{
	os_watch_free(peer->watch);
	os_timer_free(peer->timer);
	os_socket_close(peer->socket);
	buffer_clear(&peer->input);
	buffer_clear(&peer->output);
	buffer_clear(&peer->text);
	free(peer);
}

static void stop_loop(void *context)
{
	os_loop_stop(context);
}

void directory_peer_turn(struct os_loop *loop, int64_t time_us)
{
	struct os_timer *timer = os_timer_new(loop, stop_loop, loop);

	os_timer_start(timer, time_us);
	os_loop_run(loop);
	os_timer_free(timer);
}
