// SPDX-License-Identifier: ISC
/* Tables of counters against a second, plain implementation; windows at each of their instants. */
#include "limit/keyed.h"
#include "test.h"
#include "unit/chance.h"
#include <stdlib.h>
#include <string.h>

enum {
	SECOND = 1000000,
	KEYS = 60,
	RULES = 6,
	COLUMNS = 3,
	WAYS = 8,
	STEPS = 500,
	WINDOWS = 512,
	LIVES = 120,
};

struct memory {
	void *bytes;
	struct limit_keyed_view view;
};

/* Of exactly the size that is asked for: AddressSanitizer sees what goes beyond it. */
static struct memory memory_for(size_t keys)
{
	size_t size = limit_keyed_size(keys);
	struct memory memory = {NULL, {0}};

	assert_int_equal(posix_memalign(&memory.bytes, 64, size), 0);
	memset(memory.bytes, 0, size);
	memory.view = limit_keyed_view(memory.bytes, size);
	return memory;
}

/* --- the second implementation --- */

static const limit_rule_key rule_keys[RULES] = {11, 12, 13, 14, 15, 16};
static const int64_t intervals_us[RULES] = {SECOND,      7 * SECOND,  10 * SECOND,
					    20 * SECOND, 50 * SECOND, 300 * (int64_t)SECOND};

struct known {
	uint64_t key;
	bool is_there;
	size_t bucket;
	int64_t used_us;
	uint64_t sums[RULES][WINDOWS]; /* by the number of the window */
};

struct plain {
	size_t buckets;
	bool has_rule[RULES];
	struct known known[KEYS];
};

static size_t plain_bucket(const struct plain *plain, uint64_t key, bool is_second)
{
	uint64_t half = is_second ? key >> 32 : key & UINT32_MAX;

	return half * plain->buckets >> 32;
}

static size_t room_in(const struct plain *plain, size_t bucket)
{
	size_t used = 0;

	for (size_t i = 0; i < KEYS; i++)
		used += plain->known[i].is_there && plain->known[i].bucket == bucket;
	return WAYS - used;
}

/* Who was unused for longest in the buckets that KEY may be in. */
static struct known *oldest_for(struct plain *plain, uint64_t key)
{
	size_t first = plain_bucket(plain, key, false);
	size_t second = plain_bucket(plain, key, true);
	struct known *oldest = NULL;

	for (struct known *known = plain->known; known < plain->known + KEYS; known++)
		if (known->is_there && (known->bucket == first || known->bucket == second) &&
		    (oldest == NULL || known->used_us < oldest->used_us))
			oldest = known;
	return oldest;
}

static bool has_plain_room(struct plain *plain, const struct known *known)
{
	return known->is_there || room_in(plain, plain_bucket(plain, known->key, false)) > 0 ||
	       room_in(plain, plain_bucket(plain, known->key, true)) > 0;
}

static void settle_key(struct plain *plain, struct known *known)
{
	size_t first = plain_bucket(plain, known->key, false);
	size_t second = plain_bucket(plain, known->key, true);

	if (known->is_there)
		return;
	if (has_plain_room(plain, known)) {
		known->bucket = room_in(plain, second) > room_in(plain, first) ? second : first;
	} else {
		struct known *oldest = oldest_for(plain, known->key);

		oldest->is_there = false;
		known->bucket = oldest->bucket;
	}
	memset(known->sums, 0, sizeof known->sums);
	known->is_there = true;
}

/* --- both --- */

struct scene {
	struct memory memory;
	struct plain plain;
	unsigned columns[RULES]; /* of those that are there */
	int64_t now_us;
};

static void compare_key(const struct scene *scene, const struct known *known)
{
	struct limit_keyed_count counts[RULES];
	struct limit_window_total expected[RULES] = {0};
	size_t count = 0;

	for (size_t rule = 0; rule < RULES; rule++) {
		size_t number = (size_t)(scene->now_us / intervals_us[rule]);

		if (!scene->plain.has_rule[rule])
			continue;
		if (known->is_there)
			expected[count] = (struct limit_window_total){
				known->sums[rule][number],
				number > 0 ? known->sums[rule][number - 1] : 0};
		counts[count++] = (struct limit_keyed_count){
			.column = limit_keyed_column(scene->memory.view, rule_keys[rule]),
			.time = limit_window_time(intervals_us[rule], scene->now_us),
		};
	}
	limit_keyed_sum(scene->memory.view, known->key, counts, count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(counts[i].total.now, expected[i].now);
		assert_int_equal(counts[i].total.before, expected[i].before);
	}
}

static void compare_scene(struct scene *scene)
{
	size_t there = 0;

	for (size_t i = 0; i < KEYS; i++) {
		limit_keyed_expect(scene->memory.view, scene->plain.known[i].key);
		compare_key(scene, &scene->plain.known[i]);
		there += scene->plain.known[i].is_there;
	}
	assert_int_equal(limit_keyed_used(scene->memory.view), there);
	for (size_t rule = 0; rule < RULES; rule++)
		assert_int_equal(limit_keyed_column(scene->memory.view, rule_keys[rule]) >= 0,
				 scene->plain.has_rule[rule]);
}

