// SPDX-License-Identifier: ISC
#include "bounce/report.h"
#include "test.h"
#include <stdio.h>
#include <string.h>

static const struct bounce_outcome failures[] = {
	{.address = {"gone@example.net", 16},
	 .original = {"rfc822;sales+2Bx@example.org", 28},
	 .status = {"5.1.1", 5},
	 .text = {"mx.example.net: 550 5.1.1 no such user", 38},
	 .changed_us = 1763627594000000},
	{.address = {"full@example.org", 16}, .status = {"5.2.2", 5}, .text = {"over quota", 10}},
};

#define HEADER "Subject: hello\r\nMessage-ID: <1@x>\r\n"

static struct bounce_report sample(const char *message)
{
	return (struct bounce_report){
		.recipient = STR("lisa@example.com"),
		.sender = STR("lisa@example.com"),
		.hostname = STR("mx1.example.org"),
		.from = STR("MAILER-DAEMON"),
		.id = {457, 1763627590000000},
		.now_us = 1763627595000000,
		.outcomes = failures,
		.outcome_count = 2,
		.message = str_from(message),
		.message_size = strlen(message),
	};
}

static char *write_text(const struct bounce_report *report, struct buffer *out)
{
	(void)bounce_report_write(report, out);
	buffer_append_byte(out, '\0');
	assert_int_equal(strlen(buffer_data(out)), out->length - 1);
	return buffer_data(out);
}

static void assert_has(const char *text, const char *part)
{
	if (strstr(text, part) == NULL)
		fail_msg("missing: %s", part);
}

static void assert_lacks(const char *text, const char *part)
{
	if (strstr(text, part) != NULL)
		fail_msg("there is: %s", part);
}

/* The report, with its folded fields as one line each. */
static void unfold(const struct bounce_report *report, struct buffer *out)
{
	struct buffer folded = {0};
	struct str rest;

	(void)write_text(report, &folded);
	rest = buffer_view(&folded);
	for (; rest.length > 0; rest = str_skip(rest, 1)) {
		if (str_starts_with(rest, STR("\r\n ")))
			rest = str_skip(rest, 2);
		buffer_append_byte(out, rest.data[0]);
	}
	buffer_clear(&folded);
}

static void a_report_has_its_three_parts(void **state)
{
	struct bounce_report report = sample(HEADER "\r\nbody\r\n");
	struct buffer out = {0};
	char *text;

	(void)state;
	report.envid = STR("QQ+3D314159");
	text = write_text(&report, &out);
	assert_has(text, "\r\nTo: <lisa@example.com>\r\n");
	assert_has(text, "\r\nFrom: Mail System <MAILER-DAEMON@mx1.example.org>\r\n");
	assert_has(text, "\r\nAuto-Submitted: auto-replied\r\n");
	assert_has(text, "\r\n\r\nHi. This is the mail system at mx1.example.org.\r\n");
	assert_has(text, "\r\n\r\n<gone@example.net>:\r\nmx.example.net: 550 5.1.1 no such user "
			 "(5.1.1)\r\n\r\n<full@example.org>:\r\nover quota (5.2.2)\r\n\r\n--- ");
	assert_has(text, "\r\nOriginal-Envelope-Id: QQ=314159\r\n");
	assert_has(text, "\r\nReporting-MTA: dns; mx1.example.org\r\n");
	assert_has(text, "\r\n\r\nOriginal-Recipient: rfc822;sales+x@example.org\r\n"
			 "Final-Recipient: rfc822; gone@example.net\r\n"
			 "Action: failed\r\nStatus: 5.1.1\r\n"
			 "Remote-MTA: dns; mx.example.net\r\n"
			 "Diagnostic-Code: smtp; 550 5.1.1 no such user\r\n"
			 "Last-Attempt-Date: Thu, 20 Nov 2025 08:33:14 +0000\r\n");
	assert_has(text, "Content-Type: message/rfc822\r\n\r\n" HEADER "\r\nbody\r\n\r\n--=_");
	buffer_clear(&out);
}

