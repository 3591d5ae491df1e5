// SPDX-License-Identifier: ISC
/* What all nodes answer to one question: each row of the table of manager/link/answers.h. */
#include "manager/link/answers.h"
#include "told_helpers.h"
#include "unit/fake_loop.h"
#include <stdio.h>

static struct answers *answers;
static struct buffer told;

static int begin_answers(void **state)
{
	(void)state;
	fake_begin(1);
	told_helpers_are_there = true;
	told_count = 0;
	answers = answers_new(NULL, NULL);
	return 0;
}

static int end_answers(void **state)
{
	(void)state;
	answers_free(answers);
	buffer_clear(&told);
	buffer_clear(&told_body);
	return 0;
}

/* The code, and what was told, with a NUL. */
static enum order_code begin(const char *message)
{
	enum order_code code;

	buffer_reset(&told);
	code = answers_begin(answers, str_from(message), &told);
	buffer_append_byte(&told, '\0');
	return code;
}

static const char *read_at(const char *text)
{
	enum order_code code;

	buffer_reset(&told);
	code = answers_read(answers, str_from(text), &told);
	buffer_append_byte(&told, '\0');
	return code == ORDER_OK ? buffer_data(&told) : order_refusal(code).text.data;
}

/* What is told from where SHOWN bytes of question NUMBER end. */
static const char *read_after(unsigned number, const char *shown, size_t more)
{
	char at[32];

	snprintf(at, sizeof at, "%u %zu", number, strlen(shown) + more);
	return read_at(at);
}

static bool hear(uint64_t question, const char *node, bool is_answer, struct str text)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	pack_u64(&body, question);
	pack_str(&body, str_from(node));
	pack_u32(&body, is_answer);
	pack_str(&body, text);
	return answers_hear(answers, buffer_view(&body));
}

#define TWO_NODES                                         \
	"{\"node\":\"a1\",\"status\":\"{\\\"x\\\":1}\"}," \
	"{\"node\":\"b2\",\"reason\":\"away\"}"
#define ONE_NODE   "{\"node\":\"a1\",\"status\":\"{}\"}"
#define NO_ANSWERS "there are no answers to that question"

static void nodes_are_told_as_they_answer(void **state)
{
	struct unpack asked;

	(void)state;
	assert_string_equal(read_at("0 0"), NO_ANSWERS);
	assert_int_equal(begin("1-2"), ORDER_OK);
	assert_string_equal(buffer_data(&told), "1");
	assert_int_equal(told_type, IPC_JOB_ASK_NODES);
	asked = (struct unpack){buffer_view(&told_body), false};
	assert_int_equal(unpack_u64(&asked), 1);
	assert_true(str_equal(unpack_str(&asked), STR("1-2")));
	assert_true(unpack_is_whole(&asked));
	assert_string_equal(read_at("1 0"), "+[");
	assert_string_equal(read_at("1 1"), "-");
	assert_true(hear(1, "a1", true, STR("{\"x\":1}")));
	assert_true(hear(1, "b2", false, STR("away")));
	assert_string_equal(read_after(1, "[", 0), "+" TWO_NODES);
	assert_true(hear(1, "", false, STR("")));
	assert_string_equal(read_after(1, "[" TWO_NODES, 0), "+]");
	assert_string_equal(read_after(1, "[" TWO_NODES "]", 0), "=");
	assert_string_equal(read_after(1, "[" TWO_NODES "]", 1), NO_ANSWERS);
	assert_string_equal(read_at("2 0"), NO_ANSWERS);
	assert_string_equal(read_at("1"), NO_ANSWERS);
	assert_string_equal(read_at("1 x"), NO_ANSWERS);
	assert_true(hear(1, "c3", true, STR("{}"))); /* too late */
	assert_string_equal(read_after(1, "[" TWO_NODES "]", 0), "=");
	assert_int_equal(begin(""), ORDER_OK);
	assert_string_equal(read_at("1 0"), NO_ANSWERS);
	assert_string_equal(read_at("2 0"), "+[");
}

