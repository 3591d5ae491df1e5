// SPDX-License-Identifier: ISC
/* Who may have a session: both tables of the XLA text, step by step, in several processes. */
#include "limit_scene.h"
#include "test.h"
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum act { IN, OUT, LEAVE_IN, LEAVE_OUT };

struct step {
	size_t process;
	enum act act;
	const char *host;
	bool may;           /* for IN and OUT */
	const char *counts; /* of each class: in+out */
};

static size_t class_of(const struct limit_classes *classes, const char *host)
{
	struct in6_addr address;

	assert_int_equal(inet_pton(AF_INET6, "::ffff:192.0.2.1", &address), 1);
	return limit_classes_find(classes, str_from(host), &address);
}

static void show(const struct limit_scene *scene, const struct limit_classes *classes, char *text,
		 size_t size)
{
	size_t length = 0;

	for (size_t i = 0; i < limit_classes_count(classes); i++) {
		struct limit_total total;

		limit_total_of(scene->supervisor, limit_classes_at(classes, i)->key, &total);
		length +=
			(size_t)snprintf(text + length, size - length, "%s%u+%u", i > 0 ? " " : "",
					 (unsigned)total.in, (unsigned)total.out);
	}
}

static bool take(struct limit_counter *counter, size_t class, enum act act)
{
	if (act == IN)
		return limit_enter_in(counter, class);
	if (act == OUT)
		return limit_enter_out(counter, class);
	if (act == LEAVE_IN)
		limit_leave_in(counter, class);
	else
		limit_leave_out(counter, class);
	return false;
}

static void run(const char *text, const struct step *steps, size_t count)
{
	struct limit_classes *classes = limit_scene_classes(text);
	struct limit_scene scene;
	char counts[128];

	limit_scene_init(&scene, 3);
	for (size_t i = 0; i < 3; i++)
		limit_scene_start(&scene, i, classes);
	for (size_t i = 0; i < count; i++) {
		const struct step *step = &steps[i];
		bool may = take(scene.counters[step->process], class_of(classes, step->host),
				step->act);

		show(&scene, classes, counts, sizeof counts);
		if (may != step->may || strcmp(counts, step->counts) != 0)
			fail_msg("step %zu: %s, %s; wanted %s", i, may ? "may" : "may not", counts,
				 step->counts);
	}
	limit_scene_clear(&scene);
	limit_classes_free(classes);
}

/* L*.insa-lyon.fr 8 3, L*.univ-lyon1.fr 6 4, L* 15 16 */
static void the_first_table_of_xla_holds(void **state)
{
	static const char text[] = "class \"*.insa-lyon.fr\" { queue = 8 refuse = 3 }\n"
				   "class \"*.univ-lyon1.fr\" { queue = 6 refuse = 4 }\n"
				   "class \"*\" { queue = 15 refuse = 16 }\n";
	static const struct step steps[] = {
		/* insa: three come in, no more; but five more go out */
		{0, IN, "insa-lyon.fr", true, "1+0 0+0 0+0"},
		{1, IN, "grasp.insa-lyon.fr", true, "2+0 0+0 0+0"},
		{0, IN, "a.b.insa-lyon.fr", true, "3+0 0+0 0+0"},
		{0, IN, "grasp.insa-lyon.fr", false, "3+0 0+0 0+0"},
		{1, IN, "grasp.insa-lyon.fr", false, "3+0 0+0 0+0"},
		{2, OUT, "grasp.insa-lyon.fr", true, "3+1 0+0 0+0"},
		{2, OUT, "grasp.insa-lyon.fr", true, "3+2 0+0 0+0"},
		{2, OUT, "grasp.insa-lyon.fr", true, "3+3 0+0 0+0"},
		{2, OUT, "grasp.insa-lyon.fr", true, "3+4 0+0 0+0"},
		{2, OUT, "insa-lyon.fr", true, "3+5 0+0 0+0"},
		{2, OUT, "grasp.insa-lyon.fr", false, "3+5 0+0 0+0"},
		{0, LEAVE_IN, "insa-lyon.fr", false, "2+5 0+0 0+0"},
		{1, IN, "insa-lyon.fr", false, "2+5 0+0 0+0"}, /* seven are too many for it */
		{2, OUT, "grasp.insa-lyon.fr", true, "2+6 0+0 0+0"},
		{2, LEAVE_OUT, "insa-lyon.fr", false, "2+5 0+0 0+0"},
		/* univ: a class of its own */
		{0, IN, "univ-lyon1.fr", true, "2+5 1+0 0+0"},
		{1, IN, "x.univ-lyon1.fr", true, "2+5 2+0 0+0"},
		{2, OUT, "x.univ-lyon1.fr", true, "2+5 2+1 0+0"},
		{0, IN, "x.univ-lyon1.fr", true, "2+5 3+1 0+0"},
		{0, IN, "x.univ-lyon1.fr", false, "2+5 3+1 0+0"},
		{2, OUT, "x.univ-lyon1.fr", true, "2+5 3+2 0+0"},
		{2, OUT, "x.univ-lyon1.fr", true, "2+5 3+3 0+0"},
		{2, OUT, "x.univ-lyon1.fr", false, "2+5 3+3 0+0"},
		/* the others: outgoing mail is held back first, as 15 is below 16 */
		{2, OUT, "mx.example.net", true, "2+5 3+3 0+1"},
		{2, OUT, "mx.example.net", true, "2+5 3+3 0+2"},
		{0, IN, "mx.example.net", true, "2+5 3+3 1+2"},
		{1, IN, "", true, "2+5 3+3 2+2"},
		{0, IN, "", true, "2+5 3+3 3+2"},
		{1, IN, "", true, "2+5 3+3 4+2"},
		{0, IN, "", true, "2+5 3+3 5+2"},
		{1, IN, "", true, "2+5 3+3 6+2"},
		{0, IN, "", true, "2+5 3+3 7+2"},
		{1, IN, "", true, "2+5 3+3 8+2"},
		{0, IN, "", true, "2+5 3+3 9+2"},
		{1, IN, "", true, "2+5 3+3 10+2"},
		{0, IN, "", true, "2+5 3+3 11+2"},
		{1, IN, "", true, "2+5 3+3 12+2"},
		{2, OUT, "mx.example.net", true, "2+5 3+3 12+3"},
		{2, OUT, "mx.example.net", false, "2+5 3+3 12+3"},
		{0, IN, "", true, "2+5 3+3 13+3"},
		{0, IN, "", false, "2+5 3+3 13+3"},
		{2, LEAVE_OUT, "mx.example.net", false, "2+5 3+3 13+2"},
		{2, OUT, "mx.example.net", false, "2+5 3+3 13+2"}, /* the place is a client's */
		{1, IN, "", true, "2+5 3+3 14+2"},
		{1, IN, "", false, "2+5 3+3 14+2"},
	};

	(void)state;
	run(text, steps, COUNT_OF(steps));
}