/* Other rules, in another order: who stays keeps what it has counted, and its column. */
static void change_rules(struct scene *scene)
{
	limit_rule_key rules[COLUMNS];
	size_t indices[COLUMNS];
	unsigned columns[COLUMNS];
	bool wanted[RULES] = {false};
	uint32_t version = limit_keyed_version(scene->memory.view);
	bool is_new = false;
	size_t count = 0;

	for (size_t tries = chance(2 * COLUMNS); tries > 0 && count < COLUMNS; tries--) {
		size_t rule = chance(RULES);

		if (wanted[rule])
			continue;
		wanted[rule] = true;
		indices[count] = rule;
		rules[count++] = rule_keys[rule];
	}
	limit_keyed_configure(scene->memory.view, rules, count, columns);
	for (size_t i = 0; i < count; i++) {
		if (scene->plain.has_rule[indices[i]])
			assert_int_equal(columns[i], scene->columns[indices[i]]);
		scene->columns[indices[i]] = columns[i];
	}
	for (size_t rule = 0; rule < RULES; rule++) {
		is_new |= wanted[rule] != scene->plain.has_rule[rule];
		scene->plain.has_rule[rule] = wanted[rule];
		for (size_t i = 0; i < KEYS && !wanted[rule]; i++)
			memset(scene->plain.known[i].sums[rule], 0,
			       sizeof scene->plain.known[i].sums[rule]);
	}
	assert_int_equal(limit_keyed_version(scene->memory.view) != version, is_new);
}

static void judge_room(struct scene *scene, const struct known *known)
{
	int64_t idle_us = (int64_t)chance(90) * SECOND;
	bool expected = has_plain_room(&scene->plain, known);

	if (!expected)
		expected =
			oldest_for(&scene->plain, known->key)->used_us / SECOND + idle_us / SECOND <
			scene->now_us / SECOND;
	assert_int_equal(
		limit_keyed_has_room(scene->memory.view, known->key, idle_us, scene->now_us),
		expected);
}

/* Counts for one key by some of the rules; of one that has no column nothing is counted. */
static void count_something(struct scene *scene, struct known *known)
{
	struct limit_keyed_count counts[RULES + 1] = {{.column = -1, .amount = 1}};
	size_t count = 1;

	settle_key(&scene->plain, known);
	known->used_us = scene->now_us;
	for (size_t rule = 0; rule < RULES; rule++) {
		uint32_t amount = (uint32_t)chance(5);

		if (!scene->plain.has_rule[rule] || chance(3) == 0)
			continue;
		known->sums[rule][scene->now_us / intervals_us[rule]] += amount;
		counts[count++] = (struct limit_keyed_count){
			.column = (int)scene->columns[rule],
			.time = limit_window_time(intervals_us[rule], scene->now_us),
			.amount = amount,
		};
	}
	limit_keyed_add(scene->memory.view, known->key, scene->now_us, counts, count);
}

/* Their tags are few, also the one that stands for none; and so are their halves. */
static void choose_keys(struct plain *plain)
{
	static const uint64_t tags[] = {0, 1, 2, 0x7f, 0x80, 0x81, 0xfe, 0xff};

	memset(plain, 0, sizeof *plain);
	for (size_t i = 0; i < KEYS; i++)
		plain->known[i].key = (uint64_t)chance(UINT32_MAX) << 32 |
				      (uint64_t)chance(64) << 26 | i << 8 | tags[chance(8)];
}

static void tables_count_as_a_plain_one_does(void **state)
{
	static struct scene scene;

	(void)state;
	for (size_t life = 0; life < LIVES; life++) {
		scene = (struct scene){.memory = memory_for(1 + chance(KEYS))};
		choose_keys(&scene.plain);
		scene.plain.buckets = scene.memory.view.buckets;
		for (size_t step = 0; step < STEPS; step++) {
			struct known *known = &scene.plain.known[chance(KEYS)];

			scene.now_us += SECOND;
			if (chance(20) == 0)
				change_rules(&scene);
			judge_room(&scene, known);
			count_something(&scene, known);
			if (step % 16 == 0)
				compare_scene(&scene);
		}
		compare_scene(&scene);
		free(scene.memory.bytes);
	}
}

/* With a tenth more for two full buckets, in the memory that is asked for and no more. */
static void a_table_has_the_slots_that_it_is_made_for(void **state)
{
	(void)state;
	for (size_t keys = 0; keys <= 300; keys++) {
		size_t slots = keys + keys / 5;
		size_t buckets = keys == 0 ? 1 : (slots + WAYS - 1) / WAYS;
		struct memory memory = memory_for(keys);
		struct limit_keyed_count count = {.time = limit_window_time(SECOND, 0),
						  .amount = 1};

		assert_int_equal(memory.view.buckets, buckets);
		for (uint64_t i = 0; i < buckets;
		     i++) /* each bucket is in the memory, to its end */
			for (uint64_t way = 1; way <= WAYS; way++) {
				uint64_t half = ((i << 32) + buckets - 1) / buckets + way;

				limit_keyed_add(memory.view, half << 32 | half, 0, &count, 1);
			}
		assert_int_equal(limit_keyed_used(memory.view), buckets * WAYS);
		free(memory.bytes);
	}
}

