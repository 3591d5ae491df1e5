// SPDX-License-Identifier: ISC
/* What becomes one job, what is known of destinations, and what keeps them from being tried. */
#include "base/timestamp.h"
#include "ipc/channel.h"
#include "ipc/job.h"
#include "manager/wait/schedule.h"
#include "test.h"
#include "turn_scene.h"
#include <stdio.h>
#include <string.h>

enum { ROOM = IPC_BODY_MAX - IPC_JOB_HEAD_MAX };

struct part {
	unsigned message;
	const char *destination;
	const char *sender;
	size_t size;
	bool is_retry;
	uint32_t apart;
};

static void what_goes_together_is_one_job(void **state)
{
	static const struct part first = {1, "a.example", "s@s.example", 50, false, 0};
	static const struct {
		struct part part;
		int result;
	} cases[] = {
		{{1, "a.example", "s@s.example", 50, false, 0}, 0},
		{{1, "a.example", "s@s.example", ROOM - 50, false, 0}, 0},
		{{1, "a.example", "s@s.example", ROOM - 49, false, 0}, 1},
		{{2, "a.example", "s@s.example", 50, false, 0}, 1},
		{{1, "b.example", "s@s.example", 50, false, 0}, 1},
		{{1, "a.example", "t@s.example", 50, false, 0}, 1},
		{{1, "a.example", "s@s.example", 50, true, 0}, 1},
		{{1, "a.example", "s@s.example", 50, false, 1}, 1},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct turn_scene *scene = scene_new(8, 8);
		const struct part *const parts[] = {&first, &cases[i].part};
		struct job *jobs[2] = {NULL, NULL};
		int result = -1;

		for (size_t k = 0; k < 2; k++) {
			const struct transport_delivery delivery = {
				.message = scene_message(parts[k]->message),
				.index = (uint32_t)k,
				.destination = str_from(parts[k]->destination),
				.sender = str_from(parts[k]->sender),
				.size = parts[k]->size,
				.is_retry = parts[k]->is_retry,
				.apart = parts[k]->apart};
			struct waiters *waiters;

			result = transport_add(scene->remote, &delivery, &jobs[k], &waiters);
		}
		assert_int_equal(result, cases[i].result);
		assert_int_equal(jobs[0] == jobs[1], result == 0);
		assert_int_equal(jobs[1]->deliveries[jobs[1]->delivery_count - 1].index, 1);
		assert_int_equal(transport_count(scene->remote).waiting, result == 0 ? 1 : 2);
		scene_free(scene);
	}
}

/* Those of one recipient go together. */
static void what_is_apart_joins_its_own(void **state)
{
	struct transport_delivery apart = {.message = scene_message(1),
					   .destination = STR("a.example"),
					   .sender = STR("s@s.example"),
					   .apart = 1};
	struct turn_scene *scene = scene_new(8, 8);
	struct waiters *waiters;
	struct job *one;
	struct job *other;

	(void)state;
	assert_int_equal(transport_add(scene->remote, &apart, &one, &waiters), 1);
	assert_int_equal(transport_add(scene->remote, &apart, &other, &waiters), 0);
	assert_ptr_equal(one, other);
	apart.apart = 2;
	assert_int_equal(transport_add(scene->remote, &apart, &other, &waiters), 1);
	scene_free(scene);
}

/* Nor does another join one that is apart, or one that others came after. */
static void nothing_joins_what_is_apart(void **state)
{
	const struct transport_delivery alone = {.message = scene_message(1),
						 .destination = STR("a.example"),
						 .sender = STR("s@s.example"),
						 .apart = 1};
	struct turn_scene *scene = scene_new(8, 8);
	struct waiters *waiters;
	struct job *one;
	struct job *other;

	(void)state;
	assert_int_equal(transport_add(scene->remote, &alone, &one, &waiters), 1);
	other = scene_add(scene, "a.example", "s@s.example", 1);
	assert_ptr_not_equal(one, other);
	scene_add(scene, "a.example", "s@s.example", 2);
	assert_ptr_not_equal(scene_add(scene, "a.example", "s@s.example", 1), other);
	assert_int_equal(transport_count(scene->remote).waiting, 4);
	scene_free(scene);
}

