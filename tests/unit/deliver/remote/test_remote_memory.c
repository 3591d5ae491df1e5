// SPDX-License-Identifier: ISC
/* What is remembered of servers and of messages, against plain tables that forget nothing. */
#include "base/timestamp.h"
#include "chance.h"
#include "deliver/remote/attempt/doubt.h"
#include "deliver/remote/attempt/silent.h"
#include "deliver/remote/policy/memory.h"
#include "deliver/remote/policy/plain.h"
#include "fake_loop.h"
#include "heard.h"
#include "os/clock.h"
#include "test.h"
#include <stdio.h>
#include <string.h>

enum { STEPS = 20000, SERVERS = 3 };

/* Time passes: often none, or just to an end of one of ours. */
static void pass_some_time(void)
{
	static const int64_t spans[] = {
		0,
		1,
		MINUTE_US,
		6 * MINUTE_US - 1,
		6 * MINUTE_US,
		15 * MINUTE_US - 1,
		15 * MINUTE_US,
		60 * MINUTE_US - 1,
		60 * MINUTE_US,
		DAY_US - 1,
		DAY_US,
		8 * DAY_US - 1,
		8 * DAY_US,
	};

	if (chance(3) == 0)
		fake_pass(spans[chance(COUNT_OF(spans))]);
}

static struct dns_server server_of(unsigned number)
{
	struct dns_server server = {.host = "mx.example"};
	char text[32];

	snprintf(text, sizeof text, "10.%u.%u.%u", number >> 16U, number >> 8U & 255U,
		 number & 255U);
	assert_true(os_socket_address_parse(text, 25, &server.address));
	return server;
}

/* --- the table --- */

enum { KEYS = 7, MAX_MOST = 5 };

static struct known_key {
	size_t key;
	int64_t until_us;
	unsigned count;
} known[KEYS]; /* oldest first; also those whose time is over, until they are asked for */
static size_t known_count;

static void forget_known(size_t index)
{
	memmove(&known[index], &known[index + 1], (--known_count - index) * sizeof *known);
}

/* Its index, KEYS if it is not known. */
static size_t find_known(size_t key)
{
	for (size_t i = 0; i < known_count; i++) {
		if (known[i].key != key)
			continue;
		if (known[i].until_us > os_clock_monotonic_us())
			return i;
		forget_known(i);
	}
	return KEYS;
}

/* Some begin alike; one is as long as may be. */
static const char *key_text(size_t key)
{
	static char longest[REMOTE_MEMORY_KEY_SIZE];
	static const char *const texts[] = {"", "a", "a ", "ab", "10.0.0.1", "10.0.0.10"};

	memset(longest, 'a', sizeof longest - 1);
	return key < COUNT_OF(texts) ? texts[key] : longest;
}

static void keep_known(struct remote_memory *memory, size_t max, size_t key)
{
	int64_t kept_us = chance(2) == 0 ? MINUTE_US : 15 * MINUTE_US;
	struct remote_memory_entry *entry = remote_memory_keep(memory, key_text(key), kept_us);
	struct known_key now = {key, os_clock_monotonic_us() + kept_us, 0};
	size_t index = find_known(key);

	if (index < KEYS) {
		now.count = known[index].count;
		forget_known(index);
	}
	if (known_count == max)
		forget_known(0);
	assert_int_equal(entry->count, now.count);
	assert_int_equal(entry->until_us, now.until_us);
	entry->count = ++now.count;
	known[known_count++] = now;
}

static void look_for_known(struct remote_memory *memory, size_t key)
{
	const struct remote_memory_entry *entry = remote_memory_find(memory, key_text(key));
	size_t index = find_known(key);

	assert_int_equal(entry != NULL, index < KEYS);
	if (entry != NULL)
		assert_int_equal(entry->count, known[index].count);
}

static void a_table_keeps_the_latest(void **state)
{
	(void)state;
	fake_begin(1);
	for (unsigned max = 1; max <= MAX_MOST; max++) {
		struct remote_memory *memory = remote_memory_new(max);

		known_count = 0;
		for (unsigned i = 0; i < STEPS; i++) {
			size_t key = chance(KEYS);

			switch (chance(6)) {
			case 0:
			case 1:
				keep_known(memory, max, key);
				break;
			case 2:
				remote_memory_drop(memory, key_text(key));
				if (find_known(key) < KEYS)
					forget_known(find_known(key));
				break;
			default:
				look_for_known(memory, key);
			}
			assert_int_equal(remote_memory_is_empty(memory), known_count == 0);
			pass_some_time();
		}
		remote_memory_free(memory);
	}
	remote_memory_free(NULL);
}

/* --- servers that are silent --- */

