// SPDX-License-Identifier: ISC
/* What a helper reports of its jobs comes to "send", in order and once, over connections that are
 * lost, drained and retired. */
#include "chance.h"
#include "helper_send.h"
#include "test.h"
#include <string.h>

enum { STEPS = 20000, RECIPIENTS = IPC_JOB_RECIPIENTS_MAX };

static const struct deliver_helper_handler handler = {helper_send_on_job, helper_send_on_drain,
						      helper_send_on_lost};

static void start_job(struct helper_send_job *of)
{
	static uint32_t next;
	const struct helper_send_start start = {
		.recipients = 1 + chance(chance(8) == 0 ? RECIPIENTS : 4), .content = ""};
	struct buffer body CLEANUP(buffer_clear) = {0};

	helper_send_pack(&body, &start);
	helper_send.given = NULL;
	of->tag = next++;
	helper_send_say(IPC_JOB_START, of->tag, buffer_view(&body), -1);
	assert_non_null(helper_send.given);
	of->job = helper_send.given;
	of->recipients = start.recipients;
	of->is_orphan = false;
	buffer_reset(&of->wanted);
}

static void report_one(struct helper_send_job *of)
{
	static const struct ipc_job_tls tls = {STR("TLSv1.3"), STR("cipher"), STR("may"),
					       STR("no")};
	size_t index = chance(of->recipients);
	struct deliver_helper_recipient *recipient = &of->job->recipients[index];
	bool is_new = !recipient->is_reported;
	const char *trigger = chance(2) == 0 ? "host.mx" : NULL;
	bool is_long = chance(2) == 0;
	uint32_t flags = 0;
	struct mail_verdict verdict;

	mail_verdict_set(&verdict, "4.4.1", "%*s", is_long ? 900 : 1, "x");
	recipient->is_passed_on = chance(2) == 0;
	recipient->is_timed = chance(2) == 0;
	of->job->tls = chance(2) == 0 ? &tls : NULL;
	of->job->source = chance(2) == 0 ? STR("src[192.0.2.1]") : STR("");
	flags |= recipient->is_passed_on ? IPC_JOB_PASSED_ON : 0;
	flags |= recipient->is_timed ? IPC_JOB_TIMED : 0;
	flags |= of->job->tls != NULL ? IPC_JOB_SECURED : 0;
	flags |= of->job->source.length > 0 ? IPC_JOB_SOURCED : 0;
	if (is_new && !of->is_orphan)
		buffer_append_format(&of->wanted, "%zu %u 4.4.1 %s %s %s %s " STR_FORMAT "\n",
				     index + 3, flags, verdict.text, trigger != NULL ? trigger : "",
				     of->job->tls != NULL ? "TLSv1.3" : "",
				     of->job->tls != NULL ? "no" : "",
				     STR_ARGUMENTS(of->job->source));
	deliver_helper_report(of->job, index, &verdict, trigger);
	assert_true(recipient->is_reported);
}

static void end_job(struct helper_send_job *of)
{
	static const struct {
		int64_t us;
		uint32_t ms;
	} waits[] = {{0, 0},
		     {1, 1},
		     {1000, 1},
		     {1001, 2},
		     {3599999000, 3599999},
		     {3600000000, 3600000},
		     {3600000001, 3600000},
		     {INT64_MAX / 2, 3600000}};
	size_t wait = chance(COUNT_OF(waits));
	unsigned busy = helper_send.busy;
	bool is_orphan = of->is_orphan || !helper_send.is_connected;

	helper_send.ended = UINT32_MAX;
	if (chance(2) == 0) {
		deliver_helper_finish(of->job);
		assert_int_equal(helper_send.busy, busy);
	} else {
		deliver_helper_finish_busy(of->job, waits[wait].us, 2, "enough");
		assert_int_equal(helper_send.busy, busy + !is_orphan);
		if (!is_orphan) {
			assert_int_equal(helper_send.last_busy.wait_ms, waits[wait].ms);
			assert_int_equal(helper_send.last_busy.flags, 2);
			assert_string_equal(helper_send.last_reason, "enough");
		}
	}
	assert_int_equal(helper_send.ended, is_orphan ? UINT32_MAX : of->tag);
	of->job = NULL;
}

