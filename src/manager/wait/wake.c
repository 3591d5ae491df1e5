// SPDX-License-Identifier: ISC
#include "manager/wait/wake.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "log/event.h"
#include "manager/wait/pace.h"
#include "os/clock.h"
#include <stdlib.h>

enum {
	WAKE_RETRIES_MAX = 1000, /* awake */
	RETRIES_LEAVE = 4,       /* one in so many is left to new mail */
	WAKE_SLICE_US = 2000,    /* of the loop's time without a pause */
	WAKE_PAUSE_US = 2000,
	WAKE_BUSY_PAUSE_US = 5000,
	SOURCES = 4,
};

static const int64_t JUMP_US = 10 * SECOND_US; /* smaller jumps are ignored */
static const int64_t SLEEP_MAX_US = MINUTE_US; /* not longer, because the clock may be set */

struct wake {
	struct sleepers *sleepers;
	struct triggers *triggers;
	const struct share *share;
	const struct wake_handler *handler;
	void *context;
	struct os_timer *timer;
	int64_t timer_at_us;    /* wall clock; INT64_MAX: it is not running */
	int64_t ahead_us;       /* wall clock minus the clock that is never set; 0: unknown */
	int64_t pause_until_us; /* monotonic */
	struct pace pace;
	struct waiters first;    /* woken before all others */
	struct waiters again;    /* retries for which there is room again */
	struct waiters unmapped; /* retries for which there was no memory to map them */
	unsigned turn;           /* which source of retries is next */
	size_t retries;          /* awake */
	bool is_crowded;         /* the last retry woken found its destination crowded */
	bool is_stopped;
};

static void on_wake_timer(void *context);

struct wake *wake_new(struct os_loop *loop, struct sleepers *sleepers, struct triggers *triggers,
		      const struct share *share, const struct wake_handler *handler, void *context)
{
	struct wake *wake = memory_alloc_zero(1, sizeof *wake);

	wake->sleepers = sleepers;
	wake->triggers = triggers;
	wake->share = share;
	wake->handler = handler;
	wake->context = context;
	wake->timer = os_timer_new(loop, on_wake_timer, wake);
	wake->timer_at_us = INT64_MAX;
	return wake;
}

void wake_stop(struct wake *wake)
{
	wake->is_stopped = true;
	os_timer_stop(wake->timer);
}

void wake_free(struct wake *wake)
{
	os_timer_free(wake->timer);
	free(wake);
}

/* --- the next to wake --- */

static struct sleeper *due_first(const struct wake *wake)
{
	struct sleeper *sleeper = sleepers_due_first(wake->sleepers);

	return sleeper != NULL && sleeper->due_us <= os_clock_wall_us() ? sleeper : NULL;
}

static struct sleeper *next_retry(struct wake *wake)
{
	struct sleeper *sleeper = NULL;

	for (unsigned i = 0; sleeper == NULL && i < SOURCES; i++) {
		unsigned source = wake->turn++ % SOURCES;

		if (source == 0)
			sleeper = due_first(wake);
		else if (source == 1)
			sleeper = sleepers_waiting_first(wake->sleepers, &wake->again);
		else if (source == 2)
			sleeper = triggers_next_released(wake->triggers);
		else if (share_may_map(wake->share, false))
			sleeper = sleepers_waiting_first(wake->sleepers, &wake->unmapped);
	}
	return sleeper;
}

static bool has_room_for_retry(const struct wake *wake)
{
	size_t left = wake->share->limit / RETRIES_LEAVE;

	return wake->retries < WAKE_RETRIES_MAX && share_free(wake->share) > left;
}

static bool wake_first_attempt(struct wake *wake)
{
	struct sleeper *sleeper;

	if (!share_may_map(wake->share, false))
		return false;
	sleeper = sleepers_waiting_first(wake->sleepers, &wake->first);
	if (sleeper != NULL)
		wake->handler->wake(wake->context, sleeper, false);
	return sleeper != NULL;
}

static bool wake_retry(struct wake *wake, int64_t now_us)
{
	struct sleeper *sleeper;

	if (!has_room_for_retry(wake) || wake->is_crowded)
		return false;
	sleeper = next_retry(wake);
	if (sleeper == NULL)
		return false;
	if (message_facts_are_s4(sleeper->facts) && !share_may_map(wake->share, false) &&
	    sleeper->due_us > os_clock_wall_us()) {
		sleepers_wait(wake->sleepers, sleeper, &wake->unmapped);
		return true; /* the next may need none */
	}
	if (!pace_take(&wake->pace, now_us))
		return false;
	wake->retries++;
	wake->handler->wake(wake->context, sleeper, true);
	return true;
}