static void who_asks_the_same_meanwhile_gets_the_same(void **state)
{
	(void)state;
	assert_int_equal(begin(""), ORDER_OK);
	assert_int_equal(begin(""), ORDER_OK);
	assert_string_equal(buffer_data(&told), "1");
	assert_int_equal(told_count, 1);
	assert_int_equal(begin("1-2"), ORDER_BUSY);
	assert_true(hear(1, "", false, STR("")));
	assert_int_equal(begin("1-2"), ORDER_OK);
	assert_string_equal(buffer_data(&told), "2");
	assert_true(hear(1, "a1", true, STR("{}"))); /* of the question before */
	assert_string_equal(read_at("2 1"), "-");
}

static void without_handover_there_are_no_answers(void **state)
{
	(void)state;
	told_helpers_are_there = false;
	assert_int_equal(begin(""), ORDER_NO_NODES);
	told_helpers_are_there = true;
	assert_int_equal(begin(""), ORDER_OK);
	answers_lost(answers);
	assert_string_equal(read_at("1 0"),
			    "+[{\"problem\":\"the process \\\"handover\\\" has ended "
			    "meanwhile: ask again\"}]");
	answers_lost(answers);
	assert_int_equal(begin(""), ORDER_OK);
	fake_advance(ANSWERS_PATIENCE_US - 1);
	assert_true(hear(2, "a1", true, STR("{}"))); /* it goes on */
	fake_advance(ANSWERS_PATIENCE_US - 1);
	assert_string_equal(read_after(2, "[" ONE_NODE, 0), "-");
	fake_advance(1);
	assert_string_equal(read_after(2, "[" ONE_NODE, 0),
			    "+,{\"problem\":\"the process \\\"handover\\\" does not answer\"}]");
	fake_advance(ANSWERS_KEPT_US - 1);
	assert_string_equal(read_at("2 0")[0] == '+' ? "+" : "", "+");
	fake_advance(1);
	assert_string_equal(read_at("2 0"), NO_ANSWERS);
}

static void what_is_malformed_is_refused(void **state)
{
	(void)state;
	assert_int_equal(begin(""), ORDER_OK);
	assert_false(hear(1, "A_1", true, STR("{}")));
	assert_false(hear(1, "a1", true, STR("{\n}")));
	assert_false(answers_hear(answers, STR("x")));
	assert_string_equal(read_at("1 1"), "-");
}

/* Pieces of the largest size, put together, are the text. */
static void answers_come_in_pieces_and_have_a_bound(void **state)
{
	enum { ANSWER = 30000 };
	struct buffer text CLEANUP(buffer_clear) = {0};
	static char answer[ANSWER];
	char node[16];
	unsigned nodes = 0;
	unsigned refused = 0;

	(void)state;
	memset(answer, 'x', sizeof answer);
	assert_int_equal(begin(""), ORDER_OK);
	for (; nodes < ANSWERS_TEXT_MAX / ANSWER + 2; nodes++) {
		snprintf(node, sizeof node, "n%u", nodes);
		assert_true(hear(1, node, true, str_slice(answer, sizeof answer)));
	}
	assert_true(hear(1, "", false, STR("")));
	for (;;) {
		char at[32];
		const char *piece;

		snprintf(at, sizeof at, "1 %zu", text.length);
		piece = read_at(at);
		if (piece[0] != '+')
			break;
		assert_true(strlen(piece) <= 1 + ANSWERS_PIECE_MAX);
		buffer_append_string(&text, piece + 1);
	}
	assert_true(text.length < ANSWERS_TEXT_MAX + ANSWER &&
		    text.length > ANSWERS_TEXT_MAX - 2 * ANSWER);
	buffer_append_byte(&text, '\0');
	for (const char *at = buffer_data(&text);
	     (at = strstr(at, "\"reason\":\"the answers of the nodes together are too long\"}")) !=
	     NULL;
	     at++)
		refused++;
	assert_in_range(refused, 1, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nodes_are_told_as_they_answer, begin_answers,
						end_answers),
		cmocka_unit_test_setup_teardown(who_asks_the_same_meanwhile_gets_the_same,
						begin_answers, end_answers),
		cmocka_unit_test_setup_teardown(without_handover_there_are_no_answers,
						begin_answers, end_answers),
		cmocka_unit_test_setup_teardown(what_is_malformed_is_refused, begin_answers,
						end_answers),
		cmocka_unit_test_setup_teardown(answers_come_in_pieces_and_have_a_bound,
						begin_answers, end_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
