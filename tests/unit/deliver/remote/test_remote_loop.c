// SPDX-License-Identifier: ISC
/* What becomes of mail that comes back, and the mark that it goes with. */
#include "deliver/remote/attempt/loop.h"
#include "deliver/remote/attempt/recipients.h"
#include "deliver/remote/session/content.h"
#include "header/loop.h"
#include "test.h"
#include <stdio.h>
#include <string.h>

#define TEXT "Subject: hello\r\n\r\nA line.\r\n"

static const struct hash_key KEY = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
static const struct hash_key NONE;
static char chunk[REMOTE_CHUNK_SIZE];
static char reports[64]; /* "1:5.4.6 " for each */
static struct deliver_helper_job job;

void deliver_helper_report(struct deliver_helper_job *of, size_t index,
			   const struct mail_verdict *verdict, const char *trigger)
{
	size_t length = strlen(reports);

	assert_ptr_equal(of, &job);
	assert_null(trigger);
	assert_false(of->recipients[index].is_reported);
	of->recipients[index].is_reported = true;
	snprintf(reports + length, sizeof reports - length, "%zu:%s ", index, verdict->status);
}

/* The others are not called. */
void deliver_helper_finish(struct deliver_helper_job *of)
{
	(void)of;
}

/* A message that has been WAY with ADDRESS (NULL: no way), for RECIPIENTS. */
static void begin(enum header_loop_way way, const char *address,
		  struct deliver_helper_recipient *recipients, size_t count)
{
	struct buffer text CLEANUP(buffer_clear) = {0};

	reports[0] = '\0';
	job = (struct deliver_helper_job){
		.arena = arena_new(), .recipients = recipients, .recipient_count = count};
	if (address != NULL)
		header_loop_append(KEY, way, str_from(address), "\r\n", &text);
	buffer_append_string(&text, TEXT);
	job.content = (struct ipc_content){.bytes = arena_copy_str(job.arena, buffer_view(&text)),
					   .file = -1,
					   .size = text.length};
}

static void end(void)
{
	arena_free(job.arena);
}

static struct str content(void)
{
	struct str part;

	assert_int_equal(ipc_content_read(&job.content, 0, chunk, sizeof chunk, &part), 0);
	return part;
}

static void what_is_led_on_is_marked(void **state)
{
	static const struct {
		const char *via;
		const char *shown;
	} cases[] = {
		{"Ann@a.test", "Ann@a.test"},
		{"j\xc3\xb6rg@b\xc3\xbc"
		 "cher.test",
		 "j\\x{F6}rg@xn--bcher-kva.test"},
		{"ann\r\nX: y@a.test", "ann??X: y@a.test"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct deliver_helper_recipient to = {.address = STR("ann@far.test"),
						      .via = str_from(cases[i].via)};
		struct buffer wanted CLEANUP(buffer_clear) = {0};

		begin(0, NULL, &to, 1);
		assert_true(remote_loop_lead_on(KEY, &job, chunk));
		buffer_append_format(&wanted, "Delivered-To: %s\r\n", cases[i].shown);
		header_loop_append(KEY, HEADER_LOOP_LED_ON, to.via, "\r\n", &wanted);
		buffer_append_string(&wanted, TEXT);
		assert_true(str_equal(content(), buffer_view(&wanted)));
		assert_int_equal(job.content.size, wanted.length);
		end();
	}
}

static void what_is_passed_on_stays(void **state)
{
	struct deliver_helper_recipient to = {.address = STR("ann@far.test"), .via = STR("")};

	(void)state;
	begin(0, NULL, &to, 1);
	assert_true(remote_loop_lead_on(KEY, &job, chunk));
	assert_true(str_equal(content(), STR(TEXT)));
	end();
	begin(HEADER_LOOP_DELIVERED, "ann@far.test", &to, 1); /* whose it is sees to that */
	assert_true(remote_loop_lead_on(KEY, &job, chunk));
	assert_string_equal(reports, "");
	end();
}

static void what_comes_back_fails(void **state)
{
	struct deliver_helper_recipient both[] = {
		{.address = STR("x@far.test"), .via = STR("ann@a.test")},
		{.address = STR("y@far.test"), .via = STR("ann@a.test")}};

	(void)state;
	begin(HEADER_LOOP_LED_ON, "ANN@a.test", both, 2);
	assert_false(remote_loop_lead_on(KEY, &job, chunk));
	assert_string_equal(reports, "0:5.4.6 1:5.4.6 ");
	end();
	both[0].is_reported = both[1].is_reported = false;
	begin(HEADER_LOOP_LED_ON, "bob@a.test", both, 2);
	assert_true(remote_loop_lead_on(KEY, &job, chunk));
	assert_string_equal(reports, "");
	end();
}

/* Who has it not yet has it delivered. */
static void who_has_it_fails_alone(void **state)
{
	struct deliver_helper_recipient all[] = {
		{.address = STR("bob@a.test"), .via = STR("")},
		{.address = STR("ann@a.test"), .via = STR("")},
		{.address = STR("ann@a.test"), .via = STR("info@a.test")},
		{.address = STR("carl@a.test"), .via = STR("ann@a.test")}};
	struct remote_recipients left;

	(void)state;
	begin(HEADER_LOOP_DELIVERED, "ann@a.test", all, COUNT_OF(all));
	assert_true(remote_loop_deliver(KEY, &job, chunk));
	assert_string_equal(reports, "1:5.4.6 2:5.4.6 3:5.4.6 ");
	assert_int_not_equal(content().data[0], 'D');
	remote_recipients_init(&left, &job);
	assert_int_equal(remote_recipients_next(&left, 0), 1);
	remote_recipients_begin(&left, 0);
	assert_true(str_equal(left.transaction[0].address, STR("bob@a.test")));
	end();
	for (size_t i = 0; i < COUNT_OF(all); i++)
		all[i].is_reported = false;
	begin(HEADER_LOOP_DELIVERED, "ann@a.test", &all[1], 1);
	assert_false(remote_loop_deliver(KEY, &job, chunk));
	all[1].is_reported = false;
	assert_true(remote_loop_deliver(NONE, &job, chunk));
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_led_on_is_marked),
		cmocka_unit_test(what_is_passed_on_stays),
		cmocka_unit_test(what_comes_back_fails),
		cmocka_unit_test(who_has_it_fails_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
