// SPDX-License-Identifier: ISC
#include "config/text.h"
#include "limit/layout.h"
#include "limit/rate.h"
#include "test.h"
#include <arpa/inet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SECOND = 1000000, ROWS = 3 };

/* --- windows --- */

static void test_a_window_slides(void **state)
{
	struct limit_window window = {0};
	static const struct {
		int64_t at_ms;
		uint64_t now, before;
	} steps[] = {{10400, 7, 0}, {10999, 7, 0}, {11000, 0, 7}, {11999, 0, 7}, {12000, 0, 0}};

	(void)state;
	limit_window_add(&window, limit_window_time(SECOND, 10400000), 7);
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		struct limit_window_total total = {0};

		limit_window_sum(window, limit_window_time(SECOND, steps[i].at_ms * 1000), &total);
		assert_int_equal(total.now, steps[i].now);
		assert_int_equal(total.before, steps[i].before);
	}
	limit_window_add(&window, limit_window_time(SECOND, 12500000),
			 3); /* nothing came in the one before */
	assert_int_equal(window.now, 3);
	assert_int_equal(window.before, 0);
	limit_window_add(&window, limit_window_time(SECOND, 13500000), UINT32_MAX);
	limit_window_add(&window, limit_window_time(SECOND, 13500000), 1);
	assert_int_equal(window.now, UINT32_MAX);
	assert_int_equal(window.before, 3);
}

static void test_how_long_to_wait(void **state)
{
	static const struct {
		uint64_t now, before, limit, amount;
		int64_t at_us, wait_us;
	} cases[] = {
		{0, 0, 10, 1, 0, 0},
		{9, 0, 10, 1, 0, 0},
		{10, 0, 10, 1, 0, SECOND + SECOND / 10}, /* one of ten is gone then */
		{0, 10, 10, 1, 0, SECOND / 10},
		{0, 10, 10, 1, SECOND / 10, 0},
		{0, 10, 10, 10, 0, SECOND},
		{5, 10, 10, 1, SECOND / 4, SECOND * 6 / 10 - SECOND / 4},
		{0, 0, 10, 11, 0, 0}, /* more than ever fits counts as all */
		{1, 0, 10, 11, 0, 2 * SECOND},
		{0, UINT64_C(1) << 40, 1, 1, 0, SECOND},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct limit_window_total total = {cases[i].now, cases[i].before};

		assert_int_equal(limit_window_wait_us(&total, cases[i].limit, cases[i].amount,
						      limit_window_time(SECOND, cases[i].at_us)),
				 cases[i].wait_us);
	}
}

/* --- tables --- */

struct memory {
	void *bytes;
	size_t size;
	struct limit_keyed_view view;
};

static struct memory table(size_t keys)
{
	struct memory memory = {.size = limit_keyed_size(keys)};

	memory.bytes = aligned_alloc(64, (memory.size + 63) / 64 * 64);
	assert_non_null(memory.bytes);
	memset(memory.bytes, 0, memory.size);
	memory.view = limit_keyed_view(memory.bytes, memory.size);
	return memory;
}

static uint64_t nth_key(uint64_t number)
{
	struct hash_key key = {1, 2};

	return hash_keyed(key, &number, sizeof number);
}

static void add(const struct memory *memory, uint64_t key, unsigned column, int64_t interval_us,
		int64_t at_us, uint32_t amount)
{
	struct limit_keyed_count count = {
		.column = (int)column,
		.time = limit_window_time(interval_us, at_us),
		.amount = amount,
	};

	limit_keyed_add(memory->view, key, at_us, &count, 1);
}

static struct limit_window_total total_at(const struct memory *memory, uint64_t key,
					  unsigned column, int64_t interval_us, int64_t at_us)
{
	struct limit_keyed_count count = {
		.column = (int)column,
		.time = limit_window_time(interval_us, at_us),
	};

	limit_keyed_sum(memory->view, key, &count, 1);
	return count.total;
}

static uint64_t count_at(const struct memory *memory, uint64_t key, unsigned column, int64_t at_us)
{
	struct limit_window_total total = total_at(memory, key, column, SECOND, at_us);

	return total.now + total.before;
}

/* As many keys as promised are all remembered, but for a few in a thousand, in the memory that the
 * documentation names. */
