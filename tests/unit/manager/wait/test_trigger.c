// SPDX-License-Identifier: ISC
#include "test.h"
#include "wait_scene.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct trigger *set(struct wait_scene *scene, const char *name)
{
	struct trigger *trigger = triggers_set(scene->triggers, str_from(name), STR("it is away"));

	assert_non_null(trigger);
	return trigger;
}

static void sleep_at(struct wait_scene *scene, uint64_t number, struct trigger *trigger)
{
	wait_scene_sleep(scene, number, INT64_MAX, trigger_waiters(trigger));
}

/* Takes the next of those who were released, whom the caller expects. */
static void expect_released(struct wait_scene *scene, uint64_t number)
{
	struct sleeper *sleeper = triggers_next_released(scene->triggers);

	assert_non_null(sleeper);
	assert_int_equal(sleeper->number, number);
	assert_true(sleeper->facts.is_released);
	sleepers_remove(&scene->sleepers, sleeper);
}

static void it_is_set_until_it_is_released(void **state)
{
	struct wait_scene *scene = wait_scene_new();
	struct trigger *trigger;

	(void)state;
	assert_null(triggers_find(scene->triggers, STR("host.a")));
	assert_null(triggers_set(scene->triggers, STR("host/a"), STR("")));
	trigger = set(scene, "host.a");
	assert_true(scene_has_file("trigger/host.a"));
	assert_ptr_equal(triggers_find(scene->triggers, STR("host.a")), trigger);
	assert_ptr_equal(set(scene, "host.a"), trigger);
	assert_null(triggers_find(scene->triggers, STR("host")));
	set(scene, "service.x");
	triggers_release(scene->triggers, trigger);
	assert_false(scene_has_file("trigger/host.a"));
	assert_string_equal(scene->released, "h");
	assert_null(triggers_find(scene->triggers, STR("host.a")));
	assert_non_null(triggers_find(scene->triggers, STR("service.x")));
	assert_false(triggers_have_released(scene->triggers)); /* nobody waited for it */
	set(scene, "host.a");
	assert_true(scene_has_file("trigger/host.a"));
	wait_scene_free(scene);
}

/* A file that stays would set it again at the next reading. */
static void what_is_released_for_good_has_no_file(void **state)
{
	struct wait_scene *scene = wait_scene_new();
	struct trigger *trigger = set(scene, "hold.7-a");

	(void)state;
	sleep_at(scene, 1, trigger);
	scene_rename("trigger/hold.7-a", "intd/aside");
	scene_rename("bounce", "trigger/hold.7-a"); /* no folder can be removed like that */
	assert_int_equal(triggers_release_for_good(scene->triggers, trigger), -EISDIR);
	assert_string_equal(scene->released, "");
	assert_ptr_equal(triggers_find(scene->triggers, STR("hold.7-a")), trigger);
	assert_null(triggers_next_released(scene->triggers));
	scene_rename("trigger/hold.7-a", "bounce");
	scene_rename("intd/aside", "trigger/hold.7-a");
	assert_int_equal(triggers_release_for_good(scene->triggers, trigger), 0);
	assert_false(scene_has_file("trigger/hold.7-a"));
	assert_string_equal(scene->released, "h");
	assert_int_equal(triggers_release_for_good(scene->triggers, trigger), 0);
	expect_released(scene, 1);
	wait_scene_free(scene);
}

