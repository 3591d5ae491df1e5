// SPDX-License-Identifier: ISC
/* Dovecot's authentication service, played here: the bounds of its lines, of ours, and of what is
 * asked at once. */
#include "auth/server/dovecot/dovecot.h"
#include "log/event.h"
#include "os/socket/socket.h"
#include "test.h"
#include "unit/fake_loop.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PLENTY = 1 << 20 };

#define GREETING "VERSION\t1\t2\nMECH\tPLAIN\tplaintext\nDONE\n"

static struct dovecot *dovecot;
static int connection; /* -1: none was made */
static unsigned changes;
static unsigned losses; /* that the log has */
static unsigned answers;
static enum dovecot_outcome outcome; /* of the last answer */
static size_t user_length;
static struct os_task *task; /* for the end of the turn; NULL: none */

void os_loop_defer(struct os_loop *loop, struct os_task *deferred)
{
	(void)loop;
	task = deferred;
}

void os_task_cancel(struct os_loop *loop, struct os_task *deferred)
{
	(void)loop;
	if (task == deferred)
		task = NULL;
}

int os_socket_connect(const union os_socket_address *address)
{
	(void)address;
	connection = fake_connect(PLENTY, PLENTY);
	return connection;
}

int os_socket_error(int socket)
{
	(void)socket;
	return 0;
}

void log_write(enum log_name name, const struct log_field *fields)
{
	(void)fields;
	assert_int_equal(name, EVENT_AUTH_SERVICE_LOST);
	losses++;
}

static void on_changed(void *context)
{
	(void)context;
	changes++;
}

static void on_answer(void *context, const struct dovecot_answer *answer)
{
	(void)context;
	answers++;
	outcome = answer->outcome;
	user_length = answer->user.length;
}

static void play_service(void)
{
	while (fake_watch_is_ready(connection))
		fake_play_watch(connection);
}

static void say(struct str text)
{
	while (text.length > 0) {
		size_t taken = fake_peer_write(connection, text.data, text.length);

		assert_true(taken > 0);
		text = str_skip(text, taken);
	}
	if (fake_watch_is_ready(connection))
		play_service();
}

static size_t drop_what_was_heard(void)
{
	char bytes[4096];
	size_t length, all = 0;

	while ((length = fake_peer_read(connection, bytes, sizeof bytes)) > 0)
		all += length;
	return all;
}

static int set_up(void **state)
{
	(void)state;
	fake_begin(1);
	connection = -1;
	changes = losses = answers = 0;
	dovecot = dovecot_new(NULL, "/run/dovecot/auth", on_changed, NULL);
	fake_play_timer();
	play_service();
	say(STR(GREETING));
	assert_int_equal(changes, 1);
	(void)drop_what_was_heard();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	dovecot_free(dovecot);
	return 0;
}

/* A line of LENGTH bytes with its end, at most STEP bytes at a time; whether it is taken. */
static bool takes_line(size_t length, size_t step)
{
	struct dovecot_request request = {.answered = on_answer};
	struct buffer line CLEANUP(buffer_clear) = {0};
	bool is_taken;

	dovecot_begin(dovecot, &(struct dovecot_ask){.mechanism = STR("PLAIN")}, &request);
	play_service();
	buffer_append_format(&line, "OK\t%u\tuser=", request.id);
	while (line.length < length - 1)
		buffer_append_byte(&line, 'u');
	buffer_append_byte(&line, '\n');
	answers = losses = 0;
	for (struct str rest = buffer_view(&line); rest.length > 0 && losses == 0;) {
		size_t count = rest.length < step ? rest.length : step;

		say(str_slice(rest.data, count));
		rest = str_skip(rest, count);
	}
	is_taken = answers == 1;
	assert_int_equal(losses, !is_taken);
	if (is_taken)
		assert_int_equal(user_length, length - 1 - strlen("OK\t1\tuser="));
	dovecot_cancel(&request);
	return is_taken;
}

static void a_line_of_the_service_is_so_long(void **state)
{
	static const size_t steps[] = {1, 1000, 4096, DOVECOT_LINE_MAX, PLENTY};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(steps); i++) {
		tear_down(state);
		set_up(state);
		assert_true(takes_line(DOVECOT_LINE_MAX, steps[i]));
		tear_down(state);
		set_up(state);
		assert_false(takes_line(DOVECOT_LINE_MAX + 1, steps[i]));
	}
}

/* The length of the line that asks with a service's name of so many bytes; 0: it cannot be sent. */
static size_t sent_length(size_t name)
{
	struct dovecot_request request = {.answered = on_answer};
	struct buffer service CLEANUP(buffer_clear) = {0};
	size_t length;
	bool is_failed;

	for (size_t i = 0; i < name; i++)
		buffer_append_byte(&service, 's');
	(void)drop_what_was_heard();
	dovecot_begin(
		dovecot,
		&(struct dovecot_ask){.mechanism = STR("X"), .service = buffer_view(&service)},
		&request);
	play_service();
	length = drop_what_was_heard();
	is_failed = request.is_failed;
	assert_int_equal(is_failed, task != NULL);
	if (is_failed) {
		task->call(task->context);
		assert_int_equal(outcome, DOVECOT_LATER);
	}
	dovecot_cancel(&request);
	assert_null(task);
	return is_failed ? 0 : length;
}

static void a_line_to_the_service_is_so_long(void **state)
{
	size_t least = sent_length(0);

	(void)state;
	assert_int_equal(sent_length(1), least + 1);
	assert_int_equal(sent_length(DOVECOT_SENT_MAX - least), DOVECOT_SENT_MAX);
	assert_int_equal(sent_length(DOVECOT_SENT_MAX - least + 1), 0);
	assert_int_equal(losses, 0);
}

/* One more fails; when one of them has ended there is room again. */
static void so_much_is_asked_at_once(void **state)
{
	struct dovecot_request *all = calloc(DOVECOT_REQUESTS_MAX + 2, sizeof *all);
	const struct dovecot_ask ask = {.mechanism = STR("X")};

	(void)state;
	for (size_t i = 0; i < DOVECOT_REQUESTS_MAX + 2; i++)
		all[i].answered = on_answer;
	for (size_t i = 0; i < DOVECOT_REQUESTS_MAX; i++) {
		dovecot_begin(dovecot, &ask, &all[i]);
		assert_false(all[i].is_failed);
		play_service();
		(void)drop_what_was_heard();
	}
	dovecot_begin(dovecot, &ask, &all[DOVECOT_REQUESTS_MAX]);
	assert_true(all[DOVECOT_REQUESTS_MAX].is_failed);
	dovecot_cancel(&all[DOVECOT_REQUESTS_MAX]);
	dovecot_cancel(&all[0]);
	dovecot_begin(dovecot, &ask, &all[DOVECOT_REQUESTS_MAX + 1]);
	assert_false(all[DOVECOT_REQUESTS_MAX + 1].is_failed);
	for (size_t i = 0; i < DOVECOT_REQUESTS_MAX + 2; i++)
		dovecot_cancel(&all[i]);
	free(all);
}

#define DOVECOT_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		DOVECOT_TEST(a_line_of_the_service_is_so_long),
		DOVECOT_TEST(a_line_to_the_service_is_so_long),
		DOVECOT_TEST(so_much_is_asked_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
