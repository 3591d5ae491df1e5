// SPDX-License-Identifier: ISC
#include "directory/expand/internal.h"
#include "expand_scene.h"
#include "test.h"
#include <stdio.h>
#include <string.h>

/* A forward to COUNT addresses at DOMAIN; below, a chain of aliases. */
static void put_forward(struct memory_store *store, const char *name, unsigned count,
			const char *domain)
{
	struct buffer text = {0};

	buffer_append_format(&text, "address %s@d.example|kind forward", name);
	for (unsigned i = 0; i < count; i++)
		buffer_append_format(&text, "|target %s%u@%s", name, i, domain);
	buffer_append_byte(&text, '\0');
	memory_store_put(store, buffer_data(&text));
	buffer_clear(&text);
}

static void put_chain(struct memory_store *store, const char *name, unsigned steps)
{
	char text[200];

	for (unsigned i = 0; i < steps; i++) {
		snprintf(text, sizeof text,
			 "address %s%u@d.example|kind alias|target %s%u@d.example", name, i, name,
			 i + 1);
		memory_store_put(store, text);
	}
	snprintf(text, sizeof text, "address %s%u@d.example|kind mailbox", name, steps);
	memory_store_put(store, text);
}

static void fan_out_is_bounded(void **state)
{
	(void)state;
	for (int is_late = 0; is_late <= 1; is_late++) {
		struct scene scene;

		scene_open(&scene, is_late);
		put_forward(scene.store, "halfa", DIRECTORY_TARGETS_MAX / 2, "far.example");
		put_forward(scene.store, "halfb", DIRECTORY_TARGETS_MAX / 2, "far.example");
		memory_store_put(scene.store, "address full@d.example|kind forward|target "
					      "halfa@d.example|target halfb@d.example");
		memory_store_put(
			scene.store,
			"address over@d.example|kind forward|target halfa@d.example|target "
			"halfb@d.example|target ann@d.example");
		scene_ask(&scene, "full@d.example");
		assert_int_equal(scene.answer.result_count, DIRECTORY_TARGETS_MAX);
		assert_true(scene.answer.may_keep); /* two domains only */
		scene_ask(&scene, "over@d.example");
		assert_string_equal(scene.answer.results,
				    "refuse 4.4.6 over@d.example The address becomes more others "
				    "than are allowed");
		scene_close(&scene);
	}
}

static void forwards_of_forwards_are_bounded(void **state)
{
	struct scene scene;
	struct buffer text = {0};
	char name[20];

	(void)state;
	scene_open(&scene, false);
	buffer_append_string(&text, "address tree@d.example|kind forward");
	for (unsigned i = 0; i < 20; i++) {
		snprintf(name, sizeof name, "leaf%u-", i);
		put_forward(scene.store, name, 400, "d.example");
		buffer_append_format(&text, "|target %s@d.example", name);
	}
	buffer_append_byte(&text, '\0');
	memory_store_put(scene.store, buffer_data(&text));
	scene_ask(&scene, "tree@d.example");
	assert_string_equal(scene.answer.results, "refuse 4.4.6 tree@d.example The address becomes "
						  "more others than are allowed");
	assert_true(scene.store->gets < 5000); /* not all 8,000 were looked for */
	buffer_clear(&text);
	scene_close(&scene);
}

/* A tree of forwards, of COUNT addresses with its root and the one mailbox that all lead to. */
static void put_tree(struct memory_store *store, unsigned count)
{
	enum { EACH = 500 };
	struct buffer root CLEANUP(buffer_clear) = {0};
	unsigned left = count - 2;

	buffer_append_string(&root, "address tree@d.example|kind forward");
	for (unsigned i = 0; left > 0; i++) {
		unsigned leaves = left - 1 < EACH ? left - 1 : EACH;
		char name[20];

		snprintf(name, sizeof name, "leaf%u-", i);
		put_forward(store, name, leaves, "d.example");
		for (unsigned j = 0; j < leaves; j++) {
			char text[100];

			snprintf(text, sizeof text,
				 "address %s%u@d.example|kind alias|target ann@d.example", name, j);
			memory_store_put(store, text);
		}
		buffer_append_format(&root, "|target %s@d.example", name);
		left -= 1 + leaves;
	}
	buffer_append_byte(&root, '\0');
	memory_store_put(store, buffer_data(&root));
}

static void so_many_addresses_are_looked_at(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		bool is_over = i % 2 == 1;
		struct scene scene;

		scene_open(&scene, i / 2 == 1);
		put_tree(scene.store, EXPAND_NODES_MAX + is_over);
		scene_ask(&scene, "tree@d.example");
		assert_string_equal(scene.answer.results,
				    is_over ? "refuse 4.4.6 tree@d.example The address becomes "
					      "more others than are allowed"
					    : "local maildir ann@d.example");
		scene_close(&scene);
	}
}

static void depth_is_bounded(void **state)
{
	(void)state;
	for (int is_late = 0; is_late <= 1; is_late++) {
		struct scene scene;

		scene_open(&scene, is_late);
		put_chain(scene.store, "c", DIRECTORY_DEPTH_MAX);
		put_chain(scene.store, "x", DIRECTORY_DEPTH_MAX + 1);
		put_chain(scene.store, "y", 300);
		scene_ask(&scene, "c0@d.example");
		assert_string_equal(scene.answer.results, "local maildir c50@d.example");
		scene_ask(&scene, "x0@d.example");
		assert_string_equal(scene.answer.results,
				    "refuse 4.4.6 x50@d.example The address is more steps away "
				    "than are allowed");
		scene.store->gets = 0;
		scene_ask(&scene, "y0@d.example");
		assert_string_equal(scene.answer.results,
				    "refuse 4.4.6 y50@d.example The address is more steps away "
				    "than are allowed");
		assert_true(scene.store->gets < 60);
		scene_close(&scene);
	}
}

