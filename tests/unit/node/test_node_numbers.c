// SPDX-License-Identifier: ISC
/* Numbers of deliveries, as nodes tell them each other; and which nodes have refused a job. */
#include "node/send/internal.h"
#include "test.h"
#include <stdio.h>
#include <string.h>

enum { DELIVERIES_MAX = 100000 };

/* TEXT's numbers, each with a space after it; or "malformed". Until the next call. */
static const char *numbers_of(const char *text)
{
	static struct buffer out;
	struct node_numbers numbers;

	buffer_clear(&out);
	if (!node_numbers_parse(str_from(text), &numbers)) {
		assert_null(numbers.items);
		assert_int_equal(numbers.count, 0);
		return "malformed";
	}
	for (size_t i = 0; i < numbers.count; i++)
		buffer_append_format(&out, "%u ", numbers.items[i]);
	buffer_append_byte(&out, '\0');
	node_numbers_clear(&numbers);
	return buffer_data(&out);
}

static void numbers_are_read(void **state)
{
	static const struct {
		const char *text;
		const char *numbers;
	} cases[] = {
		{"1", "1 "},
		{"3-5,9", "3 4 5 9 "},
		{"3-3", "3 "},
		{"1,2,3", "1 2 3 "},
		{"4294967294-4294967295", "4294967294 4294967295 "},
		{"", "malformed"},
		{"0", "malformed"},
		{"0-1", "malformed"},
		{"x", "malformed"},
		{"-", "malformed"},
		{"-3", "malformed"},
		{"3-x", "malformed"},
		{"3-5-7", "malformed"},
		{"5-3", "malformed"},
		{"1,", "malformed"},
		{",1", "malformed"},
		{"1,,2", "malformed"},
		{"1,1", "malformed"},
		{"2,1", "malformed"},
		{"3-5,5", "malformed"},
		{"4294967296", "malformed"},
		{"4294967295-4294967296", "malformed"},
		{"18446744073709551616", "malformed"},
		{"1-18446744073709551615", "malformed"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_string_equal(numbers_of(cases[i].text), cases[i].numbers);
}

/* However few bytes say it. */
static void there_are_not_too_many(void **state)
{
	static const struct {
		const char *text;
		size_t count; /* 0: malformed */
	} cases[] = {
		{"1-100000", DELIVERIES_MAX},
		{"1-100001", 0},
		{"1-99999,100001", DELIVERIES_MAX},
		{"1-99999,100001-100002", 0},
		{"1-100000,100001", 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct node_numbers numbers;

		assert_int_equal(node_numbers_parse(str_from(cases[i].text), &numbers),
				 cases[i].count > 0);
		assert_int_equal(numbers.count, cases[i].count);
		node_numbers_clear(&numbers);
	}
}

static void numbers_are_found_and_removed(void **state)
{
	struct node_numbers numbers;

	(void)state;
	assert_true(node_numbers_parse(STR("3-5,9"), &numbers));
	for (uint32_t i = 0; i < 12; i++)
		assert_int_equal(node_numbers_have(&numbers, i), (i >= 3 && i <= 5) || i == 9);
	assert_false(node_numbers_remove(&numbers, 4));
	assert_false(node_numbers_remove(&numbers, 4));
	assert_false(node_numbers_have(&numbers, 4));
	assert_true(node_numbers_have(&numbers, 3) && node_numbers_have(&numbers, 5));
	assert_false(node_numbers_remove(&numbers, 9));
	assert_false(node_numbers_remove(&numbers, 3));
	assert_true(node_numbers_remove(&numbers, 5));
	node_numbers_clear(&numbers);
}

/* No numbers are all of the message's. */
static void a_whole_message_has_all(void **state)
{
	struct node_numbers numbers = {0};

	(void)state;
	assert_true(node_numbers_have(&numbers, 1));
	assert_true(node_numbers_have(&numbers, UINT32_MAX));
	assert_false(node_numbers_remove(&numbers, 1));
}

static void a_jobs_numbers_are_sorted(void **state)
{
	static const uint32_t unsorted[] = {9, 3, UINT32_MAX, 1};
	static const uint32_t sorted[] = {1, 3, 9, UINT32_MAX};
	struct deliver_helper_recipient recipients[COUNT_OF(unsorted)];
	struct deliver_helper_job job = {.recipients = recipients,
					 .recipient_count = COUNT_OF(unsorted)};
	struct node_numbers numbers;

	(void)state;
	memset(recipients, 0, sizeof recipients);
	for (size_t i = 0; i < COUNT_OF(unsorted); i++)
		recipients[i].number = unsorted[i];
	numbers = node_numbers_of_job(&job);
	assert_int_equal(numbers.count, COUNT_OF(sorted));
	assert_memory_equal(numbers.items, sorted, sizeof sorted);
	node_numbers_clear(&numbers);
}

/* At the bound and beyond it: those that do not fit are not noted, and the last reason is. */
static void refusals_are_noted(void **state)
{
	struct arena *arena = arena_new();
	struct deliver_helper_job job = {.arena = arena};
	const struct node_refusals *refusals;

	(void)state;
	for (unsigned i = 0; i < NODE_REFUSALS_MAX + 1; i++) {
		struct mail_verdict verdict;
		char node[MAIL_NODE_MAX + 1];

		snprintf(node, sizeof node, "node%u", i);
		mail_verdict_set(&verdict, "4.3.1", "full %u", i);
		node_refuse(&job, node, &verdict);
		refusals = job.context;
		assert_int_equal(refusals->count,
				 i < NODE_REFUSALS_MAX ? i + 1 : NODE_REFUSALS_MAX);
		assert_string_equal(refusals->last.text, verdict.text);
		if (i < NODE_REFUSALS_MAX)
			assert_string_equal(refusals->nodes[i], node);
	}
	arena_free(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_read),
		cmocka_unit_test(there_are_not_too_many),
		cmocka_unit_test(numbers_are_found_and_removed),
		cmocka_unit_test(a_whole_message_has_all),
		cmocka_unit_test(a_jobs_numbers_are_sorted),
		cmocka_unit_test(refusals_are_noted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
