// SPDX-License-Identifier: ISC
/*
 * tests/unit/auth/dovecot_scene.h - a Dovecot that hears and says what a test wants, and requests
 * to it; to be linked with --wrap for what has a __wrap_ here.
 */
#ifndef TESTS_UNIT_AUTH_DOVECOT_SCENE_H
#define TESTS_UNIT_AUTH_DOVECOT_SCENE_H

#include "auth/server/dovecot/dovecot.h"
#include "base/text/base64.h"
#include "fake_loop.h"
#include "log_lines.h"
#include "os/clock.h"
#include "os/socket/socket.h"
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REQUESTS = 5, ROOM = 40000 };

static struct {
	struct dovecot *dovecot;
	int socket;         /* of the connection; -1: none */
	int connect_errors; /* -errno of each attempt; 0: it succeeds */
	int error;          /* at the end of connecting */
	unsigned changed, attempts;
	struct os_task *tasks[2 * REQUESTS];
	bool is_greeted;
	struct buffer heard; /* by Dovecot, what is not looked at yet */
} world;

/* --- in the place of the system --- */

int __wrap_os_socket_connect(const union os_socket_address *address);
int __wrap_os_socket_connect(const union os_socket_address *address)
{
	assert_int_equal(address->any.sa_family, AF_UNIX);
	world.attempts++;
	if (world.connect_errors < 0)
		return world.connect_errors;
	world.socket = fake_connect(ROOM, ROOM);
	return world.socket;
}

int __wrap_os_socket_error(int socket);
int __wrap_os_socket_error(int socket)
{
	assert_int_equal(socket, world.socket);
	return world.error;
}

void __wrap_os_loop_defer(struct os_loop *loop, struct os_task *task);
void __wrap_os_loop_defer(struct os_loop *loop, struct os_task *task)
{
	size_t i = 0;

	(void)loop;
	while (i < COUNT_OF(world.tasks) && world.tasks[i] != NULL && world.tasks[i] != task)
		i++;
	assert_true(i < COUNT_OF(world.tasks));
	world.tasks[i] = task;
}

void __wrap_os_task_cancel(struct os_loop *loop, struct os_task *task);
void __wrap_os_task_cancel(struct os_loop *loop, struct os_task *task)
{
	(void)loop;
	for (size_t i = 0; i < COUNT_OF(world.tasks); i++)
		if (world.tasks[i] == task)
			world.tasks[i] = NULL;
}

static inline void end_turn(void)
{
	for (size_t i = 0; i < COUNT_OF(world.tasks); i++) {
		struct os_task *task = world.tasks[i];

		world.tasks[i] = NULL;
		if (task != NULL)
			task->call(task->context);
	}
}

/* --- what Dovecot hears and says --- */

static inline void play(void)
{
	while (world.socket >= 0 && !fake_is_closed(world.socket) &&
	       fake_watch_is_ready(world.socket))
		fake_play_watch(world.socket);
	if (world.socket >= 0 && fake_is_closed(world.socket)) {
		world.socket = -1;
		world.is_greeted = false;
		buffer_clear(&world.heard);
	}
}

static inline void hear(void)
{
	char bytes[1000];
	size_t length;

	while (world.socket >= 0 &&
	       (length = fake_peer_read(world.socket, bytes, sizeof bytes)) > 0)
		buffer_append(&world.heard, bytes, length);
}

/* The next line that Dovecot has heard is this one; "": there is none. */
static inline void expect_line(const char *expected)
{
	struct str rest, line = STR("");
	ptrdiff_t end;

	play();
	hear();
	rest = buffer_view(&world.heard);
	end = str_find(rest, '\n');
	if (end >= 0)
		line = str_slice(rest.data, (size_t)end);
	if (!str_equal(line, str_from(expected)))
		fail_msg("\"" STR_FORMAT "\" and not \"%s\"", STR_ARGUMENTS(line), expected);
	if (end >= 0)
		buffer_consume(&world.heard, (size_t)end + 1);
}

static inline void say(const char *text)
{
	assert_int_equal(fake_peer_write(world.socket, text, strlen(text)), strlen(text));
	play();
}

/* The connection is there, and Dovecot has greeted. */
static inline void greet(void)
{
	char line[40];

	while (world.socket < 0) /* those of requests may come before */
		fake_play_timer();
	snprintf(line, sizeof line, "CPID\t%ld", (long)getpid());
	expect_line("VERSION\t1\t2");
	expect_line(line);
	say("VERSION\t1\t2\nMECH\tPLAIN\tplaintext\nMECH\tANON\tanonymous\nSPID\t1\nDONE\n");
	world.is_greeted = true;
}

/* --- requests --- */

struct played {
	struct dovecot_request request;
	unsigned answers;
	enum dovecot_outcome outcome;
	char message[30], user[30];
	/* the model */
	enum { NOT_ASKED, WAITS, SENT, BEGUN, SPEAKS, TO_FAIL } is;
	uint32_t id;
	int64_t until_us;
};

static struct played played[REQUESTS];

static inline void on_answered(void *context, const struct dovecot_answer *answer)
{
	struct played *one = context;

	one->answers++;
	one->outcome = answer->outcome;
	snprintf(one->message, sizeof one->message, STR_FORMAT, STR_ARGUMENTS(answer->message));
	snprintf(one->user, sizeof one->user, STR_FORMAT, STR_ARGUMENTS(answer->user));
}

static inline void begin(struct played *one)
{
	struct dovecot_ask ask = {.mechanism = STR("PLAIN"),
				  .service = STR("smtp"),
				  .has_initial = true,
				  .initial = STR("i")};

	one->request.answered = on_answered;
	one->request.context = one;
	dovecot_begin(world.dovecot, &ask, &one->request);
	one->id = one->request.id;
	one->until_us = os_clock_monotonic_us() + DOVECOT_PATIENCE_US;
	one->is = world.is_greeted ? SENT : WAITS;
}

static inline void expect_begun(const struct played *one)
{
	char line[120];

	snprintf(line, sizeof line,
		 "AUTH\t%u\tPLAIN\tservice=smtp\tsecured\tfinal-resp-ok\tno-penalty\tresp=aQ==",
		 one->id);
	expect_line(line);
}

static inline int set_up(void **state)
{
	(void)state;
	memset(&world, 0, sizeof world);
	memset(played, 0, sizeof played);
	world.socket = -1;
	fake_begin(1);
	fake_advance(SECOND_US);
	return 0;
}

static inline void note_change(void *context)
{
	assert_ptr_equal(context, &world);
	world.changed++;
}

static inline void open_dovecot(void)
{
	world.dovecot = dovecot_new(NULL, "/run/dovecot", note_change, &world);
}

static inline int tear_down(void **state)
{
	(void)state;
	for (size_t i = 0; i < REQUESTS; i++)
		dovecot_cancel(&played[i].request);
	dovecot_free(world.dovecot);
	dovecot_free(NULL);
	buffer_clear(&world.heard);
	buffer_clear(&log_lines);
	for (size_t i = 0; i < COUNT_OF(world.tasks); i++)
		assert_null(world.tasks[i]);
	return fake_timers() > 0 || (world.socket >= 0 && !fake_is_closed(world.socket)) ? -1 : 0;
}

#define DOVECOT_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
