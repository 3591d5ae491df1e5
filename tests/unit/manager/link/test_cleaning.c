// SPDX-License-Identifier: ISC
/* The cleaning of the queue: in slices, with pauses, to its end; what it finds is told and logged.
 * The cleaner is this test's, and time is played. */
#include "base/timestamp.h"
#include "fake_loop.h"
#include "heard.h"
#include "manager/link/cleaning.h"
#include "os/clock.h"
#include "queue/cleaner.h"
#include "queue/control/control.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { LOGGED_MAX = 100, MOST = LOGGED_MAX + 1 };

static struct {
	const struct queue_cleaner_handler *handler;
	void *context;
	const char *const *services;
	unsigned steps, sweeps, frees;
	int results[8]; /* of the steps; then 0 */
	int sweep_error;
	int64_t step_us; /* that each takes */
	bool is_quiet, is_sure;
	int done; /* -1: not yet; else whether it is sure */
	uint64_t asked, removed, found[2];
	size_t found_count;
	struct sleepers sleepers;
	struct cleaning *cleaning;
} world;

/* --- queue/cleaner.h, wait/wake.h --- */

struct queue_cleaner *queue_cleaner_new(struct queue_store *store, const char *const *services,
					size_t service_count,
					const struct queue_cleaner_handler *handler, void *context)
{
	assert_ptr_equal(store, &world);
	assert_int_equal(service_count, 2);
	world.services = services;
	world.handler = handler;
	world.context = context;
	return (struct queue_cleaner *)&world;
}

void queue_cleaner_free(struct queue_cleaner *cleaner)
{
	assert_ptr_equal(cleaner, &world);
	world.frees++;
}

int queue_cleaner_step(struct queue_cleaner *cleaner)
{
	assert_ptr_equal(cleaner, &world);
	fake_pass(world.step_us);
	return world.steps < 8 ? world.results[world.steps++] : 0;
}

int queue_cleaner_sweep(struct queue_store *store, int64_t now_us,
			void (*removed)(void *context, const char *path), void *context)
{
	assert_ptr_equal(store, &world);
	assert_int_equal(now_us, os_clock_wall_us());
	removed(context, "litter/1");
	world.sweeps++;
	return world.sweep_error;
}

bool queue_cleaner_is_sure(const struct queue_cleaner *cleaner)
{
	assert_ptr_equal(cleaner, &world);
	return world.is_sure;
}

bool wake_is_quiet(const struct wake *wake)
{
	assert_ptr_equal(wake, &world);
	return world.is_quiet;
}

/* --- the manager --- */

static bool on_is_awake(void *context, uint64_t number)
{
	assert_ptr_equal(context, &world);
	world.asked = number;
	return number == 5;
}

static void on_remove_data(void *context, uint64_t number)
{
	assert_ptr_equal(context, &world);
	world.removed = number;
}

static void on_found(void *context, uint64_t number)
{
	assert_ptr_equal(context, &world);
	assert_true(world.found_count < 2);
	world.found[world.found_count++] = number;
}

static int on_end_hold(void *context, struct str name)
{
	assert_ptr_equal(context, &world);
	assert_true(str_equal(name, STR("hold.1-1")));
	return -EIO;
}

static void on_done(void *context, bool is_sure)
{
	assert_ptr_equal(context, &world);
	assert_int_equal(world.done, -1);
	world.done = is_sure;
}

static void begin(void)
{
	static const struct cleaning_handler handler = {on_is_awake, on_remove_data, on_found,
							on_end_hold, on_done};
	char names[2][8] = {"box", "other"};
	const char *services[] = {names[0], names[1]};

	memset(&world, 0, sizeof world);
	fake_begin(1);
	(void)heard_take();
	world.done = -1;
	world.step_us = 1;
	world.cleaning = cleaning_new(NULL, (struct queue_store *)&world, &world.sleepers,
				      (struct wake *)&world, services, 2, &handler, &world);
	memset(names, 'z', sizeof names); /* a reload removes them */
	services[0] = services[1] = NULL;
	assert_string_equal(world.services[0], "box");
	assert_string_equal(world.services[1], "other");
}

static void end(void)
{
	cleaning_free(world.cleaning);
	assert_int_equal(world.frees, 1);
	sleepers_clear(&world.sleepers);
}

