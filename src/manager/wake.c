// SPDX-License-Identifier: ISC
/*
 * Who is woken when. New mail comes with its control file and is awake at once;
 * here are those whose control file must be read from the disk, a few at a time,
 * so that the loop is never kept long.
 *
 * First attempts come first. Retries have what is left: as many as are wanted
 * while no new mail comes (after much of it, for a second); otherwise one for every
 * sixty-four new messages, and at least twelve a second: half of the price is paid
 * when one is read, half when it is started. Only so many are awake together; a
 * destination that has enough of them (destination_is_crowded()) makes the others be
 * woken slowly, and one that cannot be reached has a trigger, behind which they sleep
 * unread.
 */
#include "log/event.h"
#include "manager/internal.h"
#include "os/clock.h"

enum {
	AWAKE_MAX = 10000,
	DELIVERIES_AWAKE_MAX = 500000, /* of all that are awake: memory, too */
	RETRIES_MAX = 1000,            /* awake */
	PRICE = 32, /* of a retry's reading, and of its start; a new message adds one */
	CREDIT_MAX = 128 * PRICE,
	CREDIT_US = 1250, /* adds one, too */
	SLICE_US = 2000,  /* of the loop's time without a pause */
	PAUSE_US = 2000,
	BUSY_PAUSE_US = 20000,
	QUIET_US = 50000, /* without new mail, where little of it comes */
	WINDOW_US = 500000,
	MUCH = 50, /* new messages in this window or the last one: then two windows without */
	SOURCES = 3,
};

static const int64_t JUMP_US = 10 * SECOND_US; /* less is not worth it */
static const int64_t SLEEP_MAX_US = MINUTE_US; /* the clock may be set */

bool wake_is_allowed(const struct manager *manager)
{
	return !manager->is_stopping && manager->awake < AWAKE_MAX &&
	       manager->deliveries < DELIVERIES_AWAKE_MAX;
}

bool wake_many_are_awake(const struct manager *manager)
{
	return manager->awake > AWAKE_MAX / 2 || manager->deliveries > DELIVERIES_AWAKE_MAX / 2;
}

/* --- what retries may have --- */

void wake_new_mail(struct manager *manager)
{
	struct wake *wake = &manager->wake;

	wake->new_mail_us = os_clock_monotonic_us();
	if (wake->new_mail_us - wake->window_us > WINDOW_US) {
		wake->before = wake->new_mail_us - wake->window_us <= INT64_C(2) * WINDOW_US
				       ? wake->recent
				       : 0;
		wake->recent = 0;
		wake->window_us = wake->new_mail_us;
	}
	wake->recent++;
	if (wake->credit < CREDIT_MAX)
		wake->credit++;
}

/* A group that waits for a slow disk is a pause in a stream of mail, too: retries
 * that use it would be what the next group waits for. */
static bool is_quiet(const struct wake *wake, int64_t now_us)
{
	int64_t since_us = now_us - wake->new_mail_us;

	if (wake->new_mail_us == 0 || since_us > INT64_C(2) * WINDOW_US)
		return true;
	return since_us > QUIET_US && wake->before + wake->recent < MUCH;
}

bool wake_has_spare_time(const struct manager *manager)
{
	return is_quiet(&manager->wake, os_clock_monotonic_us());
}

static bool pay(struct wake *wake, int64_t now_us)
{
	bool has_enough = wake->credit >= PRICE;

	if (has_enough)
		wake->credit -= PRICE;
	return has_enough || is_quiet(wake, now_us);
}

bool wake_may_start_retry(struct manager *manager)
{
	struct wake *wake = &manager->wake;

	if (pay(wake, os_clock_monotonic_us()))
		return true;
	wake->has_stalled = true;
	wake_schedule(manager);
	return false;
}

static void add_credit(struct wake *wake, int64_t now_us)
{
	int64_t count = (now_us - wake->credited_us) / CREDIT_US;

	if (count > CREDIT_MAX - wake->credit) {
		wake->credit = CREDIT_MAX;
		wake->credited_us = now_us;
	} else {
		wake->credit += (uint32_t)count;
		wake->credited_us += count * CREDIT_US;
	}
}

/* --- whose turn it is --- */

static struct sleeper *first_of(struct manager *manager, unsigned source)
{
	struct sleeper *sleeper;

	if (source == 1)
		return sleepers_waiting_first(&manager->sleepers, &manager->wake.again);
	if (source == 2)
		return trigger_next_released(manager);
	sleeper = sleepers_due_first(&manager->sleepers);
	return sleeper != NULL && sleeper->due_us <= os_clock_wall_us() ? sleeper : NULL;
}

static struct sleeper *next_retry(struct manager *manager)
{
	struct sleeper *sleeper = NULL;

