// SPDX-License-Identifier: ISC
/* Deliveries to locked mailboxes: how many wait, for how long, and when they are tried again. Time
 * is played. */
#include "base/panic.h"
#include "base/timestamp.h"
#include "deliver/local/locked.h"
#include "fake_loop.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>

enum { MOST = 6, TIMEOUT = 30 };

static const struct config_service service = {.lock_timeout = TIMEOUT};
static size_t selves[MOST] = {0, 1, 2, 3, 4, 5};
static struct deliver_helper_recipient recipients[MOST];
static struct deliver_helper_job job = {.recipients = recipients, .recipient_count = MOST};
static struct local_entry entry = {.job = &job, .first = selves};
static unsigned called, finished;
static struct local_locked *locked;

void deliver_helper_report(struct deliver_helper_job *of, size_t index,
			   const struct mail_verdict *verdict, const char *trigger)
{
	(void)of;
	(void)index;
	(void)verdict;
	(void)trigger;
	fail();
}

void deliver_helper_tell(struct deliver_helper_job *of)
{
	assert_ptr_equal(of, &job);
}

void deliver_helper_finish(struct deliver_helper_job *of)
{
	assert_ptr_equal(of, &job);
	finished++;
}

static void again(void *context)
{
	assert_ptr_equal(context, &called);
	called++;
}

static void begin(void)
{
	fake_begin(1);
	called = finished = 0;
	entry.left = MOST;
	locked = local_locked_new(NULL, again, &called);
}

/* COUNT deliveries, of which those with a bit in LOCKED_ONES are to locked mailboxes. */
static struct local_batch new_batch(size_t count, unsigned locked_ones)
{
	struct local_batch batch = {.group = {.count = count}};

	batch.targets = memory_alloc_zero(count + 1, sizeof *batch.targets);
	for (size_t i = 0; i < count; i++) {
		batch.targets[i].entry = &entry;
		batch.targets[i].index = i;
		batch.targets[i].path = STR("/box");
		batch.targets[i].owner = (struct os_process_user){.uid = (uid_t)i};
	}
	local_batch_fill(&batch);
	for (size_t i = 0; i < count; i++)
		batch.group.deliveries[i].is_locked = (locked_ones >> i & 1) != 0;
	return batch;
}

/* Which of BATCH have no entry any more: they wait. */
static unsigned moved(const struct local_batch *batch)
{
	unsigned found = 0;

	for (size_t i = 0; i < batch->group.count; i++)
		found |= (batch->targets[i].entry == NULL ? 1U : 0U) << i;
	return found;
}

static unsigned lowest(unsigned bits, size_t most)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < MOST && most > 0; i++)
		if ((bits >> i & 1) != 0) {
			kept |= 1U << i;
			most--;
		}
	return kept;
}

/* Those of [FIRST, END) that are locked wait, at most MOST_WAIT; all come again after a tenth of a
 * second. */
static void check_taken(unsigned locked_ones, size_t first, size_t end, size_t most_wait)
{
	struct local_batch batch = new_batch(MOST, locked_ones);
	struct local_batch next = {0};
	unsigned range = ((1U << end) - 1) & ~((1U << first) - 1);
	unsigned wanted = lowest(locked_ones & range, most_wait);
	size_t count = (size_t)__builtin_popcount(wanted);

	called = 0;
	local_locked_take(locked, &service, most_wait, &batch, first, end);
	assert_int_equal(moved(&batch), wanted);
	assert_int_equal(fake_timers(), count > 0);
	assert_false(local_locked_is_due(locked));
	assert_false(local_locked_give(locked, &next));
	fake_advance(SECOND_US / 10 - 1);
	assert_int_equal(called, 0);
	fake_advance(1);
	assert_int_equal(called, count > 0);
	assert_int_equal(local_locked_is_due(locked), count > 0);
	assert_int_equal(local_locked_give(locked, &next), count > 0);
	assert_int_equal(next.group.count, count);
	for (size_t i = 0; i < count; i++) {
		assert_ptr_equal(next.targets[i].entry, &entry);
		assert_true((wanted >> next.targets[i].index & 1) != 0);
		assert_int_not_equal(next.targets[i].locked_us, 0);
	}
	assert_false(local_locked_is_due(locked));
	local_batch_clear(&next);
	local_batch_clear(&batch);
}

static void the_locked_ones_wait_a_moment(void **state)
{
	(void)state;
	begin();
	for (unsigned bits = 0; bits < 1U << MOST; bits++)
		for (size_t most = 0; most <= MOST; most++) {
			check_taken(bits, 0, MOST, most);
			check_taken(bits, 1, MOST - 2, most);
		}
	local_locked_free(locked);
}

/* From when it was first found locked on, until just before the time of the service. */
static void each_has_the_time_of_its_service(void **state)
{
	static const int64_t waits_us[] = {0, SECOND_US, TIMEOUT * SECOND_US - 1,
					   TIMEOUT * SECOND_US, TIMEOUT * SECOND_US + 1};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(waits_us); i++) {
		struct local_batch batch = new_batch(1, 1);
		struct local_batch next = {0};

		begin();
		local_locked_take(locked, &service, 1, &batch, 0, 1);
		local_batch_clear(&batch);
		fake_play_timer();
		assert_true(local_locked_give(locked, &next));
		fake_pass(waits_us[i] > 0 ? waits_us[i] - SECOND_US / 10 : 0);
		next.group.deliveries[0].is_locked = true;
		local_locked_take(locked, &service, 1, &next, 0, 1);
		assert_int_equal(moved(&next), waits_us[i] < TIMEOUT * SECOND_US);
		local_batch_clear(&next);
		local_locked_give_up(locked);
		local_locked_free(locked);
	}
}

/* What waits when all ends is given up without a report, and nothing is left of it for the next. */
static void what_waits_is_given_up(void **state)
{
	(void)state;
	begin();
	for (unsigned life = 0; life < 6; life++) {
		struct local_batch batch = new_batch(MOST, 7);

		entry.left = 3;
		finished = called = 0;
		local_locked_take(locked, &service, MOST, &batch, 0, MOST);
		if (life % 2 > 0)
			fake_play_timer();
		local_locked_give_up(locked);
		assert_int_equal(entry.left, 0);
		assert_int_equal(finished, 1);
		assert_false(local_locked_is_due(locked));
		assert_int_equal(fake_timers(), 0);
		local_batch_clear(&batch);
	}
	local_locked_free(locked);
	local_locked_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_locked_ones_wait_a_moment),
		cmocka_unit_test(each_has_the_time_of_its_service),
		cmocka_unit_test(what_waits_is_given_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
