// SPDX-License-Identifier: ISC
/* How long a policy is kept, while the clock is set forward and back. */
#include "base/panic.h"
#include "fake_loop.h"
#include "os/clock.h"
#include "policy/sts/internal.h"
#include "policy/sts/store.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>

#define DOMAIN "a.test"
#define TEXT   "version: STSv1\nmode: enforce\nmx: mx.a.test\nmax_age: 604800\n"
#define WEEK   (7 * DAY_US)
#define YEAR   (365 * DAY_US)

/* --- in the place of the disk, and of the DNS and HTTPS --- */

struct disk_cache {
	struct buffer file; /* of the only domain */
};

struct sts_lookup {
	void (*done)(void *context, const struct sts_lookup_result *result);
	void *context;
};

static struct disk_cache disk;
static struct sts_lookup *lookup; /* that goes on */

int disk_cache_open(struct os_loop *loop, const char *path, struct disk_cache **disk_cache_out)
{
	(void)loop;
	(void)path;
	*disk_cache_out = &disk;
	return 0;
}

int disk_cache_each(struct disk_cache *disk_cache, size_t size_max,
		    void (*each)(void *context, struct str name, struct str text), void *context)
{
	(void)size_max;
	if (disk_cache->file.length > 0)
		each(context, STR(DOMAIN), buffer_view(&disk_cache->file));
	return 0;
}

void disk_cache_put(struct disk_cache *disk_cache, struct str name, struct str text)
{
	(void)name;
	buffer_reset(&disk_cache->file);
	buffer_append_str(&disk_cache->file, text);
}

void disk_cache_remove(struct disk_cache *disk_cache, struct str name)
{
	(void)name;
	buffer_reset(&disk_cache->file);
}

void disk_cache_close(struct disk_cache *disk_cache)
{
	(void)disk_cache;
}

struct sts_lookup *
sts_lookup_new(struct dns_resolver *resolver, struct https *https, const char *domain,
	       const char *known,
	       void (*done)(void *context, const struct sts_lookup_result *result), void *context)
{
	(void)resolver;
	(void)https;
	(void)domain;
	(void)known;
	assert_null(lookup);
	lookup = memory_alloc_zero(1, sizeof *lookup);
	*lookup = (struct sts_lookup){done, context};
	return lookup;
}

void sts_lookup_cancel(struct sts_lookup *one)
{
	if (one != NULL)
		lookup = NULL;
	free(one);
}

static void end_lookup(const struct sts_lookup_result *result)
{
	struct sts_lookup one = *lookup;

	free(lookup);
	lookup = NULL;
	one.done(one.context, result);
}

static void fetch(void)
{
	struct sts_lookup_result result = {
		.status = STS_LOOKUP_FETCHED, .id = "1", .text = STR(TEXT)};

	assert_null(sts_policy_parse(STR(TEXT), &result.policy));
	end_lookup(&result);
}

/* --- the cache --- */

static struct sts_cache *begin(void)
{
	return sts_cache_new(NULL, NULL, NULL, "x");
}

static void end(struct sts_cache *cache)
{
	sts_cache_free(cache);
	assert_int_equal(fake_timers(), 0);
}

static void note(void *context, const struct sts_answer *answer)
{
	*(enum sts_kind *)context = answer->kind;
	if (answer->kind == STS_FOUND)
		assert_in_range(answer->until_us, os_clock_wall_us() + 1,
				os_clock_wall_us() + WEEK);
}

/* Whoever could not be answered at once is told that there is none. */
static bool has_policy(struct sts_cache *cache)
{
	enum sts_kind kind = STS_LATER;
	struct sts_request request = {.done = note, .context = &kind};

	sts_cache_ask(cache, STR(DOMAIN), &request);
	if (lookup != NULL)
		end_lookup(&(struct sts_lookup_result){.status = STS_LOOKUP_NO_ANSWER});
	assert_int_not_equal(kind, STS_LATER);
	return kind == STS_FOUND;
}

/* So long, with all sweeps and without an answer of the DNS. */
static void pass(int64_t us)
{
	for (int64_t passed = 0; passed < us; passed += HOUR_US) {
		fake_pass(HOUR_US - 1);
		fake_advance(1);
		if (lookup != NULL)
			end_lookup(&(struct sts_lookup_result){.status = STS_LOOKUP_NO_ANSWER});
	}
}

static void learn(struct sts_cache *cache)
{
	enum sts_kind kind = STS_LATER;
	struct sts_request request = {.done = note, .context = &kind};

	sts_cache_ask(cache, STR(DOMAIN), &request);
	fetch();
	assert_int_equal(kind, STS_FOUND);
}

static void the_clock_is_set(void **state)
{
	static const int64_t jumps[] = {YEAR, -YEAR, 8 * DAY_US, -8 * DAY_US, 2 * HOUR_US};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(jumps); i++) {
		struct sts_cache *cache;

		fake_begin(1);
		cache = begin();
		learn(cache);
		fake_set_wall(jumps[i]);
		pass(5 * HOUR_US);
		assert_true(has_policy(cache));
		fake_set_wall(-jumps[i]);
		pass(5 * HOUR_US);
		assert_true(has_policy(cache));
		assert_true(disk.file.length > 0);
		fake_set_wall(jumps[i]);
		pass(WEEK); /* now it has ended, by whatever clock */
		assert_false(has_policy(cache));
		assert_int_equal(disk.file.length, 0);
		end(cache);
	}
}

