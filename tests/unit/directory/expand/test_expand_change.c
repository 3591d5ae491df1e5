// SPDX-License-Identifier: ISC
/* Expansion while the store fails, or its data change. */
#include "expand_scene.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static void errors_are_told(void **state)
{
	static const char *const asked[] = {"ann@d.example", "ann@nowhere.example",
					    "alias@d.example", "ann@example.org"};

	(void)state;
	for (int is_late = 0; is_late <= 1; is_late++) {
		struct scene scene;

		scene_open(&scene, is_late);
		for (size_t i = 0; i < COUNT_OF(asked); i++) {
			scene_ask(&scene, asked[i]); /* what is kept does not hide it */
			memory_store_set_up(scene.store, false);
			scene_ask(&scene, asked[i]);
			assert_int_equal(scene.answer.error, -ENOTCONN);
			memory_store_set_up(scene.store, true);
			scene_ask(&scene, asked[i]);
			assert_int_equal(scene.answer.error, 0);
		}
		scene_close(&scene);
	}
}

/* What did not exist when the link to the data was lost may exist by now. */
static void nobody_is_refused_over_a_lost_link(void **state)
{
	static const struct {
		const char *address;
		int error;
	} cases[] = {
		{"ann@d.example", 0},
		{"alias@d.example", 0},
		{"zoe@example.org", 0},
		{"nobody@d.example", -ENOTCONN},
		{"ann@nowhere.example", -ENOTCONN},
		{"x@loop.example", -ENOTCONN},
	};

	(void)state;
	for (int is_late = 0; is_late <= 1; is_late++) {
		struct scene scene;

		scene_open(&scene, is_late);
		for (size_t i = 0; i < COUNT_OF(cases); i++) {
			scene_ask(&scene, cases[i].address);
			assert_int_equal(scene.answer.error, 0);
			scene.store->base.lost_us = 1;
			scene_ask(&scene, cases[i].address);
			if (scene.answer.error != cases[i].error)
				fail_msg("%s: %d", cases[i].address, scene.answer.error);
			scene.store->base.lost_us = 0;
		}
		scene_close(&scene);
	}
}

/* The data change after each number of answers that the store gives: what was seen before
 * and after is not kept. */
static void a_change_meanwhile_is_not_kept(void **state)
{
	unsigned answered = 0;
	bool is_done = false;

	(void)state;
	for (; !is_done; answered++) {
		struct scene scene;

		scene_open(&scene, true);
		scene_begin(&scene, "alias2@d.example");
		for (unsigned i = 0; i < answered; i++)
			(void)memory_store_answer(scene.store);
		is_done = scene.answer.count > 0;
		memory_store_put(scene.store, "address alias2@d.example|kind mailbox");
		(void)memory_store_answer_all(scene.store);
		assert_int_equal(scene.answer.count, 1);
		/* before it was asked for, it is not yet depended on */
		assert_int_equal(scene.answer.may_keep, is_done || answered == 0);
		assert_string_equal(scene.answer.results,
				    is_done || answered > 1 ? "local maildir ann@d.example"
							    : "local maildir alias2@d.example");
		scene_close(&scene);
	}
	assert_int_equal(answered, 5);
}

/* A mailbox of that NAME, which renamed@d.example leads to from now on. */
static void put_alias_of(struct scene *scene, const char *name)
{
	char row[100];

	snprintf(row, sizeof row, "address %s@d.example|kind mailbox", name);
	memory_store_put(scene->store, row);
	snprintf(row, sizeof row, "address renamed@d.example|kind alias|target %s@d.example", name);
	memory_store_put(scene->store, row);
}

/* An alias and what it stands for are renamed: nobody is told that there is no such user. */
static void a_rename_meanwhile_refuses_nobody(void **state)
{
	static const char *const names[] = {"n0@d.example", "n1@d.example"};
	bool is_done = false;

	(void)state;
	for (unsigned answered = 0; !is_done; answered++) {
		struct scene scene;
		char text[100];

		scene_open(&scene, true);
		put_alias_of(&scene, "n0");
		scene_begin(&scene, "renamed@d.example");
		for (unsigned i = 0; i < answered; i++)
			(void)memory_store_answer(scene.store);
		is_done = scene.answer.count > 0;
		put_alias_of(&scene, "n1");
		memory_store_remove(scene.store, "address n0@d.example");
		(void)memory_store_answer_all(scene.store);
		assert_int_equal(scene.answer.error, 0);
		snprintf(text, sizeof text, "local maildir %s", names[!is_done]);
		assert_string_equal(scene.answer.results, text);
		scene_close(&scene);
	}
}

/* The same while the store hands out what it has not heard of yet. */
static void a_rename_that_is_not_known_yet_refuses_nobody(void **state)
{
	bool is_done = false;

	(void)state;
	for (unsigned answered = 0; !is_done; answered++) {
		struct scene scene;
		struct directory_store *base;
		uint64_t known;

		scene_open(&scene, true);
		base = &scene.store->base;
		base->handler = NULL;
		put_alias_of(&scene, "n0");
		known = base->read_version = base->version;
		scene_begin(&scene, "renamed@d.example");
		for (unsigned i = 0; i < answered; i++)
			(void)memory_store_answer(scene.store);
		is_done = scene.answer.count > 0;
		put_alias_of(&scene, "n1");
		memory_store_remove(scene.store, "address n0@d.example");
		base->read_version = base->version;
		base->version = known;
		(void)memory_store_answer_all(scene.store);
		assert_int_equal(scene.answer.error, 0);
		assert_int_equal(scene.answer.version, known);
		assert_string_equal(scene.answer.results, is_done ? "local maildir n0@d.example"
								  : "local maildir n1@d.example");
		scene_close(&scene);
	}
}

