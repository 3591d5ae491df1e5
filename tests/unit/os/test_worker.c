// SPDX-License-Identifier: ISC
#include "base/panic.h"
#include "os/worker.h"
#include "test.h"
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

enum { ROUNDS = 5000 };

static struct os_loop *loop;
static struct os_worker *worker;
static unsigned started, worked, woken;

static void work(void *context)
{
	assert_ptr_equal(context, &worker);
	assert_int_equal(++worked, started);
}

static void on_done(void *context)
{
	(void)context;
	if (os_worker_is_busy(worker))
		return; /* of the turn before */
	assert_int_equal(worked, started);
	woken++;
	if (started == ROUNDS) {
		os_loop_stop(loop);
		return;
	}
	started++;
	os_worker_start(worker);
}

static void each_start_is_one_turn(void **state)
{
	struct os_wakeup *wakeup;

	(void)state;
	loop = os_loop_new();
	wakeup = os_wakeup_new(loop, on_done, NULL);
	assert_int_equal(os_worker_new(work, &worker, wakeup, &worker), 0);
	assert_false(os_worker_is_busy(worker));
	started = 1;
	os_worker_start(worker);
	os_loop_run(loop);
	assert_int_equal(worked, ROUNDS);
	assert_true(woken >= ROUNDS);
	os_worker_free(worker);
	os_wakeup_free(wakeup);
	os_loop_free(loop);
}

static void work_slowly(void *context)
{
	usleep(50000);
	*(bool *)context = true;
}

static void ignore(void *context)
{
	(void)context;
}

/* What was begun is done; what was not asked for is not. */
static void its_end_waits_for_its_work(void **state)
{
	struct os_wakeup *wakeup;
	bool is_done = false;

	(void)state;
	loop = os_loop_new();
	wakeup = os_wakeup_new(loop, ignore, NULL);
	assert_int_equal(os_worker_new(work_slowly, &is_done, wakeup, &worker), 0);
	os_worker_free(worker);
	assert_false(is_done);
	assert_int_equal(os_worker_new(work_slowly, &is_done, wakeup, &worker), 0);
	os_worker_start(worker);
	assert_true(os_worker_is_busy(worker));
	os_worker_free(worker);
	assert_true(is_done);
	os_wakeup_free(wakeup);
	os_loop_free(loop);
}

static void wait_for_pipe(void *context)
{
	char byte;

	assert_int_equal(read(*(int *)context, &byte, 1), 0);
}

static void who_waits_may_give_up(void **state)
{
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(os_worker_new(wait_for_pipe, &ends[0], NULL, &worker), 0);
	assert_true(os_worker_wait(worker, 0));
	os_worker_start(worker);
	assert_false(os_worker_wait(worker, 0));
	assert_false(os_worker_wait(worker, 20000));
	assert_true(os_worker_is_busy(worker));
	assert_int_equal(close(ends[1]), 0);
	assert_true(os_worker_wait(worker, INT64_C(3600) * 1000000));
	os_worker_free(worker);
	assert_int_equal(close(ends[0]), 0);
}

/* Of the thread, which is what the kernel schedules. */
static struct {
	int policy, nice;
} seen;

static void see_priority(void *context)
{
	(void)context;
	seen.policy = sched_getscheduler(0);
	seen.nice = getpriority(PRIO_PROCESS, 0);
}

static void see_turn(void)
{
	os_worker_start(worker);
	assert_true(os_worker_wait(worker, INT64_C(60) * 1000000));
}

/* From the next turn on; nobody else does. */
static void who_gives_way(void **state)
{
	const int policy = sched_getscheduler(0), nice = getpriority(PRIO_PROCESS, 0);
	const int most = nice + OS_WORKER_NICE > 19 ? 19 : nice + OS_WORKER_NICE;

	(void)state;
	for (int way = 0; way < 3; way++) {
		bool is_idle = way == 1;

		assert_int_equal(os_worker_new(see_priority, NULL, NULL, &worker), 0);
		see_turn();
		assert_true(seen.policy == policy && seen.nice == nice);
		if (way < 2)
			os_worker_lower(worker, is_idle ? OS_WORKER_IDLE : OS_WORKER_POLITE);
		for (int turn = 0; turn < 2 && way < 2; turn++) {
			see_turn();
			assert_int_equal(seen.policy, is_idle ? SCHED_IDLE : policy);
			assert_int_equal(seen.nice, is_idle ? nice : most);
		}
		os_worker_free(worker);
		assert_true(sched_getscheduler(0) == policy &&
			    getpriority(PRIO_PROCESS, 0) == nice);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_start_is_one_turn),
		cmocka_unit_test(its_end_waits_for_its_work),
		cmocka_unit_test(who_waits_may_give_up),
		cmocka_unit_test(who_gives_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
