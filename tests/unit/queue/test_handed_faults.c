// SPDX-License-Identifier: ISC
/*
 * Packages that are handed over, each call failing once: what was taken is there until it is
 * settled, what was refused with one of the errors that promise it has left nothing, and of all
 * others the next greeting says the truth.
 */
#include "failing_calls.h"
#include "handed_scene.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { PACKAGES = 3 };

/* What a1 knows of each. */
static struct package {
	uint64_t number;
	int result;      /* of its commit */
	int end;         /* of its end; 1: not tried */
	bool is_settled; /* that was said */
} all[PACKAGES];

static const char *const names[PACKAGES] = {"1-1", "2-1.3", "3-1"};
static const char map[] = "map: 1 remote 3 <x@example.org>\nmapped: directory=42 count=1\n";

static void take(unsigned which)
{
	all[which].result = handed_scene_take(names[which], "data", which == 1 ? map : NULL,
					      &all[which].number);
}

static void end(unsigned which)
{
	if (all[which].result == 0)
		all[which].end = handed_scene_end(all[which].number);
}

static void settle(unsigned which)
{
	if (all[which].result != 0)
		return;
	all[which].is_settled = true;
	if (queue_handed_settle(handed.intake, STR("a1"), str_from(names[which])) < 0)
		all[which].is_settled = false; /* the next greeting lists it again */
}

/* One ends before it is settled, one after, and one waits. */
static void live(void)
{
	for (unsigned i = 0; i < PACKAGES; i++)
		all[i] = (struct package){.result = -ENOTCONN, .end = 1};
	if (handed_scene_restart() < 0 || handed_scene_greet(7) < 0)
		return;
	for (unsigned i = 0; i < PACKAGES; i++)
		take(i);
	end(0);
	settle(0);
	settle(1);
	end(1);
	queue_message_commit_group(handed.intake, NULL, 0, NULL);
}

static bool promises_nothing_left(int result)
{
	return result == -ENOSPC || result == -EDQUOT || result == -E2BIG || result == -EBADMSG ||
	       result == -EMFILE || result == -ENOTCONN;
}

static bool is_kept(const char *kept, unsigned which)
{
	char entry[32];

	snprintf(entry, sizeof entry, "%s %s;", names[which], which == 1 ? "3" : "");
	return strstr(kept, entry) != NULL;
}

/* The file of one that was refused may be another's. */
static bool has_message(unsigned which)
{
	bool is_own = true;

	for (unsigned i = which + 1; i < PACKAGES; i++)
		is_own &= all[i].number != all[which].number;
	return all[which].number != 0 && is_own && handed_scene_is_queued(all[which].number);
}

static void check_package(unsigned call, const char *kept, unsigned which)
{
	const struct package *package = &all[which];
	bool is_queued = has_message(which);
	bool is_there = is_kept(kept, which);

	if (package->result == 0 && !package->is_settled && !is_there)
		fail_msg("call %u: package %u was taken and is not kept: %s", call, which, kept);
	if (package->result == 0 && package->end == 1 && !is_queued)
		fail_msg("call %u: package %u was taken and has no message", call, which);
	if (package->result == 0 && package->end == 0 && is_queued)
		fail_msg("call %u: package %u has ended and is queued", call, which);
	if (promises_nothing_left(package->result) && (is_there || is_queued))
		fail_msg("call %u: package %u is here, which was denied", call, which);
	if (package->result < 0 && is_there != is_queued)
		fail_msg("call %u: package %u is %s, and its message %s: %s", call, which,
			 is_there ? "kept" : "not kept", is_queued ? "queued" : "not", kept);
}

/* In this process, if it lives, and in the next one. */
static void check_queue(unsigned call)
{
	if (handed.intake != NULL && handed_scene_greet(8) == 0)
		for (unsigned i = 0; i < PACKAGES; i++)
			check_package(call, handed_scene_kept(), i);
	assert_int_equal(handed_scene_restart(), 0);
	assert_int_equal(handed_scene_greet(9), 0);
	for (unsigned i = 0; i < PACKAGES; i++)
		check_package(call, handed_scene_kept(), i);
	if (strstr(handed_scene_names(), "run.1.9 ") == NULL ||
	    strstr(handed_scene_names(), "run.1.7 ") != NULL)
		fail_msg("call %u: %s", call, handed_scene_names());
}

static void fail_each_call(enum queue_sync sync)
{
	bool is_over = false;
	void *state = NULL;
	unsigned call;

	failing_calls_forget();
	for (call = 0; !is_over; call++) {
		assert_int_equal(queue_scene_set_up(&state), 0);
		handed_scene_open(sync);
		if (call > 0)
			failing_calls_begin();
		live();
		is_over = call > 0 && !failing_calls_end();
		if (call == 0)
			assert_true(all[0].is_settled && all[0].end == 0 && all[1].end == 0 &&
				    all[2].result == 0);
		check_queue(call);
		handed_scene_close();
		assert_int_equal(queue_scene_tear_down(&state), 0);
	}
	assert_true(call > 30);
}

static void by_files(void **state)
{
	(void)state;
	fail_each_call(QUEUE_SYNC_FILES);
}

static void by_order(void **state)
{
	(void)state;
	fail_each_call(QUEUE_SYNC_ORDERED);
}

static void by_the_filesystem(void **state)
{
	(void)state;
	fail_each_call(QUEUE_SYNC_FILESYSTEM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_files),
		cmocka_unit_test(by_order),
		cmocka_unit_test(by_the_filesystem),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
