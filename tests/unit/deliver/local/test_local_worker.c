// SPDX-License-Identifier: ISC
/* The thread that delivers owner by owner: all orders of few owners, taken back at each of them,
 * all by one thread. The writer is played here, and waits where it is told to. */
#include "base/attributes.h"
#include "deliver/local/worker.h"
#include "os/clock.h"
#include "test.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { SIZE_MAX_TRIED = 5, OWNERS = 5 };

static const struct os_process_user OWNER[OWNERS] = {
	{.change = false, .uid = 1, .gid = 1},
	{.change = true, .uid = 1, .gid = 1},
	{.change = true, .uid = 2, .gid = 1},
	{.change = true, .uid = 2, .gid = 2},
	{.change = true, .uid = 2, .gid = 2, .keeps_groups = true},
};

struct local_writer {
	unsigned freed;
};

static struct maildir_delivery deliveries[SIZE_MAX_TRIED];
static struct os_process_user owners[SIZE_MAX_TRIED];
static struct local_writer writers[2];
static _Atomic int64_t now_us;
static struct {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	size_t calls; /* at the writer */
	size_t first[SIZE_MAX_TRIED], end[SIZE_MAX_TRIED];
	const struct local_writer *writer;
	size_t stop; /* waits at the call of this number; SIZE_MAX: at none */
	bool is_waiting;
} play = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

int64_t __wrap_os_clock_monotonic_us(void);
int64_t __wrap_os_clock_monotonic_us(void)
{
	return now_us;
}

void local_writer_free(struct local_writer *writer)
{
	if (writer != NULL)
		writer->freed++;
}

void local_writer_deliver(struct local_writer *writer, const struct os_process_user *owner,
			  struct maildir_delivery *some, size_t count)
{
	size_t first = (size_t)(some - deliveries);

	pthread_mutex_lock(&play.mutex);
	play.first[play.calls] = owner == &owners[first] ? first : SIZE_MAX;
	play.end[play.calls] = first + count;
	play.writer = writer;
	play.is_waiting = play.calls++ == play.stop;
	pthread_cond_broadcast(&play.changed);
	while (play.is_waiting)
		pthread_cond_wait(&play.changed, &play.mutex);
	pthread_mutex_unlock(&play.mutex);
}

static void wait_until_writer_waits(void)
{
	pthread_mutex_lock(&play.mutex);
	while (!play.is_waiting)
		pthread_cond_wait(&play.changed, &play.mutex);
	pthread_mutex_unlock(&play.mutex);
}

static void let_writer_go(void)
{
	pthread_mutex_lock(&play.mutex);
	play.is_waiting = false;
	pthread_cond_broadcast(&play.changed);
	pthread_mutex_unlock(&play.mutex);
}

static void wait_until_done(struct local_worker *worker)
{
	while (!local_worker_is_done(worker))
		sched_yield();
}

/* The number NUMBER in the base OWNERS says whose each of COUNT is. */
static void set_owners(size_t number, size_t count)
{
	for (size_t i = 0; i < count; i++, number /= OWNERS)
		owners[i] = OWNER[number % OWNERS];
}

static bool is_same(const struct os_process_user *a, const struct os_process_user *b)
{
	return memcmp(a, b, sizeof *a) == 0;
}

/* After the last one of the owner whose first is FIRST. */
static size_t end_of_owner(size_t first, size_t count)
{
	size_t end = first + 1;

	while (end < count && is_same(&owners[first], &owners[end]))
		end++;
	return end;
}

/* Each owner's together, up to END of COUNT; returns how many owners that are. */
static size_t check_calls(size_t end, size_t count)
{
	size_t calls = 0;

	for (size_t first = 0; first < end; first = end_of_owner(first, count)) {
		assert_true(calls < play.calls);
		assert_int_equal(play.first[calls], first);
		assert_int_equal(play.end[calls], end_of_owner(first, count));
		calls++;
	}
	assert_int_equal(play.calls, calls);
	return calls;
}

static void give_group(struct local_worker *worker, size_t count, size_t stop)
{
	const struct local_group group = {deliveries, owners, count};

	play.calls = 0;
	play.stop = stop;
	now_us += 1000;
	local_worker_give(worker, &writers[0], &group);
}

