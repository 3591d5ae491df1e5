// SPDX-License-Identifier: ISC
/* Whole reports by chance, put together a second time from their parts (test_bounce_parts.c) and
 * from the sentences that their outcomes ask for. */
#include "bounce/internal.h"
#include "chance.h"
#include "mail/verdict.h"
#include "test.h"
#include <stdio.h>
#include <string.h>

enum { LIVES = 8000, OUTCOMES = 3 };

#define NOW_US (INT64_C(1763627595) * SECOND_US)
#define NOW    "Thu, 20 Nov 2025 08:33:15 +0000"
#define LATER  "Thu, 20 Nov 2025 09:33:15 +0000"

static struct bounce_outcome outcomes[OUTCOMES];
static struct bounce_report report;
static struct buffer wanted;

static void make_report(void)
{
	static const struct str addresses[] = {STR("a@a.test"), STR("\xc3\xa4@a.test")};
	static const struct str texts[] = {STR("mx.test: 550 no"), STR("  "), STR(""),
					   STR("f\xc3\xbcll"), STR(MAIL_NOT_DELIVERED "in time")};
	static const struct str statuses[] = {STR("5.1.1"), STR("4.4.1"), STR(""),
					      STR(MAIL_STATUS_EXPIRED)};
	static const struct str messages[] = {STR("A: b\r\n\r\nbody\r\n"),
					      STR("A: \xe9\r\n\r\nbody\r\n"),
					      STR("A: b\r\n\r\n\xe9\r\n"), STR("A: b"), STR("")};
	size_t most = chance(2) == 0 ? 1 : 4;

	report = (struct bounce_report){
		.recipient = addresses[chance(2)],
		.hostname = STR("mx.test"),
		.from = STR("MAILER-DAEMON"),
		.id = {457, NOW_US - HOUR_US},
		.now_us = NOW_US,
		.retry_until_us = NOW_US + HOUR_US,
		.deadline = {.mode = (enum mail_deadline_mode)chance(3),
			     .is_traced = chance(2) == 0,
			     .at_us = NOW_US + (chance(2) == 0 ? 0 : HOUR_US)},
		.ret = (enum mail_ret)chance(3),
		.is_utf8 = chance(2) == 0,
		.outcomes = outcomes,
		.outcome_count = 1 + chance(OUTCOMES),
		.message = messages[chance(COUNT_OF(messages))],
		.sender = chance(3) == 0   ? STR("")
			  : chance(2) == 0 ? STR("s@x.test")
					   : addresses[1],
		.format = chance(2) == 0 ? CONFIG_BOUNCE_QSBMF : (enum config_bounce)0,
	};
	report.message_size = report.message.length;
	for (size_t i = 0; i < report.outcome_count; i++)
		outcomes[i] = (struct bounce_outcome){
			.action = (enum bounce_action)(most > 1 ? chance(most) : chance(4)),
			.address = addresses[chance(2)],
			.status = statuses[chance(4)],
			.text = texts[chance(COUNT_OF(texts))]};
}

static size_t count_action(enum bounce_action action)
{
	size_t count = 0;

	for (size_t i = 0; i < report.outcome_count; i++)
		count += outcomes[i].action == action;
	return count;
}

/* --- for people --- */

static bool is_blank(struct str text)
{
	for (size_t i = 0; i < text.length; i++)
		if (text.data[i] != ' ')
			return false;
	return true;
}

static void want_list(struct buffer *text, enum bounce_action action, const char *title)
{
	if (count_action(action) == 0)
		return;
	buffer_append_string(text, title);
	for (size_t i = 0; i < report.outcome_count; i++) {
		if (outcomes[i].action != action)
			continue;
		buffer_append_format(text, "  <" STR_FORMAT ">",
				     STR_ARGUMENTS(outcomes[i].address));
		if (action == BOUNCE_DELAYED && !is_blank(outcomes[i].text))
			buffer_append_format(text, ": " STR_FORMAT,
					     STR_ARGUMENTS(outcomes[i].text));
		buffer_append_string(text, "\r\n");
	}
}

