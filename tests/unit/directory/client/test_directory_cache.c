// SPDX-License-Identifier: ISC
/* What the directory's client keeps. */
#include "base/timestamp.h"
#include "directory/client/cache.h"
#include "os/clock.h"
#include "test.h"
#include <stdio.h>

static const struct str ROUTE = {"route", 5};

static void keep(struct cache *cache, const char *key, const char *dependency, int64_t until_us)
{
	struct str results[] = {STR("local box a@b"), STR("remote c@d")};
	struct str dependencies[] = {str_from(dependency), STR("domain b")};
	const struct cache_answer answer = {
		.exists = true,
		.results = results,
		.result_count = 2,
		.dependencies = dependencies,
		.dependency_count = 2,
		.until_us = until_us,
		.version = 7,
	};

	cache_keep(cache, ROUTE, str_from(key), &answer);
}

static bool has(struct cache *cache, const char *key)
{
	const struct cache_answer *answer = cache_find(cache, ROUTE, str_from(key), 1000);

	if (answer != NULL)
		cache_release(cache, answer);
	return answer != NULL;
}

static void what_is_kept_is_found(void **state)
{
	struct cache *cache = cache_new(10);
	const struct cache_answer *answer;

	(void)state;
	keep(cache, "a@b", "address a@b", 2000);
	answer = cache_find(cache, ROUTE, STR("a@b"), 1999);
	assert_non_null(answer);
	assert_true(answer->exists);
	assert_int_equal(answer->result_count, 2);
	assert_true(str_equal(answer->results[1], STR("remote c@d")));
	assert_int_equal(answer->dependency_count, 2);
	assert_true(str_equal(answer->dependencies[0], STR("address a@b")));
	assert_int_equal(answer->version, 7);
	cache_release(cache, answer);
	assert_null(cache_find(cache, STR("rout"), STR("e a@b"), 1999));
	assert_null(cache_find(cache, ROUTE, STR("a@b"), 2000));
	assert_int_equal(cache_count(cache), 0);
	cache_free(cache);
}

static void a_change_drops_what_depends_on_it(void **state)
{
	struct cache *cache = cache_new(10);

	(void)state;
	keep(cache, "a@b", "address a@b", 2000);
	keep(cache, "c@b", "address c@b", 2000);
	keep(cache, "d@b", "domain b", 2000); /* twice the same */
	cache_drop(cache, STR("address"), STR("x@b"));
	assert_int_equal(cache_count(cache), 3);
	cache_drop(cache, STR("address"), STR("a@b"));
	assert_false(has(cache, "a@b"));
	assert_true(has(cache, "c@b"));
	keep(cache, "a@b", "address a@b", 2000);
	cache_drop(cache, STR("domain"), STR("b"));
	assert_int_equal(cache_count(cache), 0);
	cache_drop(cache, STR("domain"), STR("b"));
	cache_free(cache);
}

static void the_least_used_goes_first(void **state)
{
	struct cache *cache = cache_new(3);

	(void)state;
	keep(cache, "1", "address 1", 2000);
	keep(cache, "2", "address 2", 2000);
	keep(cache, "3", "address 3", 2000);
	assert_true(has(cache, "1"));
	keep(cache, "4", "address 4", 2000);
	assert_false(has(cache, "2"));
	assert_true(has(cache, "1"));
	keep(cache, "1", "address 1", 3000); /* in its own place */
	assert_int_equal(cache_count(cache), 3);
	cache_set_capacity(cache, 1);
	assert_true(has(cache, "1"));
	assert_int_equal(cache_count(cache), 1);
	cache_set_capacity(cache, 0);
	keep(cache, "5", "address 5", 2000);
	assert_int_equal(cache_count(cache), 0);
	cache_free(cache);
}

static void what_is_in_use_outlives_its_end(void **state)
{
	struct cache *cache = cache_new(10);
	const struct cache_answer *answer;

	(void)state;
	keep(cache, "a@b", "address a@b", 2000);
	answer = cache_find(cache, ROUTE, STR("a@b"), 0);
	cache_drop_all(cache);
	assert_true(str_equal(answer->results[0], STR("local box a@b")));
	cache_release(cache, answer);
	cache_free(cache);
}

static void many_that_depend_on_one_go_in_little_time(void **state)
{
	struct cache *cache = cache_new(100000);
	char key[32];
	char dependency[64];
	int64_t start_us;

	(void)state;
	for (unsigned i = 0; i < 100000; i++) {
		snprintf(key, sizeof key, "u%u@b", i);
		snprintf(dependency, sizeof dependency, "address u%u@b", i);
		keep(cache, key, dependency, 2000);
	}
	start_us = os_clock_monotonic_us();
	cache_drop(cache, STR("domain"), STR("b"));
	assert_int_equal(cache_count(cache), 0);
	/* what grew with the square of the count would take minutes */
	assert_true(os_clock_monotonic_us() - start_us < 10 * SECOND_US);
	cache_free(cache);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_kept_is_found),
		cmocka_unit_test(a_change_drops_what_depends_on_it),
		cmocka_unit_test(the_least_used_goes_first),
		cmocka_unit_test(what_is_in_use_outlives_its_end),
		cmocka_unit_test(many_that_depend_on_one_go_in_little_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