static void a_silent_server_is_tried_after_a_while(void **state)
{
	int64_t passed_us[SERVERS] = {0};
	int64_t known_us[SERVERS] = {0};
	struct remote_silent *silent;

	(void)state;
	fake_begin(1);
	(void)heard_take();
	silent = remote_silent_new();
	for (unsigned i = 0; i < STEPS; i++) {
		unsigned number = (unsigned)chance(SERVERS);
		const struct dns_server server = server_of(number);
		int64_t now_us = os_clock_monotonic_us();
		bool is_passed = now_us < passed_us[number];
		char line[96] = "";

		switch (chance(6)) {
		case 0:
			remote_silent_add(silent, &server, "no greeting");
			passed_us[number] = now_us + 15 * MINUTE_US;
			known_us[number] = now_us + DAY_US;
			snprintf(line, sizeof line,
				 "server_silent host=mx.example[10.0.0.%u] text=no greeting\n",
				 number);
			break;
		case 1:
			remote_silent_forget(silent, &server);
			passed_us[number] = known_us[number] = 0;
			break;
		default:
			assert_int_equal(remote_silent_has(silent, &server), is_passed);
			if (!is_passed && now_us < known_us[number]) /* who asks first tries it */
				passed_us[number] = now_us + 6 * MINUTE_US;
		}
		assert_string_equal(heard_take(), line);
		pass_some_time();
	}
	remote_silent_free(silent);
	remote_silent_free(NULL);
}

/* The same server at another port is another one. */
static void a_thousand_are_silent(void **state)
{
	struct remote_silent *silent;
	struct dns_server server = server_of(1);

	(void)state;
	fake_begin(1);
	silent = remote_silent_new();
	for (unsigned i = 0; i < 1001; i++) {
		server = server_of(i);
		remote_silent_add(silent, &server, "");
		(void)heard_take();
	}
	server = server_of(0);
	assert_false(remote_silent_has(silent, &server));
	for (unsigned i = 1; i < 1001; i++) {
		server = server_of(i);
		assert_true(remote_silent_has(silent, &server));
	}
	server.address.v4.sin_port++;
	assert_false(remote_silent_has(silent, &server));
	fake_pass(15 * MINUTE_US);
	for (unsigned i = 0; i < 1001; i++) { /* as many are known to have been so */
		server = server_of(i);
		assert_false(remote_silent_has(silent, &server));
		assert_int_equal(remote_silent_has(silent, &server), i > 0);
	}
	remote_silent_free(silent);
}

/* --- messages that a server may have --- */

static void attempts_are_counted_by_message_and_server(void **state)
{
	struct {
		unsigned count;
		int64_t until_us;
	} of_server[2][SERVERS] = {0}, of_message[2] = {0};
	struct remote_doubt *doubt;

	(void)state;
	fake_begin(1);
	doubt = remote_doubt_new();
	for (unsigned i = 0; i < STEPS; i++) {
		const struct mail_id ids[] = {{7, 1}, {7, 2}}; /* a number that was used again */
		size_t m = chance(2);
		unsigned s = (unsigned)chance(SERVERS);
		const struct dns_server server = server_of(s);
		int64_t now_us = os_clock_monotonic_us();

		if (of_server[m][s].until_us <= now_us)
			of_server[m][s].count = 0;
		if (of_message[m].until_us <= now_us)
			of_message[m].count = 0;
		if (chance(4) == 0) {
			remote_doubt_add(doubt, ids[m], &server);
			of_server[m][s].until_us = of_message[m].until_us = now_us + 8 * DAY_US;
			if (++of_server[m][s].count > of_message[m].count)
				of_message[m].count = of_server[m][s].count;
		}
		assert_int_equal(remote_doubt_count(doubt, ids[m], &server), of_server[m][s].count);
		assert_int_equal(remote_doubt_count(doubt, ids[m], NULL), of_message[m].count);
		pass_some_time();
	}
	remote_doubt_free(doubt);
	remote_doubt_free(NULL);
}

static void ten_thousand_are_in_doubt(void **state)
{
	const struct dns_server server = server_of(1);
	struct remote_doubt *doubt;

	(void)state;
	fake_begin(1);
	doubt = remote_doubt_new();
	for (uint64_t i = 1; i <= 10001; i++)
		remote_doubt_add(doubt, (struct mail_id){i, 1}, &server);
	for (uint64_t i = 1; i <= 10001; i++) {
		assert_int_equal(remote_doubt_count(doubt, (struct mail_id){i, 1}, &server), i > 1);
		assert_int_equal(remote_doubt_count(doubt, (struct mail_id){i, 1}, NULL), i > 1);
	}
	remote_doubt_free(doubt);
}

/* --- servers where TLS may be left out --- */

static struct plain_known {
	int64_t failed_us, broken_us, breaks_us, secured_us;
	unsigned breaks;
} plain_known[SERVERS];

static const char *log_of_plain(const char *event, unsigned number, const char *text)
{
	static char line[160];

	snprintf(line, sizeof line, "%s host=mx.example[10.0.0.%u] text=%s\n", event, number, text);
	return line;
}