/* What the host said last is a reply of it, also when the time for others is over; and nobody
 * claims that another attempt could not help. */
static void what_expired_tells_the_last_reply(void **state)
{
	static const struct {
		const char *status, *text;
		const char *end;       /* of the introduction */
		const char *fields[2]; /* of the recipient; NULL: none */
	} cases[] = {
		{"5.4.7",
		 "not delivered in time; the last attempt: mx.example.net[192.0.2.7] said: 450 "
		 "4.2.0 "
		 "later (in reply to RCPT)",
		 "the time for it is over",
		 {"Remote-MTA: dns; mx.example.net\r\n",
		  "Diagnostic-Code: smtp; 450 4.2.0 later\r\n"}},
		{"5.4.7",
		 "not delivered by 2026-11-20T08:33:11Z, as its sender has asked; the last "
		 "attempt: "
		 "mx.example.net[192.0.2.7]:26 said: 451 later (in reply to the end of the data)",
		 "the time for it is over",
		 {"Remote-MTA: dns; mx.example.net\r\n", "Diagnostic-Code: smtp; 451 later\r\n"}},
		{"5.4.7",
		 "not delivered in time; the last attempt: connect to mx.example.net: timeout",
		 "the time for it is over",
		 {"Diagnostic-Code: X-Stagepost; connect to mx.example.net: timeout\r\n", NULL}},
		/* another host has given up; and what it says of others counts for nothing */
		{"5.4.7",
		 "mx.example.net[192.0.2.7] said: 554 5.4.7 late; the last attempt: a.test: 450 no",
		 "trying again would not help",
		 {"Remote-MTA: dns; mx.example.net\r\n",
		  "Diagnostic-Code: smtp; 554 5.4.7 late; the last attempt: a.test: 450 no\r\n"}},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct bounce_report report = sample(HEADER "\r\nbody\r\n");
		struct bounce_outcome outcomes[] = {
			{.address = STR("late@example.net"),
			 .status = str_from(cases[i].status),
			 .text = str_from(cases[i].text)},
			failures[1],
		};
		struct buffer out = {0};

		report.outcomes = outcomes;
		report.outcome_count = 1;
		report.ret = MAIL_RET_HEADERS;
		unfold(&report, &out);
		assert_has(buffer_data(&out), cases[i].end);
		for (size_t n = 0; n < COUNT_OF(cases[i].fields); n++)
			if (cases[i].fields[n] != NULL)
				assert_has(buffer_data(&out), cases[i].fields[n]);
		buffer_reset(&out);
		report.outcome_count = 2;
		unfold(&report, &out);
		assert_int_equal(strstr(buffer_data(&out), "would not help") != NULL, i == 3);
		assert_lacks(buffer_data(&out), "is over");
		buffer_clear(&out);
	}
}

static void the_header_alone_is_returned_where_that_is_wanted(void **state)
{
	static const struct {
		enum mail_ret ret;
		const char *copy; /* between the part's header and the boundary */
	} cases[] = {
		{MAIL_RET_NONE, "message/rfc822\r\n\r\n" HEADER "\r\none\r\ntwo\r\n"},
		{MAIL_RET_FULL, "message/rfc822\r\n\r\n" HEADER "\r\none\r\ntwo\r\n"},
		{MAIL_RET_HEADERS, "text/rfc822-headers\r\n\r\n" HEADER},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct bounce_report report = sample(HEADER "\r\none\r\ntwo\r\n");
		struct buffer expected = {0};
		struct buffer out = {0};
		char *text;

		report.ret = cases[i].ret;
		text = write_text(&report, &out);
		buffer_append_format(&expected, "%s\r\n--=_", cases[i].copy);
		buffer_append_byte(&expected, '\0');
		assert_has(text, buffer_data(&expected));
		assert_lacks(text, "It is cut after");
		buffer_clear(&expected);
		buffer_clear(&out);
	}
}