/* Without a word from the store: by the versions of its answers. And there is an end to it. */
static void data_that_do_not_stand_still_refuse_nobody(void **state)
{
	struct scene scene;
	unsigned answers = 0;

	(void)state;
	scene_open(&scene, true);
	scene.store->base.handler = NULL;
	scene_begin(&scene, "gonealias@d.example");
	do
		memory_store_put(scene.store, "user someone");
	while (memory_store_answer(scene.store) && ++answers < 1000);
	assert_int_equal(scene.answer.error, -ETIMEDOUT);
	assert_true(answers < 100);
	scene_begin(&scene, "alias@d.example"); /* what refuses nothing is good enough */
	do
		memory_store_put(scene.store, "user someone");
	while (memory_store_answer(scene.store));
	assert_string_equal(scene.answer.results, "local maildir ann@d.example");
	scene_close(&scene);
}

static void a_change_of_something_else_does_not_matter(void **state)
{
	struct scene scene;

	(void)state;
	scene_open(&scene, true);
	scene_begin(&scene, "ann@d.example");
	memory_store_put(scene.store, "address bob@d.example|kind mailbox");
	(void)memory_store_answer_all(scene.store);
	assert_true(scene.answer.may_keep);
	scene_begin(&scene, "ann@d.example");
	memory_store_replace(scene.store, "memory-2"); /* and it is not "no such user" */
	(void)memory_store_answer_all(scene.store);
	assert_string_equal(scene.answer.results, "elsewhere");
	scene_close(&scene);
}

static void domains_are_remembered_until_they_change(void **state)
{
	struct scene scene;

	(void)state;
	scene_open(&scene, false);
	scene_ask(&scene, "gone@d.example");
	scene_ask(&scene, "x@nowhere.example");
	scene.store->gets = 0;
	scene_ask(&scene, "gone2@d.example");
	assert_int_equal(scene.store->gets, 1);
	scene_ask(&scene, "y@nowhere.example");
	assert_int_equal(scene.store->gets, 1);
	memory_store_put(scene.store, "domain nowhere.example|kind local|service maildir");
	memory_store_put(scene.store, "address @nowhere.example|kind mailbox");
	scene_ask(&scene, "y@nowhere.example");
	assert_string_equal(scene.answer.results, "local maildir y@nowhere.example");
	memory_store_remove(scene.store, "address @nowhere.example");
	scene_ask(&scene, "y@nowhere.example");
	assert_string_equal(scene.answer.results,
			    "refuse 5.1.1 y@nowhere.example No such user here");
	memory_store_remove(scene.store, "domain nowhere.example");
	scene_ask(&scene, "y@nowhere.example");
	assert_string_equal(scene.answer.results, "elsewhere");
	scene_close(&scene);
}

static void more_domains_than_are_remembered(void **state)
{
	struct scene scene;
	char address[40];

	(void)state;
	scene_open(&scene, false);
	for (unsigned i = 0; i < 10100; i++) {
		snprintf(address, sizeof address, "a@d%u.example", i);
		scene_ask(&scene, address);
	}
	scene.store->gets = 0;
	scene_ask(&scene, "a@d10099.example");
	assert_int_equal(scene.store->gets, 0);
	scene_ask(&scene, "a@d0.example");
	assert_int_equal(scene.store->gets, 1);
	scene_close(&scene);
}

/* Another configuration while the store is asked: the answer is by the new one. */
static void the_configuration_changes_meanwhile(void **state)
{
	struct scene scene;
	struct config *old = malloc(sizeof *old);

	(void)state;
	scene_open(&scene, true);
	*old = expand_config;
	directory_expander_configure(scene.expander, old);
	scene_begin(&scene, "bob@example.org");
	directory_expander_configure(scene.expander, &expand_no_domains);
	free(old);
	(void)memory_store_answer_all(scene.store);
	assert_int_equal(scene.answer.count, 1);
	assert_string_equal(scene.answer.results, "elsewhere");
	scene_close(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errors_are_told),
		cmocka_unit_test(nobody_is_refused_over_a_lost_link),
		cmocka_unit_test(a_change_meanwhile_is_not_kept),
		cmocka_unit_test(a_rename_meanwhile_refuses_nobody),
		cmocka_unit_test(a_rename_that_is_not_known_yet_refuses_nobody),
		cmocka_unit_test(data_that_do_not_stand_still_refuse_nobody),
		cmocka_unit_test(a_change_of_something_else_does_not_matter),
		cmocka_unit_test(domains_are_remembered_until_they_change),
		cmocka_unit_test(more_domains_than_are_remembered),
		cmocka_unit_test(the_configuration_changes_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
