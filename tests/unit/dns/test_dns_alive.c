// SPDX-License-Identifier: ISC
/* A libunbound whose thread has ended: who notices, and when. */
#include "base/panic.h"
#include "base/timestamp.h"
#include "dns/alive.h"
#include "fake_loop.h"
#include "test.h"
#include <errno.h>
#include <setjmp.h>
#include <string.h>
#include <unbound.h>

enum { PROBE = 7 };

/* --- libunbound --- */

static struct {
	bool is_dead;
	bool refuses; /* to ask anything */
	unsigned probes;
	unsigned cancelled;
	void *asker;
	ub_callback_type callback; /* of a probe that is not answered */
} thread;

int ub_resolve_async(struct ub_ctx *context, const char *name, int type, int class, void *data,
		     ub_callback_type callback, int *id)
{
	(void)context;
	(void)type;
	(void)class;
	assert_string_equal(name, "localhost.");
	assert_null(thread.callback);
	if (thread.refuses)
		return UB_NOMEM;
	thread.probes++;
	thread.asker = data;
	thread.callback = callback;
	*id = PROBE;
	return 0;
}

int ub_process(struct ub_ctx *context)
{
	ub_callback_type callback = thread.callback;

	(void)context;
	if (thread.is_dead || callback == NULL)
		return 0;
	thread.callback = NULL;
	callback(thread.asker, UB_SERVFAIL, NULL);
	return 0;
}

int ub_cancel(struct ub_ctx *context, int id)
{
	(void)context;
	assert_int_equal(id, PROBE);
	thread.callback = NULL;
	thread.cancelled++;
	return 0;
}

int ub_fd(struct ub_ctx *context)
{
	(void)context;
	return 99;
}

void ub_resolve_free(struct ub_result *result)
{
	assert_null(result);
}

/* --- a process --- */

static jmp_buf end;

static void on_end(const char *what, int error)
{
	assert_string_equal(what, "libunbound's thread has ended");
	assert_int_equal(error, -ESRCH);
	longjmp(end, 1);
}

static struct dns_alive *begin(void)
{
	fake_begin(1);
	memset(&thread, 0, sizeof thread);
	cannot_begin_by(on_end);
	return dns_alive_new(NULL, NULL);
}

/* So many seconds, in each of which the thread answers what it can. */
static void pass(unsigned seconds)
{
	for (unsigned i = 0; i < seconds; i++) {
		fake_advance(SECOND_US);
		(void)ub_process(NULL);
	}
}

static void who_runs_may_be_slow(void **state)
{
	struct dns_alive *alive = begin();

	(void)state;
	dns_alive_asked(alive);
	pass(100);
	assert_in_range(thread.probes, 20, 40);
	dns_alive_answered(alive);
	pass(2);
	assert_int_equal(fake_timers(), 0);
	dns_alive_free(alive);
}

static void who_has_ended_is_noticed(void **state)
{
	struct dns_alive *alive = begin();

	(void)state;
	thread.is_dead = true;
	dns_alive_asked(alive);
	pass(12);
	assert_int_equal(thread.probes, 1);
	if (setjmp(end) == 0) {
		pass(1);
		fail();
	}
	dns_alive_free(alive);
}

static void who_cannot_be_asked_has_not_ended(void **state)
{
	struct dns_alive *alive = begin();

	(void)state;
	thread.refuses = true;
	dns_alive_asked(alive);
	pass(5);
	thread.refuses = false;
	pass(20);
	assert_true(thread.probes > 0);
	dns_alive_cancelled(alive);
	dns_alive_free(alive);
}

static void a_suspended_process_was_not_silent(void **state)
{
	struct dns_alive *alive = begin();

	(void)state;
	thread.is_dead = true;
	dns_alive_asked(alive);
	pass(5);
	fake_pass(100 * SECOND_US); /* one timer, however late */
	thread.is_dead = false;
	pass(20);
	assert_true(thread.probes > 1);
	dns_alive_cancelled(alive);
	dns_alive_free(alive);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_runs_may_be_slow),
		cmocka_unit_test(who_has_ended_is_noticed),
		cmocka_unit_test(who_cannot_be_asked_has_not_ended),
		cmocka_unit_test(a_suspended_process_was_not_silent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
