// SPDX-License-Identifier: ISC
/* The event loop: every order of few, and what chance makes of more. */
#include "base/timestamp.h"
#include "chance.h"
#include "os/clock.h"
#include "os/loop.h"
#include "os/signal_watch.h"
#include "test.h"
#include <errno.h>
#include <event2/event.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FEW = 6, TURNS = 3000, SOON_US = 2000 };

static struct os_loop *loop;
static struct timeval told; /* the last delay that the library was told */
static unsigned refusals;   /* of watches, from now on */
static int refusal = ENOMEM;

int __real_event_add(struct event *event, const struct timeval *delay);
int __wrap_event_add(struct event *event, const struct timeval *delay);
int __wrap_event_add(struct event *event, const struct timeval *delay)
{
	if (delay != NULL) {
		told = *delay;
	} else if (refusals > 0) {
		refusals--;
		errno = refusal;
		return -1;
	}
	return __real_event_add(event, delay);
}

static int make_loop(void **state)
{
	(void)state;
	loop = os_loop_new();
	return 0;
}

static int free_loop(void **state)
{
	(void)state;
	os_loop_free(loop);
	return 0;
}

static void stop(void *context)
{
	(void)context;
	os_loop_stop(loop);
}

static void defer_stop(void *context)
{
	os_loop_defer(loop, context);
}

/* All that is ready is called. */
static void turn_once(void)
{
	struct os_task end = {.call = stop};
	struct os_timer *timer = os_timer_new(loop, defer_stop, &end);

	os_timer_start(timer, 0);
	os_loop_run(loop);
	os_timer_free(timer);
}

/* ---- timers ---- */

static void a_delay_is_in_microseconds(void **state)
{
	static const struct {
		int64_t us, seconds, rest;
	} rows[] = {
		{0, 0, 0},           {-1, 0, 0},
		{INT64_MIN, 0, 0},   {1, 0, 1},
		{999999, 0, 999999}, {1000000, 1, 0},
		{1000001, 1, 1},     {86400 * SECOND_US + 5, 86400, 5},
	};
	struct os_timer *timer = os_timer_new(loop, stop, NULL);

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		os_timer_start(timer, rows[i].us);
		assert_int_equal(told.tv_sec, rows[i].seconds);
		assert_int_equal(told.tv_usec, rows[i].rest);
		assert_true(os_timer_is_running(timer));
	}
	os_timer_stop(timer);
	assert_false(os_timer_is_running(timer));
	os_timer_free(timer);
	os_timer_free(NULL);
}

struct alarm {
	struct os_timer *timer;
	unsigned calls;
	bool is_freeing; /* itself */
};

static void on_alarm(void *context)
{
	struct alarm *alarm = context;

	alarm->calls++;
	assert_false(os_timer_is_running(alarm->timer));
	if (alarm->is_freeing) {
		os_timer_free(alarm->timer);
		alarm->timer = NULL;
	}
}

/* Each is stopped, started again, freed by its own call or none of these. */
static void timers_run_once(void **state)
{
	(void)state;
	for (unsigned ways = 0; ways < 1U << (2 * 3); ways++) {
		struct alarm alarms[3] = {0};

		for (unsigned i = 0; i < 3; i++) {
			alarms[i].timer = os_timer_new(loop, on_alarm, &alarms[i]);
			assert_false(os_timer_is_running(alarms[i].timer));
			os_timer_start(alarms[i].timer, 0);
		}
		for (unsigned i = 0; i < 3; i++) {
			if ((ways >> 2 * i & 3) == 1)
				os_timer_stop(alarms[i].timer);
			if ((ways >> 2 * i & 3) == 2)
				os_timer_start(alarms[i].timer, 3600 * SECOND_US);
			alarms[i].is_freeing = (ways >> 2 * i & 3) == 3;
		}
		for (unsigned i = 0; i < 2; i++)
			turn_once();
		for (unsigned i = 0; i < 3; i++) {
			unsigned way = ways >> 2 * i & 3;

			assert_int_equal(alarms[i].calls, way == 0 || way == 3);
			if (alarms[i].timer != NULL)
				assert_int_equal(os_timer_is_running(alarms[i].timer), way == 2);
			os_timer_free(alarms[i].timer);
		}
	}
}

static void a_timer_waits(void **state)
{
	struct os_timer *timer = os_timer_new(loop, stop, NULL);
	int64_t begin = os_clock_monotonic_us();

	(void)state;
	os_timer_start(timer, 20000);
	os_loop_run(loop);
	assert_in_range(os_clock_monotonic_us() - begin, 15000, 10 * SECOND_US);
	os_timer_free(timer);
}

