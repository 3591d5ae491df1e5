// SPDX-License-Identifier: ISC
/* The queue of slow checks: bounded, fair, and with room for those who have not failed. */
#include "auth/server/checks.h"
#include "base/panic.h"
#include "os/clock.h"
#include "os/worker.h"
#include "test.h"
#include <dirent.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* Of so many, one is for the known, one for strangers; and there is one more for few strangers. */
enum { THREADS = 2, MANY = 200 };

struct job {
	unsigned number;
	unsigned gate; /* that it waits for; 0: none */
};

static struct {
	struct os_loop *loop;
	struct auth_checks *checks;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	bool is_open[3];
	unsigned running;
	unsigned done[MANY];
	unsigned done_count;
	int nice[MANY]; /* of the thread that did it, and its policy */
	int policy[MANY];
	unsigned freed;
	unsigned stop_at;
} scene;

static void work(void *context)
{
	const struct job *job = context;

	scene.nice[job->number] = getpriority(PRIO_PROCESS, 0);
	scene.policy[job->number] = sched_getscheduler(0);
	pthread_mutex_lock(&scene.mutex);
	scene.running++;
	pthread_cond_broadcast(&scene.changed);
	while (job->gate > 0 && !scene.is_open[job->gate])
		pthread_cond_wait(&scene.changed, &scene.mutex);
	pthread_mutex_unlock(&scene.mutex);
}

static void done(void *context)
{
	const struct job *job = context;

	scene.done[scene.done_count++] = job->number;
	if (scene.done_count == scene.stop_at)
		os_loop_stop(scene.loop);
}

static void free_job(void *context)
{
	scene.freed++;
	free(context);
}

static const struct auth_check_kind kind = {work, done, free_job};

static struct auth_check *add(unsigned number, unsigned client, enum auth_trust trust,
			      unsigned gate)
{
	struct job *job = memory_alloc_zero(1, sizeof *job);
	const struct in6_addr address = {.s6_addr = {[15] = (uint8_t)client}};

	*job = (struct job){number, gate};
	return auth_checks_add(scene.checks, &kind, job, &address, trust);
}

static void run_until(unsigned count)
{
	scene.stop_at = count;
	if (scene.done_count < count)
		os_loop_run(scene.loop);
	assert_int_equal(scene.done_count, count);
}

static void stop_now(void *context)
{
	os_loop_stop(context);
}

/* One turn, which begins what can begin; then COUNT threads have begun. */
static void begin(unsigned count)
{
	struct os_task stop = {.call = stop_now, .context = scene.loop};

	os_loop_defer(scene.loop, &stop);
	os_loop_run(scene.loop);
	pthread_mutex_lock(&scene.mutex);
	while (scene.running < count)
		pthread_cond_wait(&scene.changed, &scene.mutex);
	pthread_mutex_unlock(&scene.mutex);
	assert_int_equal(scene.running, count);
}

static void open_gate(unsigned gate)
{
	pthread_mutex_lock(&scene.mutex);
	scene.is_open[gate] = true;
	pthread_cond_broadcast(&scene.changed);
	pthread_mutex_unlock(&scene.mutex);
}

static int set_up(void **state)
{
	(void)state;
	memset(&scene, 0, sizeof scene);
	pthread_mutex_init(&scene.mutex, NULL);
	pthread_cond_init(&scene.changed, NULL);
	scene.loop = os_loop_new();
	return auth_checks_new(scene.loop, THREADS, &scene.checks);
}

static int tear_down(void **state)
{
	(void)state;
	open_gate(1);
	open_gate(2);
	auth_checks_free(scene.checks);
	os_loop_free(scene.loop);
	return 0;
}

/* With the jobs 100 and 101, the first of which has the thread for few; until gate 2 is open. A
 * third waits, so that the known do not get these threads. */
static void occupy_threads_of_strangers(void)
{
	unsigned running = scene.running;

	for (unsigned i = 0; i < 3; i++)
		add(100 + i, 100 + i, AUTH_NEW, 2);
	begin(running + 2);
}

static void clients_take_turns(void **state)
{
	static const unsigned wanted[] = {0, 10, 20, 30, 11, 12, 13, 14};

	(void)state;
	add(0, 9, AUTH_KNOWN, 1);
	begin(1);
	occupy_threads_of_strangers(); /* so that one thread does the others, one by one */
	for (unsigned i = 0; i < 5; i++)
		add(10 + i, 1, AUTH_KNOWN, 0);
	add(20, 2, AUTH_KNOWN, 0);
	add(30, 3, AUTH_KNOWN, 0);
	open_gate(1);
	run_until(COUNT_OF(wanted));
	assert_memory_equal(scene.done, wanted, sizeof wanted);
}