/* --- windows --- */

/* Two processes that add at any instants, and one that reads at any: also one that is a window
 * behind. */
static void windows_agree_with_the_events(void **state)
{
	enum { TIMES = 5 };

	(void)state;
	for (int64_t one = 0; one < TIMES; one++)
		for (int64_t other = one; other < TIMES; other++)
			for (int64_t at = other; at < TIMES; at++) {
				struct limit_window window = {.number = 1000};
				struct limit_window_total total = {100, 200};

				limit_window_add(&window,
						 limit_window_time(10, 1000 * 10 + one * 10 + 9),
						 3);
				limit_window_add(&window,
						 limit_window_time(10, 1000 * 10 + other * 10), 40);
				limit_window_sum(window,
						 limit_window_time(10, 1000 * 10 + at * 10 + 5),
						 &total);
				assert_int_equal(total.now,
						 100 + (one == at) * 3 + (other == at) * 40);
				assert_int_equal(total.before, 200 + (one == at - 1) * 3 +
								       (other == at - 1) * 40);
			}
}

static void who_reads_before_the_next_window_sees_all(void **state)
{
	(void)state;
	for (int64_t ahead = 0; ahead < 4; ahead++) {
		struct limit_window window = {(uint32_t)(7 + ahead), UINT32_MAX, 20};
		struct limit_window_total total = {0};

		limit_window_sum(window, limit_window_time(10, 70), &total);
		assert_int_equal(total.now, ahead == 0   ? UINT32_MAX
					    : ahead == 1 ? UINT32_MAX + UINT64_C(20)
							 : 0);
		assert_int_equal(total.before, ahead == 0 ? 20 : 0);
	}
}

static void a_window_stays_at_its_maximum(void **state)
{
	static const struct {
		uint32_t has, amount, then;
	} cases[] = {
		{0, UINT32_MAX, UINT32_MAX},         {1, UINT32_MAX - 1, UINT32_MAX},
		{1, UINT32_MAX - 2, UINT32_MAX - 1}, {2, UINT32_MAX - 1, UINT32_MAX},
		{UINT32_MAX, 1, UINT32_MAX},         {UINT32_MAX, UINT32_MAX, UINT32_MAX},
		{UINT32_MAX, 0, UINT32_MAX},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct limit_window window = {3, cases[i].has, 5};

		limit_window_add(&window, limit_window_time(10, 39), cases[i].amount);
		assert_int_equal(window.number, 3);
		assert_int_equal(window.now, cases[i].then);
		assert_int_equal(window.before, 5);
	}
}

/* What counts at an instant, times the interval; NOW_US is since the begin of the window of TOTAL.
 */
static uint64_t counts_at(const struct limit_window_total *total, int64_t interval_us,
			  int64_t now_us)
{
	if (now_us < interval_us)
		return total->now * (uint64_t)interval_us +
		       total->before * (uint64_t)(interval_us - now_us);
	if (now_us < 2 * interval_us)
		return total->now * (uint64_t)(2 * interval_us - now_us);
	return 0;
}

static void the_wait_is_the_shortest_that_is_enough(void **state)
{
	enum { INTERVAL = 6, MOST = 7 };

	(void)state;
	for (size_t i = 0; i < (size_t)INTERVAL * MOST * MOST * MOST * MOST; i++) {
		int64_t elapsed_us = (int64_t)(i % INTERVAL);
		struct limit_window_total total = {i / INTERVAL % MOST, i / INTERVAL / MOST % MOST};
		uint64_t limit = 1 + i / INTERVAL / MOST / MOST % MOST;
		uint64_t amount = i / INTERVAL / MOST / MOST / MOST;
		uint64_t room = limit - (amount < limit ? amount : limit);
		int64_t wait_us = 0;

		while (counts_at(&total, INTERVAL, elapsed_us + wait_us) > room * INTERVAL)
			wait_us++;
		assert_int_equal(limit_window_wait_us(
					 &total, limit, amount,
					 limit_window_time(INTERVAL, 10 * INTERVAL + elapsed_us)),
				 wait_us);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_count_as_a_plain_one_does),
		cmocka_unit_test(a_table_has_the_slots_that_it_is_made_for),
		cmocka_unit_test(windows_agree_with_the_events),
		cmocka_unit_test(who_reads_before_the_next_window_sees_all),
		cmocka_unit_test(a_window_stays_at_its_maximum),
		cmocka_unit_test(the_wait_is_the_shortest_that_is_enough),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
