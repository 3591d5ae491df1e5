// SPDX-License-Identifier: ISC
/* How many domains and days are counted until their reports are sent. */
#include "base/panic.h"
#include "base/timestamp.h"
#include "fake_loop.h"
#include "os/clock.h"
#include "os/disk_cache/disk_cache.h"
#include "policy/reports/ledger.h"
#include "policy/sts/protocol.h"
#include "test.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_SIZE = 64, ROWS_MAX = 8 };

/* --- in the place of the disk, and of what sends --- */

static struct {
	const char *names[ROWS_MAX]; /* of files that are there at the start */
	size_t removed;
	size_t posts; /* begun */
} scene;

struct disk_cache {
	int unused;
};

int disk_cache_open(struct os_loop *loop, const char *path, struct disk_cache **disk_cache_out)
{
	static struct disk_cache disk_cache;

	(void)loop;
	(void)path;
	*disk_cache_out = &disk_cache;
	return 0;
}

int disk_cache_each(struct disk_cache *disk_cache, size_t size_max,
		    void (*each)(void *context, struct str name, struct str text), void *context)
{
	(void)disk_cache;
	(void)size_max;
	for (size_t i = 0; i < ROWS_MAX && scene.names[i] != NULL; i++)
		each(context, str_from(scene.names[i]), STR("policy: no-policy-found 1\n"));
	return 0;
}

void disk_cache_put(struct disk_cache *disk_cache, struct str name, struct str text)
{
	(void)disk_cache;
	(void)name;
	(void)text;
}

void disk_cache_remove(struct disk_cache *disk_cache, struct str name)
{
	(void)disk_cache;
	(void)name;
	scene.removed++;
}

void disk_cache_close(struct disk_cache *disk_cache)
{
	(void)disk_cache;
}

struct reports_post {
	int unused;
};

/* No place answers, for ever. */
struct reports_post *reports_post_new(const struct reports_ways *ways, const char *domain,
				      int64_t begin_us, const struct tlsrpt_day *day,
				      void (*done)(void *context, enum reports_end end),
				      void *context)
{
	(void)ways;
	(void)domain;
	(void)begin_us;
	(void)day;
	(void)done;
	(void)context;
	scene.posts++;
	return memory_alloc_zero(1, sizeof(struct reports_post));
}

void reports_post_free(struct reports_post *post)
{
	free(post);
}

/* --- the ledger --- */

static struct reports_ledger *begin(void)
{
	const struct reports_ways ways = {0};

	fake_begin(1);
	return reports_ledger_new(&ways, "x");
}

static void count(struct reports_ledger *ledger, const char *name)
{
	const struct tlsrpt_session session = {.domain = str_from(name)};

	reports_ledger_count(ledger, &session, STR(""), STR(""));
}

static void count_many(struct reports_ledger *ledger, size_t domains)
{
	for (size_t i = 0; i < domains; i++) {
		char name[NAME_SIZE];

		snprintf(name, sizeof name, "d%zu.test", i);
		count(ledger, name);
	}
}

struct sum {
	size_t rows;
	size_t today;
	char day[NAME_SIZE]; /* today */
};

static void add_row(void *context, const struct reports_row *row)
{
	struct sum *sum = context;

	sum->rows++;
	sum->today += str_equal(row->day, str_from(sum->day));
}

static struct sum sum_of(const struct reports_ledger *ledger)
{
	struct sum sum = {0};
	char now[TIMESTAMP_SIZE];

	timestamp_format_seconds(os_clock_wall_us(), now);
	snprintf(sum.day, sizeof sum.day, "%.10s", now);
	reports_ledger_each(ledger, add_row, &sum);
	return sum;
}

