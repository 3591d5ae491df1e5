// SPDX-License-Identifier: ISC
/* Replies of servers at each bound, and one beyond; in pieces of any size. */
#include "base/buffer.h"
#include "smtp/client/reply.h"
#include "test.h"
#include <stdio.h>
#include <string.h>

struct outcome {
	enum smtp_client_reply_progress progress;
	unsigned code, lines;
	size_t length; /* of the text */
};

static struct outcome take(struct str text, size_t piece)
{
	struct smtp_client_reply reply = {0};
	struct outcome outcome = {SMTP_CLIENT_REPLY_MORE, 0, 0, 0};

	while (text.length > 0 && outcome.progress == SMTP_CLIENT_REPLY_MORE) {
		struct str input = str_slice(text.data, text.length < piece ? text.length : piece);
		size_t before = input.length;

		outcome.progress = smtp_client_reply_take(&reply, &input);
		text = str_skip(text, outcome.progress == SMTP_CLIENT_REPLY_MORE
					      ? before
					      : before - input.length);
		if (outcome.progress == SMTP_CLIENT_REPLY_MORE)
			assert_int_equal(input.length, 0);
	}
	if (outcome.progress == SMTP_CLIENT_REPLY_COMPLETE)
		assert_int_equal(text.length, 0);
	outcome.code = reply.code;
	outcome.lines = reply.line_count;
	outcome.length = reply.text.length;
	smtp_client_reply_clear(&reply);
	return outcome;
}

/* LINES of WIDTH bytes each, the last of which has LAST. */
static struct buffer reply_of(size_t lines, size_t width, size_t last)
{
	struct buffer text = {0};

	for (size_t i = 1; i <= lines; i++) {
		buffer_append_string(&text, i < lines ? "250-" : "250 ");
		for (size_t k = 4; k < (i < lines ? width : last); k++)
			buffer_append_byte(&text, 'x');
		buffer_append_string(&text, "\r\n");
	}
	return text;
}

static void check(size_t lines, size_t width, size_t last, bool is_complete)
{
	static const size_t pieces[] = {1, 7, 2049, 1 << 20};
	struct buffer text = reply_of(lines, width, last);

	for (size_t i = 0; i < COUNT_OF(pieces); i++) {
		struct outcome outcome = take(buffer_view(&text), pieces[i]);

		if (outcome.progress !=
		    (is_complete ? SMTP_CLIENT_REPLY_COMPLETE : SMTP_CLIENT_REPLY_MALFORMED))
			fail_msg("%zu lines of %zu and %zu, by %zu: %d", lines, width, last,
				 pieces[i], (int)outcome.progress);
		if (!is_complete)
			continue;
		assert_int_equal(outcome.code, 250);
		assert_int_equal(outcome.lines, lines);
		assert_int_equal(outcome.length, (lines - 1) * (width - 4 + 1) + last - 4);
	}
	buffer_clear(&text);
}

static void a_line_has_a_longest(void **state)
{
	(void)state;
	for (size_t width = SMTP_CLIENT_LINE_MAX - 1; width <= SMTP_CLIENT_LINE_MAX + 1; width++) {
		check(1, width, width, width <= SMTP_CLIENT_LINE_MAX);
		check(3, width, 9, width <= SMTP_CLIENT_LINE_MAX);
	}
}

static void a_reply_has_so_many_lines(void **state)
{
	(void)state;
	for (size_t lines = 1; lines <= SMTP_CLIENT_LINES_MAX + 1; lines++)
		check(lines, 9, 9, lines <= SMTP_CLIENT_LINES_MAX);
}

/* The bytes of the last line, with its code, are those that are too many. */
static void a_reply_has_a_largest_size(void **state)
{
	size_t before = 8 * (size_t)(2000 - 4) + 7; /* of eight lines, with what is between them */

	(void)state;
	for (int by = -1; by <= 1; by++) {
		size_t last = SMTP_CLIENT_REPLY_MAX - before + (size_t)by;

		check(9, 2000, last, by <= 0);
	}
}

