// SPDX-License-Identifier: ISC
/* What commands count, name and take, at its bounds and one beyond. */
#include "command/command.h"
#include "command/queue/order.h"
#include "command/sendmail/bad.h"
#include "supervisor/talk/transcript.h"
#include "test.h"
#include <stdio.h>
#include <string.h>

static void refusals_have_so_many_reasons(void **state)
{
	struct queue_order order = {.is_quiet = true};
	const struct queue_order_reasons *reasons = &order.refusals;
	char reason[40];

	(void)state;
	for (unsigned i = 0; i < 2 * QUEUE_ORDER_REASONS_MAX; i++) {
		snprintf(reason, sizeof reason, "reason %u", i % (QUEUE_ORDER_REASONS_MAX + 2));
		queue_order_refuse(&order, "1-1", str_from(reason));
		if (i == QUEUE_ORDER_REASONS_MAX - 1)
			assert_int_equal(reasons->list[QUEUE_ORDER_REASONS_MAX].count, 0);
	}
	assert_int_equal(order.refused, 2 * QUEUE_ORDER_REASONS_MAX);
	assert_int_equal(reasons->count, QUEUE_ORDER_REASONS_MAX);
	for (unsigned i = 0; i < QUEUE_ORDER_REASONS_MAX; i++) {
		snprintf(reason, sizeof reason, "reason %u", i);
		assert_string_equal(reasons->list[i].text, reason);
		assert_int_equal(reasons->list[i].count, i < QUEUE_ORDER_REASONS_MAX - 2 ? 2 : 1);
	}
	assert_string_equal(reasons->list[QUEUE_ORDER_REASONS_MAX].text, "other reasons");
	assert_int_equal(reasons->list[QUEUE_ORDER_REASONS_MAX].count, 2);
}

static void a_reason_is_so_long(void **state)
{
	struct queue_order order = {.is_quiet = true};
	char reason[QUEUE_ORDER_REASON_SIZE + 1];

	(void)state;
	memset(reason, 'x', sizeof reason);
	for (size_t length = QUEUE_ORDER_REASON_SIZE - 2; length <= sizeof reason; length++)
		queue_order_refuse(&order, "1-1", str_slice(reason, length));
	assert_int_equal(order.refusals.count, 2);
	assert_int_equal(strlen(order.refusals.list[1].text), QUEUE_ORDER_REASON_SIZE - 1);
	assert_int_equal(order.refusals.list[1].count, 3);
}

static void so_many_bad_recipients_are_named(void **state)
{
	struct sendmail_bad bad = {.count = 0};
	struct arena *arena = arena_new();
	char name[20];

	(void)state;
	for (size_t i = 0; i < SENDMAIL_BAD_MAX + 2; i++) {
		snprintf(name, sizeof name, "bad %zu", i);
		sendmail_bad_add(&bad, arena, STR("To"), str_from(name));
		assert_int_equal(bad.count, i < SENDMAIL_BAD_MAX ? i + 1 : SENDMAIL_BAD_MAX);
		assert_int_equal(bad.more, i < SENDMAIL_BAD_MAX ? 0 : i + 1 - SENDMAIL_BAD_MAX);
	}
	snprintf(name, sizeof name, "bad %d", SENDMAIL_BAD_MAX - 1);
	assert_true(str_equal(bad.texts[SENDMAIL_BAD_MAX - 1], str_from(name)));
	arena_free(arena);
}

static void a_bad_recipient_is_so_long(void **state)
{
	struct sendmail_bad bad = {.count = 0};
	struct arena *arena = arena_new();
	char text[SENDMAIL_BAD_TEXT_MAX + 1];

	(void)state;
	memset(text, 'x', sizeof text);
	for (size_t i = 0; i < 3; i++) {
		size_t length = SENDMAIL_BAD_TEXT_MAX - 1 + i;

		sendmail_bad_add(&bad, arena, STR("To"), str_slice(text, length));
		assert_int_equal(bad.texts[i].length,
				 length < SENDMAIL_BAD_TEXT_MAX ? length : SENDMAIL_BAD_TEXT_MAX);
	}
	arena_free(arena);
}

/* With a time that may be, the configuration is looked for next. */
static void sessions_are_watched_for_so_long(void **state)
{
	const struct command *watch;

	(void)state;
	command_use(commands);
	watch = command_find(STR("transcript"));
	assert_non_null(watch);
	for (int i = 0; i < 2; i++) {
		char during[40];
		char *words[] = {(char *)"transcript",
				 (char *)"-c",
				 (char *)"/dev/null/none",
				 (char *)"--domain",
				 (char *)"a.test",
				 (char *)"--for",
				 during,
				 NULL};

		snprintf(during, sizeof during, "%ds", TRANSCRIPT_TALK_SECONDS_MAX + i);
		assert_int_equal(command_transcript(watch, COUNT_OF(words) - 1, words),
				 i == 0 ? COMMAND_FAILED : COMMAND_USAGE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refusals_have_so_many_reasons),
		cmocka_unit_test(a_reason_is_so_long),
		cmocka_unit_test(so_many_bad_recipients_are_named),
		cmocka_unit_test(a_bad_recipient_is_so_long),
		cmocka_unit_test(sessions_are_watched_for_so_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
