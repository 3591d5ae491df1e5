// SPDX-License-Identifier: ISC
/* Mail that waits for a place in a class of hosts: who is let go, when, and how many at once. */
#include "manager/wait/trigger/gate.h"
#include "test.h"
#include "unit/config/config_outcome.h"
#include "unit/limit/limit_scene.h"
#include "wait_scene.h"

enum { OTHER, OWN, PROCESSES, QUEUE = 3, MS = 1000 };

static const char CLASSES[] = "hostname = \"mx.test\"\n"
			      "class \"a.test\" { queue = 3 refuse = 5 }\n"
			      "class \"*\" { queue = 9 refuse = 9 }\n";

struct scene {
	struct wait_scene *wait;
	struct limit_scene limits;
	struct config *config;
	struct limit_classes *classes;
	struct gate *gate;
	struct trigger *trigger; /* of the first class */
};

static struct scene begin(void)
{
	struct scene scene = {.wait = wait_scene_new(), .config = config_of(CLASSES)};

	scene.wait->has_many = true;
	scene.classes = limit_classes_new(scene.config);
	limit_scene_init(&scene.limits, PROCESSES);
	for (size_t i = 0; i < PROCESSES; i++)
		limit_scene_start(&scene.limits, i, scene.classes);
	scene.gate = gate_new(NULL, scene.wait->triggers);
	gate_configure(scene.gate, scene.config, scene.limits.memories[OWN]);
	return scene;
}

static void set(struct scene *scene)
{
	scene->trigger =
		triggers_set(scene->wait->triggers, STR("class.a.test"), STR("it is full"));
	assert_non_null(scene->trigger);
	gate_look_soon(scene->gate);
}

static void end(struct scene *scene)
{
	gate_stop(scene->gate);
	wait_scene_free(scene->wait);
	gate_free(scene->gate);
	limit_scene_clear(&scene->limits);
	limit_classes_free(scene->classes);
	config_free(scene->config);
}

static void take(struct scene *scene, unsigned in, unsigned out)
{
	for (unsigned i = 0; i < in; i++)
		assert_true(limit_enter_in(scene->limits.counters[OTHER], 0));
	for (unsigned i = 0; i < out; i++)
		assert_true(limit_enter_out(scene->limits.counters[OTHER], 0));
}

static uint64_t waiting(const struct scene *scene)
{
	struct limit_total total;

	limit_total_of(scene->limits.supervisor, limit_classes_at(scene->classes, 0)->key, &total);
	return total.waiting;
}

static void sleep_there(struct scene *scene, uint64_t first, uint64_t last)
{
	for (uint64_t i = first; i <= last; i++)
		wait_scene_sleep(scene->wait, i, INT64_MAX, trigger_waiters(scene->trigger));
}

static void end_turn(struct scene *scene, uint64_t number)
{
	unsigned before = scene->wait->crowded;

	triggers_probe_ended(scene->wait->triggers, (const void *)(uintptr_t)number);
	assert_int_equal(scene->wait->crowded, before + 1);
	gate_look_soon(scene->gate);
}

/* Who waited longest first; those who have a turn are taken for outgoing sessions, whether they
 * have begun one or not. */
static void as_many_are_let_go_as_there_are_places(void **state)
{
	struct scene scene = begin();

	(void)state;
	take(&scene, 1, 2);
	set(&scene);
	sleep_there(&scene, 1, 5);
	fake_advance(50 * MS);
	assert_int_equal(scene.wait->probes, 0);
	assert_int_equal(waiting(&scene), 5);
	limit_leave_in(scene.limits.counters[OTHER], 0);
	fake_advance(20 * MS);
	assert_int_equal(scene.wait->probes, 1);
	assert_int_equal(scene.wait->prober, 1);
	assert_true(trigger_is_probe(scene.trigger, (const void *)(uintptr_t)1));
	assert_false(trigger_is_probe(scene.trigger, (const void *)(uintptr_t)2));
	assert_int_equal(trigger_turns(scene.trigger), 1);
	assert_int_equal(waiting(&scene), 4);
	take(&scene, 0, 1); /* it has begun */
	fake_advance(50 * MS);
	assert_int_equal(scene.wait->probes, 1);
	limit_leave_out(scene.limits.counters[OTHER], 0);
	end_turn(&scene, 1);
	fake_advance(2 * MS); /* without waiting for the next look */
	assert_int_equal(scene.wait->probes, 2);
	assert_int_equal(scene.wait->prober, 2);
	for (unsigned i = 0; i < 2; i++)
		limit_leave_out(scene.limits.counters[OTHER], 0);
	fake_advance(20 * MS);
	assert_int_equal(scene.wait->probes, QUEUE + 1);
	assert_int_equal(waiting(&scene), 1);
	assert_string_equal(scene.wait->released, "");
	end(&scene);
}

