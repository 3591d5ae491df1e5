// SPDX-License-Identifier: ISC
/* The parts of a report: fields that are folded, what is returned of the message, and what programs
 * read; each against a plain second way to make it, by chance and at its bounds. */
#include "base/panic.h"
#include "bounce/internal.h"
#include "chance.h"
#include "test.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIVES = 20000, COLUMNS = 78 };

/* --- fields --- */

/* A word that would end behind the last column begins a line, unless that leaves half of the line
 * before it empty. */
static void fold(const char *name, const char *const *words, size_t count, struct buffer *out)
{
	size_t column = strlen(name) + 1;

	buffer_append_format(out, "%s:", name);
	for (size_t i = 0; i < count; i++) {
		size_t end = column + 1 + strlen(words[i]);

		if (end > COLUMNS && column >= COLUMNS / 2 + 1) {
			buffer_append_string(out, "\r\n");
			end = 1 + strlen(words[i]);
		}
		buffer_append_format(out, " %s", words[i]);
		column = end;
	}
	buffer_append_string(out, "\r\n");
}

static void fields_are_folded(void **state)
{
	static char texts[12][COLUMNS + 4];

	(void)state;
	for (unsigned i = 0; i < LIVES; i++) {
		struct buffer wanted CLEANUP(buffer_clear) = {0};
		struct buffer given CLEANUP(buffer_clear) = {0};
		struct buffer out CLEANUP(buffer_clear) = {0};
		const char *words[12];
		size_t count = chance(12);
		char name[COLUMNS];
		size_t length = 1 + chance(chance(3) == 0 ? COLUMNS - 1 : 20);

		memset(name, 'N', length);
		name[length] = '\0';
		for (size_t w = 0; w < count; w++) {
			length = 1 + chance(chance(2) == 0 ? 5 : COLUMNS + 2);
			memset(texts[w], 'a' + (char)w, length);
			texts[w][length] = '\0';
			words[w] = texts[w];
			buffer_append_format(&given, "%*s%s",
					     w > 0 || chance(4) == 0 ? (int)(1 + chance(2)) : 0, "",
					     texts[w]);
		}
		fold(name, words, count, &wanted);
		bounce_header(&out, name, buffer_view(&given));
		assert_true(str_equal(buffer_view(&out), buffer_view(&wanted)));
	}
}

