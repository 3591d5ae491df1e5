// SPDX-License-Identifier: ISC
/* Lines to the system's own log, and how many of an event pass: any outcome of each call and any
 * times, against plain models. */
#include "base/timestamp.h"
#include "chance.h"
#include "log/internal.h"
#include "log/sink.h"
#include "os/clock.h"
#include "os/stream/system_log.h"
#include "test.h"
#include <errno.h>
#include <paths.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

enum { TURNS = 20000, MESSAGE_MAX = 8191, LONG = 9000 };

static struct {
	int64_t wall_us, monotonic_us;
	int next_socket;
	int open; /* -1: none */
	unsigned connects;
	int refuses; /* what connecting returns; 0: it works */
	int fails;   /* what sending returns */
	unsigned sends;
	char message[LONG + 100];
	size_t length;
} system_log;

int64_t __wrap_os_clock_wall_us(void);
int64_t __wrap_os_clock_wall_us(void)
{
	return system_log.wall_us;
}

int64_t __wrap_os_clock_monotonic_us(void);
int64_t __wrap_os_clock_monotonic_us(void)
{
	return system_log.monotonic_us;
}

static int connect_to_log(void)
{
	assert_int_equal(system_log.open, -1);
	system_log.connects++;
	if (system_log.refuses != 0)
		return system_log.refuses;
	/* 0 is a descriptor, too */
	system_log.next_socket = (system_log.next_socket + 1) % 3;
	system_log.open = system_log.next_socket;
	return system_log.open;
}

int __wrap_os_system_log_connect(void);
int __wrap_os_system_log_connect(void)
{
	return connect_to_log();
}

static int connect_for_us(const char *path, int kind)
{
	assert_string_equal(path, _PATH_LOG);
	assert_int_equal(kind, SOCK_DGRAM);
	return connect_to_log();
}

int __wrap_os_system_log_send(int socket, const char *line, size_t size);
int __wrap_os_system_log_send(int socket, const char *line, size_t size)
{
	assert_int_equal(socket, system_log.open);
	system_log.sends++;
	memcpy(system_log.message, line, size);
	system_log.length = size;
	return system_log.fails;
}

void __wrap_os_system_log_close(int socket);
void __wrap_os_system_log_close(int socket)
{
	assert_int_equal(socket, system_log.open);
	system_log.open = -1;
}

/* --- lines --- */

static void check_message(enum log_level level, const char *text, size_t length)
{
	static const int priorities[] = {LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERR};
	char expected[LONG + 100], stamp[40];
	time_t now = (time_t)(system_log.wall_us / SECOND_US);
	struct tm local;
	size_t whole;

	localtime_r(&now, &local);
	strftime(stamp, sizeof stamp, "%b %e %H:%M:%S", &local);
	whole = (size_t)snprintf(expected, sizeof expected, "<%d>%s stagepost[%d]: %.*s",
				 LOG_MAIL | priorities[level], stamp, getpid(), (int)length, text);
	assert_int_equal(system_log.length, whole < MESSAGE_MAX ? whole : MESSAGE_MAX);
	assert_memory_equal(system_log.message, expected, system_log.length);
}