static void a_job_has_so_many_recipients(void **state)
{
	struct turn_scene *scene = scene_new(8, 8);
	struct job *job = scene_add(scene, "a.example", "s@s.example", 1);

	(void)state;
	for (unsigned i = 1; i < IPC_JOB_RECIPIENTS_MAX; i++)
		assert_ptr_equal(scene_add(scene, "a.example", "s@s.example", 1), job);
	assert_int_equal(job->delivery_count, IPC_JOB_RECIPIENTS_MAX);
	assert_ptr_not_equal(scene_add(scene, "a.example", "s@s.example", 1), job);
	assert_ptr_equal(scene_start(scene, scene->remote), job);
	scene_end(scene, job, 0, true);
	job = scene_start(scene, scene->remote);
	assert_ptr_not_equal(scene_add(scene, "a.example", "s@s.example", 1), job); /* it left */
	scene_end(scene, job, 0, true);
	scene_free(scene);
}

static void counts_are_told(void **state)
{
	struct turn_scene *scene = scene_new(8, 8);
	struct transport_counts counts;
	struct job *job;

	(void)state;
	scene_add(scene, "a.example", "s@s.example", 1);
	scene_add(scene, "a.example", "s@s.example", 2);
	scene_add(scene, "b.example", "s@s.example", 3);
	job = scene_start(scene, scene->remote);
	counts = transport_count(scene->remote);
	assert_int_equal(counts.waiting, 2);
	assert_int_equal(counts.in_flight, 1);
	assert_int_equal(counts.destinations, 2);
	assert_ptr_equal(job_transport(job), scene->remote);
	scene_end(scene, job, 0, true);
	assert_int_equal(transport_count(scene->remote).in_flight, 0);
	scene_free(scene);
}

static void transports_are_found_by_name(void **state)
{
	struct turn_scene *scene = scene_new(8, 8);
	const char *const *names;
	struct transport *t = NULL;
	unsigned count = 0;

	(void)state;
	assert_null(transports_find(scene->transports, STR("remot")));
	assert_int_equal(transports_services(scene->transports, &names), 1);
	assert_string_equal(names[0], "local");
	assert_true(transport_is_remote(scene->remote));
	assert_false(transport_is_remote(scene->local));
	assert_int_equal(transport_skip(scene->remote), SCHEDULE_SKIP_REMOTE);
	assert_int_equal(transport_skip(scene->local), SCHEDULE_SKIP_LOCAL);
	while ((t = transports_next(scene->transports, t)) != NULL)
		count++;
	assert_int_equal(count, 2);
	scene_configure(scene);
	assert_ptr_equal(transports_find(scene->transports, STR("remote")), scene->remote);
	scene_free(scene);
}

static void whoever_waits_is_found(void **state)
{
	struct turn_scene *scene = scene_new(8, 1);
	struct job *jobs[2];

	(void)state;
	assert_null(transports_waiting(scene->transports));
	jobs[0] = scene_add_retry(scene, "a.example", 1);
	jobs[1] = scene_add_retry(scene, "a.example", 2);
	assert_ptr_equal(transports_waiting(scene->transports), jobs[0]);
	assert_ptr_equal(scene_start(scene, scene->remote), jobs[0]);
	assert_ptr_equal(transports_waiting(scene->transports),
			 jobs[1]); /* though it may not start */
	scene_end(scene, jobs[0], 0, true);
	assert_ptr_equal(scene_start(scene, scene->remote), jobs[1]);
	assert_null(transports_waiting(scene->transports));
	scene_end(scene, jobs[1], 0, true);
	scene_free(scene);
}

/* --- obstacles --- */

static void an_obstacle_is_of_its_destinations(void **state)
{
	static const char *const names[] = {"a", "b", "c"};
	const int obstacles[2] = {0};
	struct turn_scene *scene = scene_new(8, 8);
	struct job *jobs[COUNT_OF(names)];

	(void)state;
	assert_null(transport_obstacle(scene->remote, STR("a")));
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		scene_add(scene, names[i], "s@s.example", (unsigned)i);
		jobs[i] = scene_start(scene, scene->remote);
		assert_null(job_obstacle(jobs[i]));
		transport_block(jobs[i], &obstacles[i == 1]);
	}
	transport_block(jobs[0], &obstacles[1]); /* the first one counts */
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		scene_end(scene, jobs[i], 0, false);
		assert_ptr_equal(transport_obstacle(scene->remote, str_from(names[i])),
				 &obstacles[i == 1]);
	}
	transports_unblock(scene->transports, &obstacles[0]);
	assert_null(transport_obstacle(scene->remote, STR("a")));
	assert_ptr_equal(transport_obstacle(scene->remote, STR("b")), &obstacles[1]);
	assert_null(transport_obstacle(scene->remote, STR("c")));
	transports_unblock(scene->transports, &obstacles[0]);
	transports_unblock(scene->transports, &obstacles[1]);
	assert_null(transport_obstacle(scene->remote, STR("b")));
	scene_free(scene);
}