/* ---- tasks ---- */

struct work {
	struct os_task task;
	unsigned calls;
	struct work *cancels, *defers; /* NULL: none */
};

static void be_called(void *context)
{
	struct work *work = context;

	work->calls++;
	if (work->cancels != NULL)
		os_task_cancel(loop, &work->cancels->task);
	if (work->defers != NULL)
		os_loop_defer(loop, &work->defers->task);
	work->defers = NULL;
}

static void begin_works(struct work *works, unsigned count)
{
	memset(works, 0, count * sizeof *works);
	for (unsigned i = 0; i < count; i++)
		works[i].task = (struct os_task){.call = be_called, .context = &works[i]};
}

/* Any of up to six are cancelled, in both orders, and deferred again or not. */
static void tasks_run_once(void **state)
{
	struct work works[FEW];

	(void)state;
	for (unsigned count = 0; count <= FEW; count++)
		for (unsigned ways = 0; ways < 4U << count; ways++) {
			bool is_backward = (ways >> count & 1) != 0;
			bool is_again = (ways >> count & 2) != 0;

			begin_works(works, count);
			for (unsigned i = 0; i < count; i++) {
				os_loop_defer(loop, &works[i].task);
				os_loop_defer(loop, &works[i].task);
			}
			for (unsigned n = 0; n < count; n++) {
				unsigned i = is_backward ? count - 1 - n : n;

				if ((ways >> i & 1) == 0)
					continue;
				os_task_cancel(loop, &works[i].task);
				os_task_cancel(loop, &works[i].task);
				if (is_again)
					os_loop_defer(loop, &works[i].task);
			}
			turn_once();
			turn_once();
			for (unsigned i = 0; i < count; i++)
				assert_int_equal(works[i].calls, (ways >> i & 1) == 0 || is_again);
		}
}

static void a_task_changes_others(void **state)
{
	struct work works[3];

	(void)state;
	for (unsigned first = 0; first < 3; first++)
		for (unsigned other = 0; other < 3; other++) {
			unsigned calls;

			begin_works(works, 3);
			works[first].defers = &works[other];
			for (unsigned i = 0; i < 3; i++)
				if (i == first || i != other)
					os_loop_defer(loop, &works[i].task);
			turn_once(); /* in the same turn */
			for (unsigned i = 0; i < 3; i++)
				assert_int_equal(works[i].calls, 1 + (i == first && i == other));
			begin_works(works, 2);
			works[0].cancels = &works[1];
			works[1].cancels = &works[0];
			os_loop_defer(loop, &works[first % 2].task);
			os_loop_defer(loop, &works[1 - first % 2].task);
			turn_once();
			calls = works[0].calls + works[1].calls;
			assert_int_equal(calls, 1);
		}
}

/* ---- watches ---- */

struct seen {
	struct os_watch *watch;
	int ours, theirs;
	unsigned wanted, called;
	unsigned calls;
	size_t unread;
	bool is_closed;       /* by the peer */
	struct seen *freeing; /* when it is called */
};

static void on_ready(void *context, unsigned events)
{
	struct seen *seen = context;

	seen->called |= events;
	seen->calls++;
	if (seen->freeing != NULL) {
		os_watch_free(seen->freeing->watch);
		seen->freeing->watch = NULL;
	}
}

static void connect_seen(struct seen *seen, unsigned wanted)
{
	int sockets[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sockets), 0);
	*seen = (struct seen){.ours = sockets[0], .theirs = sockets[1], .wanted = wanted};
	seen->watch = os_watch_new(loop, seen->ours, wanted, on_ready, seen);
}

static void close_seen(struct seen *seen)
{
	os_watch_free(seen->watch);
	close(seen->ours);
	if (!seen->is_closed)
		close(seen->theirs);
}

static void do_something(struct seen *seen)
{
	char bytes[100] = {0};

	switch (chance(8)) {
	case 0:
		if (!seen->is_closed && seen->unread < 1000)
			seen->unread += (size_t)write(seen->theirs, bytes, 1 + chance(5));
		break;
	case 1:
		if (seen->unread > 0)
			seen->unread -= (size_t)read(seen->ours, bytes, 1 + chance(10));
		break;
	case 2:
		os_watch_free(seen->watch);
		seen->watch = os_watch_new(loop, seen->ours, seen->wanted, on_ready, seen);
		break;
	case 3:
		if (chance(10) == 0 && !seen->is_closed) {
			close(seen->theirs);
			seen->is_closed = true;
		}
		break;
	default:
		seen->wanted = (unsigned)chance(4);
		os_watch_set(seen->watch, seen->wanted);
	}
}

