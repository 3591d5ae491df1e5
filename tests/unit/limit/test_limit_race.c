// SPDX-License-Identifier: ISC
/*
 * Real processes that fight for the last places of a class: at no instant do more have one than the
 * limit allows, and none is lost. What they really have is counted beside, in memory that all
 * share.
 */
#include "limit_scene.h"
#include "test.h"
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSES = 2, ROUNDS = 30000, PLACES = 1, SPINS = 20000, JITTER = 40 };

struct witness {
	_Atomic unsigned arrived; /* at the next barrier */
	_Atomic int have;         /* places in use */
	_Atomic unsigned too_many;
	_Atomic unsigned full; /* rounds in which all places were given */
	_Atomic unsigned entered[PROCESSES];
};

static struct witness *new_witness(void)
{
	void *place = mmap(NULL, sizeof(struct witness), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(place, MAP_FAILED);
	return place;
}

/* All go on at the same moment if each has a processor. */
static void meet(struct witness *witness, unsigned number)
{
	atomic_fetch_add(&witness->arrived, 1);
	for (unsigned i = 0; atomic_load(&witness->arrived) < number * PROCESSES; i++)
		if (i > SPINS)
			sched_yield();
}

static bool take(struct limit_counter *counter, bool is_in)
{
	return is_in ? limit_enter_in(counter, 0) : limit_enter_out(counter, 0);
}

static void give_back(struct limit_counter *counter, bool is_in)
{
	if (is_in)
		limit_leave_in(counter, 0);
	else
		limit_leave_out(counter, 0);
}

/* In each round all try at once, and have what they got until all have tried. */
static void fight(struct limit_counter *counter, struct witness *witness, size_t i)
{
	bool is_in = i % 2 == 0;
	unsigned barrier = 0;

	for (unsigned round = 0; round < ROUNDS; round++) {
		bool has;
		int have;

		meet(witness, ++barrier);
		for (volatile size_t j = (round * 7 + i * 13) % JITTER; j > 0; j--)
			continue;
		has = take(counter, is_in);
		if (has)
			atomic_fetch_add(&witness->have, 1);
		meet(witness, ++barrier);
		have = atomic_load(&witness->have);
		if (have > PLACES)
			atomic_fetch_add(&witness->too_many, 1);
		if (have == PLACES && i == 0)
			atomic_fetch_add(&witness->full, 1);
		meet(witness, ++barrier);
		if (!has)
			continue;
		atomic_fetch_add(&witness->entered[i], 1);
		atomic_fetch_sub(&witness->have, 1);
		give_back(counter, is_in);
	}
}

/* Takes and gives back for ever. */
static void go_on(struct limit_counter *counter, struct witness *witness)
{
	for (;;) {
		while (limit_enter_in(counter, 0))
			atomic_fetch_add(&witness->have, 1);
		for (; atomic_load(&witness->have) > 0; atomic_fetch_sub(&witness->have, 1))
			limit_leave_in(counter, 0);
		atomic_fetch_add(&witness->entered[0], 1);
	}
}

static void no_place_is_given_twice(void **state)
{
	struct limit_classes *classes = limit_scene_classes("class \"*\" { queue = 1 refuse = 1 }");
	struct witness *witness = new_witness();
	struct limit_scene scene;
	pid_t pids[PROCESSES];
	struct limit_total total;

	(void)state;
	limit_scene_init(&scene, PROCESSES);
	for (size_t i = 0; i < PROCESSES; i++) {
		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (pids[i] > 0)
			continue;
		limit_scene_start(&scene, i, classes);
		fight(scene.counters[i], witness, i);
		_exit(0);
	}
	for (size_t i = 0; i < PROCESSES; i++) {
		int status;

		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
		assert_true(atomic_load(&witness->entered[i]) > 0);
	}
	print_message("all places given in %u of %d rounds\n", atomic_load(&witness->full), ROUNDS);
	assert_int_equal(atomic_load(&witness->too_many), 0);
	assert_true(atomic_load(&witness->full) > ROUNDS / 2);
	limit_total_of(scene.supervisor, limit_classes_at(classes, 0)->key, &total);
	assert_int_equal(total.in + total.out, 0); /* no place is lost */
	limit_scene_clear(&scene);
	munmap(witness, sizeof *witness);
	limit_classes_free(classes);
}

/* One process is killed wherever it just is; its places are free once it is reaped. */
static void a_kill_at_any_moment_costs_no_place(void **state)
{
	enum { KILLS = 60 };
	struct limit_classes *classes = limit_scene_classes("class \"*\" { queue = 1 refuse = 1 }");
	struct limit_scene scene;

	(void)state;
	limit_scene_init(&scene, 2);
	limit_scene_start(&scene, 1, classes);
	for (unsigned kills = 0; kills < KILLS; kills++) {
		struct witness *witness = new_witness();
		pid_t pid = fork();
		int status;

		assert_true(pid >= 0);
		if (pid == 0) {
			limit_scene_start(&scene, 0, classes);
			go_on(scene.counters[0], witness);
		}
		while (atomic_load(&witness->entered[0]) < 1 + kills * 7)
			sched_yield();
		assert_int_equal(kill(pid, SIGKILL), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		limit_scene_reap(&scene, 0);
		for (unsigned i = 0; i < PLACES; i++)
			assert_true(limit_enter_in(scene.counters[1], 0));
		assert_false(limit_enter_in(scene.counters[1], 0));
		for (unsigned i = 0; i < PLACES; i++)
			limit_leave_in(scene.counters[1], 0);
		munmap(witness, sizeof *witness);
	}
	limit_scene_clear(&scene);
	limit_classes_free(classes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_place_is_given_twice),
		cmocka_unit_test(a_kill_at_any_moment_costs_no_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
