// SPDX-License-Identifier: ISC
/* How many deliveries may be in flight: of a destination, of those of a speed, in all. */
#include "base/timestamp.h"
#include "test.h"
#include "turn_scene.h"
#include <stdio.h>
#include <string.h>

enum { JOBS_MAX = 256 };

/* How many of COUNT jobs for each of DESTINATIONS may be in flight; they are put into JOBS. */
static size_t start(struct turn_scene *scene, const char *prefix, unsigned destinations,
		    unsigned count, struct job **jobs)
{
	for (unsigned i = 0; i < destinations * count; i++) {
		char name[16];

		snprintf(name, sizeof name, "%s%u", prefix, i % destinations);
		scene_add(scene, name, "s@s.example", i);
	}
	return scene_start_all(scene, jobs, JOBS_MAX);
}

static void end_all(struct turn_scene *scene, struct job **jobs, size_t count)
{
	for (size_t i = 0; i < count; i++)
		scene_end(scene, jobs[i], 0, true);
}

static void deliver_each(struct turn_scene *scene, const char *prefix, unsigned destinations,
			 int64_t after_us)
{
	for (unsigned i = 0; i < destinations; i++) {
		char name[16];

		snprintf(name, sizeof name, "%s%u", prefix, i);
		scene_deliver(scene, name, after_us, true);
	}
}

static void the_window_follows_what_happened(void **state)
{
	static const struct {
		const char *ends; /* '+': answered; '-': nobody was there */
		size_t window;
	} cases[] = {
		{"", 2},           {"+", 3},        {"++", 4},   {"+++++", 7},     {"++++++", 8},
		{"+++++++++", 8},  {"-", 1},        {"--", 1},   {"---+", 2},      {"++++-", 3},
		{"+++++++++-", 4}, {"++++++--", 2}, {"+++-", 2}, {"++++++---", 1}, {"-+", 2},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct turn_scene *scene = scene_new(100, 8);
		struct job *jobs[JOBS_MAX];

		for (const char *end = cases[i].ends; *end != '\0'; end++)
			scene_deliver(scene, "d0", SCENE_MS, *end == '+');
		assert_int_equal(start(scene, "d", 1, 20, jobs), cases[i].window);
		end_all(scene, jobs, cases[i].window);
		scene_free(scene);
	}
}

/* A bound that is lowered holds at once, and one that is raised too. */
static void a_destinations_places_are_configured(void **state)
{
	struct turn_scene *scene = scene_new(100, 8);
	struct job *jobs[JOBS_MAX];
	size_t count;

	(void)state;
	for (unsigned i = 0; i < 10; i++)
		scene_deliver(scene, "d0", SCENE_MS, true);
	scene->configured[0].destination_concurrency = 3;
	scene_configure(scene);
	count = start(scene, "d", 1, 20, jobs);
	assert_int_equal(count, 3);
	scene->configured[0].destination_concurrency = 5;
	scene_configure(scene);
	count += scene_start_all(scene, jobs + count, JOBS_MAX - count);
	assert_int_equal(count, 5);
	end_all(scene, jobs, count);
	scene_free(scene);
}

enum known { NEW, FAST, SLOW };

/* With all places that SLOW ones (or NEW ones) may have taken: whether one more may start that is
 * for "x". */
static bool may_start(struct turn_scene *scene, bool slow)
{
	struct job *jobs[JOBS_MAX];
	size_t count = start(scene, slow ? "s" : "n", slow ? 4 : 8, 2, jobs);
	struct job *job;
	bool may;

	scene_add(scene, "x", "s@s.example", 9998);
	job = scene_start(scene, scene->remote);
	may = job != NULL;
	if (may)
		assert_string_equal(job_destination(job), "x");
	if (may)
		scene_end(scene, job, 0, true);
	end_all(scene, jobs, count);
	return may;
}

