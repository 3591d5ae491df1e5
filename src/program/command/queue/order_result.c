// SPDX-License-Identifier: ISC
/* The results of a command's orders. */
#include "base/text/json.h"
#include "os/clock.h"
#include "program/command/queue/order.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SAID_MAX = 20 }; /* refusals printed one by one */

void queue_order_progress(struct queue_order *order)
{
	int64_t now_us = os_clock_monotonic_us();

	if (order->progress_us == 0)
		order->progress_us = now_us;
	if (order->json || now_us - order->progress_us < SECOND_US)
		return;
	order->progress_us = now_us;
	fprintf(stderr,
		isatty(STDERR_FILENO) ? "\r%s: %llu done, %llu refused "
				      : "%s: %llu done, %llu refused\n",
		order->verb, (unsigned long long)order->done, (unsigned long long)order->refused);
}

static void count_refusal(struct queue_order *order, struct str reason)
{
	struct queue_order_refusal *refusal;
	size_t i = 0;

	if (reason.length >= QUEUE_ORDER_REASON_SIZE)
		reason.length = QUEUE_ORDER_REASON_SIZE - 1;
	while (i < order->refusal_count && !str_equal(str_from(order->refusals[i].text), reason))
		i++;
	refusal = &order->refusals[i];
	if (i == order->refusal_count && i < QUEUE_ORDER_REASONS_MAX) {
		order->refusal_count++;
		memcpy(refusal->text, reason.data, reason.length);
	} else if (i == QUEUE_ORDER_REASONS_MAX) {
		snprintf(refusal->text, QUEUE_ORDER_REASON_SIZE, "other reasons");
	}
	refusal->count++;
}

/* As JSON, every refusal is printed, so that a program learns which messages are concerned. */
static void print_refusal(const char *name, struct str reason)
{
	struct buffer text CLEANUP(buffer_clear) = {0};

	buffer_append_byte(&text, '{');
	json_field_text(&text, "message", str_from(name));
	json_field_text(&text, "refused", reason);
	buffer_append_string(&text, "}\n");
	command_queue_flush(&text);
}

void queue_order_refuse(struct queue_order *order, const char *name, struct str reason)
{
	if (order->json)
		print_refusal(name, reason);
	else if (order->refused < SAID_MAX)
		fprintf(stderr, "%s: " STR_FORMAT "\n", name, STR_ARGUMENTS(reason));
	order->refused++;
	count_refusal(order, reason);
}

void queue_order_print_summary(const struct queue_order *order)
{
	struct buffer text CLEANUP(buffer_clear) = {0};

	if (order->json) {
		buffer_append_byte(&text, '{');
		json_field_text(&text, "command", str_from(order->verb));
		json_field_number(&text, "done", order->done);
		json_field_number(&text, "refused", order->refused);
		json_field(&text, "reasons");
		buffer_append_byte(&text, '{');
		for (size_t i = 0; i <= QUEUE_ORDER_REASONS_MAX; i++)
			if (order->refusals[i].count > 0)
				json_field_number(&text, order->refusals[i].text,
						  order->refusals[i].count);
		buffer_append_string(&text, "}}\n");
	} else {
		buffer_append_format(&text, "%s: %llu done, %llu refused\n", order->verb,
				     (unsigned long long)order->done,
				     (unsigned long long)order->refused);
		for (size_t i = 0; i <= QUEUE_ORDER_REASONS_MAX; i++)
			if (order->refusals[i].count > 0)
				buffer_append_format(&text, "  %8llu  %s\n",
						     (unsigned long long)order->refusals[i].count,
						     order->refusals[i].text);
	}
	command_queue_flush(&text);
}