static void say_something(const struct helper_send_job *of)
{
	const struct ipc_job_said said = {.host = STR("mx.test"),
					  .port = 25,
					  .amount = 5,
					  .to = STR("a@b.test"),
					  .status = STR("4.7.0"),
					  .text = STR("slow")};
	unsigned before = helper_send.said;

	deliver_helper_tell_said(of->job, &said);
	assert_int_equal(helper_send.said, before + helper_send.is_connected);
}

static void play_job(struct helper_send_job *of)
{
	switch (chance(6)) {
	case 0:
		deliver_helper_tell(of->job);
		if (!of->is_orphan)
			assert_int_equal(of->wanted.length, 0);
		break;
	case 1:
		end_job(of);
		break;
	case 2:
		say_something(of);
		break;
	default:
		report_one(of);
	}
}

static void reports_come_once_and_in_order(void **state)
{
	size_t count = 0;

	(void)state;
	helper_send_begin(&handler);
	helper_send_connect();
	for (unsigned i = 0; i < STEPS; i++) {
		struct helper_send_job *of = &helper_send_jobs[chance(HELPER_SEND_JOBS)];

		if (of->job != NULL)
			play_job(of);
		else if (helper_send.is_connected && chance(2) == 0)
			start_job(of);
		else if (helper_send.is_connected && chance(50) == 0)
			helper_send_lose();
		else if (!helper_send.is_connected && chance(3) == 0)
			helper_send_connect();
		count = 0;
		for (size_t j = 0; j < HELPER_SEND_JOBS; j++)
			count += helper_send_jobs[j].job != NULL;
		assert_int_equal(deliver_helper_job_count(helper_send.helper), count);
	}
	if (!helper_send.is_connected)
		helper_send_connect();
	deliver_helper_free(
		helper_send.helper); /* with helper_send_jobs, and without more reports */
	assert_int_equal(helper_send.refused, 0);
	for (size_t i = 0; i < HELPER_SEND_JOBS; i++) {
		helper_send_jobs[i].job = NULL;
		buffer_clear(&helper_send_jobs[i].wanted);
	}
}

/* What was sent before "send" knew is ended at once. */
static void no_job_comes_to_who_ends(void **state)
{
	const struct deliver_helper_handler careless = {helper_send_on_job, NULL,
							helper_send_on_lost};
	const struct helper_send_start start = {.recipients = 1, .content = ""};
	struct buffer body CLEANUP(buffer_clear) = {0};

	(void)state;
	helper_send_pack(&body, &start);
	for (unsigned i = 0; i < 2; i++) {
		helper_send_begin(i == 0 ? &handler : &careless);
		helper_send_jobs[0].job =
			(struct deliver_helper_job *)&helper_send_jobs; /* nobody looks into it */
		helper_send_jobs[0].tag = 9;
		helper_send_connect();
		assert_int_equal(helper_send.hellos, 1);
		helper_send_say(IPC_JOB_DRAIN, 0, STR(""), -1);
		assert_int_equal(helper_send.drained, i == 0);
		helper_send_say(IPC_JOB_START, 9, buffer_view(&body), -1);
		assert_null(helper_send.given);
		assert_int_equal(helper_send.ended, 9);
		helper_send_lose();
		helper_send_connect(); /* to another, which does not stop */
		assert_int_equal(helper_send.hellos, 2);
		helper_send_say(IPC_JOB_START, 9, buffer_view(&body), -1);
		assert_non_null(helper_send.given);
		deliver_helper_finish(helper_send.given);
		helper_send.given = NULL;
		deliver_helper_retire(helper_send.helper);
		deliver_helper_retire(helper_send.helper);
		assert_int_equal(helper_send.retired, 1);
		assert_int_equal(helper_send.drained, i == 0 ? 2 : 0);
		helper_send.ended = 0;
		helper_send_say(IPC_JOB_START, 9, buffer_view(&body), -1);
		assert_null(helper_send.given);
		assert_int_equal(helper_send.ended, 9);
		helper_send_lose();
		helper_send_connect(); /* who has retired is no helper any more */
		assert_int_equal(helper_send.hellos, 2);
		deliver_helper_free(helper_send.helper);
		helper_send_jobs[0].job = NULL;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reports_come_once_and_in_order),
		cmocka_unit_test(no_job_comes_to_who_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