static const char *title_of_relayed(void)
{
	if (report.deadline.mode == MAIL_DEADLINE_NONE)
		return "Your message was handed on to hosts that will not tell when they deliver "
		       "it, "
		       "for:\r\n";
	if (report.deadline.mode == MAIL_DEADLINE_NOTIFY && !report.deadline.is_traced)
		return "Your message was handed on to hosts that do not know by when it is to be "
		       "delivered,\r\nand will not tell if it is late, for:\r\n";
	return "Your message was handed on to other hosts, for:\r\n";
}

static void want_end(struct buffer *text)
{
	size_t failed = count_action(BOUNCE_FAILED);
	size_t expired = 0;

	for (size_t i = 0; i < report.outcome_count; i++)
		expired += outcomes[i].action == BOUNCE_FAILED &&
			   str_equal(outcomes[i].status, STR(MAIL_STATUS_EXPIRED)) &&
			   str_equal(outcomes[i].text, STR(MAIL_NOT_DELIVERED "in time"));
	if (failed == 0)
		return;
	buffer_append_string(
		text,
		report.sender.length == 0
			? "A bounce could not be delivered to the addresses below: the bounce "
			  "bounced,\r\nand its text, below, reaches nobody but you.\r\n"
			: "Your message could not be delivered to the addresses below.\r\n");
	buffer_append_string(
		text, expired == 0 ? "I have given up on them: trying again would not help.\r\n"
		      : expired == failed ? "I have given up on them: the time for it is over.\r\n"
					  : "I have given up on them.\r\n");
}

static void want_failures(struct buffer *text, bool is_qsbmf)
{
	for (size_t i = 0; i < report.outcome_count; i++) {
		if (outcomes[i].action != BOUNCE_FAILED)
			continue;
		buffer_append_format(text, "<" STR_FORMAT ">:\r\n",
				     STR_ARGUMENTS(outcomes[i].address));
		if (is_blank(outcomes[i].text))
			buffer_append_string(text, "The delivery failed.");
		else
			buffer_append_str(text, outcomes[i].text);
		if (outcomes[i].status.length > 0)
			buffer_append_format(text, " (%s" STR_FORMAT ")", is_qsbmf ? "#" : "",
					     STR_ARGUMENTS(outcomes[i].status));
		buffer_append_string(text, "\r\n\r\n");
	}
}

static void want_text(struct buffer *text, const struct bounce_copy *copy, bool is_qsbmf)
{
	bool is_late =
		report.deadline.mode != MAIL_DEADLINE_NONE && report.deadline.at_us == NOW_US;

	buffer_append_format(text, "%sThis is the mail system at mx.test.\r\n",
			     count_action(BOUNCE_FAILED) > 0 ? "Hi. " : "");
	want_list(text, BOUNCE_DELIVERED, "Your message was delivered to:\r\n");
	want_list(text, BOUNCE_RELAYED, title_of_relayed());
	want_list(text, BOUNCE_DELAYED, "Your message could not be delivered yet to:\r\n");
	if (is_late && count_action(BOUNCE_DELAYED) + count_action(BOUNCE_FAILED) > 0)
		buffer_append_string(text, "You have asked that it be delivered by " NOW ".\r\n");
	if (count_action(BOUNCE_DELAYED) > 0)
		buffer_append_string(text, "I will go on trying until " LATER
					   ".\r\nYou need not send it again.\r\n");
	want_end(text);
	buffer_append_string(text, "\r\n");
	want_failures(text, is_qsbmf);
	buffer_append_format(text, "--- Below this line is a copy of the message%s.\r\n",
			     copy->is_header ? "'s header" : "");
	if (copy->is_cut)
		buffer_append_format(text, "--- It is cut after %zu bytes.\r\n", copy->text.length);
	buffer_append_string(text, "\r\n");
}

/* --- the whole --- */

static void want_header(bool is_utf8)
{
	const char *subject =
		outcomes[0].action == BOUNCE_DELAYED ? "delay notice" : "success notice";

	if (count_action(BOUNCE_FAILED) > 0)
		subject = report.sender.length == 0 ? "failure notice: a bounce bounced"
						    : "failure notice";
	buffer_append_format(&wanted,
			     "Date: " NOW
			     "\r\nFrom: Mail System <MAILER-DAEMON@mx.test>\r\nTo: <%s>\r\n",
			     report.recipient.data[0] == 'a' ? "a@a.test"
			     : is_utf8                       ? "\xc3\xa4@a.test"
							     : "??@a.test");
	bounce_header(&wanted, "Message-ID",
		      STR("<457.64401b5bd44c0.644028c50e8c0.bounce@mx.test>"));
	buffer_append_format(&wanted, "Subject: %s\r\nAuto-Submitted: auto-replied\r\n", subject);
}