static void test_many_keys(void **state)
{
	enum { KEYS = 100000 };
	struct memory memory = table(KEYS);
	size_t kept = 0;

	(void)state;
	assert_true(memory.size <= 14 << 20);
	for (uint64_t i = 0; i < KEYS; i++)
		add(&memory, nth_key(i), 0, SECOND, (int64_t)i, 1);
	for (uint64_t i = 0; i < KEYS; i++)
		kept += count_at(&memory, nth_key(i), 0, KEYS) == 1;
	assert_true(kept >= KEYS - KEYS / 1000);
	assert_true(limit_keyed_used(memory.view) >= kept);
	free(memory.bytes);
}

/* Keys that are not there cost a table in another process's row a sixteenth of its memory at most:
 * what tells that, in front of the slots. */
static void test_who_is_not_there_costs_no_memory(void **state)
{
	enum { KEYS = 100000, PAGE = 4096 };
	size_t size = (limit_keyed_size(KEYS) + PAGE - 1) / PAGE * PAGE;
	void *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static unsigned char present[1 << 14];
	struct memory memory = {bytes, size, limit_keyed_view(bytes, limit_keyed_size(KEYS))};
	size_t used = 0;

	(void)state;
	assert_ptr_not_equal(bytes, MAP_FAILED);
	for (uint64_t i = 0; i < KEYS; i++) {
		limit_keyed_expect(memory.view, nth_key(i));
		assert_int_equal(count_at(&memory, nth_key(i), 0, 0), 0);
	}
	assert_true(size / PAGE <= sizeof present);
	assert_int_equal(mincore(bytes, size, present), 0);
	for (size_t i = 0; i < size / PAGE; i++)
		used += present[i] & 1;
	assert_true(used > 0 && used < size / PAGE / 16);
	munmap(bytes, size);
}

static void test_who_was_unseen_for_longest_is_forgotten(void **state)
{
	struct memory memory = table(1); /* one bucket */
	int64_t at_us = 0;

	(void)state;
	for (uint64_t i = 0; i < 8; i++, at_us += SECOND) {
		assert_true(limit_keyed_has_room(memory.view, nth_key(i), 100 * SECOND, at_us));
		add(&memory, nth_key(i), 0, 1000 * (int64_t)SECOND, at_us, 5);
	}
	add(&memory, nth_key(0), 0, 1000 * (int64_t)SECOND, at_us, 5);
	assert_false(limit_keyed_has_room(memory.view, nth_key(8), 100 * SECOND, at_us));
	assert_true(limit_keyed_has_room(memory.view, nth_key(8), 5 * SECOND, at_us));
	add(&memory, nth_key(8), 0, 1000 * (int64_t)SECOND, at_us, 5);
	for (uint64_t i = 0; i < 9; i++) {
		struct limit_window_total total =
			total_at(&memory, nth_key(i), 0, 1000 * (int64_t)SECOND, at_us);

		assert_int_equal(total.now, i == 0 ? 10 : i == 1 ? 0 : 5);
	}
	free(memory.bytes);
}

static void test_rules_keep_their_columns(void **state)
{
	struct memory memory = table(100);
	unsigned columns[3];

	(void)state;
	limit_keyed_configure(memory.view, (limit_rule_key[]){11, 12, 13}, 3, columns);
	for (unsigned i = 0; i < 3; i++)
		add(&memory, 99, columns[i], SECOND, 0, 1 + i);
	limit_keyed_configure(memory.view, (limit_rule_key[]){13, 14, 11}, 3, columns);
	assert_int_equal(count_at(&memory, 99, columns[0], 0), 3);
	assert_int_equal(count_at(&memory, 99, columns[1], 0), 0);
	assert_int_equal(count_at(&memory, 99, columns[2], 0), 1);
	assert_int_equal(limit_keyed_column(memory.view, 12), -1);
	assert_int_equal(limit_keyed_column(memory.view, 13), (int)columns[0]);
	free(memory.bytes);
}

struct race {
	struct memory memory;
	_Atomic bool is_over;
};

/* Both keys have the only bucket's slots, with numbers that tell who wrote them. */
static void *write_until_over(void *argument)
{
	struct race *race = argument;

	for (int64_t i = 1; !atomic_load(&race->is_over); i++)
		add(&race->memory, nth_key((uint64_t)i % 20), 0, SECOND, i * SECOND, 1000);
	return NULL;
}

