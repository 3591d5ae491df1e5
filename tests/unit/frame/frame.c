// SPDX-License-Identifier: ISC
/*
 * unit/frame/frame.c - around each test of each program: it ends with what it began with.
 *
 * The linker puts it in the place of the function behind cmocka_run_group_tests() (--wrap), so that
 * no test can forget it. A test that an assertion stopped is not judged: nobody cleaned up.
 */
#include "frame.h"
#include "holdings.h"
#include "test.h"
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* of the test that runs */
static const struct CMUnitTest *own_test;
static bool test_is_done;
static bool test_leaves;
static struct holdings before_test;

static CMFixtureFunction own_group_setup;
static CMFixtureFunction own_group_teardown;
static void *own_group_state;
static struct holdings before_group;
static bool group_has_left;  /* the library reports it, and says that all passed */
static size_t stopped_count; /* tests that were stopped, or leave what they may */

int real_run_group(const char *name, const struct CMUnitTest *tests, size_t count,
		   CMFixtureFunction setup,
		   CMFixtureFunction teardown) __asm__("__real__cmocka_run_group_tests");
int framed_run_group(const char *name, const struct CMUnitTest *tests, size_t count,
		     CMFixtureFunction setup,
		     CMFixtureFunction teardown) __asm__("__wrap__cmocka_run_group_tests");

/* Of tests/faults/shim.h, where it is loaded: the calls of the tests themselves are those that may
 * fail. */
static void pause_shim(bool is_paused)
{
	void (*pause)(bool is_paused);

	*(void **)&pause = dlsym(RTLD_DEFAULT, "shim_pause");
	if (pause != NULL)
		pause(is_paused);
}

/* A test's state is the group's, or its own. */
static int begin_framed_test(void **state)
{
	own_test = *state;
	test_is_done = false;
	stopped_count++;
	test_leaves = false;
	holdings_take(&before_test);
	*state = own_group_state != NULL ? own_group_state : own_test->initial_state;
	pause_shim(false);
	return own_test->setup_func != NULL ? own_test->setup_func(state) : 0;
}

static void play_framed_test(void **state)
{
	own_test->test_func(state);
	test_is_done = true;
}

void frame_leaves_for_life(void)
{
	test_leaves = true;
}

static void print_nothing(const char *format, ...)
{
	(void)format;
}

static int judge_left(const struct holdings *before, const char *name)
{
	if (test_leaves) {
		if (holdings_print(before, print_nothing) != 0)
			return 0;
		print_error("%s leaves nothing.\n", name);
		return -1;
	}
	if (holdings_print(before, print_error) == 0)
		return 0;
	print_error("That is left by %s.\n", name);
	return -1;
}

/* Whoever judges calls that fail (tests/faults/units) wants to know what was open then, and not
 * what becomes of it: nothing is in the state that the test's own end expects. */
static void end_if_judged(void)
{
	if (getenv("FRAME_ONLY") == NULL)
		return;
	if (holdings_print(&before_test, print_error) != 0)
		print_error("That was there when %s was stopped.\n", own_test->name);
	fflush(NULL);
	_exit(EXIT_FAILURE);
}

static int end_framed_test(void **state)
{
	int result;

	pause_shim(true);
	if (!test_is_done)
		end_if_judged();
	result = own_test->teardown_func != NULL ? own_test->teardown_func(state) : 0;
	if (result != 0 || !test_is_done)
		return result;
	result = judge_left(&before_test, own_test->name);
	if (result == 0 && !test_leaves)
		stopped_count--;
	return result;
}

/* The library is told of no group's state: it prefers that to a test's. */
static int begin_framed_group(void **state)
{
	int result;

	holdings_take(&before_group);
	result = own_group_setup != NULL ? own_group_setup(state) : 0;
	own_group_state = *state;
	*state = NULL;
	return result;
}

static int end_framed_group(void **state)
{
	int result;

	*state = own_group_state;
	result = own_group_teardown != NULL ? own_group_teardown(state) : 0;
	test_leaves = false;
	if (result != 0 || stopped_count > 0)
		return result;
	group_has_left = judge_left(&before_group, "the group") != 0;
	return group_has_left ? -1 : 0;
}

/* NAME is among the WORDS, between blanks. */
static bool is_named(const char *words, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = words; at != NULL && (at = strstr(at, name)) != NULL; at += length)
		if ((at == words || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
			return true;
	return false;
}

/* All, or the one that is named FRAME_ONLY, or all but those of FRAME_WITHOUT, which are tests of
 * their own: how many they are. */
static size_t frame_tests(const struct CMUnitTest *tests, size_t count, struct CMUnitTest *framed)
{
	const char *only = getenv("FRAME_ONLY");
	const char *without = getenv("FRAME_WITHOUT");
	size_t taken = 0;

	for (size_t i = 0; i < count; i++) {
		if (only != NULL && strcmp(only, tests[i].name) != 0)
			continue;
		if (only == NULL && is_named(without, tests[i].name))
			continue;
		framed[taken++] = (struct CMUnitTest){
			.name = tests[i].name,
			.test_func = play_framed_test,
			.setup_func = begin_framed_test,
			.teardown_func = end_framed_test,
			.initial_state = (void *)&tests[i],
		};
	}
	return taken;
}

int framed_run_group(const char *name, const struct CMUnitTest *tests, size_t count,
		     CMFixtureFunction setup, CMFixtureFunction teardown)
{
	struct CMUnitTest *framed = calloc(count, sizeof *framed);
	int failed;

	if (framed == NULL)
		abort();
	count = frame_tests(tests, count, framed);
	pause_shim(true);
	own_group_setup = setup;
	own_group_teardown = teardown;
	own_group_state = NULL;
	stopped_count = 0;
	group_has_left = false;
	failed = real_run_group(name, framed, count, begin_framed_group, end_framed_group);
	free(framed);
	return failed + group_has_left;
}
