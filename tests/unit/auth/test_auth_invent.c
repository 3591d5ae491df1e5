// SPDX-License-Identifier: ISC
/* What is invented about users who do not exist looks as what is kept about others. */
#include "auth/server/invent.h"
#include "test.h"
#include <string.h>

static const struct {
	enum directory_password_method method;
	size_t key_length;
} methods[] = {{DIRECTORY_PASSWORD_SCRAM_SHA_256, 32}, {DIRECTORY_PASSWORD_SCRAM_SHA_1, 20}};

static bool are_same(const struct directory_scram *one, const struct directory_scram *other)
{
	return one->method == other->method && one->iterations == other->iterations &&
	       one->salt_length == other->salt_length && one->key_length == other->key_length &&
	       memcmp(one->salt, other->salt, one->salt_length) == 0 &&
	       memcmp(one->stored_key, other->stored_key, one->key_length) == 0 &&
	       memcmp(one->server_key, other->server_key, one->key_length) == 0;
}

static struct directory_scram keys_of(const struct auth_inventor *inventor, const char *user,
				      enum directory_password_method method)
{
	struct directory_scram keys;

	auth_inventor_keys(inventor, str_from(user), method, &keys);
	return keys;
}

/* By each seed, user and method others; after a restart the same. */
static void keys_are_the_same_each_time(void **state)
{
	struct auth_inventor *inventor = auth_inventor_new(STR("seed"));
	struct auth_inventor *later = auth_inventor_new(STR("seed"));
	struct auth_inventor *others[] = {auth_inventor_new(STR("seee")),
					  auth_inventor_new(STR("")), auth_inventor_new(STR(""))};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct directory_scram ann = keys_of(inventor, "ann", methods[i].method);
		struct directory_scram same = keys_of(later, "ann", methods[i].method);
		struct directory_scram joe = keys_of(inventor, "joe", methods[i].method);
		struct directory_scram sha = keys_of(inventor, "ann", methods[1 - i].method);

		assert_int_equal(ann.method, methods[i].method);
		assert_int_equal(ann.key_length, methods[i].key_length);
		assert_int_equal(ann.salt_length, DIRECTORY_SCRAM_SALT_SIZE);
		assert_int_equal(ann.iterations, DIRECTORY_SCRAM_ITERATIONS);
		assert_true(are_same(&ann, &same));
		assert_memory_not_equal(ann.salt, joe.salt, ann.salt_length);
		assert_memory_not_equal(ann.salt, sha.salt, ann.salt_length);
		assert_memory_not_equal(ann.stored_key, joe.stored_key, ann.key_length);
		assert_memory_not_equal(ann.server_key, joe.server_key, ann.key_length);
		assert_memory_not_equal(ann.server_key, ann.stored_key, ann.key_length);
		for (size_t j = 0; j < 3; j++) {
			struct directory_scram other = keys_of(others[j], "ann", methods[i].method);

			assert_memory_not_equal(ann.salt, other.salt, ann.salt_length);
		}
	}
	for (size_t j = 0; j < 3; j++)
		auth_inventor_free(others[j]);
	auth_inventor_free(later);
	auth_inventor_free(inventor);
	auth_inventor_free(NULL);
}

/* Of each method alone, and the last that was seen. */
static void they_cost_what_those_of_users_cost(void **state)
{
	struct auth_inventor *inventor = auth_inventor_new(STR("seed"));

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct directory_scram keys = keys_of(inventor, "ann", methods[i % 2].method);
		unsigned before = keys_of(inventor, "ann", methods[1 - i % 2].method).iterations;
		struct buffer hash = {0};

		keys.iterations = 5000 + (unsigned)i;
		directory_scram_print(&keys, &hash);
		auth_inventor_learn(inventor, buffer_view(&hash));
		assert_true(str_equal(auth_inventor_hash(inventor), buffer_view(&hash)));
		assert_int_equal(keys_of(inventor, "joe", methods[i % 2].method).iterations,
				 5000 + i);
		assert_int_equal(keys_of(inventor, "joe", methods[1 - i % 2].method).iterations,
				 before);
		auth_inventor_learn(inventor, auth_inventor_hash(inventor)); /* of itself */
		assert_true(str_equal(auth_inventor_hash(inventor), buffer_view(&hash)));
		buffer_clear(&hash);
	}
	auth_inventor_learn(inventor, STR("$2b$10$x"));
	assert_true(str_equal(auth_inventor_hash(inventor), STR("$2b$10$x")));
	assert_int_equal(keys_of(inventor, "joe", methods[0].method).iterations, 5002);
	auth_inventor_free(inventor);
}

static void a_stamp_is_by_the_hash_and_the_seed(void **state)
{
	static const struct {
		const char *seed, *hash;
	} cases[] = {{"seed", "hash"}, {"seed", "hash"}, {"seed", "hasi"}, {"seee", "hash"}};
	struct buffer stamps[4] = {{0}};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct auth_inventor *inventor = auth_inventor_new(str_from(cases[i].seed));

		auth_inventor_stamp(inventor, str_from(cases[i].hash), &stamps[i]);
		assert_int_equal(stamps[i].length, 32);
		assert_int_equal(str_equal(buffer_view(&stamps[0]), buffer_view(&stamps[i])),
				 i < 2);
		auth_inventor_free(inventor);
	}
	for (size_t i = 0; i < 4; i++)
		buffer_clear(&stamps[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_are_the_same_each_time),
		cmocka_unit_test(they_cost_what_those_of_users_cost),
		cmocka_unit_test(a_stamp_is_by_the_hash_and_the_seed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