#define LINES   "one\r\ntwo\r\nthree\r\nfour\r\nfive\r\nsix\r\nseven\r\neight\r\nnine\r\nten\r\n"
#define MESSAGE HEADER "\r\n" LINES LINES LINES LINES

/* What of MESSAGE is in the report: it is cut after a line, and says so. */
static size_t copied(const char *text, const char *start)
{
	const char *copy = strstr(text, start);
	size_t length = 0;

	assert_non_null(copy);
	copy += strlen(start);
	while (MESSAGE[length] != '\0' && MESSAGE[length] == copy[length])
		length++;
	assert_true(length == 0 || MESSAGE[length - 1] == '\n');
	assert_int_equal(strstr(text, "It is cut after") != NULL, MESSAGE[length] != '\0');
	return length;
}

/* How the part with the copy begins. */
static const char *part_start(const char *text)
{
	static const char *const types[] = {"rfc822-headers\r\n\r\n", "message/rfc822\r\n\r\n",
					    "text/plain\r\n\r\n"};

	for (size_t i = 0; i < COUNT_OF(types); i++)
		if (strstr(text, types[i]) != NULL)
			return types[i];
	fail_msg("there is no copy");
	return "";
}

static void the_whole_bounce_is_bounded(void **state)
{
	static const struct {
		enum config_bounce format;
		const char *start; /* after it comes the copy */
	} cases[] = {{CONFIG_BOUNCE_QSBMF, "Return-Path: <lisa@example.com>\r\n"},
		     {CONFIG_BOUNCE_REPORT, NULL}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct bounce_report report = sample(MESSAGE);
		struct buffer out = {0};
		uint64_t whole;

		report.format = cases[i].format;
		report.sender = STR("lisa@example.com");
		(void)write_text(&report, &out);
		whole = out.length - 1;
		for (uint64_t max = 1; max <= whole + 1; max++) {
			const char *start = cases[i].start;
			const char *text;
			size_t length;

			report.max_bytes = max;
			buffer_reset(&out);
			text = write_text(&report, &out);
			if (start == NULL)
				start = part_start(text);
			length = copied(strstr(text, "--- Below"), start);
			assert_true(out.length - 1 <= max || length == 0);
			assert_int_equal(length == sizeof MESSAGE - 1, max >= whole);
			/* and not much more is left out than must be */
			assert_true(out.length - 1 + 90 >= max || max > whole);
		}
		buffer_clear(&out);
	}
}

static void long_reasons_are_cut_where_all_is_bounded(void **state)
{
	struct bounce_outcome many[50];
	struct bounce_report report = sample(HEADER "\r\nbody\r\n");
	struct buffer out = {0};
	struct buffer reason = {0};
	const char *text;

	(void)state;
	for (unsigned i = 0; i < 59; i++)
		buffer_append_byte(&reason, 'a');
	for (unsigned i = 0; i < 400; i++)
		buffer_append_string(&reason, "\xc3\xa9");
	for (size_t i = 0; i < COUNT_OF(many); i++)
		many[i] = (struct bounce_outcome){.address = STR("gone@example.net"),
						  .text = buffer_view(&reason)};
	report.outcomes = many;
	report.outcome_count = COUNT_OF(many);
	report.max_bytes = 40000;
	text = write_text(&report, &out);
	assert_in_range(out.length, 20000, 40000);
	assert_has(text, "\xc3\xa9\r\n\r\n<gone");
	buffer_reset(&out);
	report.max_bytes = 1000;
	report.format = CONFIG_BOUNCE_QSBMF;
	text = write_text(&report, &out);
	for (size_t i = 0; i < COUNT_OF(many); i++) {
		text = strstr(text, "aaa\r\n\r\n");
		assert_non_null(text);
		text++;
	}
	buffer_clear(&reason);
	buffer_clear(&out);
}