static void the_last_one_releases_it(void **state)
{
	struct scene scene = begin();

	(void)state;
	set(&scene);
	sleep_there(&scene, 1, 2);
	fake_advance(2 * MS);
	assert_int_equal(scene.wait->probes, 2);
	fake_advance(50 * MS);
	assert_string_equal(scene.wait->released, "");
	end_turn(&scene, 1);
	end_turn(&scene, 2);
	fake_advance(2 * MS);
	assert_string_equal(scene.wait->released, "c");
	assert_null(triggers_find(scene.wait->triggers, STR("class.a.test")));
	assert_int_equal(fake_timers(), 0); /* and nobody looks any more */
	end(&scene);
}

/* Who was refused sleeps only a little later. */
static void it_stays_while_there_is_no_place(void **state)
{
	struct scene scene = begin();

	(void)state;
	take(&scene, 3, 0);
	set(&scene);
	fake_advance(100 * MS);
	assert_string_equal(scene.wait->released, "");
	sleep_there(&scene, 1, 1);
	limit_leave_in(scene.limits.counters[OTHER], 0);
	fake_advance(20 * MS);
	assert_int_equal(scene.wait->prober, 1);
	end(&scene);
}

/* Then what waits decides again. */
static void a_class_that_is_gone_lets_all_go(void **state)
{
	struct scene scene = begin();
	struct config *other = config_of("hostname = \"mx.test\"\n"
					 "class \"*\" { queue = 9 refuse = 9 }\n");

	(void)state;
	take(&scene, 3, 0);
	set(&scene);
	sleep_there(&scene, 1, 1);
	fake_advance(20 * MS);
	assert_true(gate_knows(scene.gate, STR("class.a.test")));
	gate_configure(scene.gate, other, scene.limits.memories[OWN]);
	assert_false(gate_knows(scene.gate, STR("class.a.test")));
	assert_true(gate_knows(scene.gate, STR("class.[any]")));
	fake_advance(2 * MS);
	assert_string_equal(scene.wait->released, "c");
	assert_int_equal(waiting(&scene), 0);
	gate_configure(scene.gate, other, NULL);
	assert_false(gate_knows(scene.gate, STR("class.[any]")));
	end(&scene);
	config_free(other);
}

/* A release ends all turns: nobody is taken for one of the next who have them. */
static void an_operator_may_release_it(void **state)
{
	struct scene scene = begin();

	(void)state;
	set(&scene);
	sleep_there(&scene, 1, 5);
	fake_advance(2 * MS);
	assert_int_equal(trigger_turns(scene.trigger), QUEUE);
	triggers_release(scene.wait->triggers, scene.trigger);
	assert_null(triggers_turn_of(scene.wait->triggers, (const void *)(uintptr_t)1));
	set(&scene);
	assert_int_equal(trigger_turns(scene.trigger), 0);
	fake_advance(2 * MS);
	assert_int_equal(trigger_turns(scene.trigger), 2); /* those that still slept */
	triggers_probe_ended(scene.wait->triggers, (const void *)(uintptr_t)1);
	assert_int_equal(trigger_turns(scene.trigger), 2);
	end(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_many_are_let_go_as_there_are_places),
		cmocka_unit_test(the_last_one_releases_it),
		cmocka_unit_test(it_stays_while_there_is_no_place),
		cmocka_unit_test(a_class_that_is_gone_lets_all_go),
		cmocka_unit_test(an_operator_may_release_it),
	};

	return cmocka_run_group_tests(tests, scene_open, scene_close);
}