/* The same with one that was read from disk, while the clock was right. */
static void the_clock_is_set_after_a_start(void **state)
{
	struct sts_cache *cache;

	(void)state;
	fake_begin(1);
	cache = begin();
	learn(cache);
	pass(DAY_US);
	end(cache);
	cache = begin();
	fake_set_wall(YEAR);
	pass(5 * HOUR_US);
	assert_true(has_policy(cache));
	fake_set_wall(-YEAR);
	assert_true(has_policy(cache));
	pass(WEEK);
	assert_false(has_policy(cache));
	end(cache);
}

static void a_start_while_the_clock_is_wrong(void **state)
{
	struct sts_cache *cache;

	(void)state;
	fake_begin(1);
	cache = begin();
	learn(cache);
	end(cache);
	fake_set_wall(YEAR);
	cache = begin();
	pass(5 * HOUR_US);
	assert_false(has_policy(cache));
	fake_set_wall(-YEAR);
	assert_true(has_policy(cache));
	pass(HOUR_US);
	fake_set_wall(YEAR); /* it is not believed again */
	pass(HOUR_US);
	assert_true(has_policy(cache));
	end(cache);

	/* one that has really ended goes a day later; and one from the future some time */
	cache = begin();
	pass(STS_AGE_DOUBT_US + HOUR_US);
	assert_int_equal(disk.file.length, 0);
	learn(cache);
	end(cache);
	fake_set_wall(-YEAR);
	cache = begin();
	assert_true(has_policy(cache));
	pass(WEEK + HOUR_US);
	assert_false(has_policy(cache));
	end(cache);
}

/* --- when it is looked up again --- */

static enum sts_problem told;

static void note_problem(void *context, const struct sts_answer *answer)
{
	(void)context;
	assert_int_equal(answer->kind, STS_NONE);
	told = answer->problem;
}

static bool is_looked_up(struct sts_cache *cache, struct sts_request *request)
{
	*request = (struct sts_request){.done = note_problem};
	sts_cache_ask(cache, STR(DOMAIN), request);
	return lookup != NULL;
}

/* After an answer of the DNS that there is none, or none at all, or a failure; the last one's
 * count. */
static void each_outcome_has_its_pause(void **state)
{
	static const struct {
		enum sts_lookup_status status;
		uint32_t ttl;
		int64_t seconds;
		unsigned times;
	} rows[] = {
		{STS_LOOKUP_FAILED, 0, 300, 1},
		{STS_LOOKUP_FAILED, 0, 600, 1},
		{STS_LOOKUP_NO_ANSWER, 0, 60, 3},
		{STS_LOOKUP_FAILED, 0, 1200, 1},
		{STS_LOOKUP_FAILED, 0, 2400, 1},
		{STS_LOOKUP_FAILED, 0, 3600, 80},
		{STS_LOOKUP_NO_ANSWER, 9999, 60, 1},
		{STS_LOOKUP_FAILED, 9999, 3600, 1},
		{STS_LOOKUP_NO_RECORD, 0, 300, 2},
		{STS_LOOKUP_FAILED, 0, 300, 1},
		{STS_LOOKUP_NO_RECORD, 299, 300, 1},
		{STS_LOOKUP_NO_RECORD, 300, 300, 1},
		{STS_LOOKUP_NO_RECORD, 301, 301, 1},
		{STS_LOOKUP_NO_RECORD, 3599, 3599, 1},
		{STS_LOOKUP_NO_RECORD, 3600, 3600, 1},
		{STS_LOOKUP_NO_RECORD, 3601, 3600, 1},
		{STS_LOOKUP_NO_RECORD, UINT32_MAX, 3600, 1},
	};
	struct sts_cache *cache;
	struct sts_request request;

	(void)state;
	fake_begin(1);
	cache = begin();
	assert_true(is_looked_up(cache, &request));
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		for (unsigned times = 0; times < rows[i].times; times++) {
			bool is_failure = rows[i].status == STS_LOOKUP_FAILED;

			end_lookup(&(struct sts_lookup_result){.status = rows[i].status,
							       .ttl = rows[i].ttl,
							       .id = "",
							       .reason = "x",
							       .problem = STS_PROBLEM_FETCH});
			if (is_failure || rows[i].status == STS_LOOKUP_NO_RECORD)
				assert_int_equal(told,
						 is_failure ? STS_PROBLEM_FETCH : STS_PROBLEM_NONE);
			fake_pass(rows[i].seconds * SECOND_US - 1);
			assert_false(is_looked_up(cache, &request));
			fake_pass(1);
			if (!is_looked_up(cache, &request))
				fail_msg("%zu: not after %lld seconds", i,
					 (long long)rows[i].seconds);
		}
	end_lookup(&(struct sts_lookup_result){.status = STS_LOOKUP_NO_ANSWER});
	end(cache);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_outcome_has_its_pause),
		cmocka_unit_test(the_clock_is_set),
		cmocka_unit_test(the_clock_is_set_after_a_start),
		cmocka_unit_test(a_start_while_the_clock_is_wrong),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	buffer_clear(&disk.file);
	return failed;
}