static void slices_have_pauses(void **state)
{
	static const struct {
		bool is_quiet;
		int64_t pause_us;
	} cases[] = {{true, 1000}, {false, 20000}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		for (unsigned sure = 0; sure < 2; sure++) {
			begin();
			world.is_quiet = cases[i].is_quiet;
			world.is_sure = sure > 0;
			world.step_us = 1000;
			memcpy(world.results, (int[8]){1, 1, 1, -EIO, 1, 1, 1, 0},
			       sizeof world.results);
			fake_advance(0);
			assert_int_equal(world.steps, 2); /* of 2 ms */
			fake_advance(cases[i].pause_us - 1);
			assert_int_equal(world.steps, 2);
			fake_advance(1);
			assert_int_equal(world.steps, 4); /* it goes on after a failure */
			assert_string_equal(
				heard_take(),
				"queue_error operation=clean error=Input/output error\n");
			fake_advance(cases[i].pause_us);
			assert_int_equal(world.steps, 6);
			assert_int_equal(world.done, -1);
			fake_advance(cases[i].pause_us);
			assert_int_equal(world.steps, 8);
			assert_int_equal(world.sweeps, 1);
			assert_int_equal(world.done, sure);
			assert_string_equal(heard_take(), "queue_cleaned path=litter/1\n");
			fake_advance(SECOND_US);
			assert_int_equal(world.sweeps, 1);
			end();
		}
}

static void a_sweep_that_fails_is_logged(void **state)
{
	(void)state;
	begin();
	world.sweep_error = -EACCES;
	fake_advance(0);
	assert_int_equal(world.done, 0);
	assert_string_equal(heard_take(),
			    "queue_cleaned path=litter/1\n"
			    "queue_error operation=clean litter error=Permission denied\n");
	end();
	begin(); /* and before it has ended */
	end();
	cleaning_free(NULL);
}

static void the_manager_is_asked_and_told(void **state)
{
	(void)state;
	begin();
	assert_true(world.handler->is_busy(world.context, 5));
	assert_false(world.handler->is_busy(world.context, 6));
	assert_int_equal(world.asked, 6);
	assert_int_equal(world.handler->remove_data(world.context, 7), 0);
	assert_int_equal(world.removed, 7);
	assert_int_equal(world.handler->end_hold(world.context, STR("hold.1-1")), -EIO);
	(void)sleepers_add(&world.sleepers, 8, 1);
	(void)sleepers_add(&world.sleepers, 9, 1);
	world.handler->forget(world.context, 8);
	world.handler->forget(world.context, 10);
	assert_null(sleepers_find(&world.sleepers, 8));
	assert_non_null(sleepers_find(&world.sleepers, 9));
	world.handler->removed(world.context, "mess/1");
	assert_string_equal(heard_take(), "queue_cleaned path=mess/1\n");
	end();
}

/* --- what is found --- */

static struct mail_recipient recipients[MOST];
static struct queue_delivery deliveries[MOST];
static struct mail_envelope envelope = {
	.id = {457, 1}, .sender = STR("s@a.test"), .recipients = recipients};
static struct queue_control control = {.envelope = &envelope, .deliveries = deliveries};

/* The lines for COUNT recipients, of which those at OPEN(i) may not have it. */
static void want_lines(struct buffer *wanted, const char *event, size_t open_count)
{
	for (size_t i = 0; i < open_count && i < LOGGED_MAX; i++)
		buffer_append_format(
			wanted,
			"%s id=457-1 from=s@a.test to=%c@a.test recipients=%zu reason=why "
			"path=p\n",
			event, control.is_mapped ? 'd' : 'r', open_count);
	if (open_count == 0)
		buffer_append_format(wanted,
				     "%s id=457-1 from=s@a.test recipients=0 reason=why path=p\n",
				     event);
}

static void findings_are_logged_for_each_recipient(void **state)
{
	static const size_t counts[] = {0, 1, 3, LOGGED_MAX - 1, LOGGED_MAX, MOST};
	static const char *const events[] = {[QUEUE_CLEANER_REBUILT] = "message_rebuilt",
					     [QUEUE_CLEANER_DAMAGED] = "message_lost",
					     [QUEUE_CLEANER_LITTER] = "message_litter"};

	(void)state;
	begin();
	for (size_t i = 0; i < COUNT_OF(counts) * COUNT_OF(events) * 4; i++) {
		struct buffer wanted CLEANUP(buffer_clear) = {0};
		enum queue_cleaner_kind kind = (enum queue_cleaner_kind)(i / 4 % COUNT_OF(events));
		size_t count = counts[i / 4 / COUNT_OF(events)];
		bool has_report = i & 2;
		struct queue_cleaner_finding finding = {.kind = kind,
							.number = 457,
							.control = &control,
							.path = "p",
							.why = "why",
							.report = has_report ? 458 : 0};
		size_t open = 0;

		control.is_mapped = i & 1;
		envelope.recipient_count = control.is_mapped ? 1 : count;
		control.delivery_count = count;
		for (size_t r = 0; r < count; r++) {
			recipients[r].address = STR("r@a.test");
			deliveries[r].address = STR("d@a.test");
			deliveries[r].outcome =
				count < 4 ? (enum queue_outcome)(r % 4) : QUEUE_WAIT;
			open += deliveries[r].outcome == QUEUE_WAIT ||
				deliveries[r].outcome == QUEUE_PENDING;
		}
		want_lines(&wanted, events[kind], control.is_mapped ? open : count);
		buffer_append_byte(&wanted, '\0');
		world.found_count = 0;
		world.handler->found(world.context, &finding);
		assert_string_equal(heard_take(), buffer_data(&wanted));
		assert_int_equal(world.found_count, (kind == QUEUE_CLEANER_REBUILT) + has_report);
		if (kind == QUEUE_CLEANER_REBUILT)
			assert_int_equal(world.found[0], 457);
		if (has_report)
			assert_int_equal(world.found[world.found_count - 1], 458);
	}
	end();
}

/* Nobody knows more than its number. */
static void what_has_no_envelope_is_a_number(void **state)
{
	const struct queue_cleaner_finding finding = {
		.kind = QUEUE_CLEANER_DAMAGED, .number = 457, .path = "p", .why = "why"};

	(void)state;
	begin();
	cleaning_log_finding(&finding);
	assert_string_equal(heard_take(), "message_lost number=457 reason=why path=p\n");
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slices_have_pauses),
		cmocka_unit_test(a_sweep_that_fails_is_logged),
		cmocka_unit_test(the_manager_is_asked_and_told),
		cmocka_unit_test(findings_are_logged_for_each_recipient),
		cmocka_unit_test(what_has_no_envelope_is_a_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