/* Each write is in a window of its own: no reader sees more than two windows, or anything else. */
static void test_readers_see_whole_slots(void **state)
{
	enum { READS = 300000, READS_MAX = 10 * READS }; /* until the writer has begun */
	struct race race = {table(1), false};
	pthread_t writer;
	size_t seen = 0;

	(void)state;
	assert_int_equal(pthread_create(&writer, NULL, write_until_over, &race), 0);
	for (uint64_t i = 0; i < READS || (seen == 0 && i < READS_MAX); i++) {
		struct limit_window_total total =
			total_at(&race.memory, nth_key(i % 20), 0, SECOND, (int64_t)(i * SECOND));

		assert_true(total.now + total.before <= 2000);
		assert_int_equal(total.now % 1000, 0);
		assert_int_equal(total.before % 1000, 0);
		seen += limit_keyed_used(race.memory.view) > 0;
	}
	assert_true(seen > 0);
	atomic_store(&race.is_over, true);
	pthread_join(writer, NULL);
	free(race.memory.bytes);
}

/* --- rules --- */

struct scene {
	struct config *config;
	int descriptors[ROWS];
	struct limit_memory *memories[ROWS];
	struct limit_rates *rates[ROWS];
};

static struct config *configure(const char *rules)
{
	struct buffer text = {0};
	struct config_problems problems = {0};
	struct config *config = NULL;

	buffer_append_format(&text, "hostname = mx.test\nrate_keys = 1000\n%s", rules);
	assert_int_equal(config_parse("test.conf", buffer_view(&text), &config, &problems), 0);
	buffer_clear(&text);
	config_problems_clear(&problems);
	return config;
}

/* ROWS processes with one configuration. */
static void begin(struct scene *scene, const char *rules)
{
	struct limit_layout layout;

	scene->config = configure(rules);
	layout = limit_layout_of(scene->config);
	for (unsigned row = 0; row < ROWS; row++) {
		scene->descriptors[row] = limit_row_new(&layout, "row");
		assert_true(scene->descriptors[row] >= 0);
		scene->memories[row] = limit_memory_new(&layout);
	}
	for (unsigned row = 0; row < ROWS; row++) {
		for (unsigned i = 0; i < ROWS; i++) {
			char name[8];

			snprintf(name, sizeof name, "row.%u", i);
			assert_int_equal(limit_memory_add(scene->memories[row], name,
							  scene->descriptors[i], i == row),
					 0);
		}
		limit_rates_prepare(scene->memories[row], row, (struct hash_key){3, 4});
		scene->rates[row] = limit_rates_new(scene->memories[row], scene->config);
		assert_non_null(scene->rates[row]);
	}
}

static void end(struct scene *scene)
{
	for (unsigned row = 0; row < ROWS; row++) {
		limit_rates_free(scene->rates[row]);
		limit_memory_free(scene->memories[row]);
		close(scene->descriptors[row]);
	}
	config_free(scene->config);
}

static struct in6_addr address(const char *text)
{
	struct in6_addr address;

	assert_int_equal(inet_pton(AF_INET6, text, &address), 1);
	return address;
}

static void test_processes_count_together(void **state)
{
	struct scene scene;
	struct in6_addr one = address("::ffff:192.0.2.1");
	struct in6_addr other = address("::ffff:192.0.2.2");
	struct limit_subject subject = {.address = &one};

	(void)state;
	begin(&scene, "rate r { count = messages limit = 10 interval = 1m answer = defer }\n");
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(limit_rates_take(scene.rates[i % ROWS], CONFIG_RATE_MESSAGES,
						  &subject, 1, SECOND)
					 .answer,
				 LIMIT_PASS);
	for (unsigned row = 0; row < ROWS; row++) {
		struct limit_ruling ruling = limit_rates_take(
			scene.rates[row], CONFIG_RATE_MESSAGES, &subject, 1, 2 * SECOND);

		assert_int_equal(ruling.answer, LIMIT_DEFER);
		assert_string_equal(ruling.rule->name, "r");
		assert_int_equal(ruling.wait_us, 64 * SECOND);
	}
	assert_int_equal(
		limit_rates_take(scene.rates[0], CONFIG_RATE_RECIPIENTS, &subject, 1, 0).answer,
		LIMIT_PASS);
	subject.address = &other;
	assert_int_equal(
		limit_rates_take(scene.rates[0], CONFIG_RATE_MESSAGES, &subject, 1, 0).answer,
		LIMIT_PASS);
	end(&scene);
}

