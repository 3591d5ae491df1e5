// SPDX-License-Identifier: ISC
#include "attempt_scene.h"
#include "base/panic.h"
#include "fake_loop.h"
#include "os/socket/socket.h"
#include "test.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct attempt_scene scene;

/* --- the server --- */

void scene_say(const struct peer *peer, const char *text)
{
	assert_int_equal(fake_peer_write(peer->socket, text, strlen(text)), strlen(text));
}

/* False: it has refused. */
static bool answer(struct peer *peer, struct str line, const char *usual)
{
	const char *said = scene.answer != NULL ? scene.answer(peer, line) : NULL;

	scene_say(peer, said != NULL ? said : usual);
	scene_say(peer, "\r\n");
	if (said != NULL && (strncmp(said, "421", 3) == 0 || (line.length == 0 && *said != '2')))
		peer->is_over = true;
	return said == NULL || *said < '4';
}

static void note_address(struct str line, const char *before, char *out, size_t size)
{
	if (str_starts_with(line, str_from(before)))
		snprintf(out, size, STR_FORMAT,
			 STR_ARGUMENTS(str_slice(line.data + strlen(before),
						 (size_t)str_find(line, '>') - strlen(before))));
}

static void on_line(struct peer *peer, struct str line)
{
	bool is_end = peer->is_in_data && str_equal(line, STR("."));
	bool is_data = !peer->is_in_data && str_equal(line, STR("DATA"));

	if (peer->is_in_data && !is_end)
		return;
	note_address(line, "MAIL FROM:<", peer->sender, sizeof peer->sender);
	note_address(line, "RCPT TO:<", peer->recipient, sizeof peer->recipient);
	peer->is_in_data = false;
	peer->messages += is_end;
	if (!is_end || !scene.is_slow)
		peer->is_in_data = answer(peer, line, is_data ? "354 go" : "250 so") && is_data;
}

int os_socket_connect(const union os_socket_address *address)
{
	struct peer *peer = &scene.peers[scene.peer_count];

	(void)address;
	if (scene.is_away)
		return -ECONNREFUSED;
	assert_true(scene.peer_count++ < PEERS_MAX);
	*peer = (struct peer){.socket = fake_connect(ROOM, ROOM)};
	answer(peer, STR(""), "220 x");
	return peer->socket;
}

int os_socket_connect_from(const struct in6_addr *source, const union os_socket_address *address)
{
	(void)source;
	return os_socket_connect(address);
}

int os_socket_error(int socket)
{
	(void)socket;
	return 0;
}

/* --- jobs --- */

void deliver_helper_report(struct deliver_helper_job *job, size_t index,
			   const struct mail_verdict *verdict, const char *trigger)
{
	assert_false(job->recipients[index].is_reported);
	job->recipients[index].is_reported = true;
	snprintf(scene.reports[job->tag], sizeof scene.reports[job->tag], "%s%s%s", verdict->status,
		 trigger != NULL ? " " : "", trigger != NULL ? trigger : "");
}

void deliver_helper_tell_said(const struct deliver_helper_job *job, const struct ipc_job_said *said)
{
	(void)job;
	scene.said[said->what]++;
	assert_true(said->text.length > 0 && said->to.length > 0 && said->status.length > 0);
}

void deliver_helper_report_rest(struct deliver_helper_job *job, const struct mail_verdict *verdict,
				const char *trigger)
{
	for (size_t i = 0; i < job->recipient_count; i++)
		if (!job->recipients[i].is_reported)
			deliver_helper_report(job, i, verdict, trigger);
}

void deliver_helper_finish(struct deliver_helper_job *job)
{
	scene.is_finished[job->tag] = true;
	arena_free(job->arena);
	free(job);
}

