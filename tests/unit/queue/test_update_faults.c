// SPDX-License-Identifier: ISC
/*
 * A queue is made, a message moves to S5 and has outcomes, and each call on that way fails once:
 * whoever is told of success finds all of it, and whoever is told of a failure can do it again.
 */
#include "failing_calls.h"
#include "os/file/file.h"
#include "queue/message.h"
#include "queue_portrait.h"
#include "queue_scene.h"
#include "test.h"
#include <errno.h>
#include <string.h>

#define MAP  "map: 1 remote <b@example.net>\nmapped: directory=1 count=1\n"
#define WAIT "wait: 1 2026-11-20T08:33:14Z until=2026-11-20T08:40:01Z 4.4.1 no\n"
#define FAIL "fail: 1 2026-11-20T08:34:14Z 5.1.1 nobody\n"

static struct queue_store *store;
static struct queue_intake *intake;
static uint64_t number;
static enum queue_sync sync_mode;

static void begin(void)
{
	void *state = NULL;

	assert_int_equal(queue_scene_set_up(&state), 0);
	store = queue_scene_open("queue", sync_mode);
	intake = queue_scene_intake(store);
	number = queue_scene_enqueue(intake, NULL, "data0\r\n");
}

static void end(void)
{
	void *state = NULL;

	queue_intake_close(intake);
	queue_store_close(store);
	assert_int_equal(queue_scene_tear_down(&state), 0);
}

/* Each change of a message's life at S5. */
static struct queue_update step_of(unsigned step)
{
	struct queue_update update = {.number = number, .born_us = SECOND_US};

	if (step == 0) {
		update.is_queued = update.preprocess = update.link_remote = true;
		update.stage = MAIL_STAGE_ARRIVE;
		update.control = STR(MAP);
	} else {
		update.control = step == 1 ? STR(WAIT) : STR(FAIL);
		update.bounce = step == 1 ? STR("") : STR("a failure\n");
	}
	return update;
}

enum { STEPS = 3 };

static int take_step(unsigned step)
{
	struct queue_update update = step_of(step);
	int result = queue_scene_update(store, &update);

	if (result == 0 && step == 0)
		return queue_message_remove_todo(intake, MAIL_STAGE_ARRIVE, number);
	return result;
}

/* After so many steps. */
static void check_message(unsigned call, unsigned steps)
{
	static const enum queue_outcome outcomes[] = {QUEUE_PENDING, QUEUE_WAIT, QUEUE_FAIL};
	static const char *const names[] = {"info/0\nmess/0\nremote/0\n",
					    "info/0\nmess/0\nremote/0\n",
					    "bounce/0\ninfo/0\nmess/0\nremote/0\n"};
	struct buffer there CLEANUP(buffer_clear) = {0};
	struct queue_control *control;

	if (queue_update_load(store, NULL, number, &control, NULL) != 0)
		fail_msg("call %u, step %u: it is gone", call, steps);
	if (control->delivery_count != 1 || control->damaged != 0 ||
	    control->deliveries[0].outcome != outcomes[steps])
		fail_msg("call %u, step %u: outcome %d", call, steps,
			 (int)control->deliveries[0].outcome);
	queue_control_free(control);
	queue_portrait(store, &there);
	if (!str_equal(buffer_view(&there), str_from(names[steps])))
		fail_msg("call %u, step %u:\n" STR_FORMAT, call, steps,
			 STR_ARGUMENTS(buffer_view(&there)));
}

static void fail_each_call(void)
{
	unsigned call = 0, failures = 0;

	failing_calls_forget();
	for (bool is_over = false; !is_over; call++) {
		begin();
		is_over = true;
		for (unsigned step = 0; step < STEPS; step++) {
			int result = 0;

			if (is_over)
				failing_calls_begin();
			result = take_step(step);
			if (is_over)
				is_over = !failing_calls_end();
			failures += result < 0;
			if (result < 0) /* who is told of it does it again */
				assert_int_equal(take_step(step), 0);
			check_message(call, step);
		}
		end();
	}
	assert_true(failures > 20);
}

static void each_way_of_syncing(void **state)
{
	static const enum queue_sync modes[] = {QUEUE_SYNC_FILES, QUEUE_SYNC_ORDERED,
						QUEUE_SYNC_FILESYSTEM};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(modes); i++) {
		sync_mode = modes[i];
		fail_each_call();
	}
}

/* --- the queue itself --- */

/* What is missing of it is made by the next one who opens it. */
static void a_queue_is_made(void **state)
{
	unsigned call = 0;

	failing_calls_forget();
	for (bool is_over = false; !is_over; call++) {
		struct queue_options options = {
			.create = true, .split = QUEUE_SCENE_SPLIT, .sync = QUEUE_SYNC_FILES};
		struct buffer reason CLEANUP(buffer_clear) = {0};
		int result;

		assert_int_equal(queue_scene_set_up(state), 0);
		store = NULL;
		failing_calls_begin();
		result = queue_store_open(queue_scene_path("queue"), &options, &store, &reason);
		is_over = !failing_calls_end();
		if (result < 0) {
			assert_null(store);
			assert_true(result == -EIO);
			store = queue_scene_open("queue", QUEUE_SYNC_FILES);
		}
		assert_int_equal(queue_store_split(store), QUEUE_SCENE_SPLIT);
		intake = queue_scene_intake(store);
		number = queue_scene_enqueue(intake, NULL, "data0\r\n");
		for (unsigned step = 0; step < STEPS; step++)
			assert_int_equal(take_step(step), 0);
		check_message(call, STEPS - 1);
		queue_intake_close(intake);
		queue_store_close(store);
		assert_int_equal(queue_scene_tear_down(state), 0);
	}
	assert_true(call > 10);
}

/* Of a queue that is to be made the directory is that above it. */
static void where_a_queue_may_be(void **state)
{
	struct buffer reason CLEANUP(buffer_clear) = {0};
	int here;

	assert_int_equal(queue_scene_set_up(state), 0);
	here = queue_store_check_place(queue_scene_path("."), &reason);
	assert_int_equal(queue_store_check_place(queue_scene_path("new"), &reason), here);
	assert_int_equal(queue_store_check_place(queue_scene_path("no/new"), &reason), -ENOENT);
	assert_int_equal(queue_store_check_place("/no-such-directory-of-stagepost", &reason),
			 -ENOENT);
	assert_int_equal(queue_store_check_place("no-such-directory-of-stagepost", &reason),
			 -ENOENT);
	assert_int_equal(queue_scene_tear_down(state), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_way_of_syncing),
		cmocka_unit_test(a_queue_is_made),
		cmocka_unit_test(where_a_queue_may_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
