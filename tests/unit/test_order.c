// SPDX-License-Identifier: ISC
#include "base/panic.h"
#include "manager/link/order.h"
#include "test.h"

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

		assert_null(order_parse(str_from(cases[i].text), &order));
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
		const char *problem;
	} cases[] = {
		{"", "unknown command"},
		{"Retry 457", "unknown command"},
		{"retry457", "unknown command"},
		{"removed 457", "unknown command"},
		{"retry", "no message id"},
		{"retry ", "no message id"},
		{"remove all", "no message id"},
		{"bounce 457 458", "no message id"},
		{"hold 457-", "no message id"},
		{"release -1", "no message id"},
		{"remove 457-1g", "no message id"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct order order = {.kind = ORDER_HOLD};

		assert_string_equal(order_parse(str_from(cases[i].text), &order), cases[i].problem);
		assert_int_equal(order.kind, ORDER_HOLD); /* untouched */
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_order_is_a_line),
		cmocka_unit_test(what_is_no_order_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