static void want_qsbmf(const struct bounce_copy *copy, struct str text)
{
	bool is_8bit = bounce_is_8bit(text) || bounce_is_8bit(report.sender);

	want_header(copy->is_utf8);
	if (copy->is_8bit || is_8bit)
		buffer_append_format(&wanted,
				     "MIME-Version: 1.0\r\nContent-Type: text/plain; charset=%s\r\n"
				     "Content-Transfer-Encoding: 8bit\r\n",
				     copy->is_8bit ? "unknown-8bit" : "utf-8");
	buffer_append_format(
		&wanted, "\r\n" STR_FORMAT "Return-Path: <" STR_FORMAT ">\r\n" STR_FORMAT "%s",
		STR_ARGUMENTS(text), STR_ARGUMENTS(report.sender), STR_ARGUMENTS(copy->text),
		copy->text.length > 0 && copy->text.data[copy->text.length - 1] != '\n' ? "\r\n"
											: "");
}

static void want_parts(const struct bounce_copy *copy, struct str text, const char *boundary)
{
	want_header(copy->is_utf8);
	buffer_append_format(
		&wanted,
		"MIME-Version: 1.0\r\nContent-Type: multipart/report; "
		"report-type=delivery-status;\r\n boundary=\"%s\"\r\n%s\r\n"
		"--%s\r\nContent-Type: text/plain; charset=utf-8\r\n%s\r\n" STR_FORMAT
		"\r\n--%s\r\nContent-Type: message/%sdelivery-status\r\n%s\r\n",
		boundary,
		bounce_is_8bit(text) || copy->is_utf8 || (copy->is_8bit && !copy->is_header)
			? "Content-Transfer-Encoding: 8bit\r\n"
			: "",
		boundary, bounce_is_8bit(text) ? "Content-Transfer-Encoding: 8bit\r\n" : "",
		STR_ARGUMENTS(text), boundary, copy->is_utf8 ? "global-" : "",
		copy->is_utf8 ? "Content-Transfer-Encoding: 8bit\r\n" : "");
	bounce_status_write(&report, copy->is_utf8, &wanted);
	buffer_append_format(&wanted, "\r\n--%s\r\n", boundary);
	bounce_copy_write(copy, &wanted);
	buffer_append_format(&wanted, "\r\n--%s--\r\n", boundary);
}

/* The one that OUT has; "" if none. */
static void find_boundary(struct str out, char boundary[100])
{
	static const char name[] = "boundary=\"";
	const char *place = memmem(out.data, out.length, name, sizeof name - 1);
	size_t length = 0;

	boundary[0] = '\0';
	if (place == NULL)
		return;
	place += sizeof name - 1;
	while (place[length] != '"')
		length++;
	snprintf(boundary, 100, "%.*s", (int)length, place);
}

static void a_report_is_its_parts(void **state)
{
	(void)state;
	for (unsigned i = 0; i < LIVES; i++) {
		struct buffer out CLEANUP(buffer_clear) = {0};
		struct buffer text CLEANUP(buffer_clear) = {0};
		char boundary[100];
		struct bounce_copy copy;
		bool is_qsbmf;
		bool is_utf8;

		make_report();
		copy = bounce_copy_choose(&report, UINT64_MAX);
		is_qsbmf = report.format == CONFIG_BOUNCE_QSBMF && count_action(BOUNCE_FAILED) > 0;
		is_utf8 = bounce_report_write(&report, &out);
		want_text(&text, &copy, is_qsbmf);
		find_boundary(buffer_view(&out), boundary);
		if (is_qsbmf)
			want_qsbmf(&copy, buffer_view(&text));
		else
			want_parts(&copy, buffer_view(&text), boundary);
		buffer_append_byte(&wanted, '\0');
		buffer_append_byte(&out, '\0');
		assert_string_equal(buffer_data(&out), buffer_data(&wanted));
		assert_int_equal(is_utf8, copy.is_utf8);
		buffer_reset(&wanted);
	}
	buffer_clear(&wanted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_report_is_its_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