/* What the next line does: at the open socket, and else at a new one, if there may be one now. */
static void send_line(bool is_for_us, time_t *failed)
{
	static char text[LONG];
	static const size_t lengths[] = {0, 1, 2, 60, 8100, MESSAGE_MAX, LONG};
	size_t length = lengths[chance(COUNT_OF(lengths))];
	enum log_level level = (enum log_level)chance(4);
	bool was_open = system_log.open >= 0, connects, is_sent;
	bool ends_line = length > 0 && chance(2) == 0;

	memset(text, 'x', sizeof text);
	if (ends_line)
		text[length - 1] = '\n';
	if (chance(3) == 0)
		system_log.wall_us += (int64_t)chance(3) * SECOND_US / 2;
	system_log.refuses = chance(3) == 0 ? -ENOENT : 0;
	system_log.fails = chance(2) == 0 ? 0 : chance(2) == 0 ? -EAGAIN : -ECONNREFUSED;
	system_log.connects = system_log.sends = 0;
	connects = !was_open || (system_log.fails < 0 && system_log.fails != -EAGAIN);
	if (is_for_us && connects && system_log.wall_us / SECOND_US == *failed)
		connects = false;
	is_sent = system_log.fails == 0 && (was_open || (connects && system_log.refuses == 0));
	assert_int_equal(log_sink_syslog(level, str_slice(text, length)), is_sent);
	assert_int_equal(system_log.connects, connects);
	assert_int_equal(system_log.sends, was_open + (connects && system_log.refuses == 0));
	if (connects && system_log.refuses < 0)
		*failed = (time_t)(system_log.wall_us / SECOND_US);
	if (system_log.sends > 0)
		check_message(level, text, length - ends_line);
}

/* By itself, and then by a process that connects for it. */
static void any_lines(void **state)
{
	time_t failed = 0;

	(void)state;
	for (unsigned turn = 0; turn < TURNS / 4; turn++)
		send_line(false, &failed);
	log_sink_connect_by(connect_for_us);
	failed = 0;
	for (unsigned turn = 0; turn < TURNS; turn++)
		send_line(true, &failed);
}

/* --- how many pass --- */

enum { NAMES = 4 };

static struct {
	int64_t full_us, told_us, withheld;
} rates[NAMES];

static const enum log_name names[NAMES] = {(enum log_name)0, (enum log_name)1, (enum log_name)7,
					   (enum log_name)(EVENT_COUNT - 1)};

static bool expect_pass(size_t i)
{
	int64_t now_us = system_log.monotonic_us;

	if (rates[i].full_us < now_us)
		rates[i].full_us = now_us;
	/* a burst, and then one a second */
	if (rates[i].full_us + SECOND_US <= now_us + LOG_RATE_BURST * SECOND_US) {
		rates[i].full_us += SECOND_US;
		return true;
	}
	if (rates[i].withheld++ == 0 && now_us - rates[i].told_us > 10 * SECOND_US)
		rates[i].told_us = now_us;
	return false;
}

static void report_withheld(bool is_end)
{
	for (;;) {
		enum log_name name = EVENT_COUNT;
		int64_t count = log_rate_withheld(is_end, &name);
		size_t i = 0;

		while (i < NAMES &&
		       (rates[i].withheld == 0 ||
			(!is_end && system_log.monotonic_us - rates[i].told_us < 10 * SECOND_US)))
			i++;
		if (i == NAMES) {
			assert_int_equal(count, 0);
			return;
		}
		assert_int_equal(name, names[i]);
		assert_int_equal(count, rates[i].withheld);
		rates[i].withheld = 0;
		rates[i].told_us = system_log.monotonic_us;
	}
}

static void any_rates(void **state)
{
	static const int64_t spans_us[] = {0,
					   1,
					   SECOND_US - 1,
					   SECOND_US,
					   10 * SECOND_US - 1,
					   10 * SECOND_US,
					   10 * SECOND_US + 1,
					   100 * SECOND_US};

	(void)state;
	system_log.monotonic_us = 1000 * SECOND_US;
	for (unsigned turn = 0; turn < TURNS; turn++) {
		size_t i = chance(NAMES);

		for (size_t n = chance(20) == 0 ? LOG_RATE_BURST + chance(3) : 1; n > 0; n--)
			assert_int_equal(log_rate_passes(names[i]), expect_pass(i));
		if (chance(3) == 0)
			system_log.monotonic_us += spans_us[chance(COUNT_OF(spans_us))];
		if (chance(5) == 0)
			report_withheld(chance(4) == 0);
	}
	report_withheld(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_lines),
		cmocka_unit_test(any_rates),
	};

	setenv("TZ", "UTC", 1);
	system_log.wall_us = 1700000000 * SECOND_US;
	system_log.open = -1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
