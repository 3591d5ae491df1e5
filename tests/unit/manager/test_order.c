// SPDX-License-Identifier: ISC
#include "chance.h"
#include "manager/order.h"
#include "test.h"
#include <errno.h>

static void an_order_is_a_line(void **state)
{
	static const struct {
		const char *text;
		enum order_kind kind;
		uint64_t number;
		int64_t born_us;
		const char *name;
		const char *reason;
	} cases[] = {
		{"queued", ORDER_QUEUED, 0, 0, "", "asked for"},
		{"trigger host.a", ORDER_TRIGGER, 0, 0, "host.a", "asked for"},
		{"trigger host.a and more", ORDER_TRIGGER, 0, 0, "host.a and more", "asked for"},
		{"trigger", ORDER_TRIGGER, 0, 0, "", "asked for"},
		{"wait event", ORDER_WAIT, 0, 0, "event", "asked for"},
		{"wait event until the line is up", ORDER_WAIT, 0, 0, "event",
		 "until the line is up"},
		{"retry 457", ORDER_RETRY, 457, 0, "", "asked for"},
		{"hold 457-1f", ORDER_HOLD, 457, 31, "", "asked for"},
		{"release 457", ORDER_RELEASE, 457, 0, "", "asked for"},
		{"bounce 457-1f", ORDER_BOUNCE, 457, 31, "", "asked for"},
		{"remove 457", ORDER_REMOVE, 457, 0, "", "asked for"},
		{"requeue 457", ORDER_REQUEUE, 457, 0, "", "asked for"},
		{"why 457-1f", ORDER_WHY, 457, 31, "", "asked for"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct order order;

		assert_int_equal(order_read(str_from(cases[i].text), &order), ORDER_OK);
		assert_int_equal(order.kind, cases[i].kind);
		assert_int_equal(order.id.number, cases[i].number);
		assert_int_equal(order.id.born_us, cases[i].born_us);
		assert_true(str_equal(order.name, str_from(cases[i].name)));
		assert_true(str_equal(order.reason, str_from(cases[i].reason)));
	}
}

static void what_is_no_order_is_refused(void **state)
{
	static const struct {
		const char *text;
		enum order_code code;
	} cases[] = {
		{"", ORDER_UNKNOWN},
		{"Retry 457", ORDER_UNKNOWN},
		{"retry457", ORDER_UNKNOWN},
		{"removed 457", ORDER_UNKNOWN},
		{"retry", ORDER_NO_ID},
		{"retry ", ORDER_NO_ID},
		{"remove all", ORDER_NO_ID},
		{"bounce 457 458", ORDER_NO_ID},
		{"hold 457-", ORDER_NO_ID},
		{"release -1", ORDER_NO_ID},
		{"remove 457-1g", ORDER_NO_ID},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct order order = {.kind = ORDER_HOLD};

		assert_int_equal(order_read(str_from(cases[i].text), &order), cases[i].code);
		assert_int_equal(order.kind, ORDER_HOLD); /* untouched */
	}
}

static void check_answer(struct order_answer answer)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct order_answer read;

	order_answer_write(&answer, &text);
	assert_true(text.length <= ORDER_ANSWER_MAX);
	assert_int_equal(order_answer_read(buffer_view(&text), &read), 0);
	assert_int_equal(read.code, answer.code);
	if (answer.code == ORDER_OK || answer.code == ORDER_OTHER)
		assert_true(str_starts_with(answer.text, read.text) &&
			    (read.text.length == answer.text.length ||
			     text.length == ORDER_ANSWER_MAX));
	else
		assert_true(str_equal(read.text, order_refusal(answer.code).text));
}

static void what_is_answered_is_read(void **state)
{
	char told[2 * ORDER_ANSWER_MAX];

	(void)state;
	for (int code = ORDER_OK; code < ORDER_OTHER; code++)
		check_answer((struct order_answer){(enum order_code)code, STR("")});
	for (unsigned i = 0; i < 20000; i++) {
		size_t length = chance(sizeof told);

		for (size_t j = 0; j < length; j++)
			told[j] = " aok:err."[chance(9)];
		check_answer((struct order_answer){ORDER_OK, str_slice(told, length)});
		if (length > 0)
			check_answer((struct order_answer){ORDER_OTHER, str_slice(told, length)});
	}
}

/* As managers before this have said it, and those after it may. */
static void answers_keep_their_words(void **state)
{
	static const struct {
		const char *text;
		enum order_code code;
		bool is_passing;
	} cases[] = {
		{"ok", ORDER_OK, false},
		{"ok host.dead", ORDER_OK, false},
		{"err no such message", ORDER_NO_MESSAGE, false},
		{"err it is not held", ORDER_NOT_HELD, false},
		{"err the queue is not there yet", ORDER_NO_QUEUE, true},
		{"err it cannot be read; ask again", ORDER_UNREADABLE, true},
		{"err the disk does not take what became of it; ask again", ORDER_NOT_RECORDED,
		 true},
		{"err a delivery is under way; ask again", ORDER_UNDER_WAY, true},
		{"err it is being worked on; ask again", ORDER_BUSY, true},
		{"err it is on its way to the moon", ORDER_OTHER, false},
		{"err no such message here", ORDER_OTHER, false},
	};
	static const char *const none[] = {"", "err", "err ", "okay", "error x", "no"};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct order_answer answer;
		struct str text = str_from(cases[i].text);

		assert_int_equal(order_answer_read(text, &answer), 0);
		assert_int_equal(answer.code, cases[i].code);
		assert_int_equal(order_code_is_passing(answer.code), cases[i].is_passing);
		if (answer.code != ORDER_OK)
			assert_true(str_equal(answer.text, str_skip(text, 4)));
	}
	for (size_t i = 0; i < COUNT_OF(none); i++) {
		struct order_answer answer;

		assert_int_equal(order_answer_read(str_from(none[i]), &answer), -EPROTO);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_order_is_a_line),
		cmocka_unit_test(what_is_no_order_is_refused),
		cmocka_unit_test(what_is_answered_is_read),
		cmocka_unit_test(answers_keep_their_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