/* L*.customer.fr 8 8, L* 3 3 */
static void the_second_table_of_xla_holds(void **state)
{
	static const char text[] = "class \"*.customer.fr\" { queue = 8 refuse = 8 }\n"
				   "class \"*\" { queue = 3 refuse = 3 }\n";
	static const struct step steps[] = {
		/* the line to the world: three, whichever way */
		{0, IN, "mx.example.net", true, "0+0 1+0"},
		{2, OUT, "mx.example.org", true, "0+0 1+1"},
		{1, IN, "mx.example.net", true, "0+0 2+1"},
		{0, IN, "mx.example.net", false, "0+0 2+1"},
		{2, OUT, "mx.example.net", false, "0+0 2+1"},
		/* within, eight */
		{0, IN, "customer.fr", true, "1+0 2+1"},
		{1, IN, "a.customer.fr", true, "2+0 2+1"},
		{2, OUT, "a.customer.fr", true, "2+1 2+1"},
		{2, OUT, "b.customer.fr", true, "2+2 2+1"},
		{0, IN, "b.customer.fr", true, "3+2 2+1"},
		{0, IN, "b.customer.fr", true, "4+2 2+1"},
		{1, IN, "b.customer.fr", true, "5+2 2+1"},
		{2, OUT, "b.customer.fr", true, "5+3 2+1"},
		{2, OUT, "b.customer.fr", false, "5+3 2+1"},
		{0, IN, "c.customer.fr", false, "5+3 2+1"},
		{2, LEAVE_OUT, "b.customer.fr", false, "5+2 2+1"},
		{0, IN, "c.customer.fr", true, "6+2 2+1"},
		{1, LEAVE_IN, "mx.example.net", false, "6+2 1+1"},
		{2, OUT, "mx.example.net", true, "6+2 1+2"},
		{1, IN, "mx.example.net", false, "6+2 1+2"},
	};

	(void)state;
	run(text, steps, COUNT_OF(steps));
}

/* --- processes that end, and reloads --- */

static const char plain[] = "class \"192.0.2.1\" { queue = 2 refuse = 2 }\n"
			    "class \"*\" { queue = 1 refuse = 1 }\n";

static uint64_t sessions(const struct limit_scene *scene, const struct limit_class *class)
{
	struct limit_total total;

	limit_total_of(scene->supervisor, class->key, &total);
	return total.in + total.out;
}