static void codes_have_three_digits(void **state)
{
	static const struct {
		const char *text;
		enum smtp_client_reply_progress progress;
	} rows[] = {
		{"200 x\r\n", SMTP_CLIENT_REPLY_COMPLETE},
		{"199 x\r\n", SMTP_CLIENT_REPLY_MALFORMED},
		{"599 x\r\n", SMTP_CLIENT_REPLY_COMPLETE},
		{"600 x\r\n", SMTP_CLIENT_REPLY_MALFORMED},
		{"250\r\n", SMTP_CLIENT_REPLY_COMPLETE},
		{"25\r\n", SMTP_CLIENT_REPLY_MALFORMED},
		{"250x\r\n", SMTP_CLIENT_REPLY_MALFORMED},
		{"2500 x\r\n", SMTP_CLIENT_REPLY_MALFORMED},
		{"25/ x\r\n", SMTP_CLIENT_REPLY_MALFORMED},
		{"25: x\r\n", SMTP_CLIENT_REPLY_MALFORMED},
		{"2/0 x\r\n", SMTP_CLIENT_REPLY_MALFORMED},
		{"2:0 x\r\n", SMTP_CLIENT_REPLY_MALFORMED},
		{"\r\n", SMTP_CLIENT_REPLY_MALFORMED},
		{"\n", SMTP_CLIENT_REPLY_MALFORMED},
		{"250 x\n", SMTP_CLIENT_REPLY_COMPLETE},
		{"250-x\r\n", SMTP_CLIENT_REPLY_MORE},
		{"250-x\r\n251 x\r\n", SMTP_CLIENT_REPLY_MALFORMED},
		{"250-x\r\n250 y\r\n", SMTP_CLIENT_REPLY_COMPLETE},
		{"250 x", SMTP_CLIENT_REPLY_MORE},
		{"", SMTP_CLIENT_REPLY_MORE},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		for (size_t piece = 1; piece < 20; piece += 6)
			if (take(str_from(rows[i].text), piece).progress != rows[i].progress)
				fail_msg("%zu by %zu", i, piece);
}

/* What a reply said does not stay in the next one. */
static void one_reply_after_another(void **state)
{
	struct str input = STR("550-a\r\n550 b\r\n250 c\r\n421 d\r\n");
	struct smtp_client_reply reply = {0};
	static const struct {
		unsigned code, lines;
		const char *text;
	} rows[] = {{550, 2, "a\nb"}, {250, 1, "c"}, {421, 1, "d"}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		assert_int_equal(smtp_client_reply_take(&reply, &input),
				 SMTP_CLIENT_REPLY_COMPLETE);
		assert_int_equal(reply.code, rows[i].code);
		assert_int_equal(reply.line_count, rows[i].lines);
		assert_true(str_equal(buffer_view(&reply.text), str_from(rows[i].text)));
	}
	assert_int_equal(input.length, 0);
	smtp_client_reply_clear(&reply);
}

/* The command that is named has so many bytes. */
static void a_verdict_names_a_command(void **state)
{
	char command[SMTP_CLIENT_COMMAND_MAX + 2], expected[SMTP_CLIENT_COMMAND_MAX + 60];

	(void)state;
	for (size_t length = SMTP_CLIENT_COMMAND_MAX - 1; length <= SMTP_CLIENT_COMMAND_MAX + 1;
	     length++) {
		struct str input = STR("550 5.1.1 no\r\n");
		struct smtp_client_reply reply = {0};
		struct mail_verdict verdict;

		memset(command, 'C', length);
		command[length] = '\0';
		assert_int_equal(smtp_client_reply_take(&reply, &input),
				 SMTP_CLIENT_REPLY_COMPLETE);
		smtp_client_reply_verdict(&reply, "mx.test", command, &verdict);
		snprintf(expected, sizeof expected, "mx.test said: 550 5.1.1 no (in reply to %.*s)",
			 SMTP_CLIENT_COMMAND_MAX, command);
		assert_string_equal(verdict.text, expected);
		smtp_client_reply_clear(&reply);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_has_a_longest),
		cmocka_unit_test(a_reply_has_so_many_lines),
		cmocka_unit_test(a_reply_has_a_largest_size),
		cmocka_unit_test(codes_have_three_digits),
		cmocka_unit_test(one_reply_after_another),
		cmocka_unit_test(a_verdict_names_a_command),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