/* The line that is logged, "" if none. */
static const char *break_connection(struct remote_plain *plain, unsigned number, bool is_tls)
{
	struct plain_known *of = &plain_known[number];
	const struct dns_server server = server_of(number);
	int64_t now_us = os_clock_monotonic_us();

	remote_plain_broke(plain, &server, is_tls, "reset");
	if (!is_tls) {
		of->broken_us = 0;
		return "";
	}
	of->breaks = now_us < of->breaks_us ? of->breaks + 1 : 1;
	of->breaks_us = now_us + DAY_US;
	if (of->breaks < 2)
		return "";
	of->breaks_us = 0;
	of->broken_us = now_us + 60 * MINUTE_US;
	return log_of_plain("tls_breaks", number, "reset");
}

static const char *learn_plain(struct remote_plain *plain, unsigned number)
{
	const struct dns_server server = server_of(number);
	bool is_secured = chance(2) == 0;
	bool is_refused = chance(2) == 0;
	int64_t now_us = os_clock_monotonic_us();

	remote_plain_learn(plain, &server, is_secured, is_refused);
	if (is_secured)
		plain_known[number].secured_us = now_us + DAY_US;
	else if (is_refused)
		return log_of_plain("tls_withdrawn", number, "STARTTLS is offered, and refused");
	else if (now_us < plain_known[number].secured_us)
		return log_of_plain("tls_withdrawn", number, "STARTTLS is not offered any more");
	return "";
}

static const char *play_plain(struct remote_plain *plain, unsigned number)
{
	struct plain_known *of = &plain_known[number];
	const struct dns_server server = server_of(number);

	switch (chance(6)) {
	case 0:
		remote_plain_add(plain, &server, "handshake");
		of->failed_us = os_clock_monotonic_us() + 15 * MINUTE_US;
		return log_of_plain("tls_plain", number, "handshake");
	case 1:
	case 2:
		return break_connection(plain, number, true);
	case 3:
		return break_connection(plain, number, false);
	case 4:
		remote_plain_held(plain, &server);
		of->breaks_us = 0;
		return "";
	default:
		return learn_plain(plain, number);
	}
}

static void tls_is_left_out_for_a_while(void **state)
{
	struct remote_plain *plain;

	(void)state;
	fake_begin(1);
	(void)heard_take();
	plain = remote_plain_new();
	for (unsigned i = 0; i < STEPS; i++) {
		const char *line = play_plain(plain, (unsigned)chance(SERVERS));

		assert_string_equal(heard_take(), line);
		pass_some_time();
		for (unsigned number = 0; number < SERVERS; number++) {
			const struct dns_server server = server_of(number);
			int64_t now_us = os_clock_monotonic_us();
			bool has_failed = now_us < plain_known[number].failed_us;

			assert_int_equal(remote_plain_has(plain, &server.address, true),
					 has_failed);
			assert_int_equal(remote_plain_has(plain, &server.address, false),
					 has_failed || now_us < plain_known[number].broken_us);
		}
	}
	remote_plain_free(plain);
	remote_plain_free(NULL);
}

/* The first of each kind is dropped for one too many, and no other. */
static void so_many_are_known_to_be_without_tls(void **state)
{
	struct remote_plain *plain;
	struct dns_server first;
	struct dns_server second;

	(void)state;
	fake_begin(1);
	plain = remote_plain_new();
	for (unsigned i = 0; i < 10001; i++) {
		const struct dns_server server = server_of(i);

		remote_plain_learn(plain, &server, true, false);
		if (i < 1001)
			remote_plain_broke(plain, &server, true, "");
	}
	for (unsigned i = 10001; i-- > 0;) {
		const struct dns_server server = server_of(i);
		bool is_broken;

		remote_plain_learn(plain, &server, false, false);
		assert_int_equal(heard_take()[0] != '\0', i > 0);
		if (i >= 1001)
			continue;
		remote_plain_broke(plain, &server, true, ""); /* the second, unless forgotten */
		is_broken = remote_plain_has(plain, &server.address, false);
		assert_int_equal(is_broken, i > 0);
		(void)heard_take();
	}
	first = server_of(0);
	remote_plain_broke(plain, &first, true, "");
	first = server_of(1000);
	second = server_of(999);
	assert_false(remote_plain_has(plain, &first.address, false));
	assert_true(remote_plain_has(plain, &second.address, false));
	remote_plain_free(plain);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_keeps_the_latest),
		cmocka_unit_test(a_silent_server_is_tried_after_a_while),
		cmocka_unit_test(a_thousand_are_silent),
		cmocka_unit_test(attempts_are_counted_by_message_and_server),
		cmocka_unit_test(ten_thousand_are_in_doubt),
		cmocka_unit_test(tls_is_left_out_for_a_while),
		cmocka_unit_test(so_many_are_known_to_be_without_tls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