static void test_whom_rules_are_for(void **state)
{
	static const char *const rules =
		"rate a { count = bytes per = user limit = 100G interval = 1d answer = close }\n"
		"rate b { count = messages per = sender_domain limit = 1 interval = 1h }\n"
		"rate c { count = messages per = all limit = 3 interval = 1h answer = slow }\n"
		"rate d { count = connections limit = 2 interval = 1h }\n";
	struct scene scene;
	struct in6_addr one = address("2001:db8:1:2::1");
	struct in6_addr neighbour = address("2001:db8:1:2:ffff::1");
	struct in6_addr other = address("2001:db8:1:3::1");
	struct limit_subject subject = {.sender_domain = STR("a.test")};
	struct limit_subject user = {.user = STR("lisa@a.test")};
	struct limit_rates *rates;
	struct limit_ruling ruling;

	(void)state;
	begin(&scene, rules);
	rates = scene.rates[0];
	assert_int_equal(
		limit_rates_take(rates, CONFIG_RATE_BYTES, &subject, UINT64_C(1) << 60, 0).answer,
		LIMIT_PASS); /* there is no user */
	assert_int_equal(
		limit_rates_note(rates, CONFIG_RATE_BYTES, &user, UINT64_C(100) << 30, 0).answer,
		LIMIT_PASS);
	assert_int_equal(limit_rates_take(rates, CONFIG_RATE_BYTES, &user, 1, 0).answer,
			 LIMIT_CLOSE);
	assert_int_equal(limit_rates_take(rates, CONFIG_RATE_MESSAGES, &subject, 1, 0).answer,
			 LIMIT_PASS);
	assert_int_equal(limit_rates_take(rates, CONFIG_RATE_MESSAGES, &subject, 1, 0).answer,
			 LIMIT_DEFER); /* not counted for "all" either */
	for (unsigned i = 0; i < 2; i++) {
		subject.sender_domain = i == 0 ? STR("b.test") : STR("");
		assert_int_equal(
			limit_rates_take(rates, CONFIG_RATE_MESSAGES, &subject, 1, 0).answer,
			LIMIT_PASS);
	}
	ruling = limit_rates_take(rates, CONFIG_RATE_MESSAGES, &subject, 1, 0);
	assert_int_equal(ruling.answer, LIMIT_SLOW);
	assert_int_equal(ruling.wait_us, LIMIT_SLOW_US);
	for (unsigned i = 0; i < 3; i++) {
		subject.address = i == 0 ? &one : &neighbour;
		assert_int_equal(
			limit_rates_take(rates, CONFIG_RATE_CONNECTIONS, &subject, 1, 0).answer,
			i < 2 ? LIMIT_PASS : LIMIT_DEFER);
	}
	subject.address = &other;
	assert_int_equal(limit_rates_take(rates, CONFIG_RATE_CONNECTIONS, &subject, 1, 0).answer,
			 LIMIT_PASS);
	end(&scene);
}

static void test_full_memory_refuses_where_it_shall(void **state)
{
	struct scene scene;
	unsigned refused = 0;

	(void)state;
	begin(&scene, "rate r { count = connections limit = 5 interval = 1h full = refuse }\n");
	for (uint32_t i = 0; i < 4000; i++) {
		struct in6_addr client = address("::ffff:0.0.0.0");
		struct limit_subject subject = {.address = &client};
		uint32_t number = htonl(i);

		memcpy(&client.s6_addr[12], &number, sizeof number);
		refused += limit_rates_take(scene.rates[0], CONFIG_RATE_CONNECTIONS, &subject, 1,
					    SECOND)
				   .answer == LIMIT_DEFER;
	}
	assert_in_range(refused, 4000 - 1300, 4000 - 900);
	end(&scene);
}