static void xtext_is_decoded(void **state)
{
	static const char *const cases[][2] = {
		{"", ""},        {"a", " a"},       {"a+2Bb", " a+b"}, {"+41", " A"},
		{"+4", " +4"},   {"+", " +"},       {"+4G", " +4G"},   {"+41+", " A+"},
		{"++41", " +A"}, {"+0A+41", " ?A"}, {"+e9", " ?"},     {"+4142", " A42"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct buffer out CLEANUP(buffer_clear) = {0};
		char wanted[32];

		snprintf(wanted, sizeof wanted, "X:%s\r\n", cases[i][1]);
		bounce_header_xtext(&out, "X", str_from(cases[i][0]));
		assert_true(str_equal(buffer_view(&out), str_from(wanted)));
	}
}

/* --- what is returned --- */

static struct buffer message;
static size_t header_end; /* without the empty line */
static bool has_body;

static void add_line(bool is_long, bool is_8bit, const char *end)
{
	size_t length = is_long ? 996 + chance(5) : 1 + chance(90);

	for (size_t i = 0; i < length; i++)
		buffer_append_byte(&message, is_8bit && chance(40) == 0 ? '\xe9'
					     : chance(30) == 0          ? ' '
					     : chance(30) == 0          ? '='
							       : (char)('!' + (char)chance(94)));
	buffer_append_string(&message, end);
}

static void make_message(void)
{
	const char *end = chance(5) == 0 ? "\n" : "\r\n";
	bool is_8bit = chance(3) == 0;
	size_t headers = chance(4);

	buffer_reset(&message);
	for (size_t i = 0; i < headers; i++)
		add_line(chance(8) == 0, is_8bit && chance(2) == 0, end);
	header_end = message.length;
	has_body = chance(5) > 0;
	if (has_body)
		buffer_append_string(&message, end);
	for (size_t i = chance(4); has_body && i > 0; i--)
		add_line(chance(8) == 0, is_8bit && chance(2) == 0,
			 i == 1 && chance(3) == 0 ? "" : end);
	if (!has_body && message.length > 0 && chance(4) == 0) { /* its last line has no end */
		buffer_truncate(&message, message.length - strlen(end));
		header_end = message.length;
	}
}

/* So many bytes of whole lines. */
static size_t whole_lines(size_t most)
{
	while (most > 0 && buffer_data(&message)[most - 1] != '\n')
		most--;
	return most;
}

static bool is_8bit_before(size_t end)
{
	return bounce_is_8bit(str_slice(buffer_data(&message), end));
}

static bool is_long_lined_before(size_t end)
{
	size_t column = 0;

	for (size_t i = 0; i < end; i++) {
		column = buffer_data(&message)[i] == '\n' ? 0 : column + 1;
		if (column > 999)
			return true;
	}
	return false;
}

/* Of WANTED bytes, of which the report may have BOUND; HAS_LESS: there is more of the message than
 * was given, so that its last line may be in two. */
static size_t returned(size_t wanted, uint64_t bound, bool has_less)
{
	if (has_less && bound > message.length)
		bound = message.length > 0 ? message.length - 1 : 0;
	return wanted <= bound ? wanted : whole_lines((size_t)bound);
}

static void decode_quoted(struct str text, struct buffer *out)
{
	size_t column = 0;

	for (; text.length > 0; text = str_skip(text, 1)) {
		char digits[3] = "";

		assert_true((unsigned char)text.data[0] < 0x80);
		column = text.data[0] == '\n' ? 0 : column + (text.data[0] != '\r');
		assert_true(column <= 76);
		if (text.data[0] != '=') {
			buffer_append_byte(out, text.data[0]);
			continue;
		}
		assert_true(text.length >= 3);
		memcpy(digits, text.data + 1, 2);
		text = str_skip(text, 2);
		if (strcmp(digits, "\r\n") == 0) {
			column = 0;
			continue;
		}
		column += 2;
		assert_true(column <= 76);
		buffer_append_byte(out, (char)strtol(digits, NULL, 16));
	}
}

/* No line of it ends with a space. */
static void check_encoded(struct str body, struct str text)
{
	struct buffer decoded CLEANUP(buffer_clear) = {0};

	decode_quoted(body, &decoded);
	assert_true(str_equal(buffer_view(&decoded), text));
	for (size_t i = 0; i < body.length; i++)
		if (body.data[i] == ' ')
			assert_true(i + 1 < body.length && body.data[i + 1] != '\r');
}

static void check_written(const struct bounce_copy *copy)
{
	struct buffer out CLEANUP(buffer_clear) = {0};
	struct buffer head CLEANUP(buffer_clear) = {0};
	bool is_encoded =
		copy->is_header && !copy->is_utf8 && (copy->is_8bit || copy->is_long_lined);
	const char *type = copy->is_utf8 ? "message/global" : "message/rfc822";
	struct str body;

	if (copy->is_header)
		type = copy->is_utf8 ? "message/global-headers" : "text/rfc822-headers";
	else if (copy->is_cut)
		type = copy->is_8bit ? "text/plain; charset=unknown-8bit" : "text/plain";
	buffer_append_format(&head, "Content-Type: %s\r\n", type);
	if (is_encoded)
		buffer_append_string(&head, "Content-Transfer-Encoding: quoted-printable\r\n");
	else if (copy->is_8bit)
		buffer_append_string(&head, "Content-Transfer-Encoding: 8bit\r\n");
	buffer_append_string(&head, "\r\n");
	bounce_copy_write(copy, &out);
	assert_true(str_starts_with(buffer_view(&out), buffer_view(&head)));
	body = str_skip(buffer_view(&out), head.length);
	if (is_encoded)
		check_encoded(body, copy->text);
	else
		assert_true(str_equal(body, copy->text));
}

static void what_is_returned_are_whole_lines(void **state)
{
	static const struct str addresses[] = {STR("a@a.test"), STR("\xc3\xa4@a.test")};

	(void)state;
	for (unsigned i = 0; i < LIVES; i++) {
		struct bounce_outcome outcome = {.action = (enum bounce_action)chance(4),
						 .address = addresses[chance(2)]};
		struct bounce_report report = {.recipient = addresses[chance(2)],
					       .outcomes = &outcome,
					       .outcome_count = 1,
					       .ret = (enum mail_ret)chance(3),
					       .is_utf8 = chance(2) == 0};
		bool is_header = report.ret == MAIL_RET_HEADERS || outcome.action != BOUNCE_FAILED;
		bool is_more = chance(3) == 0;
		uint64_t bound;
		size_t wanted;
		size_t end;
		struct bounce_copy copy;
		char *exact;

		make_message();
		/* nothing behind it may be read */
		exact = memory_alloc(message.length + 1);
		memcpy(exact + 1, buffer_data(&message), message.length);
		report.message = str_slice(exact + 1, message.length);
		report.message_size = message.length + is_more;
		bound = chance(2) == 0 ? UINT64_MAX : chance(message.length + 3);
		wanted = is_header ? header_end : message.length;
		end = returned(wanted, bound,
			       is_more && (!is_header || header_end == message.length));
		copy = bounce_copy_choose(&report, bound);
		assert_int_equal(copy.text.length, end);
		assert_ptr_equal(copy.text.data, report.message.data);
		assert_int_equal(copy.is_cut, end < wanted);
		assert_int_equal(copy.is_header, is_header || (end < wanted && end <= header_end));
		assert_int_equal(copy.is_8bit, is_8bit_before(end));
		assert_int_equal(copy.is_long_lined, is_long_lined_before(end));
		assert_int_equal(copy.is_utf8,
				 report.is_utf8 && (bounce_is_8bit(outcome.address) ||
						    bounce_is_8bit(report.recipient) ||
						    is_8bit_before(header_end)));
		check_written(&copy);
		free(exact);
	}
	buffer_clear(&message);
}

/* --- what programs read --- */

static void check_status(const struct bounce_report *report, bool is_utf8, const char *wanted)
{
	struct buffer out CLEANUP(buffer_clear) = {0};

	bounce_status_write(report, is_utf8, &out);
	buffer_append_byte(&out, '\0');
	assert_string_equal(buffer_data(&out), wanted);
}

#define ARRIVAL "Arrival-Date: Thu, 20 Nov 2025 08:33:10 +0000\r\n"
#define LATER   "Thu, 20 Nov 2025 09:33:10 +0000\r\n"
#define MTA     "Reporting-MTA: dns; mx.test\r\n"

static struct bounce_report bare_report(void)
{
	return (struct bounce_report){.hostname = STR("mx.test"),
				      .id = {457, INT64_C(1763627590) * SECOND_US},
				      .retry_until_us = INT64_C(1763631190) * SECOND_US};
}

static void a_message_has_its_fields(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 16; i++) {
		struct bounce_report report = bare_report();
		char wanted[512];

		report.envid = i & 1 ? STR("QQ+3D1") : STR("");
		report.release_us = i & 2 ? report.retry_until_us : 0;
		report.deadline.mode = i & 4 ? (i & 8 ? MAIL_DEADLINE_RETURN : MAIL_DEADLINE_NOTIFY)
					     : MAIL_DEADLINE_NONE;
		report.deadline.at_us = report.retry_until_us;
		snprintf(wanted, sizeof wanted, "%s" MTA ARRIVAL "%s%s",
			 i & 1 ? "Original-Envelope-Id: QQ=1\r\n" : "",
			 i & 2 ? "Future-Release-Request: until;2025-11-20T09:33:10Z\r\n" : "",
			 i & 4 ? "Deliver-By-Date: " LATER : "");
		check_status(&report, false, wanted);
	}
}