static void who_waited_is_taken_out_in_turn(void **state)
{
	static const uint64_t order[] = {1, 11, 2, 12, 3};
	struct wait_scene *scene = wait_scene_new();
	struct trigger *a = set(scene, "a");
	struct trigger *b = set(scene, "b");
	struct waiters others = {0};

	(void)state;
	for (uint64_t i = 1; i <= 3; i++)
		sleep_at(scene, i, a);
	sleep_at(scene, 11, b);
	sleep_at(scene, 12, b);
	assert_ptr_equal(triggers_of_waiters(scene->triggers, trigger_waiters(a)), a);
	assert_null(triggers_of_waiters(scene->triggers, &others));
	assert_null(triggers_of_waiters(scene->triggers, NULL));
	assert_null(triggers_next_released(scene->triggers));
	triggers_release(scene->triggers, a);
	triggers_release(scene->triggers, b);
	triggers_release(scene->triggers, b); /* nothing happens */
	assert_string_equal(scene->released, "ab");
	assert_null(triggers_of_waiters(scene->triggers, trigger_waiters(a)));
	for (size_t i = 0; i < COUNT_OF(order); i++) {
		assert_true(triggers_have_released(scene->triggers));
		expect_released(scene, order[i]);
	}
	assert_null(triggers_next_released(scene->triggers));
	assert_false(triggers_have_released(scene->triggers));
	wait_scene_free(scene);
}

static void who_still_sleeps_waits_on_when_it_is_set_again(void **state)
{
	struct wait_scene *scene = wait_scene_new();
	struct trigger *trigger = set(scene, "a");

	(void)state;
	sleep_at(scene, 1, trigger);
	sleep_at(scene, 2, trigger);
	triggers_release(scene->triggers, trigger);
	expect_released(scene, 1);
	assert_ptr_equal(set(scene, "a"), trigger);
	assert_false(triggers_have_released(scene->triggers));
	assert_null(triggers_next_released(scene->triggers));
	assert_int_equal(trigger_waiters(trigger)->count, 1);
	triggers_release(scene->triggers, trigger);
	expect_released(scene, 2);
	wait_scene_free(scene);
}

/* --- probes --- */

static void one_message_probes_less_and_less_often(void **state)
{
	static const int64_t delays[] = {1, 2, 4, 8, 16, 30, 30}; /* times the setting */
	struct wait_scene *scene = wait_scene_new();
	struct trigger *trigger = set(scene, "host.a");

	(void)state;
	for (uint64_t i = 0; i < COUNT_OF(delays); i++) {
		int64_t delay_us = delays[i] * SCENE_PROBE_US;

		sleep_at(scene, 100 + i, trigger);
		sleep_at(scene, 200 + i, trigger);
		fake_advance(delay_us - delay_us / 10 - (i > 0 ? 2 : 0));
		assert_int_equal(scene->probes, i);
		fake_advance(delay_us / 10 + 2);
		assert_int_equal(scene->probes, i + 1);
		assert_ptr_equal(scene->probed, trigger);
		assert_true(trigger_is_probe(trigger, scene));
		assert_false(trigger_is_probe(trigger, state));
		trigger_probe(scene->triggers, trigger, state); /* somebody does already */
		triggers_probe_ended(scene->triggers, state);
		assert_true(trigger_is_probe(trigger, scene));
		fake_advance(100 * SCENE_PROBE_US);
		assert_int_equal(scene->probes, i + 1);
		assert_ptr_equal(triggers_find(scene->triggers, STR("host.a")), trigger);
		triggers_probe_ended(scene->triggers, scene);
		assert_false(trigger_is_probe(trigger, scene));
	}
	assert_int_equal(scene->prober, 103); /* in the order in which they came */
	wait_scene_free(scene);
}

/* Who probes several has tried all of them at once; others go on. */
static void several_may_be_probed_by_one(void **state)
{
	static const char *const names[] = {"host.a", "host.b", "service.c", "host.d"};
	struct wait_scene *scene = wait_scene_new();
	struct trigger *triggers[COUNT_OF(names)];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		triggers[i] = set(scene, names[i]);
		trigger_probe(scene->triggers, triggers[i], i < 3 ? (void *)scene : (void *)state);
	}
	triggers_release(scene->triggers, triggers[1]); /* one of them answers */
	assert_true(trigger_is_probe(triggers[0], scene) && trigger_is_probe(triggers[2], scene));
	triggers_probe_ended(scene->triggers, scene);
	assert_false(trigger_is_probe(triggers[0], scene) || trigger_is_probe(triggers[2], scene));
	assert_true(trigger_is_probe(triggers[3], state));
	triggers_probe_ended(scene->triggers, scene);
	trigger_probe(scene->triggers, triggers[0], state);
	assert_true(trigger_is_probe(triggers[0], state));
	triggers_probe_ended(scene->triggers, state);
	wait_scene_free(scene);
}