static void test_a_reload_keeps_what_was_counted(void **state)
{
	static const char *const after =
		"rate new { count = messages limit = 1 interval = 1m }\n"
		"rate old { count = messages limit = 9 interval = 1m answer = close }\n";
	struct scene scene;
	struct in6_addr one = address("::ffff:192.0.2.1");
	struct limit_subject subject = {.address = &one};
	struct config *config = configure(after);

	(void)state;
	begin(&scene, "rate old { count = messages limit = 9 interval = 1m }\n");
	for (unsigned i = 0; i < 9; i++)
		assert_int_equal(
			limit_rates_take(scene.rates[1], CONFIG_RATE_MESSAGES, &subject, 1, 0)
				.answer,
			LIMIT_PASS);
	limit_rates_free(scene.rates[0]); /* before the others */
	scene.rates[0] = limit_rates_new(scene.memories[0], config);
	assert_int_equal(
		limit_rates_take(scene.rates[0], CONFIG_RATE_MESSAGES, &subject, 1, 0).answer,
		LIMIT_CLOSE);
	limit_rates_free(scene.rates[1]);
	scene.rates[1] = limit_rates_new(scene.memories[1], config);
	assert_int_equal(
		limit_rates_take(scene.rates[2], CONFIG_RATE_MESSAGES, &subject, 1, 0).answer,
		LIMIT_DEFER);
	end(&scene);
	config_free(config);
}

static enum limit_answer take_one(struct scene *scene, unsigned row, const char *client)
{
	struct in6_addr one = address(client);
	struct limit_subject subject = {.address = &one};

	return limit_rates_take(scene->rates[row], CONFIG_RATE_MESSAGES, &subject, 1, 0).answer;
}

/* They share each search, and each counts and is judged. */
static void test_rules_for_the_same_subject(void **state)
{
	struct scene scene;

	(void)state;
	begin(&scene, "rate wide { count = messages limit = 9 interval = 1m }\n"
		      "rate narrow { count = messages limit = 3 interval = 1h answer = close }\n"
		      "rate other { count = recipients limit = 1 interval = 1m }\n");
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(take_one(&scene, i % ROWS, "::ffff:192.0.2.1"), LIMIT_PASS);
	assert_int_equal(take_one(&scene, 1, "::ffff:192.0.2.1"), LIMIT_CLOSE);
	assert_int_equal(take_one(&scene, 1, "::ffff:192.0.2.2"), LIMIT_PASS);
	end(&scene);
}

static void test_rules_of_a_class(void **state)
{
	struct scene scene;
	struct in6_addr one = address("::ffff:192.0.2.1");
	struct limit_subject inside = {.address = &one, .class_mask = "192.0.2.0/24"};
	struct limit_subject outside = {.address = &one, .class_mask = "*"};
	struct limit_subject nowhere = {.address = &one};

	(void)state;
	begin(&scene,
	      "class \"192.0.2.0/24\" { queue = 1 refuse = 1 }\n"
	      "class \"*\" { queue = 1 refuse = 1 }\n"
	      "rate r { count = messages class = \"192.0.2.0/24\" limit = 1 interval = 1m }\n");
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(
			limit_rates_take(scene.rates[0], CONFIG_RATE_MESSAGES, &inside, 1, 0)
				.answer,
			i == 0 ? LIMIT_PASS : LIMIT_DEFER);
		assert_int_equal(
			limit_rates_take(scene.rates[0], CONFIG_RATE_MESSAGES, &outside, 1, 0)
				.answer,
			LIMIT_PASS);
		assert_int_equal(
			limit_rates_take(scene.rates[0], CONFIG_RATE_MESSAGES, &nowhere, 1, 0)
				.answer,
			LIMIT_PASS);
	}
	end(&scene);
}

/* One process has the new rule from a reload on, which the other one has had before. */
static void test_a_rule_that_another_process_gets_later(void **state)
{
	static const char *const first = "rate a { count = recipients limit = 9 interval = 1m }\n";
	struct scene scene;
	struct config *config = configure(first);

	(void)state;
	begin(&scene, "rate a { count = recipients limit = 9 interval = 1m }\n"
		      "rate b { count = messages limit = 4 interval = 1m }\n");
	limit_rates_free(scene.rates[0]);
	scene.rates[0] = limit_rates_new(scene.memories[0], config);
	assert_int_equal(take_one(&scene, 0, "::ffff:192.0.2.1"), LIMIT_PASS); /* by no rule */
	assert_int_equal(take_one(&scene, 1, "::ffff:192.0.2.1"), LIMIT_PASS);
	limit_rates_free(scene.rates[0]);
	scene.rates[0] = limit_rates_new(scene.memories[0], scene.config);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(take_one(&scene, 0, "::ffff:192.0.2.1"), LIMIT_PASS);
	assert_int_equal(take_one(&scene, 1, "::ffff:192.0.2.1"), LIMIT_DEFER);
	end(&scene);
	config_free(config);
}

