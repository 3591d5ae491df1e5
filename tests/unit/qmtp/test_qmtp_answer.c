// SPDX-License-Identifier: ISC
/* Answers of QMTP servers: lengths at the bound, in pieces of any size, one after another. */
#include "base/buffer.h"
#include "qmtp/client.h"
#include "qmtp/client_answer.h"
#include "test.h"
#include <stdio.h>
#include <string.h>

/* By pieces of that size; how much was taken. */
static enum qmtp_answer_state take(struct qmtp_answer *answer, struct str text, size_t piece,
				   size_t *taken_out)
{
	enum qmtp_answer_state state = QMTP_ANSWER_MORE;
	size_t done = 0;

	while (done < text.length && state == QMTP_ANSWER_MORE) {
		struct str input = str_slice(
			text.data + done, text.length - done < piece ? text.length - done : piece);
		size_t before = input.length;

		while (input.length > 0 && state == QMTP_ANSWER_MORE)
			state = qmtp_answer_take(answer, &input);
		done += before - input.length;
	}
	*taken_out = done;
	return state;
}

static void an_answer_has_a_largest_size(void **state)
{
	static const size_t pieces[] = {1, 3, 4096, 100000};

	(void)state;
	for (size_t length = QMTP_CLIENT_ANSWER_MAX - 1; length <= QMTP_CLIENT_ANSWER_MAX + 1;
	     length++)
		for (size_t i = 0; i < COUNT_OF(pieces); i++) {
			struct qmtp_answer answer = {0};
			struct buffer text = {0};
			enum qmtp_answer_state end;
			size_t taken;

			buffer_append_format(&text, "%zu:K", length);
			for (size_t k = 1; k < length; k++)
				buffer_append_byte(&text, 'x');
			buffer_append_byte(&text, ',');
			end = take(&answer, buffer_view(&text), pieces[i], &taken);
			assert_int_equal(end, length <= QMTP_CLIENT_ANSWER_MAX
						      ? QMTP_ANSWER_COMPLETE
						      : QMTP_ANSWER_MALFORMED);
			if (end == QMTP_ANSWER_COMPLETE) {
				assert_int_equal(taken, text.length);
				assert_int_equal(answer.text.length, length);
			}
			buffer_clear(&answer.text);
			buffer_clear(&text);
		}
}

static void forms_of_answers(void **state)
{
	static const struct {
		const char *text;
		enum qmtp_answer_state end;
	} rows[] = {
		{"2:Kx,", QMTP_ANSWER_COMPLETE},  {"1:K,", QMTP_ANSWER_COMPLETE},
		{"1:Z,", QMTP_ANSWER_COMPLETE},   {"1:D,", QMTP_ANSWER_COMPLETE},
		{"1:X,", QMTP_ANSWER_MALFORMED},  {"0:,", QMTP_ANSWER_MALFORMED},
		{"2:Kx;", QMTP_ANSWER_MALFORMED}, {"2:Kxx", QMTP_ANSWER_MALFORMED},
		{":K,", QMTP_ANSWER_MALFORMED},   {"x", QMTP_ANSWER_MALFORMED},
		{"2:Kx", QMTP_ANSWER_MORE},       {"2:K", QMTP_ANSWER_MORE},
		{"2:", QMTP_ANSWER_MORE},         {"2", QMTP_ANSWER_MORE},
		{"", QMTP_ANSWER_MORE},           {"-1:K,", QMTP_ANSWER_MALFORMED},
		{"4097", QMTP_ANSWER_MALFORMED},  {"4096", QMTP_ANSWER_MORE},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		for (size_t piece = 1; piece < 8; piece++) {
			struct qmtp_answer answer = {0};
			size_t taken;

			if (take(&answer, str_from(rows[i].text), piece, &taken) != rows[i].end)
				fail_msg("%s by %zu", rows[i].text, piece);
			buffer_clear(&answer.text);
		}
}

/* Nothing of one stays in the next. */
static void one_answer_after_another(void **state)
{
	static const struct {
		const char *text, *status;
		enum mail_verdict_class class;
	} rows[] = {{"19:Zlater (#4.2.1) now,", "4.2.1", MAIL_WAIT},
		    {"2:Kx,", "2.0.0", MAIL_OK},
		    {"12:Dno (#5.1.1),", "5.1.1", MAIL_FAIL},
		    {"1:K,", "2.0.0", MAIL_OK}};
	struct qmtp_answer answer = {0};
	struct buffer all = {0};
	struct str rest;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		buffer_append_string(&all, rows[i].text);
	rest = buffer_view(&all);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct mail_verdict verdict;
		enum qmtp_answer_state end = QMTP_ANSWER_MORE;

		while (end == QMTP_ANSWER_MORE)
			end = qmtp_answer_take(&answer, &rest);
		assert_int_equal(end, QMTP_ANSWER_COMPLETE);
		qmtp_answer_verdict(&answer, "mx.test", &verdict);
		assert_int_equal(verdict.class, rows[i].class);
		if (i != 0)
			assert_string_equal(verdict.status, rows[i].status);
	}
	assert_int_equal(rest.length, 0);
	buffer_clear(&answer.text);
	buffer_clear(&all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_has_a_largest_size),
		cmocka_unit_test(forms_of_answers),
		cmocka_unit_test(one_answer_after_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