static void who_does_not_try_is_asked_again(void **state)
{
	struct wait_scene *scene = wait_scene_new();
	struct trigger *trigger = set(scene, "directory");

	(void)state;
	sleep_at(scene, 1, trigger);
	scene->refuses_probes = true;
	fake_advance(SCENE_PROBE_US);
	assert_int_equal(scene->probes, 1);
	fake_advance(SCENE_PROBE_US - 1);
	assert_int_equal(scene->probes, 1);
	fake_advance(1);
	assert_int_equal(scene->probes, 2);
	wait_scene_free(scene);
}

static void only_servers_are_probed(void **state)
{
	static const struct {
		const char *name;
		bool is_probed;
	} cases[] = {{"host.a", true},  {"service.x", true}, {"directory", true},
		     {"hold.7", false}, {"event", false},    {"directory.x", false},
		     {"hosts", false}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct wait_scene *scene = wait_scene_new();
		struct trigger *trigger = set(scene, cases[i].name);

		sleep_at(scene, 1, trigger);
		fake_advance(10 * SCENE_PROBE_US);
		assert_int_equal(scene->probes, cases[i].is_probed);
		trigger_probe(scene->triggers, trigger, scene); /* nor after somebody tried */
		triggers_probe_ended(scene->triggers, scene);
		assert_int_equal(fake_timers(), cases[i].is_probed);
		wait_scene_free(scene);
	}
}

static void all_are_probed_in_time(void **state)
{
	enum { COUNT = 250 };
	struct wait_scene *scene = wait_scene_new();

	(void)state;
	scene->refuses_probes = true;
	for (unsigned i = 0; i < COUNT; i++) {
		char name[16];

		snprintf(name, sizeof name, "host.%u", i);
		sleep_at(scene, 1 + i, set(scene, name));
	}
	fake_advance(SCENE_PROBE_US);
	assert_int_equal(scene->probes, COUNT);
	triggers_stop(scene->triggers);
	assert_int_equal(fake_timers(), 0);
	set(scene, "host.more");
	assert_int_equal(fake_timers(), 0);
	wait_scene_free(scene);
}

static void the_delay_is_configured(void **state)
{
	struct wait_scene *scene = wait_scene_new();

	(void)state;
	triggers_configure(scene->triggers, SECOND_US);
	sleep_at(scene, 1, set(scene, "host.a"));
	fake_advance(SECOND_US);
	assert_int_equal(scene->probes, 1);
	wait_scene_free(scene);
}

static void who_probed_knows_nothing_of_one_that_was_released(void **state)
{
	struct wait_scene *scene = wait_scene_new();
	struct trigger *trigger = set(scene, "host.a");

	(void)state;
	sleep_at(scene, 1, trigger);
	sleep_at(scene, 2, trigger);
	fake_advance(SCENE_PROBE_US);
	assert_true(trigger_is_probe(trigger, scene));
	triggers_release(scene->triggers, trigger);
	assert_false(trigger_is_probe(trigger, scene));
	assert_ptr_equal(set(scene, "host.a"), trigger);
	triggers_probe_ended(scene->triggers, scene);
	fake_advance(SCENE_PROBE_US); /* from its beginning, and not twice that */
	assert_int_equal(scene->probes, 2);
	wait_scene_free(scene);
}

/* --- those that nobody wants --- */

static void one_that_nobody_wants_is_released(void **state)
{
	struct wait_scene *scene = wait_scene_new();

	(void)state;
	set(scene, "host.a");
	fake_advance(2 * SCENE_PROBE_US - 1);
	assert_string_equal(scene->released, "");
	fake_advance(1);
	assert_string_equal(scene->released, "h");
	assert_false(scene_has_file("trigger/host.a"));
	assert_int_equal(scene->searches, 2);
	wait_scene_free(scene);
}

