// SPDX-License-Identifier: ISC
/* What helpers say to "send": one that was broken into says anything. */
#include "ipc/job.h"
#include "mail/verdict.h"
#include "test.h"
#include <string.h>

static bool is_taken(struct ipc_job_report report)
{
	struct buffer body = {0};
	struct ipc_job_report taken;
	struct unpack unpack;
	bool is_good;

	ipc_job_add_report(&body, &report);
	unpack = (struct unpack){buffer_view(&body), false};
	is_good = ipc_job_take_report(&unpack, &taken);
	if (is_good) {
		assert_true(str_equal(taken.text, report.text));
		assert_int_equal(unpack.rest.length, 0);
	}
	buffer_clear(&body);
	return is_good;
}

static const struct ipc_job_report good = {1, IPC_JOB_PASSED_ON, STR("2.0.0"),
					   STR("stored at last"), STR("host.mx.test")};

static struct ipc_job_report with_text(struct str text)
{
	struct ipc_job_report report = good;

	report.text = text;
	return report;
}

static void texts_are_lines(void **state)
{
	char longest[MAIL_TEXT_SIZE];

	(void)state;
	memset(longest, 'x', sizeof longest);
	assert_true(is_taken(good));
	assert_true(is_taken(with_text(STR(""))));
	assert_true(is_taken(with_text(STR("gr\xc3\xbc\xc3\x9f"
					   "e"))));
	assert_true(is_taken(with_text(str_slice(longest, sizeof longest - 1))));
	assert_false(is_taken(with_text(str_slice(longest, sizeof longest))));
	assert_false(is_taken(with_text(STR("one\ndone: 2"))));
	assert_false(is_taken(with_text(STR("one\r"))));
	assert_false(is_taken(with_text(STR("\0"))));
	assert_false(is_taken(with_text(STR("\x7f"))));
}

static void the_source_is_told_with_its_flag(void **state)
{
	struct ipc_job_report report = good;
	struct buffer body = {0};
	struct unpack unpack;
	struct ipc_job_report taken;

	(void)state;
	report.flags |= IPC_JOB_SOURCED;
	report.source = STR("out[192.0.2.1]");
	ipc_job_add_report(&body, &report);
	ipc_job_add_report(&body, &good);
	unpack = (struct unpack){buffer_view(&body), false};
	assert_true(ipc_job_take_report(&unpack, &taken));
	assert_true(str_equal(taken.source, report.source));
	assert_true(ipc_job_take_report(&unpack, &taken));
	assert_int_equal(taken.source.length, 0);
	buffer_clear(&body);
	report.source = STR("out x=y");
	assert_false(is_taken(report));
}

static void tls_is_told_with_its_flag(void **state)
{
	struct ipc_job_report report = good;
	struct buffer body = {0};
	struct unpack unpack;
	struct ipc_job_report taken;

	(void)state;
	report.flags |= IPC_JOB_SECURED;
	report.tls = (struct ipc_job_tls){STR("TLSv1.3"), STR("TLS_AES_256_GCM_SHA384"),
					  STR("dane"), STR("dane-ee")};
	assert_true(is_taken(report));
	ipc_job_add_report(&body, &report);
	ipc_job_add_report(&body, &good);
	unpack = (struct unpack){buffer_view(&body), false};
	assert_true(ipc_job_take_report(&unpack, &taken));
	assert_true(str_equal(taken.tls.version, report.tls.version));
	assert_true(str_equal(taken.tls.cipher, report.tls.cipher));
	assert_true(str_equal(taken.tls.policy, report.tls.policy));
	assert_true(str_equal(taken.tls.verified, report.tls.verified));
	assert_true(ipc_job_take_report(&unpack, &taken));
	assert_int_equal(taken.tls.version.length, 0);
	buffer_clear(&body);
	report.tls.cipher = STR("two words");
	assert_false(is_taken(report));
	report.tls.cipher = STR("x\ny");
	assert_false(is_taken(report));
}

static void words_have_no_spaces(void **state)
{
	struct ipc_job_report report = good;

	(void)state;
	report.trigger = STR("host.mx.test 4.0.0");
	assert_false(is_taken(report));
	report.trigger = STR("host.mx.test\n");
	assert_false(is_taken(report));
	report.trigger = STR("");
	assert_true(is_taken(report));
}

static void status_and_flags_are_known(void **state)
{
	struct ipc_job_report report = good;

	(void)state;
	report.status = STR("3.0.0");
	assert_false(is_taken(report));
	report.status = STR("");
	assert_false(is_taken(report));
	report = good;
	report.flags = IPC_JOB_FLAGS << 1;
	assert_false(is_taken(report));
	report.flags = UINT32_MAX;
	assert_false(is_taken(report));
}

static bool is_target(struct ipc_job_target target)
{
	struct buffer body = {0};
	struct ipc_job_target taken;
	struct unpack unpack;
	bool is_good;

	ipc_job_add_target(&body, &target);
	unpack = (struct unpack){buffer_view(&body), false};
	is_good = ipc_job_take_target(&unpack, &taken);
	buffer_clear(&body);
	return is_good;
}