struct speed_case {
	enum known before;
	int64_t after_us;
	bool is_reached;
	bool is_in_flight; /* still, after that time */
	enum known then;
};

static bool play(const struct speed_case *this, bool slow)
{
	struct turn_scene *scene = scene_new(8, 8);
	struct job *job;
	bool may;

	deliver_each(scene, "s", 4, 3 * SECOND_US);
	if (this->before != NEW)
		scene_deliver(scene, "x", this->before == SLOW ? 3 * SECOND_US : SCENE_MS, true);
	job = scene_add(scene, "x", "s@s.example", 1);
	assert_ptr_equal(scene_start(scene, scene->remote), job);
	if (!this->is_in_flight)
		scene_end(scene, job, this->after_us, this->is_reached);
	else
		scene->now_us += this->after_us;
	may = may_start(scene, slow);
	if (this->is_in_flight)
		scene_end(scene, job, 0, true);
	while ((job = scene_start(scene, scene->remote)) != NULL)
		scene_end(scene, job, 0, true);
	scene_free(scene);
	return may;
}

/* The table of turn/transport.h, and its edges. */
static void a_destinations_speed_is_learnt(void **state)
{
	static const struct speed_case cases[] = {
		{NEW, SCENE_MS, true, false, FAST},
		{NEW, 2 * SECOND_US - 1, true, false, FAST},
		{NEW, 2 * SECOND_US, true, false, SLOW},
		{NEW, SCENE_MS, false, false, NEW},
		{NEW, 2 * SECOND_US, false, false, SLOW},
		{NEW, 2 * SECOND_US - 1, true, true, NEW},
		{NEW, 2 * SECOND_US, true, true, SLOW},
		{FAST, 2 * SECOND_US - 1, true, false, FAST},
		{FAST, SCENE_MS, false, false, FAST},
		{FAST, 2 * SECOND_US, true, false, SLOW},
		{FAST, 2 * SECOND_US - 1, true, true, FAST},
		{FAST, 2 * SECOND_US, true, true, SLOW},
		{SLOW, SECOND_US - 1, true, false, FAST},
		{SLOW, SECOND_US, true, false, SLOW},
		{SLOW, SCENE_MS, false, false, SLOW},
		{SLOW, SCENE_MS, true, true, SLOW},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		bool beside_new = play(&cases[i], false);
		bool beside_slow = play(&cases[i], true);
		enum known then = beside_new ? FAST : beside_slow ? NEW : SLOW;

		if (then != cases[i].then)
			print_error("case %zu\n", i);
		assert_int_equal(then, cases[i].then);
		assert_int_equal(beside_slow, then != SLOW);
	}
}

static void each_speed_has_its_places(void **state)
{
	static const struct {
		uint32_t places, slow, doubtful;
	} cases[] = {{1, 1, 1}, {2, 1, 2}, {3, 1, 3},  {4, 2, 3},
		     {8, 4, 6}, {9, 4, 7}, {10, 5, 8}, {100, 50, 75}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		uint32_t places = cases[i].places;
		struct turn_scene *scene = scene_new(places, 20);
		struct job *jobs[JOBS_MAX];
		size_t count;

		deliver_each(scene, "s", places, 3 * SECOND_US);
		deliver_each(scene, "f", places, SCENE_MS);
		count = start(scene, "n", places, 1, jobs);
		assert_int_equal(count, cases[i].doubtful);
		end_all(scene, jobs, count);
		count = start(scene, "s", places, 1, jobs);
		count += start(scene, "m", places, 1, jobs + count);
		assert_int_equal(count, cases[i].doubtful);
		count += start(scene, "f", places, 1, jobs + count);
		assert_int_equal(count, places);
		end_all(scene, jobs, count);
		while ((jobs[0] = scene_start(scene, scene->remote)) != NULL)
			scene_end(scene, jobs[0], 0, true);
		scene_free(scene);
	}
}