/* Each action with each status: what does not fit is general; what succeeded has no diagnosis. */
static void an_outcome_has_its_fields(void **state)
{
	static const struct {
		const char *name, *general;
	} actions[] = {[BOUNCE_FAILED] = {"failed", "5.0.0"},
		       [BOUNCE_DELAYED] = {"delayed", "4.0.0"},
		       [BOUNCE_DELIVERED] = {"delivered", "2.0.0"},
		       [BOUNCE_RELAYED] = {"relayed", "2.0.0"}};
	static const char *const statuses[] = {"5.1.1", "4.4.1", "2.1.5", "", "5.1"};

	(void)state;
	for (size_t a = 0; a < COUNT_OF(actions); a++)
		for (size_t s = 0; s < COUNT_OF(statuses); s++)
			for (unsigned traced = 0; traced < 2; traced++) {
				const struct bounce_outcome outcome = {
					.action = (enum bounce_action)a,
					.address = STR("a@a.test"),
					.status = str_from(statuses[s]),
					.text = STR("full"),
					.changed_us =
						s % 2 == 0 ? INT64_C(1763631190) * SECOND_US : 0};
				struct bounce_report report = bare_report();
				bool is_shown = strlen(statuses[s]) == 5 &&
						statuses[s][0] == actions[a].general[0];
				bool is_diagnosed = a == BOUNCE_FAILED || a == BOUNCE_DELAYED ||
						    (traced && a == BOUNCE_RELAYED);
				char wanted[512];

				report.outcomes = &outcome;
				report.outcome_count = 1;
				report.deadline.is_traced = traced > 0;
				snprintf(wanted, sizeof wanted,
					 MTA ARRIVAL
					 "\r\nFinal-Recipient: rfc822; a@a.test\r\nAction: "
					 "%s\r\nStatus: %s\r\n%s%s%s",
					 actions[a].name,
					 is_shown ? statuses[s] : actions[a].general,
					 is_diagnosed ? "Diagnostic-Code: X-Stagepost; full\r\n"
						      : "",
					 s % 2 == 0 ? "Last-Attempt-Date: " LATER : "",
					 a == BOUNCE_DELAYED ? "Will-Retry-Until: " LATER : "");
				check_status(&report, false, wanted);
			}
}