static void a_killed_process_leaves_its_places_when_it_is_reaped(void **state)
{
	struct limit_classes *classes = limit_scene_classes(plain);
	struct limit_scene scene;
	struct limit_total total;

	(void)state;
	limit_scene_init(&scene, 2);
	limit_scene_start(&scene, 0, classes);
	limit_scene_start(&scene, 1, classes);
	assert_true(limit_enter_in(scene.counters[0], 0));
	assert_true(limit_enter_out(scene.counters[0], 0));
	assert_true(limit_enter_in(scene.counters[0], 1));
	limit_set_waiting(scene.counters[0], 1, 7);
	assert_false(limit_enter_in(scene.counters[1], 0));
	assert_false(limit_enter_out(scene.counters[1], 1));
	assert_true(limit_is_all_full(scene.supervisor, classes));
	limit_slow_in(scene.counters[0], 1); /* another client could have its place */
	assert_false(limit_is_all_full(scene.supervisor, classes));
	limit_hasten_in(scene.counters[0], 1);
	assert_true(limit_is_all_full(scene.supervisor, classes));
	limit_slow_in(scene.counters[0], 1);
	limit_scene_kill(&scene, 0);
	assert_false(limit_enter_in(scene.counters[1], 0));
	limit_scene_reap(&scene, 0);
	assert_false(limit_is_all_full(scene.supervisor, classes));
	assert_true(limit_enter_in(scene.counters[1], 0));
	limit_scene_start(&scene, 0, classes);
	assert_true(limit_enter_in(scene.counters[0], 0));
	assert_false(limit_enter_in(scene.counters[0], 0));
	limit_total_of(scene.supervisor, limit_classes_at(classes, 0)->key, &total);
	assert_int_equal(total.in, 2);
	assert_int_equal(total.out, 0);
	assert_int_equal(total.refused, 3); /* that is kept */
	limit_total_of(scene.supervisor, limit_classes_at(classes, 1)->key, &total);
	assert_int_equal(total.slowed, 0);
	assert_int_equal(total.held, 1);
	assert_int_equal(total.waiting, 0);
	limit_scene_clear(&scene);
	limit_classes_free(classes);
}

/* One process has the new classes already, the other one has not. */
static void processes_with_different_classes_count_the_same(void **state)
{
	struct limit_classes *old = limit_scene_classes(plain);
	struct limit_classes *new =
		limit_scene_classes("class \"198.51.100.0/24\" { queue = 1 refuse = 1 }\n"
				    "class \"192.0.2.1\" { queue = 3 refuse = 3 }\n"
				    "class \"*\" { queue = 1 refuse = 1 }\n");
	struct limit_scene scene;

	(void)state;
	limit_scene_init(&scene, 2);
	limit_scene_start(&scene, 0, old);
	limit_scene_start(&scene, 1, old);
	assert_true(limit_enter_in(scene.counters[0], 0));
	assert_true(limit_enter_in(scene.counters[0], 1)); /* from 198.51.100.7 */
	assert_true(limit_enter_in(scene.counters[1], 0));

	limit_recount_begin(scene.counters[0], scene.memories[0], new);
	limit_recount_in(scene.counters[0], 1);
	assert_int_equal(sessions(&scene, limit_classes_at(old, 0)), 2);
	limit_recount_in(scene.counters[0], 0);
	limit_recount_end(scene.counters[0]);
	assert_int_equal(sessions(&scene, limit_classes_at(new, 0)), 1);
	assert_int_equal(sessions(&scene, limit_classes_at(new, 1)), 2);
	assert_int_equal(sessions(&scene, limit_classes_at(new, 2)), 0);
	assert_false(limit_enter_in(scene.counters[1], 0));
	assert_true(limit_enter_in(scene.counters[1], 1));
	assert_true(limit_enter_in(scene.counters[0], 1));
	assert_false(limit_enter_in(scene.counters[0], 0));
	assert_false(limit_enter_in(scene.counters[0], 2));

	/* back again: the places of the class that is gone are free */
	limit_recount_begin(scene.counters[0], scene.memories[0], old);
	limit_recount_end(scene.counters[0]);
	assert_int_equal(sessions(&scene, limit_classes_at(new, 0)), 0);
	assert_int_equal(sessions(&scene, limit_classes_at(old, 0)), 1);
	limit_scene_clear(&scene);
	limit_classes_free(old);
	limit_classes_free(new);
}

static void a_recount_may_exceed_the_limit_and_then_nobody_enters(void **state)
{
	struct limit_classes *classes = limit_scene_classes(plain);
	struct limit_scene scene;

	(void)state;
	limit_scene_init(&scene, 1);
	limit_scene_start(&scene, 0, classes);
	limit_recount_begin(scene.counters[0], scene.memories[0], classes);
	for (unsigned i = 0; i < 5; i++)
		limit_recount_in(scene.counters[0], 0);
	limit_recount_end(scene.counters[0]);
	for (unsigned i = 0; i < 4; i++) {
		assert_false(limit_enter_in(scene.counters[0], 0));
		limit_leave_in(scene.counters[0], 0);
	}
	assert_true(limit_enter_in(scene.counters[0], 0));
	assert_false(limit_enter_in(scene.counters[0], 0));
	limit_scene_clear(&scene);
	limit_classes_free(classes);
}