/* Ten checks of others with TRUST do not keep one of a known client waiting. */
static void expect_place_for_known(enum auth_trust trust)
{
	for (unsigned i = 0; i < 10; i++)
		assert_non_null(add(i, i, trust, 1));
	begin(1);
	add(50, 100, AUTH_KNOWN, 0);
	run_until(1);
	assert_int_equal(scene.done[0], 50);
	open_gate(1);
	run_until(11);
}

/* Of two threads, one stays free of those who have failed, whatever they bring. */
static void suspects_leave_a_thread_free(void **state)
{
	(void)state;
	expect_place_for_known(AUTH_SUSPECT);
}

/* Of eight, they get two, so that two more of the four for those who are not known are left to
 * others; who is known gets one still. */
static void suspects_get_a_quarter_of_the_threads(void **state)
{
	(void)state;
	auth_checks_free(scene.checks);
	assert_int_equal(auth_checks_new(scene.loop, 4 * THREADS, &scene.checks), 0);
	for (unsigned i = 0; i < 10; i++)
		assert_non_null(add(i, i, AUTH_SUSPECT, 1));
	begin(2);
	add(20, 20, AUTH_NEW, 2);
	add(21, 21, AUTH_NEW, 2);
	begin(4);
	add(50, 100, AUTH_KNOWN, 0);
	run_until(1);
	assert_int_equal(scene.done[0], 50);
	open_gate(2);
	run_until(3);
	assert_int_equal(scene.done[1] + scene.done[2], 20 + 21);
	open_gate(1);
	run_until(13);
}

/* However many addresses somebody has: a thread is kept for those that are known. */
static void the_known_have_a_thread_of_their_own(void **state)
{
	(void)state;
	expect_place_for_known(AUTH_NEW);
}

/* Those that are not known cannot fill the queue of those that are. */
static void each_trust_has_its_bound(void **state)
{
	unsigned count = 0;

	(void)state;
	for (unsigned i = 0; i < AUTH_CHECKS_MAX + 5; i++)
		count += add(0, i % 200, AUTH_NEW, 1) != NULL;
	assert_int_equal(count, AUTH_CHECKS_MAX);
	assert_non_null(add(0, 1, AUTH_KNOWN, 1));
}

static void those_without_failures_come_first(void **state)
{
	(void)state;
	add(0, 1, AUTH_NEW, 1); /* in the thread for few, so that one thread does the others */
	add(1, 2, AUTH_NEW, 2);
	begin(2);
	add(10, 3, AUTH_SUSPECT, 0);
	add(20, 4, AUTH_NEW, 0);
	add(21, 5, AUTH_NEW, 0);
	open_gate(2);
	run_until(4);
	assert_int_equal(scene.done[3], 10);
}

static int polite(void)
{
	enum { LEAST = 19 };
	int own = getpriority(PRIO_PROCESS, 0);

	return own + OS_WORKER_NICE < LEAST ? own + OS_WORKER_NICE : LEAST;
}

static bool gives_way(unsigned number)
{
	return scene.policy[number] == SCHED_IDLE || scene.nice[number] == polite();
}

/* Where processors are short: one who is alone has a share of them still. */
static void all_but_the_known_give_way(void **state)
{
	(void)state;
	add(0, 0, AUTH_NEW, 0);
	run_until(1);
	assert_int_equal(scene.nice[0], polite());
	for (unsigned i = 1; i < 4 * AUTH_TRUSTS; i++) {
		add(i, i, (enum auth_trust)(i % AUTH_TRUSTS), 0);
		run_until(i + 1);
		assert_true(i % AUTH_TRUSTS == AUTH_KNOWN || gives_way(i));
	}
	add(MANY - 1, 1, AUTH_KNOWN, 0);
	run_until(scene.done_count + 1);
	assert_int_equal(scene.nice[MANY - 1], getpriority(PRIO_PROCESS, 0));
	assert_int_equal(scene.policy[MANY - 1], SCHED_OTHER);
}

/* The first of a flood does not begin in the thread for few. */
static void a_flood_gets_what_nobody_else_uses(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 3 * AUTH_FEW; i++)
		add(i, i, AUTH_NEW, i == 0 ? 1 : 0);
	begin(1);
	open_gate(1);
	run_until(3 * AUTH_FEW);
	assert_int_equal(scene.policy[0], SCHED_IDLE);
	for (unsigned i = 0; i < 3 * AUTH_FEW; i++)
		assert_true(gives_way(i));
}

