// SPDX-License-Identifier: ISC
/* Each field of what "send" says is in the job, and what is not whole is refused. */
#include "chance.h"
#include "helper_send.h"
#include "test.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

enum { RECIPIENTS = IPC_JOB_RECIPIENTS_MAX };

static const struct deliver_helper_handler handler = {helper_send_on_job, helper_send_on_drain,
						      helper_send_on_lost};

static void check_job(const struct deliver_helper_job *job, const struct helper_send_start *start)
{
	uint32_t needs = start->needs;
	bool has_deadline = needs & IPC_JOB_DEADLINE;
	int priority = (int8_t)(needs >> 8U & 255U);

	assert_true(job->id.number == 457 && job->id.born_us == 8);
	assert_true(str_equal(job->sender, STR("s@a.test")));
	assert_true(str_equal(job->envid, STR("envid")) &&
		    str_equal(job->destination, STR("b.test")));
	assert_true(str_equal(job->received, STR("smtp")));
	assert_int_equal(job->ret, start->ret);
	assert_int_equal(job->utf8, (needs & IPC_JOB_UTF8) != 0);
	assert_int_equal(job->binary, (needs & IPC_JOB_BINARY) != 0);
	assert_int_equal(job->requires_tls, (needs & IPC_JOB_REQUIRE_TLS) != 0);
	assert_int_equal(job->has_turn, (needs & IPC_JOB_TURN) != 0);
	assert_int_equal(job->priority, priority);
	assert_int_equal(job->deadline.mode, !has_deadline            ? MAIL_DEADLINE_NONE
					     : needs & IPC_JOB_RETURN ? MAIL_DEADLINE_RETURN
								      : MAIL_DEADLINE_NOTIFY);
	assert_int_equal(job->deadline.at_us, has_deadline ? 99 : 0);
	assert_int_equal(job->deadline.is_traced, has_deadline && needs & IPC_JOB_TRACE);
	assert_int_equal(job->deadline.is_told, has_deadline && needs & IPC_JOB_TOLD);
	assert_int_equal(job->content.has_checksum, (needs & IPC_JOB_CHECKSUM) != 0);
	assert_int_equal(job->content.checksum, start->checksum);
	assert_int_equal(job->content.size, strlen(start->content));
	assert_int_equal(job->recipient_count, start->recipients);
	for (size_t i = 0; i < start->recipients; i++) {
		char text[32];

		snprintf(text, sizeof text, "r%zu@b.test", i);
		assert_int_equal(job->recipients[i].number, i + 3);
		assert_int_equal(job->recipients[i].notify, i % 4);
		assert_true(str_equal(job->recipients[i].address, str_from(text)));
		assert_int_equal(job->recipients[i].original.length > 0, i % 2 == 0);
		assert_int_equal(job->recipients[i].via.length > 0, i % 3 == 0);
	}
}

static void all_that_is_said_is_in_the_job(void **state)
{
	static const uint32_t priorities[] = {0, 1, 9, 0x7f, 0x80, 0xf7, 0xff};

	(void)state;
	helper_send_begin(&handler);
	helper_send_connect();
	for (unsigned i = 0; i < 4000; i++) {
		const struct helper_send_start start = {
			.needs = (uint32_t)chance(256) |
				 priorities[chance(COUNT_OF(priorities))] << 8U |
				 (chance(2) == 0 ? IPC_JOB_CHECKSUM : 0U),
			.ret = (uint32_t)chance(3),
			.checksum = (uint32_t)chance(1000),
			.recipients = 1 + chance(i % 20 == 0 ? RECIPIENTS : 3),
			.content = chance(2) == 0 ? "" : "data\r\n",
		};
		struct buffer body CLEANUP(buffer_clear) = {0};

		helper_send_pack(&body, &start);
		helper_send_say(IPC_JOB_START, i, buffer_view(&body), -1);
		memset((char *)(uintptr_t)buffer_data(&body), 'z', body.length);
		check_job(helper_send.given, &start);
		assert_int_equal(helper_send.given->content.file, -1);
		assert_true(str_equal(helper_send.given->content.bytes, str_from(start.content)));
		assert_int_equal(helper_send.given->tag, i);
		assert_int_equal(deliver_helper_job_count(helper_send.helper), 1);
		helper_send.is_connected = false; /* nobody hears of its end */
		deliver_helper_finish(helper_send.given);
		helper_send.is_connected = true;
		assert_int_equal(deliver_helper_job_count(helper_send.helper), 0);
	}
	assert_int_equal(helper_send.refused, 0);
	deliver_helper_free(helper_send.helper);
}

/* Cut off anywhere, or with something after it, or with a bound passed. */
static void a_start_is_whole(void **state)
{
	static const struct helper_send_start bad[] = {
		{.recipients = 0, .content = ""},
		{.recipients = RECIPIENTS + 1, .content = ""},
		{.recipients = 1, .ret = 3, .content = ""}};
	const struct helper_send_start start = {.recipients = 2, .content = "data"};
	struct buffer body CLEANUP(buffer_clear) = {0};

	(void)state;
	helper_send_begin(&handler);
	helper_send_connect();
	helper_send_pack(&body, &start);
	buffer_append_byte(&body, 'x');
	for (size_t length = 0; length <= body.length; length++) {
		if (length == body.length - 1)
			continue;
		helper_send.refused = 0;
		helper_send_say(IPC_JOB_START, 1, str_slice(buffer_data(&body), length), -1);
		assert_int_equal(helper_send.refused, 1);
	}
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		buffer_reset(&body);
		helper_send_pack(&body, &bad[i]);
		helper_send.refused = 0;
		helper_send_say(IPC_JOB_START, 1, buffer_view(&body), -1);
		assert_int_equal(helper_send.refused, 1);
	}
	/* a file, and bytes besides */
	buffer_reset(&body);
	helper_send_pack(&body, &start);
	helper_send.refused = 0;
	helper_send_say(IPC_JOB_START, 1, buffer_view(&body), open("/dev/null", O_RDONLY));
	assert_int_equal(helper_send.refused, 1);
	helper_send_say(IPC_JOB_FINISH, 1, STR(""), -1);
	assert_int_equal(helper_send.refused, 2);
	assert_null(helper_send.given);
	deliver_helper_free(helper_send.helper);
	deliver_helper_free(NULL);
	assert_true(helper_send.is_freed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_that_is_said_is_in_the_job),
		cmocka_unit_test(a_start_is_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