/* What a process that was taken over writes into its row harms nobody for longer than it lives, and
 * its successor not at all. */
static void a_scribbled_row_is_put_right(void **state)
{
	struct limit_classes *classes = limit_scene_classes(plain);
	struct limit_scene scene;
	unsigned char *row;

	(void)state;
	limit_scene_init(&scene, 2);
	limit_scene_start(&scene, 0, classes);
	limit_scene_start(&scene, 1, classes);
	row = limit_memory_area(scene.memories[0], 0, LIMIT_AREA_SESSIONS, 1);
	for (unsigned fill = 0; fill < 3; fill++) {
		static const unsigned char bytes[] = {0xff, 0x01, 0x00};

		memset(row, bytes[fill], limit_count_area_size());
		(void)!limit_enter_in(scene.counters[1], 0);
		(void)!limit_enter_out(scene.counters[1], 1);
		limit_scene_kill(&scene, 0);
		limit_scene_reap(&scene, 0);
		limit_scene_start(&scene, 0, classes);
		row = limit_memory_area(scene.memories[0], 0, LIMIT_AREA_SESSIONS, 1);
		limit_scene_kill(&scene, 1);
		limit_scene_reap(&scene, 1);
		limit_scene_start(&scene, 1, classes);
		assert_true(limit_enter_in(scene.counters[0], 0));
		assert_true(limit_enter_in(scene.counters[1], 0));
		assert_false(limit_enter_in(scene.counters[1], 0));
		limit_leave_in(scene.counters[0], 0);
		limit_leave_in(scene.counters[1], 0);
	}
	limit_scene_clear(&scene);
	limit_classes_free(classes);
}

static void a_row_that_comes_later_counts(void **state)
{
	struct limit_classes *classes = limit_scene_classes(plain);
	struct limit_scene scene;
	struct limit_memory *memory;
	struct limit_counter *counter;

	(void)state;
	limit_scene_init(&scene, 2);
	memory = limit_memory_new(limit_memory_layout(scene.supervisor));
	assert_int_equal(limit_memory_add(memory, "smtpd.0", scene.rows[0], true), 0);
	counter = limit_counter_new(memory, classes);
	assert_true(limit_enter_in(counter, 1));
	limit_leave_in(counter, 1);
	limit_scene_start(&scene, 1, classes);
	assert_int_equal(limit_memory_add(memory, "smtpd.1", scene.readers[1], false), 0);
	assert_true(limit_enter_out(scene.counters[1], 1));
	assert_false(limit_enter_in(counter, 1));
	limit_counter_free(counter);
	limit_memory_free(memory);
	limit_scene_clear(&scene);
	limit_classes_free(classes);
}

static void without_a_counter_everybody_may_enter(void **state)
{
	(void)state;
	assert_true(limit_enter_in(NULL, 0));
	assert_true(limit_enter_out(NULL, 5));
	limit_leave_in(NULL, 0);
	limit_leave_out(NULL, 5);
	limit_slow_in(NULL, 0);
	limit_hasten_in(NULL, 0);
	limit_hold_out(NULL, 5);
	limit_set_waiting(NULL, 0, 1);
	limit_counter_free(NULL);
}

/* Rows of a configuration without classes. */
static void without_sessions_in_the_rows_there_is_nothing_to_clear(void **state)
{
	struct limit_layout layout = {.count = 0};
	struct limit_memory *memory;
	char *rates;
	int row;

	(void)state;
	limit_layout_add(&layout, LIMIT_AREA_RATES, 100, false);
	row = limit_row_new(&layout, "smtpd.0");
	memory = limit_memory_new(&layout);
	assert_int_equal(limit_memory_add(memory, "smtpd.0", row, true), 0);
	rates = limit_memory_area(memory, 0, LIMIT_AREA_RATES, 100);
	memset(rates, 'r', 100);
	limit_clear_sessions(memory, 0);
	for (size_t i = 0; i < 100; i++)
		assert_int_equal(rates[i], 'r');
	limit_memory_free(memory);
	close(row);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_table_of_xla_holds),
		cmocka_unit_test(the_second_table_of_xla_holds),
		cmocka_unit_test(a_killed_process_leaves_its_places_when_it_is_reaped),
		cmocka_unit_test(processes_with_different_classes_count_the_same),
		cmocka_unit_test(a_recount_may_exceed_the_limit_and_then_nobody_enters),
		cmocka_unit_test(a_scribbled_row_is_put_right),
		cmocka_unit_test(a_row_that_comes_later_counts),
		cmocka_unit_test(without_a_counter_everybody_may_enter),
		cmocka_unit_test(without_sessions_in_the_rows_there_is_nothing_to_clear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