static unsigned expected_events(const struct seen *seen)
{
	unsigned ready = OS_WATCH_WRITE;

	if (seen->unread > 0 || seen->is_closed)
		ready |= OS_WATCH_READ;
	return ready & seen->wanted;
}

/* What is called is what is wanted and ready: nothing more, and nothing twice in a turn. */
static void a_model_of_watches(void **state)
{
	struct seen seen[4];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(seen); i++)
		connect_seen(&seen[i], (unsigned)i);
	for (unsigned turn = 0; turn < TURNS; turn++) {
		size_t which = chance(COUNT_OF(seen));

		do_something(&seen[which]);
		if (chance(3) == 0)
			continue;
		for (size_t i = 0; i < COUNT_OF(seen); i++)
			seen[i].calls = seen[i].called = 0;
		turn_once();
		for (size_t i = 0; i < COUNT_OF(seen); i++) {
			assert_int_equal(seen[i].called, expected_events(&seen[i]));
			assert_int_equal(seen[i].calls, seen[i].called != 0);
		}
		if (seen[which].is_closed) {
			close_seen(&seen[which]);
			connect_seen(&seen[which], (unsigned)chance(4));
		}
	}
	for (size_t i = 0; i < COUNT_OF(seen); i++)
		close_seen(&seen[i]);
}

/* Whichever is called first frees itself or the other, which is not called any more. */
static void a_watch_is_freed_by_a_call(void **state)
{
	(void)state;
	for (unsigned ways = 0; ways < 4; ways++) {
		struct seen seen[2];

		for (unsigned i = 0; i < 2; i++)
			connect_seen(&seen[i], OS_WATCH_WRITE);
		seen[0].freeing = &seen[ways & 1];
		seen[1].freeing = &seen[ways >> 1 & 1];
		turn_once();
		for (unsigned i = 0; i < 2; i++)
			assert_true(seen[i].calls <= 1);
		/* each itself, each the other, or both the same: then it hangs on the order */
		assert_in_range(seen[0].calls + seen[1].calls, ways == 2 ? 2 : 1,
				ways == 1 ? 1 : 2);
		turn_once();
		for (unsigned i = 0; i < 2; i++)
			close_seen(&seen[i]);
	}
}

static unsigned troubles;
static int trouble_error;

static void on_trouble(int error)
{
	troubles++;
	trouble_error = error;
}

static unsigned called_of(const struct seen *seen, unsigned count)
{
	unsigned called = 0;

	for (unsigned i = 0; i < count; i++)
		called += seen[i].calls > 0;
	return called;
}

/* Up to four that the kernel refuses: any of these are freed, or wanted again. */
static void refused_watches_are_tried_again(void **state)
{
	(void)state;
	os_loop_set_trouble(loop, on_trouble);
	for (unsigned ways = 0; ways < 81; ways++) {
		unsigned kind[4] = {ways % 3, ways / 3 % 3, ways / 9 % 3, ways / 27};
		unsigned left = 0;
		struct seen seen[4];
		int64_t begin;

		refusal = ways % 2 == 0 ? ENOMEM : ENOSPC;
		troubles = 0;
		for (unsigned i = 0; i < 4; i++) {
			refusals = 1;
			connect_seen(&seen[i], OS_WATCH_WRITE);
		}
		assert_int_equal(refusals, 0);
		assert_int_equal(troubles, 4);
		assert_int_equal(trouble_error, -refusal);
		assert_int_equal(told.tv_sec, 0);
		assert_int_equal(told.tv_usec, 100000);
		for (unsigned i = 0; i < 4; i++) {
			left += kind[i] != 1;
			if (kind[i] == 1) {
				os_watch_free(seen[i].watch);
				seen[i].watch = NULL;
			} else if (kind[i] == 2) {
				os_watch_set(seen[i].watch, OS_WATCH_READ | OS_WATCH_WRITE);
			}
		}
		turn_once();
		for (unsigned i = 0; i < 4; i++)
			assert_int_equal(seen[i].calls, kind[i] == 2);
		/* a few of the orders, as they take a moment */
		begin = os_clock_monotonic_us();
		while (ways % 13 == 0 && called_of(seen, 4) < left &&
		       os_clock_monotonic_us() - begin < 5 * SECOND_US) {
			usleep(SOON_US);
			turn_once();
		}
		if (ways % 13 == 0) {
			assert_int_equal(called_of(seen, 4), left);
			for (unsigned i = 0; i < 4; i++)
				seen[i].calls = 0;
			turn_once();
			for (unsigned i = 0; i < 4; i++)
				assert_int_equal(seen[i].calls, kind[i] != 1);
		}
		for (unsigned i = 0; i < 4; i++)
			close_seen(&seen[i]);
	}
}