/* What came before decides about a connection; but who has done nothing takes nobody's place. */
static void test_who_is_only_judged_takes_no_place(void **state)
{
	struct scene scene;
	struct limit_rate_total total;
	struct in6_addr one = address("::ffff:192.0.2.1");
	struct limit_subject subject = {.address = &one};
	const struct config_rate *rule;

	(void)state;
	begin(&scene, "rate r { count = failed_logins limit = 1 interval = 1h }\n");
	rule = scene.config->rates;
	for (unsigned i = 0; i < ROWS; i++)
		assert_int_equal(
			limit_rates_take(scene.rates[i], CONFIG_RATE_FAILED_LOGINS, &subject, 0, 0)
				.answer,
			LIMIT_PASS);
	limit_rate_total_of(scene.memories[0], (struct hash_key){3, 4}, rule, &total);
	assert_int_equal(total.keys, 0);
	for (unsigned i = 0; i < ROWS; i++)
		(void)limit_rates_note(scene.rates[i], CONFIG_RATE_FAILED_LOGINS, &subject, 1, 0);
	for (unsigned i = 0; i < ROWS; i++)
		assert_int_equal(
			limit_rates_take(scene.rates[i], CONFIG_RATE_FAILED_LOGINS, &subject, 0, 0)
				.answer,
			LIMIT_DEFER);
	limit_rate_total_of(scene.memories[0], (struct hash_key){3, 4}, rule, &total);
	assert_int_equal(total.keys, 1);
	assert_int_equal(total.exceeded, 2 + ROWS); /* the second and third failure, and ROWS */
	end(&scene);
}

/* Against a log of everything that was let through: in no interval of time came more than the limit
 * and what one window's assumption can hide, which is less than twice the limit. */
static void test_random_traffic_stays_below(void **state)
{
	enum { EVENTS = 200000, LIMIT = 20, MINUTE = 60 * SECOND };
	static int64_t passed[EVENTS];
	struct scene scene;
	struct in6_addr one = address("::ffff:192.0.2.1");
	struct limit_subject subject = {.address = &one};
	int64_t now_us = 0;
	size_t count = 0;
	size_t worst = 0;
	size_t oldest = 0;

	(void)state;
	begin(&scene, "rate r { count = messages limit = 20 interval = 1m }\n");
	srand(18);
	for (size_t i = 0; i < EVENTS; i++) {
		now_us += rand() % (i % 1000 < 500 ? MINUTE / 200 : MINUTE / 2);
		if (limit_rates_take(scene.rates[rand() % ROWS], CONFIG_RATE_MESSAGES, &subject, 1,
				     now_us)
			    .answer == LIMIT_PASS)
			passed[count++] = now_us;
		while (oldest < count && passed[oldest] <= now_us - MINUTE)
			oldest++;
		worst = count - oldest > worst ? count - oldest : worst;
	}
	assert_in_range(worst, LIMIT, 2 * LIMIT - 1);
	/* half of the events come twenty times as fast as allowed */
	assert_true((int64_t)count * MINUTE / LIMIT <= now_us + MINUTE);
	end(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_window_slides),
		cmocka_unit_test(test_how_long_to_wait),
		cmocka_unit_test(test_many_keys),
		cmocka_unit_test(test_who_is_not_there_costs_no_memory),
		cmocka_unit_test(test_who_was_unseen_for_longest_is_forgotten),
		cmocka_unit_test(test_rules_keep_their_columns),
		cmocka_unit_test(test_readers_see_whole_slots),
		cmocka_unit_test(test_processes_count_together),
		cmocka_unit_test(test_whom_rules_are_for),
		cmocka_unit_test(test_full_memory_refuses_where_it_shall),
		cmocka_unit_test(test_a_reload_keeps_what_was_counted),
		cmocka_unit_test(test_rules_for_the_same_subject),
		cmocka_unit_test(test_rules_of_a_class),
		cmocka_unit_test(test_a_rule_that_another_process_gets_later),
		cmocka_unit_test(test_who_is_only_judged_takes_no_place),
		cmocka_unit_test(test_random_traffic_stays_below),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