static void a_full_day_takes_no_place_of_the_next(void **state)
{
	struct reports_ledger *ledger = begin();
	struct sum sum;

	(void)state;
	count_many(ledger, REPORTS_DOMAINS_MAX + 5);
	sum = sum_of(ledger);
	assert_int_equal(sum.rows, REPORTS_DOMAINS_MAX);
	assert_int_equal(sum.today, REPORTS_DOMAINS_MAX);
	count(ledger, "d0.test"); /* that is counted on */
	fake_set_wall(DAY_US);
	count(ledger, "late.test");
	count_many(ledger, REPORTS_DOMAINS_MAX - 1);
	count(ledger, "more.test");
	sum = sum_of(ledger);
	assert_int_equal(sum.rows, 2 * REPORTS_DOMAINS_MAX);
	assert_int_equal(sum.today, REPORTS_DOMAINS_MAX);
	fake_advance(MINUTE_US);
	reports_ledger_free(ledger);
	assert_int_equal(fake_timers(), 0);
}

/* The clock is set on, four times, and back: what is left is today, and what is near. */
static void days_that_are_far_away_are_dropped(void **state)
{
	struct reports_ledger *ledger = begin();
	struct sum sum;

	(void)state;
	for (size_t i = 0; i < REPORTS_DAYS_MAX; i++) {
		count(ledger, "a.test");
		count(ledger, "b.test");
		fake_set_wall(10 * DAY_US);
	}
	assert_int_equal(sum_of(ledger).rows, (size_t)2 * REPORTS_DAYS_MAX);
	count(ledger, "a.test");
	sum = sum_of(ledger);
	assert_int_equal(sum.rows, 2 * (REPORTS_DAYS_MAX - 1) + 1);
	assert_int_equal(sum.today, 1);
	fake_set_wall(-10 * DAY_US * REPORTS_DAYS_MAX - DAY_US);
	count(ledger, "a.test");
	sum = sum_of(ledger);
	assert_int_equal(sum.today, 1);
	assert_int_equal(sum.rows, 2 * (REPORTS_DAYS_MAX - 1) + 1);
	reports_ledger_free(ledger);
}

static void files_of_too_many_days_are_removed(void **state)
{
	struct reports_ledger *ledger;

	(void)state;
	scene.removed = 0;
	memcpy(scene.names,
	       (const char *[]){"2001-01-01.a.test", "2001-01-02.a.test", "2001-01-03.a.test",
				"2001-01-04.a.test", "2001-01-03.b.test", "2001-01-05.a.test",
				"2001-01-01.b.test", NULL},
	       sizeof scene.names);
	ledger = begin();
	assert_int_equal(sum_of(ledger).rows, 5);
	assert_int_equal(scene.removed, 2); /* of the first day */
	memset(scene.names, 0, sizeof scene.names);
	reports_ledger_free(ledger);
}

/* A day, a dot and a domain that is not too long. */
static void which_files_are_ours(void **state)
{
	static char names[3][STS_DOMAIN_MAX + 20];
	static const struct {
		const char *name;
		bool is_ours;
	} rows[] = {
		{"2001-01-01.a", true},
		{"2001-01-01.", false},
		{"2001-01-01", false},
		{"2001-01-01-a", false},
		{"2001-13-01.a.test", false},
		{"2001-01-0.a.test", false},
		{"x001-01-01.a", false},
		{"a.test", false},
		{"", false},
		{names[0], true},
		{names[1], true},
		{names[2], false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		memset(names[i], 'x', STS_DOMAIN_MAX + 10 + i);
		memcpy(names[i], "2001-01-01.", 11);
	}
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct reports_ledger *ledger;

		memcpy(scene.names, (const char *[]){rows[i].name, NULL}, 2 * sizeof(char *));
		scene.removed = 0;
		ledger = begin();
		assert_int_equal(sum_of(ledger).rows, rows[i].is_ours);
		assert_int_equal(scene.removed, 0);
		memset(scene.names, 0, sizeof scene.names);
		reports_ledger_free(ledger);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_full_day_takes_no_place_of_the_next),
		cmocka_unit_test(days_that_are_far_away_are_dropped),
		cmocka_unit_test(files_of_too_many_days_are_removed),
		cmocka_unit_test(which_files_are_ours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