static void one_that_somebody_awake_wants_stays(void **state)
{
	struct wait_scene *scene = wait_scene_new();

	(void)state;
	set(scene, "host.a");
	set(scene, "host.b");
	scene->still_wanted = "host.a";
	fake_advance(5 * SCENE_PROBE_US);
	assert_string_equal(scene->released, "h");
	assert_non_null(triggers_find(scene->triggers, STR("host.a")));
	assert_int_equal(scene->searches, 5); /* one for both */
	scene->still_wanted = NULL;
	fake_advance(2 * SCENE_PROBE_US);
	assert_string_equal(scene->released, "hh");
	wait_scene_free(scene);
}

/* --- the directory --- */

static void the_directory_is_read(void **state)
{
	struct wait_scene *scene = wait_scene_new();
	struct trigger *trigger;

	(void)state;
	sleep_at(scene, 1, set(scene, "gone"));
	set(scene, "kept");
	assert_int_equal(queue_trigger_release(scene_store, STR("gone")), 0);
	assert_int_equal(queue_trigger_set(scene_store, STR("host.new"), 0, STR("")), 0);
	assert_int_equal(triggers_read(scene->triggers), 0);
	assert_string_equal(scene->released, "g");
	assert_non_null(triggers_find(scene->triggers, STR("kept")));
	trigger = triggers_find(scene->triggers, STR("host.new"));
	assert_non_null(trigger);
	assert_non_null(trigger);
	/* what was released is not released again */
	assert_int_equal(triggers_read(scene->triggers), 0);
	assert_string_equal(scene->released, "g");
	expect_released(scene, 1);
	sleep_at(scene, 2, trigger);
	fake_advance(SCENE_PROBE_US);
	assert_int_equal(scene->probes, 1);
	wait_scene_free(scene);
}

/* A program's trigger goes with the last who asks for it. */
static void what_no_program_wants_is_released(void **state)
{
	struct wait_scene *scene = wait_scene_new();
	char name[32];

	(void)state;
	sleep_at(scene, 1, set(scene, "pipe.box.a"));
	set(scene, "pipe.box.b");
	set(scene, "the.moon");
	assert_int_equal(triggers_read(scene->triggers), 0);
	assert_string_equal(scene->released, ""); /* they were new */
	assert_int_equal(triggers_read(scene->triggers), 0);
	assert_string_equal(scene->released, "p");
	assert_false(scene_has_file("trigger/pipe.box.b"));
	assert_true(scene_has_file("trigger/pipe.box.a"));
	for (unsigned i = 0; i < 999; i++) {
		snprintf(name, sizeof name, "pipe.box.%u", i);
		set(scene, name);
	}
	assert_null(triggers_set(scene->triggers, STR("pipe.box.one.more"), STR("")));
	set(scene, "host.one.more");
	triggers_release(scene->triggers, triggers_find(scene->triggers, STR("pipe.box.7")));
	set(scene, "pipe.box.one.more");
	wait_scene_free(scene);
}

/* Also to a process that did not set it. */
static void a_hold_knows_until_when(void **state)
{
	struct wait_scene *scene = wait_scene_new();
	struct trigger *hold;

	(void)state;
	hold = triggers_set_until(scene->triggers, STR("hold.1-1"), STR("x"), STR("the.moon"));
	assert_non_null(hold);
	assert_true(str_equal(triggers_until(scene->triggers, hold), STR("the.moon")));
	assert_int_equal(
		queue_trigger_set_until(scene_store, STR("hold.2-1"), 0, STR("x"), STR("the.sun")),
		0);
	triggers_look(scene->triggers, STR("hold.2-1"));
	triggers_look(scene->triggers, STR("hold.3-1"));
	assert_null(triggers_find(scene->triggers, STR("hold.3-1")));
	hold = triggers_find(scene->triggers, STR("hold.2-1"));
	assert_non_null(hold);
	assert_true(str_equal(triggers_until(scene->triggers, hold), STR("the.sun")));
	triggers_release(scene->triggers, hold);
	hold = set(scene, "hold.2-1");
	assert_int_equal(triggers_until(scene->triggers, hold).length, 0);
	wait_scene_free(scene);
}

