// SPDX-License-Identifier: ISC
/* What another node is told of deliveries besides the map, and reads again. */
#include "queue/control/control.h"
#include "test.h"
#include <errno.h>

#define ENVELOPE                                                                                 \
	"stagepost 1\nid: 457-660b1182f1e21\nstage: arrive\nborn: 2026-11-20T08:33:11.482913Z\n" \
	"from: <a@example.org>\nsize: 10\nto: 1 <b@example.org>\nto: 2 <c@example.org>\n"        \
	"to: 3 <d@example.org>\nend:\n"

enum { DELIVERIES = 3 };

static const int64_t NOW_US = 1795163591 * SECOND_US;

/* What may be known of a delivery that is undecided. */
static const struct queue_delivery lives[] = {
	{.outcome = QUEUE_PENDING, .status = STR(""), .text = STR("")},
	/* postponed by its sender: the envelope says that */
	{.outcome = QUEUE_WAIT, .until_us = 1, .status = STR(""), .text = STR("asked for")},
	{.outcome = QUEUE_WAIT, .attempts = 1, .status = STR("4.4.1"), .text = STR("no answer")},
	{.outcome = QUEUE_WAIT, .attempts = 2, .status = STR("4.4.1"), .text = STR("no answer")},
	{.outcome = QUEUE_WAIT, .attempts = UINT32_MAX, .status = STR(""), .text = STR("")},
	{.outcome = QUEUE_WAIT,
	 .attempts = 9,
	 .delayed_us = 7,
	 .status = STR("4.2.2"),
	 .text = STR("full")},
	{.outcome = QUEUE_PENDING, .delayed_us = 5, .status = STR(""), .text = STR("")},
};

static struct queue_delivery delivery_of_life(size_t life, uint32_t number)
{
	struct queue_delivery delivery = lives[life];

	delivery.number = number;
	delivery.recipient = number;
	delivery.route = QUEUE_ROUTE_REMOTE;
	delivery.address = STR("x@example.net");
	delivery.trigger = STR("");
	delivery.delayed_us *= HOUR_US;
	if (delivery.outcome == QUEUE_WAIT) {
		delivery.changed_us = NOW_US;
		delivery.until_us = NOW_US + number * HOUR_US;
	}
	return delivery;
}

static void assert_is_known(const struct queue_delivery *read, const struct queue_delivery *written)
{
	bool was_tried = written->outcome == QUEUE_WAIT && written->attempts > 0;

	assert_int_equal(read->outcome, was_tried ? QUEUE_WAIT : QUEUE_PENDING);
	assert_int_equal(read->attempts, written->attempts);
	assert_int_equal(read->delayed_us, written->delayed_us);
	if (!was_tried)
		return;
	assert_int_equal(read->changed_us, written->changed_us);
	assert_int_equal(read->until_us, written->until_us);
	assert_true(str_equal(read->status, written->status));
	assert_true(str_equal(read->text, written->text));
}

static struct queue_control *read_again(struct queue_delivery *deliveries)
{
	struct queue_control control = {.deliveries = deliveries, .delivery_count = DELIVERIES};
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct queue_control *read = NULL;

	buffer_append_string(&text, ENVELOPE);
	assert_int_equal(queue_control_write_map(&text, deliveries, DELIVERIES, 1), 0);
	assert_int_equal(queue_control_write_tried(&text, &control), 0);
	assert_int_equal(queue_control_parse(buffer_view(&text), &read, NULL), 0);
	return read;
}

/* Each kind of delivery beside each other. */
static void what_was_tried_is_known_again(void **state)
{
	size_t kinds = 1;

	(void)state;
	for (size_t i = 0; i < DELIVERIES; i++)
		kinds *= COUNT_OF(lives);
	for (size_t kind = 0; kind < kinds; kind++) {
		struct queue_delivery deliveries[DELIVERIES];
		struct queue_control *read;
		size_t rest = kind;

		for (uint32_t i = 0; i < DELIVERIES; i++, rest /= COUNT_OF(lives))
			deliveries[i] = delivery_of_life(rest % COUNT_OF(lives), i + 1);
		read = read_again(deliveries);
		assert_true(read->is_mapped);
		for (size_t i = 0; i < DELIVERIES; i++)
			assert_is_known(&read->deliveries[i], &deliveries[i]);
		queue_control_free(read);
	}
}

/* Not what cannot be written, and then nothing else. */
static void what_is_no_record_is_refused(void **state)
{
	struct queue_delivery deliveries[DELIVERIES];
	struct queue_control control = {.deliveries = deliveries, .delivery_count = DELIVERIES};
	struct buffer text CLEANUP(buffer_clear) = {0};

	(void)state;
	for (uint32_t i = 0; i < DELIVERIES; i++)
		deliveries[i] = delivery_of_life(2, i + 1);
	deliveries[1].text = STR("two\nlines");
	assert_int_equal(queue_control_write_tried(&text, &control), -EINVAL);
	assert_int_equal(text.length, 0);
	deliveries[1] = delivery_of_life(5, 0);
	deliveries[1].attempts = 0;
	assert_int_equal(queue_control_write_tried(&text, &control), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_tried_is_known_again),
		cmocka_unit_test(what_is_no_record_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