void deliver_helper_finish_busy(struct deliver_helper_job *job, int64_t wait_us, uint32_t flags,
				const char *reason)
{
	(void)reason;
	assert_true(wait_us > 0);
	scene.busy_flags[job->tag] = flags;
	if (!job->recipients[0].is_reported)
		snprintf(scene.reports[job->tag], sizeof scene.reports[job->tag], "busy");
	deliver_helper_finish(job);
}

static void find(void *context, struct remote_attempt *attempt)
{
	static struct dns_server servers[SCENE_SERVERS_MAX];
	size_t count = scene.servers > 0 ? scene.servers : 1;

	(void)context;
	for (size_t i = 0; i < count; i++) {
		servers[i] = scene.server;
		servers[i].address.v4.sin_addr.s_addr += htonl((uint32_t)i);
	}
	remote_attempt_try(attempt, servers, count, "host.x");
}

static void end_finding(void *context)
{
	(void)context;
}

static bool fall_back(void *context, struct remote_attempt *attempt)
{
	(void)context;
	(void)attempt;
	scene.fallen_back++;
	return false;
}

static bool protect(void *context, struct remote_attempt *attempt, const struct dns_server *server,
		    struct remote_policy *policy_out)
{
	(void)context;
	(void)attempt;
	(void)server;
	policy_out->level = scene.level;
	policy_out->refusal = scene.refusal;
	return true;
}

static const struct remote_finder finder = {
	.find = find, .end = end_finding, .protect = protect, .fall_back = fall_back};

static struct str address_of(struct arena *arena, const char *format, ...) PRINTF_LIKE(2, 3);

static struct str address_of(struct arena *arena, const char *format, ...)
{
	char text[32];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	return arena_copy_str(arena, str_from(text));
}

size_t scene_start(const char *key)
{
	struct deliver_helper_job *job = memory_alloc_zero(1, sizeof *job);
	size_t number = scene.started++;

	job->arena = arena_new();
	job->tag = (uint32_t)number;
	job->sender = address_of(job->arena, "s%zu@us.test", number);
	job->destination = STR("d.test");
	job->content = (struct ipc_content){.file = -1, .bytes = STR("x\r\n"), .size = 3};
	job->recipient_count = scene.recipients > 0 ? scene.recipients : 1;
	job->recipients = arena_alloc(job->arena, job->recipient_count * sizeof *job->recipients);
	job->recipients[0].address = address_of(job->arena, "r%zu@d.test", number);
	for (size_t i = 1; i < job->recipient_count; i++)
		job->recipients[i].address = address_of(job->arena, "r%zu-%zu@d.test", number, i);
	remote_attempt_start(&scene.client, SMTP_CLIENT_SMTP, job, key, &finder, NULL);
	return number;
}

/* Whether there was something to hear. */
static bool hear(struct peer *peer)
{
	size_t count = fake_peer_read(peer->socket, peer->heard + peer->heard_length,
				      sizeof peer->heard - peer->heard_length);
	struct str rest;
	ptrdiff_t end;

	peer->heard_length += count;
	rest = str_slice(peer->heard, peer->heard_length);
	while (!peer->is_over && (end = str_find(rest, '\n')) > 0) {
		on_line(peer, str_slice(rest.data, (size_t)end - 1));
		rest = str_skip(rest, (size_t)end + 1);
	}
	memmove(peer->heard, rest.data, rest.length);
	peer->heard_length = rest.length;
	return count > 0;
}

void scene_play(void)
{
	bool is_moving = true;

	while (is_moving) {
		is_moving = false;
		for (size_t i = 0; i < scene.peer_count; i++) {
			struct peer *peer = &scene.peers[i];

			while (!fake_is_closed(peer->socket) && fake_watch_is_ready(peer->socket)) {
				fake_play_watch(peer->socket);
				is_moving = true;
			}
			is_moving |= !fake_is_closed(peer->socket) && hear(peer);
			if (peer->is_over && !peer->is_closed && !fake_is_closed(peer->socket)) {
				peer->is_closed = true;
				fake_peer_close(peer->socket);
				is_moving = true;
			}
		}
	}
}