static void a_refusal_without_a_report(void **state)
{
	struct seen seen;

	(void)state;
	os_loop_set_trouble(loop, on_trouble);
	os_loop_set_trouble(loop, NULL);
	troubles = 0;
	refusals = 1;
	connect_seen(&seen, OS_WATCH_WRITE);
	close_seen(&seen);
	assert_int_equal(troubles, 0);
}

/* ---- turns ---- */

static unsigned idles, idles_left;

static bool be_idle_often(void)
{
	idles++;
	if (idles_left > 0 && --idles_left == 0)
		os_loop_stop(loop);
	return idles_left > 0;
}

static void what_is_left_gets_a_turn(void **state)
{
	int64_t begin = os_clock_monotonic_us();

	(void)state;
	idles_left = 3; /* though nothing happens */
	os_loop_set_idle(loop, be_idle_often);
	os_loop_run(loop);
	assert_in_range(idles, 3, 4);
	assert_in_range(os_clock_monotonic_us() - begin, 30000, 10 * SECOND_US);
	assert_int_equal(told.tv_sec, 0);
	assert_int_equal(told.tv_usec, 20000);
	idles = 0;
	turn_once();
	assert_in_range(idles, 2, 3); /* before it waits, and at the end */
	os_loop_set_idle(loop, NULL);
	idles = 0;
	turn_once();
	assert_int_equal(idles, 0);
}

static void *send_wakeups(void *context)
{
	for (unsigned i = 0; i < 3; i++)
		os_wakeup_send(context);
	return NULL;
}

static void count_call(void *context)
{
	++*(unsigned *)context;
	os_loop_stop(loop);
}

static void another_thread_wakes_it_up(void **state)
{
	unsigned calls = 0;
	struct os_wakeup *wakeup = os_wakeup_new(loop, count_call, &calls);
	pthread_t thread;

	(void)state;
	turn_once();
	assert_int_equal(calls, 0);
	for (unsigned i = 0; i < 2; i++) {
		calls = 0;
		assert_int_equal(pthread_create(&thread, NULL, send_wakeups, wakeup), 0);
		os_loop_run(loop);
		assert_int_equal(pthread_join(thread, NULL), 0);
		turn_once();
		assert_in_range(calls, 1, 3);
		calls = 0;
		turn_once(); /* it is over */
		assert_int_equal(calls, 0);
	}
	os_wakeup_free(wakeup);
	os_wakeup_free(NULL);
	os_watch_free(NULL);
	os_loop_free(NULL);
}

static void a_signal_is_a_call(void **state)
{
	struct sigaction before, now;

	(void)state;
	assert_int_equal(sigaction(SIGUSR1, NULL, &before), 0);
	for (unsigned i = 0; i < 2; i++) {
		unsigned calls = 0;
		struct os_signal_watch *watch =
			os_signal_watch_new(loop, SIGUSR1, count_call, &calls);

		errno = EXDEV;
		raise(SIGUSR1);
		assert_int_equal(errno, EXDEV);
		os_loop_run(loop);
		assert_int_equal(calls, 1);
		os_signal_watch_free(watch);
		assert_int_equal(sigaction(SIGUSR1, NULL, &now), 0);
		assert_ptr_equal(now.sa_handler, before.sa_handler);
	}
	os_signal_watch_free(NULL);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, make_loop, free_loop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_delay_is_in_microseconds),
		CASE(timers_run_once),
		CASE(a_timer_waits),
		CASE(tasks_run_once),
		CASE(a_task_changes_others),
		CASE(a_model_of_watches),
		CASE(a_watch_is_freed_by_a_call),
		CASE(refused_watches_are_tried_again),
		CASE(a_refusal_without_a_report),
		CASE(what_is_left_gets_a_turn),
		CASE(another_thread_wakes_it_up),
		CASE(a_signal_is_a_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