static void slow_ones_have_half(void **state)
{
	static const struct {
		uint32_t places, slow;
	} cases[] = {{1, 1}, {2, 1}, {3, 1}, {4, 2}, {9, 4}, {100, 50}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct turn_scene *scene = scene_new(cases[i].places, 20);
		struct job *jobs[JOBS_MAX];
		size_t count;

		deliver_each(scene, "s", cases[i].places, 3 * SECOND_US);
		count = start(scene, "s", cases[i].places, 2, jobs);
		assert_int_equal(count, cases[i].slow);
		end_all(scene, jobs, count);
		scene_free(scene);
	}
}

static void a_service_has_all_places(void **state)
{
	struct turn_scene *scene = scene_new(8, 8);
	struct job *jobs[8];
	struct waiters *waiters;

	(void)state;
	for (unsigned turn = 0; turn < 2; turn++) { /* what it learnt then counts for hosts */
		for (unsigned i = 0; i < COUNT_OF(jobs); i++) {
			const struct transport_delivery delivery = {.message = scene_message(i),
								    .destination = STR(""),
								    .sender = STR("s@s.example")};

			assert_int_equal(transport_add(scene->local, &delivery, &jobs[i], &waiters),
					 1);
		}
		for (unsigned i = 0; i < COUNT_OF(jobs); i++) {
			if (i == 4)
				assert_null(scene_start(scene, scene->local));
			if (i >= 4)
				scene_end(scene, jobs[i - 4], 3 * SECOND_US, false);
			assert_ptr_equal(scene_start(scene, scene->local), jobs[i]);
		}
		for (unsigned i = 4; i < COUNT_OF(jobs); i++)
			scene_end(scene, jobs[i], 3 * SECOND_US, false);
	}
	scene_free(scene);
}

/* Those of a service that the directory names are hosts as all others: each has a window of its
 * own, and one that is away keeps nobody else from his. */
static void servers_of_a_service_are_hosts(void **state)
{
	static const struct str servers[] = {STR("192.0.2.7:24"), STR("192.0.2.7:24"),
					     STR("192.0.2.7:24"), STR("s.example:24")};
	struct turn_scene *scene = scene_new(8, 8);
	struct job *jobs[COUNT_OF(servers)];
	struct waiters *waiters;
	const int obstacle = 1;

	(void)state;
	for (unsigned i = 0; i < COUNT_OF(servers); i++) {
		const struct transport_delivery delivery = {.message = scene_message(i),
							    .destination = servers[i],
							    .sender = STR("s@s.example")};

		assert_int_equal(transport_add(scene->local, &delivery, &jobs[i], &waiters), 1);
	}
	assert_ptr_equal(scene_start(scene, scene->local), jobs[0]);
	assert_ptr_equal(scene_start(scene, scene->local), jobs[3]);
	assert_ptr_equal(scene_start(scene, scene->local), jobs[1]);
	assert_null(scene_start(scene, scene->local)); /* two at first, though it has places */
	transport_block(jobs[0], &obstacle);
	assert_ptr_equal(transport_obstacle(scene->local, servers[0]), &obstacle);
	assert_null(transport_obstacle(scene->local, servers[3]));
	scene_end(scene, jobs[0], SCENE_MS, false);
	scene_end(scene, jobs[1], SCENE_MS, false);
	transports_unblock(scene->transports, &obstacle);
	assert_ptr_equal(scene_start(scene, scene->local), jobs[2]);
	scene_end(scene, jobs[2], SCENE_MS, true);
	scene_end(scene, jobs[3], SCENE_MS, true);
	scene_free(scene);
}

static void one_that_is_paused_starts_nothing(void **state)
{
	struct turn_scene *scene = scene_new(8, 8);
	struct job *job = scene_add(scene, "x", "s@s.example", 1);

	(void)state;
	scene->configured[0].paused = true;
	scene_configure(scene);
	assert_false(transport_is_ready(scene->remote, scene->now_us));
	scene->configured[0].paused = false;
	scene->configured[0].concurrency = 0;
	scene_configure(scene);
	assert_false(transport_is_ready(scene->remote, scene->now_us));
	scene->configured[0].concurrency = 1;
	scene_configure(scene);
	assert_ptr_equal(scene_start(scene, scene->remote), job);
	scene_end(scene, job, 0, true);
	scene_free(scene);
}