static void targets_are_lines(void **state)
{
	static const struct {
		struct ipc_job_target target;
		bool is_target;
	} cases[] = {
		{{.service = STR("mailbox"), .address = STR("\"a b\"@c.test")}, true},
		{{.address = STR("a@c.test"), .status = STR("5.1.1"), .text = STR("no such user")},
		 true},
		{{.service = STR("mail box"), .address = STR("a@c.test")}, false},
		{{.service = STR("mailbox"), .address = STR("a\n@c.test")}, false},
		{{.address = STR("a@c.test"), .status = STR("x")}, false},
		{{.address = STR("a@c.test"), .status = STR("5.1.1"), .text = STR("no\nsuch user")},
		 false},
		{{.service = STR("l"), .server = STR("s.test:24"), .address = STR("a@c.test")},
		 true},
		{{.service = STR("l"), .server = STR("s.test 24"), .address = STR("a@c.test")},
		 false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		if (is_target(cases[i].target) != cases[i].is_target)
			fail_msg("case %zu", i);
}

static void flags_of_an_answer_are_known(void **state)
{
	struct ipc_job_resolved resolved = {7, 8, IPC_JOB_RESOLVED_FLAGS, 9, 10};

	(void)state;
	for (unsigned bit = 0; bit < 32; bit++) {
		struct buffer body = {0};
		struct ipc_job_resolved taken;
		struct unpack unpack;

		resolved.flags = UINT32_C(1) << bit;
		ipc_job_add_resolved(&body, &resolved);
		assert_int_equal(body.length, IPC_JOB_RESOLVED_OVERHEAD);
		unpack = (struct unpack){buffer_view(&body), false};
		assert_int_equal(ipc_job_take_resolved(&unpack, &taken),
				 (IPC_JOB_RESOLVED_FLAGS >> bit & 1) != 0);
		unpack = (struct unpack){str_slice(buffer_data(&body), body.length - 1), false};
		assert_false(ipc_job_take_resolved(&unpack, &taken));
		buffer_clear(&body);
	}
}

/* So that none keeps mail for ever. */
static void nobody_is_busy_for_more_than_an_hour(void **state)
{
	static const struct {
		struct ipc_job_busy busy;
		size_t cut; /* bytes that are missing at the end */
		bool is_taken;
	} cases[] = {
		{{0, 0, STR("")}, 0, true},
		{{1500, IPC_JOB_BUSY_PLACE, STR("60 messages a minute")}, 0, true},
		{{IPC_JOB_BUSY_MAX_MS, 0, STR("x")}, 0, true},
		{{IPC_JOB_BUSY_MAX_MS + 1, 0, STR("x")}, 0, false},
		{{UINT32_MAX, 0, STR("x")}, 0, false},
		{{1, IPC_JOB_BUSY_LAST, STR("x")}, 0, true},
		{{1, 4, STR("x")}, 0, false},
		{{1, 0, STR("two\nlines")}, 0, false},
		{{1, 0, STR("cut")}, 1, false},
		{{1, 0, STR("")}, 4, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct buffer body CLEANUP(buffer_clear) = {0};
		struct ipc_job_busy taken;

		ipc_job_add_busy(&body, &cases[i].busy);
		body.length -= cases[i].cut;
		assert_int_equal(ipc_job_read_busy(buffer_view(&body), &taken), cases[i].is_taken);
		if (!cases[i].is_taken)
			continue;
		assert_int_equal(taken.wait_ms, cases[i].busy.wait_ms);
		assert_true(str_equal(taken.reason, cases[i].busy.reason));
		buffer_append_string(&body, "x");
		assert_false(ipc_job_read_busy(buffer_view(&body), &taken));
	}
}

/* It is shown to operators. */
static void what_servers_say_is_lines(void **state)
{
	const struct ipc_job_said word = {.host = STR("mx.example"),
					  .what = IPC_JOB_SAID_RENEWED,
					  .to = STR("r@d.example"),
					  .status = STR("4.7.1"),
					  .text = STR("enough")};
	struct ipc_job_said cases[] = {word, word, word, word, word, word};

	(void)state;
	cases[1].host = STR("mx example");
	cases[2].what = IPC_JOB_SAID_KINDS;
	cases[3].to = STR("r\n@d.example");
	cases[4].status = STR("4.7");
	cases[5].text = STR("two\nlines");
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct buffer body CLEANUP(buffer_clear) = {0};
		struct ipc_job_said taken;

		ipc_job_add_said(&body, &cases[i]);
		assert_int_equal(ipc_job_read_said(buffer_view(&body), &taken), i == 0);
		buffer_append_string(&body, "x");
		assert_false(ipc_job_read_said(buffer_view(&body), &taken));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_are_lines),
		cmocka_unit_test(the_source_is_told_with_its_flag),
		cmocka_unit_test(tls_is_told_with_its_flag),
		cmocka_unit_test(words_have_no_spaces),
		cmocka_unit_test(status_and_flags_are_known),
		cmocka_unit_test(targets_are_lines),
		cmocka_unit_test(flags_of_an_answer_are_known),
		cmocka_unit_test(nobody_is_busy_for_more_than_an_hour),
		cmocka_unit_test(what_servers_say_is_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