/* Nothing is known then: neither that one is gone, nor can one be set. */
static void a_directory_that_cannot_be_read_releases_nothing(void **state)
{
	struct wait_scene *scene = wait_scene_new();

	(void)state;
	set(scene, "kept");
	scene_rename("trigger", "elsewhere");
	assert_int_equal(triggers_read(scene->triggers), -ENOENT);
	assert_string_equal(scene->released, "");
	assert_null(triggers_set(scene->triggers, STR("other"), STR("")));
	assert_null(triggers_find(scene->triggers, STR("other")));
	scene_rename("elsewhere", "trigger");
	assert_non_null(triggers_find(scene->triggers, STR("kept")));
	wait_scene_free(scene);
}

/* By one that waits, by its name, or because nobody knows any more whose it is. */
static void those_of_a_domain_are_released(void **state)
{
	struct wait_scene *scene = wait_scene_new();
	struct trigger *a = set(scene, "host.a.example:24");
	struct trigger *c = set(scene, "host.c.example");
	struct trigger *service = set(scene, "service.s");
	char domain[32];

	(void)state;
	(void)set(scene, "host.mx.b.example");
	for (int i = 0; i < TRIGGER_DOMAINS_MAX - 1; i++) {
		snprintf(domain, sizeof domain, "%d.example", i);
		trigger_note_domain(a, str_from(domain));
		trigger_note_domain(a, str_from(domain));
	}
	trigger_note_domain(service, STR("d.example"));
	triggers_release_domain(scene->triggers, STR(""));
	triggers_release_domain(scene->triggers, STR("d.example"));
	triggers_release_domain(scene->triggers, STR("x.c.example"));
	assert_int_equal(strlen(scene->released), 0);
	triggers_release_domain(scene->triggers, STR("b.example"));
	assert_int_equal(strlen(scene->released), 1);
	assert_null(triggers_find(scene->triggers, STR("host.mx.b.example")));
	triggers_release_domain(scene->triggers, STR("254.example"));
	assert_int_equal(strlen(scene->released), 2);
	assert_null(triggers_find(scene->triggers, STR("host.a.example:24")));
	for (int i = 0; i < TRIGGER_DOMAINS_MAX; i++) {
		snprintf(domain, sizeof domain, "%d.example", i);
		trigger_note_domain(c, str_from(domain));
	}
	triggers_release_domain(scene->triggers, STR("d.example"));
	assert_int_equal(strlen(scene->released), 3);
	assert_ptr_equal(triggers_find(scene->triggers, STR("service.s")), service);
	wait_scene_free(scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_set_until_it_is_released),
		cmocka_unit_test(what_is_released_for_good_has_no_file),
		cmocka_unit_test(who_waited_is_taken_out_in_turn),
		cmocka_unit_test(who_still_sleeps_waits_on_when_it_is_set_again),
		cmocka_unit_test(one_message_probes_less_and_less_often),
		cmocka_unit_test(several_may_be_probed_by_one),
		cmocka_unit_test(who_does_not_try_is_asked_again),
		cmocka_unit_test(only_servers_are_probed),
		cmocka_unit_test(all_are_probed_in_time),
		cmocka_unit_test(the_delay_is_configured),
		cmocka_unit_test(who_probed_knows_nothing_of_one_that_was_released),
		cmocka_unit_test(one_that_nobody_wants_is_released),
		cmocka_unit_test(one_that_somebody_awake_wants_stays),
		cmocka_unit_test(the_directory_is_read),
		cmocka_unit_test(what_no_program_wants_is_released),
		cmocka_unit_test(a_hold_knows_until_when),
		cmocka_unit_test(a_directory_that_cannot_be_read_releases_nothing),
		cmocka_unit_test(those_of_a_domain_are_released),
	};

	return cmocka_run_group_tests(tests, scene_open, scene_close);
}