/* If others have all processors, those of a flood are checked still, at low priority. */
static void a_thread_without_a_processor_does_not_hold_up_all(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 3 * AUTH_FEW; i++)
		add(i, i, AUTH_NEW, i == 0 ? 1 : 0);
	begin(1);
	run_until(2 * AUTH_FEW);
	for (unsigned i = 1; i < AUTH_FEW; i++)
		assert_int_equal(scene.nice[i], polite());
}

/* What it does takes a tenth of a processor. */
static void the_thread_for_few_rests(void **state)
{
	enum { WORKED_MS = 20, TIMES = 9 };
	int64_t began_us;

	(void)state;
	add(0, 1, AUTH_NEW, 1);
	add(1, 2, AUTH_NEW, 2); /* the other thread, for the rest of the time */
	begin(2);
	os_clock_pause_ms(WORKED_MS);
	began_us = os_clock_monotonic_us();
	open_gate(1);
	add(2, 3, AUTH_NEW, 0);
	run_until(2);
	assert_true(os_clock_monotonic_us() - began_us >= TIMES * WORKED_MS * 1000);
}

static void the_queue_is_bounded(void **state)
{
	unsigned count = 0;

	(void)state;
	for (unsigned i = 0; i < AUTH_CHECKS_CLIENT_MAX + 5; i++)
		count += add(i, 1, AUTH_KNOWN, 1) != NULL;
	assert_int_equal(count, AUTH_CHECKS_CLIENT_MAX);
	assert_int_equal(scene.freed, 5);
	for (unsigned i = 0; i < AUTH_CHECKS_MAX; i++)
		count += add(i, 2 + i % 200, AUTH_KNOWN, 1) != NULL;
	assert_int_equal(count, AUTH_CHECKS_MAX);
}

static size_t count_threads(void)
{
	DIR *folder = opendir("/proc/self/task");
	size_t count = 0;

	assert_non_null(folder);
	for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
		count += entry->d_name[0] != '.';
	closedir(folder);
	return count;
}

/* One more than it is asked for, and no more than there may be. */
static void threads_have_their_bound(void **state)
{
	static const unsigned cases[] = {
		1, 2, 3, AUTH_THREADS_MAX - 1, AUTH_THREADS_MAX, AUTH_THREADS_MAX + 1, UINT_MAX};
	size_t before;

	(void)state;
	auth_checks_free(scene.checks);
	before = count_threads();
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		unsigned count = cases[i] < AUTH_THREADS_MAX ? cases[i] : AUTH_THREADS_MAX;

		assert_int_equal(auth_checks_new(scene.loop, cases[i], &scene.checks), 0);
		assert_int_equal(count_threads(), before + count + 1);
		auth_checks_free(scene.checks);
	}
	scene.checks = NULL;
}

static void what_is_cancelled_is_freed_and_not_reported(void **state)
{
	struct auth_check *running;
	struct auth_check *waiting;

	(void)state;
	running = add(0, 1, AUTH_SUSPECT, 1);
	waiting = add(1, 1, AUTH_SUSPECT, 1);
	begin(1);
	auth_check_cancel(waiting);
	assert_int_equal(scene.freed, 1);
	auth_check_cancel(running);
	auth_check_cancel(NULL);
	assert_int_equal(scene.freed, 1); /* a thread has it */
	open_gate(1);
	add(2, 2, AUTH_SUSPECT, 0);
	run_until(1);
	assert_int_equal(scene.done[0], 2);
	while (scene.freed < 3)
		begin(scene.running);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(clients_take_turns, set_up, tear_down),
		cmocka_unit_test_setup_teardown(suspects_leave_a_thread_free, set_up, tear_down),
		cmocka_unit_test_setup_teardown(suspects_get_a_quarter_of_the_threads, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(those_without_failures_come_first, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(all_but_the_known_give_way, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_flood_gets_what_nobody_else_uses, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_thread_without_a_processor_does_not_hold_up_all,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_thread_for_few_rests, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_known_have_a_thread_of_their_own, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(each_trust_has_its_bound, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_queue_is_bounded, set_up, tear_down),
		cmocka_unit_test_setup_teardown(threads_have_their_bound, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_cancelled_is_freed_and_not_reported, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