static void check_nobody_is_there(struct local_worker *worker)
{
	size_t first = 77;
	size_t end = 78;

	assert_false(local_worker_owner(worker, &first));
	assert_false(local_worker_take_back(worker, now_us + 1000, &first, &end));
	assert_true(first == 77 && end == 78);
}

/* The writer is at the owner whose first is FIRST: what follows is taken back once that one has had
 * his time, and not the process's own. */
static void check_taken_back(struct local_worker *worker, size_t first, size_t count)
{
	size_t first_out = 77;
	size_t end_out = 77;

	now_us += 10;
	if (!owners[first].change) {
		check_nobody_is_there(worker);
		let_writer_go();
		wait_until_done(worker);
		check_calls(count, count);
		return;
	}
	assert_true(local_worker_owner(worker, &first_out));
	assert_int_equal(first_out, first);
	assert_false(local_worker_take_back(worker, now_us - 11, &first_out, &end_out));
	assert_int_equal(end_out, 77);
	assert_true(local_worker_take_back(worker, now_us - 10, &first_out, &end_out));
	assert_int_equal(first_out, first);
	assert_int_equal(end_out, end_of_owner(first, count));
	for (size_t i = end_out; i < count; i++)
		owners[i] = (struct os_process_user){.uid = 99}; /* they are the caller's */
	let_writer_go();
	wait_until_done(worker);
	assert_int_equal(play.end[play.calls - 1], end_out);
	check_nobody_is_there(worker);
}

static void check_group(struct local_worker *worker, size_t number, size_t count)
{
	size_t calls;

	set_owners(number, count);
	give_group(worker, count, SIZE_MAX);
	wait_until_done(worker);
	calls = check_calls(count, count);
	check_nobody_is_there(worker);
	for (size_t stop = 0, first = 0; stop < calls; stop++) {
		set_owners(number, count);
		give_group(worker, count, stop);
		wait_until_writer_waits();
		assert_false(local_worker_is_done(worker));
		assert_int_equal(play.first[stop], first);
		first = end_of_owner(first, count);
		check_taken_back(worker, play.first[stop], count);
	}
}

static void each_owners_deliveries_are_made_together(void **state)
{
	struct local_worker *worker;
	size_t numbers = 1;

	(void)state;
	memset(writers, 0, sizeof writers);
	assert_int_equal(local_worker_new(NULL, &worker), 0);
	for (size_t count = 0; count <= SIZE_MAX_TRIED; count++, numbers *= OWNERS)
		for (size_t number = 0; number < numbers; number += count < 4 ? 1 : 3)
			check_group(worker, number, count);
	assert_int_equal(writers[0].freed, 0);
	local_worker_free(worker);
	assert_int_equal(writers[0].freed, 1);
}

/* It is the worker's until there is another one. */
static void a_writer_is_freed_once(void **state)
{
	const struct local_group group = {deliveries, owners, 1};
	struct local_worker *worker;

	(void)state;
	memset(writers, 0, sizeof writers);
	play.stop = SIZE_MAX;
	set_owners(1, 1);
	assert_int_equal(local_worker_new(NULL, &worker), 0);
	for (size_t i = 0; i < 3; i++) {
		play.calls = 0;
		local_worker_give(worker, &writers[i > 0], &group);
		wait_until_done(worker);
		assert_ptr_equal(play.writer, &writers[i > 0]);
		assert_int_equal(writers[0].freed, i > 0);
		assert_int_equal(writers[1].freed, 0);
	}
	local_worker_free(worker);
	assert_int_equal(writers[0].freed, 1);
	assert_int_equal(writers[1].freed, 1);
}

/* It waits for what it was given. */
static void what_was_given_is_done_before_the_end(void **state)
{
	const struct local_group group = {deliveries, owners, SIZE_MAX_TRIED};
	struct local_worker *worker;

	(void)state;
	play.stop = SIZE_MAX;
	set_owners(0 + 1 * 5 + 2 * 25 + 3 * 125 + 4 * 625, SIZE_MAX_TRIED);
	assert_int_equal(local_worker_new(NULL, &worker), 0);
	play.calls = 0;
	local_worker_give(worker, &writers[0], &group);
	local_worker_free(worker);
	assert_int_equal(play.calls, SIZE_MAX_TRIED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_owners_deliveries_are_made_together),
		cmocka_unit_test(a_writer_is_freed_once),
		cmocka_unit_test(what_was_given_is_done_before_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