	for (unsigned i = 0; sleeper == NULL && i < SOURCES; i++)
		sleeper = first_of(manager, manager->wake.turn++ % SOURCES);
	return sleeper;
}

static bool wake_first_attempt(struct manager *manager)
{
	struct sleeper *sleeper = sleepers_waiting_first(&manager->sleepers, &manager->wake.first);

	if (sleeper == NULL || !wake_is_allowed(manager))
		return false;
	message_wake(manager, message_take(manager, sleeper), STR(""));
	return true;
}

static bool wake_retry(struct manager *manager, int64_t now_us)
{
	struct wake *wake = &manager->wake;
	struct sleeper *sleeper;
	struct message *message;

	if (!wake_is_allowed(manager) || wake->retries >= RETRIES_MAX || wake->has_parked)
		return false;
	sleeper = next_retry(manager);
	if (sleeper == NULL || !pay(wake, now_us))
		return false;
	message = message_take(manager, sleeper);
	message->is_retry = true;
	wake->retries++;
	message_wake(manager, message, STR(""));
	return true;
}

/* --- a clock that is set --- */

void wake_check_clock(struct manager *manager)
{
	struct wake *wake = &manager->wake;
	int64_t ahead_us = os_clock_wall_us() - os_clock_boot_us();
	int64_t jump_us = wake->ahead_us != 0 ? ahead_us - wake->ahead_us : 0;

	if (wake->ahead_us != 0 && jump_us < JUMP_US && jump_us > -JUMP_US)
		return;
	wake->ahead_us = ahead_us;
	if (jump_us == 0)
		return;
	sleepers_shift(&manager->sleepers, jump_us);
	log_event(EVENT_CLOCK_SET, log_number("seconds", jump_us / SECOND_US));
}

void wake_due(void *context)
{
	struct manager *manager = context;
	struct wake *wake = &manager->wake;
	int64_t begin_us = os_clock_monotonic_us();
	int64_t now_us = begin_us;

	wake_check_clock(manager);
	wake->timer_at_us = INT64_MAX;
	wake->has_parked = false;
	add_credit(wake, now_us);
	if (wake->has_stalled)
		os_loop_defer(manager->loop, &manager->dispatch_task);
	wake->has_stalled = false;
	while (now_us - begin_us < SLICE_US) {
		if (!wake_first_attempt(manager) && !wake_retry(manager, now_us))
			break;
		now_us = os_clock_monotonic_us();
	}
	wake->pause_until_us = now_us + (is_quiet(wake, now_us) ? PAUSE_US : BUSY_PAUSE_US);
	wake_schedule(manager);
}

/* --- the timer --- */

/* When somebody may be woken next, by the wall clock; INT64_MAX: not before some
 * change. */
static int64_t next_us(const struct manager *manager)
{
	const struct sleeper *first = sleepers_due_first(&manager->sleepers);

	if (manager->wake.has_stalled && !manager->is_stopping)
		return 0;
	if (!wake_is_allowed(manager))
		return INT64_MAX;
	if (manager->wake.first.count > 0)
		return 0;
	if (manager->wake.retries >= RETRIES_MAX)
		return INT64_MAX;
	if (manager->wake.again.count > 0 || manager->released != NULL)
		return 0;
	return first != NULL ? first->due_us : INT64_MAX;
}

/* On the way of every message: nothing is done but when the timer must ring
 * earlier. One that rings too early does no harm. */
void wake_schedule(struct manager *manager)
{
	struct wake *wake = &manager->wake;
	int64_t at_us = next_us(manager);
	int64_t wall_us;
	int64_t delay_us;
	int64_t pause_us;

	if (at_us >= wake->timer_at_us)
		return;
	wall_us = os_clock_wall_us();
	delay_us = at_us - wall_us;
	pause_us = wake->pause_until_us - os_clock_monotonic_us();
	if (delay_us < pause_us)
		delay_us = pause_us;
	if (delay_us > SLEEP_MAX_US)
		delay_us = SLEEP_MAX_US;
	wake->timer_at_us = at_us;
	os_timer_start(wake->timer, delay_us);
}

void wake_first(struct manager *manager, struct sleeper *sleeper)
{
	sleepers_set_due(&manager->sleepers, sleeper, INT64_MAX);
	sleepers_wait(&manager->sleepers, sleeper, &manager->wake.first);
	wake_schedule(manager);
}

void wake_waiters(struct manager *manager, struct waiters *waiters, size_t count, bool retries)
{
	for (; count > 0 && waiters->count > 0; count--) {
		struct sleeper *sleeper = sleepers_waiting_first(&manager->sleepers, waiters);

		sleeper->is_released = true;
		sleepers_set_due(&manager->sleepers, sleeper, INT64_MAX);
		sleepers_wait(&manager->sleepers, sleeper,
			      retries ? &manager->wake.again : &manager->wake.first);
	}
	wake_schedule(manager);
}