static void adjust_pace_to_load(struct wake *wake, int64_t now_us)
{
	unsigned processors;
	unsigned disk;

	if (pace_is_quiet(&wake->pace, now_us) || !pace_wants_load(&wake->pace, now_us))
		return;
	wake->handler->load(wake->context, &processors, &disk);
	pace_load(&wake->pace, now_us, processors, disk);
}

static void on_wake_timer(void *context)
{
	struct wake *wake = context;
	int64_t begin_us = os_clock_monotonic_us();
	int64_t now_us = begin_us;

	wake_check_clock(wake);
	wake->timer_at_us = INT64_MAX;
	wake->is_crowded = false;
	adjust_pace_to_load(wake, now_us);
	while (!wake->is_stopped && now_us - begin_us < WAKE_SLICE_US) {
		if (!wake_first_attempt(wake) && !wake_retry(wake, now_us))
			break;
		now_us = os_clock_monotonic_us();
	}
	wake->pause_until_us =
		now_us + (pace_is_quiet(&wake->pace, now_us) ? WAKE_PAUSE_US : WAKE_BUSY_PAUSE_US);
	wake_schedule(wake);
}

/* --- the timer --- */

/* When a message may be woken next, by the wall clock; INT64_MAX: only after a change. */
static int64_t next_wake_us(const struct wake *wake)
{
	const struct sleeper *first = sleepers_due_first(wake->sleepers);

	if (wake->is_stopped)
		return INT64_MAX;
	if (wake->first.count > 0 && share_may_map(wake->share, false))
		return 0;
	if (!has_room_for_retry(wake))
		return INT64_MAX;
	if (wake->again.count > 0 || triggers_have_released(wake->triggers))
		return 0;
	if (wake->unmapped.count > 0 && share_may_map(wake->share, false))
		return 0;
	return first != NULL ? first->due_us : INT64_MAX;
}

/* Called for every message: it only acts if the timer must fire earlier. A timer that fires too
 * early does no harm. */
void wake_schedule(struct wake *wake)
{
	int64_t at_us = next_wake_us(wake);
	int64_t delay_us;
	int64_t pause_us;

	if (at_us >= wake->timer_at_us)
		return;
	delay_us = at_us - os_clock_wall_us();
	pause_us = wake->pause_until_us - os_clock_monotonic_us();
	if (delay_us < pause_us)
		delay_us = pause_us;
	if (delay_us > SLEEP_MAX_US)
		delay_us = SLEEP_MAX_US;
	wake->timer_at_us = at_us;
	os_timer_start(wake->timer, delay_us);
}

/* --- events --- */

struct waiters *wake_unmapped(struct wake *wake)
{
	return &wake->unmapped;
}

void wake_new_mail(struct wake *wake)
{
	pace_new_mail(&wake->pace, os_clock_monotonic_us());
}

bool wake_is_quiet(const struct wake *wake)
{
	return pace_is_quiet(&wake->pace, os_clock_monotonic_us());
}

void wake_first(struct wake *wake, struct sleeper *sleeper)
{
	sleepers_set_due(wake->sleepers, sleeper, INT64_MAX);
	sleepers_wait(wake->sleepers, sleeper, &wake->first);
	wake_schedule(wake);
}

/* Who only gets room keeps its time: that of its return, or of a report. So does who is not mapped:
 * it may have to be returned before there is room to map it. */
void wake_waiters(struct wake *wake, struct waiters *waiters, size_t count, bool retries)
{
	for (; count > 0 && waiters->count > 0; count--) {
		struct sleeper *sleeper = sleepers_waiting_first(wake->sleepers, waiters);

		if (!message_facts_are_s4(sleeper->facts) && sleeper->facts.is_released)
			sleepers_set_due(wake->sleepers, sleeper, INT64_MAX);
		sleepers_wait(wake->sleepers, sleeper, retries ? &wake->again : &wake->first);
	}
	wake_schedule(wake);
}

void wake_retry_ended(struct wake *wake, bool is_crowded_out)
{
	wake->retries--;
	wake->is_crowded |= is_crowded_out;
	wake_schedule(wake);
}

/* --- when the clock is set --- */

void wake_check_clock(struct wake *wake)
{
	int64_t ahead_us = os_clock_wall_us() - os_clock_boot_us();
	int64_t jump_us = wake->ahead_us != 0 ? ahead_us - wake->ahead_us : 0;

	if (wake->ahead_us != 0 && jump_us < JUMP_US && jump_us > -JUMP_US)
		return;
	wake->ahead_us = ahead_us;
	if (jump_us == 0)
		return;
	sleepers_shift(wake->sleepers, jump_us);
	log_event(EVENT_CLOCK_SET, log_number(seconds, jump_us / SECOND_US));
}