/* Nodes have as many as they can take: neither the transport's places count, nor those of a
 * destination, nor how long it takes. */
static void other_nodes_have_their_own_places(void **state)
{
	struct turn_scene *scene = scene_new(4, 2);
	struct job *jobs[JOBS_MAX];

	(void)state;
	transport_hand_over(scene->remote, true);
	for (unsigned i = 0; i < JOBS_MAX; i++)
		scene_add(scene, "", "s@s.example", i);
	assert_int_equal(scene_start_all(scene, jobs, JOBS_MAX), JOBS_MAX);
	scene->now_us += MINUTE_US;
	assert_false(transport_is_ready(scene->remote, scene->now_us));
	end_all(scene, jobs, JOBS_MAX);
	scene_configure(scene); /* a reload does not change that */
	for (unsigned i = 0; i < 5; i++)
		scene_add(scene, "", "s@s.example", i);
	assert_int_equal(scene_start_all(scene, jobs, JOBS_MAX), 5);
	end_all(scene, jobs, 5);
	transport_hand_over(scene->remote, false);
	assert_int_equal(start(scene, "x", 4, 2, jobs), 3); /* of new ones, of four places */
	end_all(scene, jobs, 3);
	scene_free(scene);
}

/* When a destination that holds places will be known to be slow, others may start. */
static void it_is_asked_again_in_time(void **state)
{
	struct turn_scene *scene = scene_new(2, 2);
	struct job *jobs[3];
	int64_t began_us = scene->now_us;

	(void)state;
	jobs[0] = scene_add(scene, "x", "s@s.example", 0);
	assert_true(transport_look_again_us(scene->remote) == INT64_MAX); /* none is in flight */
	assert_ptr_equal(scene_start(scene, scene->remote), jobs[0]);
	assert_true(transport_look_again_us(scene->remote) == INT64_MAX); /* none waits */
	scene->now_us += SECOND_US;
	jobs[1] = scene_add(scene, "y", "s@s.example", 1);
	jobs[2] = scene_add(scene, "z", "s@s.example", 2);
	assert_ptr_equal(scene_start(scene, scene->remote), jobs[1]);
	assert_int_equal(transport_look_again_us(scene->remote), began_us + 2 * SECOND_US);
	scene->now_us = began_us + 2 * SECOND_US;
	assert_false(transport_is_ready(scene->remote, scene->now_us));
	assert_int_equal(transport_look_again_us(scene->remote), began_us + 3 * SECOND_US);
	scene->now_us = began_us + 3 * SECOND_US;
	assert_false(transport_is_ready(scene->remote, scene->now_us));
	assert_true(transport_look_again_us(scene->remote) == INT64_MAX);
	scene_end(scene, jobs[0], 0, true);
	assert_ptr_equal(scene_start(scene, scene->remote), jobs[2]);
	scene_end(scene, jobs[1], 0, true);
	scene_end(scene, jobs[2], 0, true);
	scene_free(scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_window_follows_what_happened),
		cmocka_unit_test(a_destinations_places_are_configured),
		cmocka_unit_test(a_destinations_speed_is_learnt),
		cmocka_unit_test(each_speed_has_its_places),
		cmocka_unit_test(slow_ones_have_half),
		cmocka_unit_test(a_service_has_all_places),
		cmocka_unit_test(servers_of_a_service_are_hosts),
		cmocka_unit_test(one_that_is_paused_starts_nothing),
		cmocka_unit_test(other_nodes_have_their_own_places),
		cmocka_unit_test(it_is_asked_again_in_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