/* Fewer steps may take longer: each of these asks for an address, and for what stands for all of
 * its domain. */
static void depth_is_that_of_the_shortest_way(void **state)
{
	enum { LONG = 24, SHORT = 10, COMMON = 30 };
	char text[200];

	(void)state;
	for (int is_late = 0; is_late <= 1; is_late++) {
		struct scene scene;

		scene_open(&scene, is_late);
		put_chain(scene.store, "z", COMMON);
		for (unsigned i = 0; i < LONG; i++) {
			snprintf(text, sizeof text,
				 "address c%u@d.example|kind alias|target %s%u@d.example", i,
				 i + 1 < LONG ? "c" : "z", i + 1 < LONG ? i + 1 : 0);
			memory_store_put(scene.store, text);
		}
		for (unsigned i = 0; i < SHORT; i++) {
			snprintf(text, sizeof text, "domain q%u.example|kind local|service maildir",
				 i);
			memory_store_put(scene.store, text);
			if (i + 1 < SHORT)
				snprintf(text, sizeof text,
					 "address @q%u.example|kind alias|target a@q%u.example", i,
					 i + 1);
			else
				snprintf(text, sizeof text,
					 "address @q%u.example|kind alias|target z0@d.example", i);
			memory_store_put(scene.store, text);
		}
		memory_store_put(scene.store,
				 "address both@d.example|kind forward|target a@q0.example|target "
				 "c0@d.example");
		scene_ask(&scene, "both@d.example");
		assert_string_equal(scene.answer.results, "local maildir z30@d.example");
		scene_close(&scene);
	}
}

/* The order of targets decides which way is walked first, not how far away an address is. */
static void the_long_way_may_be_the_first(void **state)
{
	(void)state;
	for (int is_late = 0; is_late <= 1; is_late++) {
		struct scene scene;

		scene_open(&scene, is_late);
		put_chain(scene.store, "c", DIRECTORY_DEPTH_MAX - 2);
		put_chain(scene.store, "z", DIRECTORY_DEPTH_MAX - 1);
		memory_store_put(scene.store, "address c48@d.example|kind alias|target "
					      "z0@d.example");
		memory_store_put(scene.store, "address both@d.example|kind forward|target "
					      "c0@d.example|target z0@d.example");
		scene_ask(&scene, "both@d.example");
		assert_string_equal(scene.answer.results, "local maildir z49@d.example");
		scene_ask(&scene, "c0@d.example");
		assert_string_equal(scene.answer.results,
				    "refuse 4.4.6 z1@d.example The address is more steps away "
				    "than are allowed");
		scene_close(&scene);
	}
}

/* A loop whose text would not fit is told by its beginning and its end. */
static void long_loops_are_told_shortly(void **state)
{
	struct scene scene;
	char text[200];

	(void)state;
	scene_open(&scene, false);
	for (unsigned i = 0; i < 40; i++) {
		snprintf(text, sizeof text,
			 "address address-number-%u@d.example|kind alias|target "
			 "address-number-%u@d.example",
			 i, (i + 1) % 40);
		memory_store_put(scene.store, text);
	}
	scene_ask(&scene, "address-number-3@d.example");
	assert_true(strlen(scene.answer.results) < 450);
	assert_non_null(strstr(scene.answer.results, "itself: address-number-3@d.example > "
						     "address-number-4@d.example"));
	assert_non_null(strstr(scene.answer.results, " > ... > address-number-3@d.example"));
	scene_close(&scene);
}

static void what_depends_on_too_much_is_not_kept(void **state)
{
	struct scene scene;
	char text[400];

	(void)state;
	scene_open(&scene, false);
	put_chain(scene.store, "c", 49);
	for (unsigned i = 0; i < 2; i++) {
		struct buffer record = {0};

		/* the forward, its domain, and as many more domains as may be, or one more */
		buffer_append_string(&record, "address many@d.example|kind forward");
		for (unsigned j = 0; j < DIRECTORY_DEPENDENCIES_MAX - 2 + i; j++)
			buffer_append_format(&record, "|target a@d%u.example", j);
		buffer_append_byte(&record, '\0');
		memory_store_put(scene.store, buffer_data(&record));
		scene_ask(&scene, "many@d.example");
		assert_int_equal(scene.answer.result_count, DIRECTORY_DEPENDENCIES_MAX - 2 + i);
		assert_int_equal(scene.answer.may_keep, i == 0);
		snprintf(text, sizeof text, "%.20s", scene.answer.depends);
		assert_string_equal(text, i == 0 ? "domain d.example; ad" : "");
		buffer_clear(&record);
	}
	scene_close(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fan_out_is_bounded),
		cmocka_unit_test(forwards_of_forwards_are_bounded),
		cmocka_unit_test(so_many_addresses_are_looked_at),
		cmocka_unit_test(depth_is_bounded),
		cmocka_unit_test(depth_is_that_of_the_shortest_way),
		cmocka_unit_test(the_long_way_may_be_the_first),
		cmocka_unit_test(long_loops_are_told_shortly),
		cmocka_unit_test(what_depends_on_too_much_is_not_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