static void those_beside_a_job_are_found(void **state)
{
	struct turn_scene *scene = scene_new(8, 1);
	struct job *first = scene_add(scene, "a", "s@s.example", 1);
	struct job *new = scene_add(scene, "a", "s@s.example", 2);
	struct job *retry = scene_add_retry(scene, "a", 3);

	(void)state;
	scene_add(scene, "b", "s@s.example", 4);
	assert_ptr_equal(scene_start(scene, scene->remote), first);
	assert_ptr_equal(job_waiting_beside(first), new);
	transport_job_ended(new, scene->now_us);
	assert_ptr_equal(job_waiting_beside(first), retry);
	transport_job_ended(retry, scene->now_us);
	assert_null(job_waiting_beside(first));
	scene_end(scene, first, 0, true);
	scene_free(scene);
}

/* --- what is forgotten --- */

static void those_used_last_are_remembered(void **state)
{
	enum { KEPT = 4096 };
	const int obstacle = 0;
	struct turn_scene *scene = scene_new(8, 8);
	struct job *job;
	char name[16];

	(void)state;
	scene_add(scene, "blocked", "s@s.example", 1);
	job = scene_start(scene, scene->remote);
	transport_block(job, &obstacle);
	scene_end(scene, job, 0, false);
	for (unsigned i = 0; i < KEPT; i++) {
		snprintf(name, sizeof name, "%u", i);
		scene_deliver(scene, name, 0, true);
	}
	assert_int_equal(transport_count(scene->remote).destinations, KEPT + 1);
	scene_deliver(scene, "0", 0, true); /* used again: "1" is the oldest now */
	scene_deliver(scene, "one more", 0, true);
	assert_int_equal(transport_count(scene->remote).destinations, KEPT + 1);
	scene_deliver(scene, "0", 0, true);
	assert_int_equal(transport_count(scene->remote).destinations, KEPT + 1);
	scene_add(scene, "1", "s@s.example", 1);
	assert_int_equal(transport_count(scene->remote).destinations, KEPT + 2);
	assert_ptr_equal(transport_obstacle(scene->remote, STR("blocked")), &obstacle);
	transports_unblock(scene->transports, &obstacle);
	transports_sweep(scene->transports);
	assert_int_equal(transport_count(scene->remote).destinations, KEPT + 1);
	scene_free(scene);
}

static void a_retry_joins_only_its_own_message_there(void **state)
{
	static const struct {
		unsigned message;
		const char *destination;
		uint32_t apart;
		unsigned count;
	} cases[] = {{1, "a.example", 0, 2},
		     {2, "a.example", 0, 1},
		     {1, "b.example", 0, 1},
		     {1, "a.example", 7, 1}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct turn_scene *scene = scene_new(8, 8);
		struct job *job = scene_add_retry(scene, "a.example", 1);
		const struct transport_delivery delivery = {
			.message = scene_message(cases[i].message),
			.index = 1,
			.destination = str_from(cases[i].destination),
			.sender = STR("s@s.example"),
			.size = 50,
			.is_retry = true,
			.apart = cases[i].apart};

		transport_join(scene->remote, &delivery);
		assert_int_equal(job->delivery_count, cases[i].count);
		assert_ptr_equal(scene_start(scene, scene->remote), job);
		assert_null(scene_start(scene, scene->remote));
		scene_end(scene, job, SCENE_MS, true);
		scene_free(scene);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_goes_together_is_one_job),
		cmocka_unit_test(nothing_joins_what_is_apart),
		cmocka_unit_test(what_is_apart_joins_its_own),
		cmocka_unit_test(a_retry_joins_only_its_own_message_there),
		cmocka_unit_test(a_job_has_so_many_recipients),
		cmocka_unit_test(counts_are_told),
		cmocka_unit_test(transports_are_found_by_name),
		cmocka_unit_test(whoever_waits_is_found),
		cmocka_unit_test(an_obstacle_is_of_its_destinations),
		cmocka_unit_test(those_beside_a_job_are_found),
		cmocka_unit_test(those_used_last_are_remembered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