static void qsbmf_is_the_body(void **state)
{
	struct bounce_report report = sample(HEADER "\r\nbody\r\n");
	struct buffer out = {0};
	const char *text;

	(void)state;
	report.format = CONFIG_BOUNCE_QSBMF;
	report.sender = STR("lisa@example.com");
	text = strstr(write_text(&report, &out), "\r\n\r\n");
	assert_string_equal(text, "\r\n\r\nHi. This is the mail system at mx1.example.org.\r\n"
				  "Your message could not be delivered to the addresses below.\r\n"
				  "I have given up on them: trying again would not help.\r\n\r\n"
				  "<gone@example.net>:\r\nmx.example.net: 550 5.1.1 no such user "
				  "(#5.1.1)\r\n\r\n<full@example.org>:\r\nover quota (#5.2.2)"
				  "\r\n\r\n--- Below this line is a copy of the message.\r\n\r\n"
				  "Return-Path: <lisa@example.com>\r\n" HEADER "\r\nbody\r\n");
	assert_lacks(buffer_data(&out), "MIME-Version");
	buffer_clear(&out);
}

static void qsbmf_says_which_bytes_are_in_it(void **state)
{
	static const struct {
		const char *sender;
		const char *message;
		const char *type;
	} cases[] = {
		{"lisa@example.com", HEADER "\r\ncaf\xe9\r\n", "unknown-8bit"},
		{"j\xc3\xb6@b.example", HEADER "\r\nbody\r\n", "utf-8"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct bounce_report report = sample(cases[i].message);
		struct buffer expected = {0};
		struct buffer out = {0};

		report.format = CONFIG_BOUNCE_QSBMF;
		report.sender = str_from(cases[i].sender);
		buffer_append_format(&expected,
				     "\r\nMIME-Version: 1.0\r\nContent-Type: text/plain; "
				     "charset=%s\r\nContent-Transfer-Encoding: 8bit\r\n\r\nHi. "
				     "This is the",
				     cases[i].type);
		buffer_append_byte(&expected, '\0');
		assert_has(write_text(&report, &out), buffer_data(&expected));
		buffer_clear(&expected);
		buffer_clear(&out);
	}
}

static void only_failures_are_qsbmf(void **state)
{
	struct bounce_outcome outcome = {.action = BOUNCE_DELIVERED,
					 .address = STR("a@example.net")};
	struct bounce_report report = sample(HEADER "\r\nbody\r\n");
	struct buffer out = {0};

	(void)state;
	report.format = CONFIG_BOUNCE_QSBMF;
	report.outcomes = &outcome;
	report.outcome_count = 1;
	assert_has(write_text(&report, &out), "multipart/report");
	buffer_clear(&out);
}

static void a_message_given_in_part_is_cut_at_a_line(void **state)
{
	struct bounce_report report = sample(HEADER "\r\none\r\ntw");
	struct buffer out = {0};
	char *text;

	(void)state;
	report.message_size = 1 << 20;
	text = write_text(&report, &out);
	assert_has(text, HEADER "\r\none\r\n\r\n--=_");
	assert_has(text, "It is cut after");
	assert_has(text, "\r\nContent-Type: text/plain\r\n\r\n" HEADER);
	assert_lacks(text, "message/rfc822");
	buffer_clear(&out);
}

static void nothing_from_outside_becomes_structure(void **state)
{
	struct bounce_outcome failure = {
		.address = STR("a\r\n\r\n--- b@example.org"),
		.original = STR("rfc822;x+0D+0AAction: delivered"),
		.status = STR("5.1.1\r\nX: y"),
		.text = STR("one\r\n\r\n<x@y>:\r\ntwo\n--=_\xff"),
	};
	struct bounce_report report = sample(HEADER "\r\nbody\r\n");
	struct buffer out = {0};
	char *text;

	(void)state;
	report.outcomes = &failure;
	report.outcome_count = 1;
	report.recipient = STR("lisa>\r\nBcc: <eve@example.com");
	report.envid = STR("a+0A+0Ab");
	text = write_text(&report, &out);
	assert_lacks(text, "\nBcc:");
	assert_lacks(text, "\nAction: delivered");
	assert_lacks(text, "\nX: y");
	assert_lacks(text, "\n<x@y>");
	assert_has(text, "\r\nStatus: 5.0.0\r\n");
	assert_has(text, "\r\nOriginal-Envelope-Id: a??b\r\n");
	for (const char *line = text; (line = strchr(line, '\n')) != NULL; line++)
		assert_true(line[-1] == '\r');
	buffer_clear(&out);
}

static void a_boundary_is_nowhere_in_the_parts(void **state)
{
	struct bounce_report report = sample(HEADER "\r\nbody\r\n");
	struct buffer first = {0};
	struct buffer second = {0};
	char boundary[80];
	char *text = write_text(&report, &first);

	(void)state;
	assert_int_equal(sscanf(strstr(text, "boundary="), "boundary=\"%79[^\"]", boundary), 1);
	report.message = str_from(text);
	report.message_size = report.message.length;
	text = write_text(&report, &second);
	assert_int_not_equal(strncmp(strstr(text, "boundary=") + 10, boundary, strlen(boundary)),
			     0);
	buffer_clear(&first);
	buffer_clear(&second);
}

/* Nor does one return more than the header. */
static void a_report_without_a_failure_is_no_qsbmf(void **state)
{
	static const struct bounce_outcome outcomes[] = {
		{.action = BOUNCE_DELIVERED,
		 .address = {"a@example.net", 13},
		 .status = {"2.1.5", 5}},
		{.action = BOUNCE_RELAYED, .address = {"b@example.net", 13}, .text = {"ok", 2}},
	};
	struct bounce_report report = sample(HEADER "\r\nbody\r\n");
	struct buffer out = {0};
	char *text;

	(void)state;
	report.outcomes = outcomes;
	report.ret = MAIL_RET_FULL;
	text = write_text(&report, &out);
	assert_has(text, "\r\nSubject: success notice\r\n");
	assert_has(text, "\r\n\r\nThis is the mail system at mx1.example.org.\r\n"
			 "Your message was delivered to:\r\n  <a@example.net>\r\n"
			 "Your message was handed on to hosts that will not tell when they deliver "
			 "it, for:\r\n  <b@example.net>\r\n\r\n--- ");
	assert_has(text, "\r\nFinal-Recipient: rfc822; a@example.net\r\nAction: delivered\r\n"
			 "Status: 2.1.5\r\n\r\n");
	assert_has(text, "\r\nFinal-Recipient: rfc822; b@example.net\r\nAction: relayed\r\n"
			 "Status: 2.0.0\r\n");
	assert_lacks(text, "Hi. ");
	assert_lacks(text, "\r\n<");
	assert_lacks(text, "Diagnostic-Code");
	assert_has(text, "text/rfc822-headers\r\n\r\n" HEADER "\r\n--=_");
	buffer_clear(&out);
}

static void failures_stand_behind_successes(void **state)
{
	struct bounce_outcome outcomes[] = {failures[0], failures[1]};
	struct bounce_report report = sample(HEADER "\r\nbody\r\n");
	struct buffer out = {0};
	char *text;

	(void)state;
	outcomes[1].action = BOUNCE_DELIVERED;
	report.outcomes = outcomes;
	text = write_text(&report, &out);
	assert_has(text, "\r\nSubject: failure notice\r\n");
	assert_has(text, "\r\n\r\nHi. This is the mail system at mx1.example.org.\r\n"
			 "Your message was delivered to:\r\n  <full@example.org>\r\n"
			 "Your message could not be delivered to the addresses below.\r\n"
			 "I have given up on them: trying again would not help.\r\n\r\n"
			 "<gone@example.net>:\r\n");
	assert_lacks(text, "\r\n<full@example.org>:");
	assert_has(text, "\r\nAction: delivered\r\nStatus: 2.0.0\r\n");
	assert_has(text, "message/rfc822\r\n\r\n" HEADER "\r\nbody\r\n");
	buffer_clear(&out);
}

static void a_delay_says_until_when(void **state)
{
	struct bounce_outcome outcome = {
		.action = BOUNCE_DELAYED,
		.address = STR("a@example.net"),
		.status = STR("4.4.1"),
		.text = STR("connect to mx: refused"),
	};
	struct bounce_report report = sample(HEADER "\r\nbody\r\n");
	struct buffer out = {0};
	char *text;

	(void)state;
	report.outcomes = &outcome;
	report.outcome_count = 1;
	report.retry_until_us = INT64_C(1763627594000000);
	text = write_text(&report, &out);
	assert_has(text, "\r\nSubject: delay notice\r\n");
	assert_has(text, "Your message could not be delivered yet to:\r\n"
			 "  <a@example.net>: connect to mx: refused\r\n"
			 "I will go on trying until Thu, 20 Nov 2025 08:33:14 +0000.\r\n");
	assert_has(text, "\r\nAction: delayed\r\nStatus: 4.4.1\r\n"
			 "Diagnostic-Code: X-Stagepost; connect to mx: refused\r\n"
			 "Will-Retry-Until: Thu, 20 Nov 2025 08:33:14 +0000\r\n");
	assert_lacks(text, "\r\n<");
	buffer_clear(&out);
}

static void other_hosts_replies_and_addresses_are_told_apart(void **state)
{
	static const struct {
		struct bounce_outcome outcome;
		const char *fields;
	} cases[] = {
		{{.address = STR("a@b.example"),
		  .text = STR("mx.b.example[192.0.2.7]:2525 said: 550 5.1.1 no")},
		 "Final-Recipient: rfc822; a@b.example\r\nAction: failed\r\nStatus: 5.0.0\r\n"
		 "Remote-MTA: dns; mx.b.example\r\nDiagnostic-Code: smtp; 550 5.1.1 no\r\n"},
		{{.address = STR("a@b.example"), .text = STR("127.0.0.1:25 said: 550 no")},
		 "Remote-MTA: dns; 127.0.0.1\r\nDiagnostic-Code: smtp; 550 no\r\n"},
		{{.address = STR("a@b.example"), .text = STR("Simon said: 550 no")},
		 "Diagnostic-Code: X-Stagepost; Simon said: 550 no\r\n"},
		{{.address = STR("a@b.example"), .text = STR("hub[192.0.2.7] said: 550 no")},
		 "Remote-MTA: dns; hub\r\nDiagnostic-Code: smtp; 550 no\r\n"},
		{{.address = STR("a@b.example"),
		  .text = STR("mx.b.example[192.0.2.7] said: 550 no / more (in reply to RCPT)")},
		 "Remote-MTA: dns; mx.b.example\r\nDiagnostic-Code: smtp; 550 no / more\r\n"},
		{{.address = STR("a@b.example"), .text = STR("he said: hello")},
		 "Diagnostic-Code: X-Stagepost; he said: hello\r\n"},
		{{.address = STR("a@b.example"), .text = STR("connect to mx: refused")},
		 "Diagnostic-Code: X-Stagepost; connect to mx: refused\r\n"},
		{{.address = STR("\xc3\xa9+\xf0\x9f\x98\x80@b.example"),
		  .original = STR("utf-8;\xc3\xa9\\x{2B}@o.example")},
		 "Original-Recipient: utf-8;\\x{E9}\\x{2B}@o.example\r\n"
		 "Final-Recipient: utf-8; \\x{E9}\\x{2B}\\x{1F600}@b.example\r\n"},
		{{.address = STR("\xff\xc3@b.example")},
		 "Final-Recipient: utf-8; ??@b.example\r\n"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct bounce_report report = sample(HEADER "\r\n");
		struct buffer out = {0};

		report.outcomes = &cases[i].outcome;
		report.outcome_count = 1;
		assert_has(write_text(&report, &out), cases[i].fields);
		buffer_clear(&out);
	}
}

static void eight_bit_headers_travel_as_ascii(void **state)
{
	struct bounce_report report = sample("Subject: caf\xc3\xa9 = \r\nX: y\r\n\r\n\xc3\xa9\r\n");
	struct buffer out = {0};
	char *text;

	(void)state;
	report.ret = MAIL_RET_HEADERS;
	text = write_text(&report, &out);
	assert_has(text, "Content-Transfer-Encoding: quoted-printable\r\n\r\n"
			 "Subject: caf=C3=A9 =3D=20\r\nX: y\r\n\r\n--=_");
	assert_lacks(text, "8bit");
	buffer_reset(&out);
	report.ret = MAIL_RET_FULL;
	text = write_text(&report, &out);
	assert_has(text, "message/rfc822\r\nContent-Transfer-Encoding: 8bit\r\n\r\nSubject: caf");
	buffer_clear(&out);
}

/* RFC 6533 */
static void what_only_utf8_can_say_is_global(void **state)
{
	static const struct bounce_outcome failure = {.address = STR("j\xc3\xb6@b.example"),
						      .status = STR("5.1.1")};
	struct bounce_report report = sample(HEADER "\r\nbody\r\n");
	struct buffer out = {0};
	char *text;

	(void)state;
	report.is_utf8 = true;
	assert_lacks(write_text(&report, &out), "global");
	buffer_reset(&out);
	report.outcomes = &failure;
	report.outcome_count = 1;
	assert_has(write_text(&report, &out), "global");
	buffer_reset(&out);
	report.recipient = STR("s\xc3\xb8@s.example");
	text = write_text(&report, &out);
	assert_has(text, "\r\nTo: <s\xc3\xb8@s.example>\r\n");
	assert_has(text, "Content-Type: message/global-delivery-status\r\n"
			 "Content-Transfer-Encoding: 8bit\r\n\r\n");
	assert_has(text, "Final-Recipient: utf-8; j\xc3\xb6@b.example\r\n");
	assert_has(text, "Content-Type: message/global\r\n\r\n" HEADER);
	buffer_reset(&out);
	report.ret = MAIL_RET_HEADERS;
	assert_has(write_text(&report, &out),
		   "Content-Type: message/global-headers\r\n\r\n" HEADER);
	buffer_reset(&out);
	report.is_utf8 = false; /* its sender may have no use for it */
	assert_lacks(write_text(&report, &out), "global");
	buffer_clear(&out);
}

static void long_texts_are_folded(void **state)
{
	char words[480];
	struct bounce_outcome failure = {.address = STR("a@example.org"), .status = STR("5.0.0")};
	struct bounce_report report = sample(HEADER "\r\n");
	struct buffer out = {0};
	size_t column = 0;
	char *text;

	(void)state;
	for (size_t i = 0; i < sizeof words; i++)
		words[i] = i % 9 == 8 ? ' ' : 'w';
	failure.text = str_slice(words, sizeof words);
	report.outcomes = &failure;
	report.outcome_count = 1;
	text = write_text(&report, &out);
	for (const char *c = strstr(text, "Diagnostic-Code"); *c != '\0'; c++) {
		column = *c == '\n' ? 0 : column + 1;
		assert_true(column <= 80);
	}
	buffer_clear(&out);
}

static void bounces_find_their_way(void **state)
{
	static const struct {
		const char *original;
		const char *doublebounceto;
		enum bounce_decision decision;
		const char *sender;
		const char *recipient;
	} cases[] = {
		{"lisa@example.com", "pm@example.org", BOUNCE_SEND, "", "lisa@example.com"},
		{"lisa@example.com", "", BOUNCE_SEND, "", "lisa@example.com"},
		{"", "pm@example.org", BOUNCE_SEND, "#@[]", "pm@example.org"},
		{"", "", BOUNCE_DROP, NULL, NULL},
		{"#@[]", "pm@example.org", BOUNCE_DROP, NULL, NULL},
		{"list-@example.com-@[]", "", BOUNCE_SEND, "", "list-@example.com"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const struct config config = {.doublebounceto = cases[i].doublebounceto};
		struct str sender;
		struct str recipient;

		assert_int_equal(
			bounce_route(str_from(cases[i].original), &config, &sender, &recipient),
			cases[i].decision);
		if (cases[i].decision == BOUNCE_DROP)
			continue;
		assert_true(str_equal(sender, str_from(cases[i].sender)));
		assert_true(str_equal(recipient, str_from(cases[i].recipient)));
	}
	assert_true(bounce_is_wanted(0));
	assert_true(bounce_is_wanted(MAIL_NOTIFY_FAILURE | MAIL_NOTIFY_SUCCESS));
	assert_false(bounce_is_wanted(MAIL_NOTIFY_NEVER));
	assert_false(bounce_is_wanted(MAIL_NOTIFY_SUCCESS));
	assert_false(bounce_is_success_wanted(0));
	assert_false(bounce_is_success_wanted(MAIL_NOTIFY_FAILURE));
	assert_true(bounce_is_success_wanted(MAIL_NOTIFY_FAILURE | MAIL_NOTIFY_SUCCESS));
	assert_true(bounce_is_delay_wanted(0, true));
	assert_false(bounce_is_delay_wanted(0, false));
	assert_true(bounce_is_delay_wanted(MAIL_NOTIFY_DELAY, false));
	assert_false(bounce_is_delay_wanted(MAIL_NOTIFY_FAILURE, true));
	assert_false(bounce_is_delay_wanted(MAIL_NOTIFY_NEVER, true));
}

/* To the postmaster, of what was sent from "<>", or of such a report that has failed. */
static void a_double_bounce_says_so(void **state)
{
	static const char *const senders[] = {"", "#@[]"};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(senders); i++) {
		struct bounce_report report = sample(HEADER "\r\nbody\r\n");
		struct buffer out = {0};
		const char *text;

		report.sender = str_from(senders[i]);
		text = write_text(&report, &out);
		assert_has(text, "\r\nSubject: failure notice: a bounce bounced\r\n");
		assert_has(text,
			   "A bounce could not be delivered to the addresses below: the bounce "
			   "bounced,\r\n");
		assert_lacks(text, "Your message");
		buffer_clear(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_double_bounce_says_so),
		cmocka_unit_test(a_report_has_its_three_parts),
		cmocka_unit_test(what_expired_tells_the_last_reply),
		cmocka_unit_test(the_header_alone_is_returned_where_that_is_wanted),
		cmocka_unit_test(the_whole_bounce_is_bounded),
		cmocka_unit_test(long_reasons_are_cut_where_all_is_bounded),
		cmocka_unit_test(qsbmf_is_the_body),
		cmocka_unit_test(qsbmf_says_which_bytes_are_in_it),
		cmocka_unit_test(only_failures_are_qsbmf),
		cmocka_unit_test(a_message_given_in_part_is_cut_at_a_line),
		cmocka_unit_test(nothing_from_outside_becomes_structure),
		cmocka_unit_test(a_boundary_is_nowhere_in_the_parts),
		cmocka_unit_test(a_report_without_a_failure_is_no_qsbmf),
		cmocka_unit_test(failures_stand_behind_successes),
		cmocka_unit_test(a_delay_says_until_when),
		cmocka_unit_test(other_hosts_replies_and_addresses_are_told_apart),
		cmocka_unit_test(eight_bit_headers_travel_as_ascii),
		cmocka_unit_test(what_only_utf8_can_say_is_global),
		cmocka_unit_test(long_texts_are_folded),
		cmocka_unit_test(bounces_find_their_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