static void an_address_is_in_its_type(void **state)
{
	static const struct {
		const char *address, *original, *ascii, *utf8;
	} cases[] = {
		{"a+b=c\\d@a.test", "", "Final-Recipient: rfc822; a+b=c\\d@a.test\r\n",
		 "Final-Recipient: rfc822; a+b=c\\d@a.test\r\n"},
		{"\xc3\xa4+=\\x@a.test", "",
		 "Final-Recipient: utf-8; \\x{E4}\\x{2B}\\x{3D}\\x{5C}x@a.test\r\n",
		 "Final-Recipient: utf-8; \xc3\xa4+=\\x@a.test\r\n"},
		{"a@a.test", "rfc822;x+2By@b.test",
		 "Original-Recipient: rfc822;x+y@b.test\r\nFinal-Recipient: rfc822; a@a.test\r\n",
		 "Original-Recipient: rfc822;x+y@b.test\r\nFinal-Recipient: rfc822; a@a.test\r\n"},
		{"a@a.test", "utf-8;\xc3\xa4+2B\xf0\x9f\x98\x80@b.test",
		 "Original-Recipient: utf-8;\\x{E4}+2B\\x{1F600}@b.test\r\nFinal-Recipient: "
		 "rfc822; "
		 "a@a.test\r\n",
		 "Original-Recipient: utf-8;\\x{E4}+2B\\x{1F600}@b.test\r\nFinal-Recipient: "
		 "rfc822; "
		 "a@a.test\r\n"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		for (unsigned utf8 = 0; utf8 < 2; utf8++) {
			const struct bounce_outcome outcome = {
				.action = BOUNCE_DELIVERED,
				.address = str_from(cases[i].address),
				.original = str_from(cases[i].original)};
			struct bounce_report report = bare_report();
			char wanted[512];

			report.outcomes = &outcome;
			report.outcome_count = 1;
			snprintf(wanted, sizeof wanted,
				 MTA ARRIVAL "\r\n%sAction: delivered\r\nStatus: 2.0.0\r\n",
				 utf8 > 0 ? cases[i].utf8 : cases[i].ascii);
			check_status(&report, utf8 > 0, wanted);
		}
}

/* Another host's reply, or our own words: HOST is NULL. */
static void a_reply_is_another_hosts(void **state)
{
	static const struct {
		const char *text, *host, *reply;
	} cases[] = {
		{"mx.a.test: 550 no", "mx.a.test", "550 no"},
		{"mx.a.test: 550", "mx.a.test", "550"},
		{"mx.a.test: 550-no", "mx.a.test", "550-no"},
		{"MX_1-a.test[192.0.2.1]:25 said: 550 no", "MX_1-a.test", "550 no"},
		{"mx[192.0.2.1] said: 550 no", "mx", "550 no"},
		{"mx[192.0.2.1]:25 said: 550 no", "mx", "550 no"},
		{"mx.a.test said: 550 no (in reply to RCPT TO)", "mx.a.test", "550 no"},
		{"mx.a.test said: 550 no (in reply to RCPT TO) x", "mx.a.test",
		 "550 no (in reply to RCPT TO) x"},
		{"mx.a.test: 550 no (in reply to RCPT TO)", "mx.a.test",
		 "550 no (in reply to RCPT TO)"},
		{"mx.a.test: 55", NULL, NULL},
		{"mx.a.test: 5500 no", NULL, NULL},
		{"mx.a.test: x50 no", NULL, NULL},
		{"mx.a.test: 5x0 no", NULL, NULL},
		{"mx.a.test: 55x no", NULL, NULL},
		{"mx: 550 no", NULL, NULL},
		{"m/x.a.test: 550 no", NULL, NULL},
		{": 550 no", NULL, NULL},
		{"mx.a.test 550 no", NULL, NULL},
		{"z9.Z0: 550 no", "z9.Z0", "550 no"},
		{"a@.test: 550 no", NULL, NULL},
		{"a`.test: 550 no", NULL, NULL},
		{"a{.test: 550 no", NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const struct bounce_outcome outcome = {.action = BOUNCE_FAILED,
						       .address = STR("a@a.test"),
						       .text = str_from(cases[i].text)};
		struct bounce_report report = bare_report();
		struct buffer out CLEANUP(buffer_clear) = {0};
		char wanted[256];

		report.outcomes = &outcome;
		report.outcome_count = 1;
		if (cases[i].reply != NULL)
			snprintf(wanted, sizeof wanted,
				 "\r\nRemote-MTA: dns; %s\r\nDiagnostic-Code: smtp; %s\r\n",
				 cases[i].host, cases[i].reply);
		else
			snprintf(wanted, sizeof wanted, "\r\nDiagnostic-Code: X-Stagepost; %s\r\n",
				 cases[i].text);
		bounce_status_write(&report, false, &out);
		buffer_append_byte(&out, '\0');
		if (strstr(buffer_data(&out), wanted) == NULL)
			fail_msg("%s: %s", cases[i].text, buffer_data(&out));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_are_folded),
		cmocka_unit_test(xtext_is_decoded),
		cmocka_unit_test(what_is_returned_are_whole_lines),
		cmocka_unit_test(a_message_has_its_fields),
		cmocka_unit_test(an_outcome_has_its_fields),
		cmocka_unit_test(an_address_is_in_its_type),
		cmocka_unit_test(a_reply_is_another_hosts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
