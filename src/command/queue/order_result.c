// SPDX-License-Identifier: ISC
/* The results of a command's orders. */
#include "base/text/json.h"
#include "command/queue/order.h"
#include "os/clock.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SAID_MAX = 20 }; /* refusals printed one by one */

void queue_order_progress(struct queue_order *order)
{
	int64_t now_us = os_clock_monotonic_us();

	if (order->progress_us == 0)
		order->progress_us = now_us;
	if (order->json || order->is_quiet || now_us - order->progress_us < SECOND_US)
		return;
	order->progress_us = now_us;
	fprintf(stderr,
		isatty(STDERR_FILENO) ? "\r%s: %llu done, %llu refused "
				      : "%s: %llu done, %llu refused\n",
		order->verb, (unsigned long long)order->done, (unsigned long long)order->refused);
}

static void count_reason(struct queue_order_reasons *reasons, struct str text)
{
	struct queue_order_reason *reason;
	size_t i = 0;

	if (text.length >= QUEUE_ORDER_REASON_SIZE)
		text.length = QUEUE_ORDER_REASON_SIZE - 1;
	while (i < reasons->count && !str_equal(str_from(reasons->list[i].text), text))
		i++;
	reason = &reasons->list[i];
	if (i == reasons->count && i < QUEUE_ORDER_REASONS_MAX) {
		reasons->count++;
		memcpy(reason->text, text.data, text.length);
	} else if (i == QUEUE_ORDER_REASONS_MAX) {
		snprintf(reason->text, QUEUE_ORDER_REASON_SIZE, "other reasons");
	}
	reason->count++;
}

/* As JSON, every message with a reason is printed, so that a program learns which are concerned. */
static void print_order_result(const char *name, struct str reason, bool is_refused)
{
	struct buffer text CLEANUP(buffer_clear) = {0};

	buffer_append_byte(&text, '{');
	json_field_text(&text, "message", str_from(name));
	if (is_refused)
		json_field_text(&text, "refused", reason);
	else
		listing_print_pause_json("waits", reason, &text);
	buffer_append_string(&text, "}\n");
	command_queue_flush(&text);
}

void queue_order_refuse(struct queue_order *order, const char *name, struct str reason)
{
	if (order->json)
		print_order_result(name, reason, true);
	else if (!order->is_quiet && order->refused < SAID_MAX)
		fprintf(stderr, "%s: " STR_FORMAT "\n", name, STR_ARGUMENTS(reason));
	order->refused++;
	count_reason(&order->refusals, reason);
}

void queue_order_wait(struct queue_order *order, const char *name, struct str reason)
{
	if (order->json)
		print_order_result(name, reason, false);
	order->done++;
	count_reason(&order->waits, reason);
}

static void json_reasons(const char *name, const struct queue_order_reasons *reasons,
			 struct buffer *out)
{
	const char *before = "{";

	json_field(out, name);
	buffer_append_byte(out, '[');
	for (size_t i = 0; i < COUNT_OF(reasons->list); i++) {
		if (reasons->list[i].count == 0)
			continue;
		buffer_append_string(out, before);
		json_field_text(out, "reason", str_from(reasons->list[i].text));
		json_field_number(out, "count", reasons->list[i].count);
		buffer_append_byte(out, '}');
		before = ",{";
	}
	buffer_append_byte(out, ']');
}

static void append_reasons(const struct queue_order_reasons *reasons, const char *before,
			   struct buffer *out)
{
	for (size_t i = 0; i < COUNT_OF(reasons->list); i++)
		if (reasons->list[i].count > 0)
			buffer_append_format(out, "  %8llu  %s%s\n",
					     (unsigned long long)reasons->list[i].count, before,
					     reasons->list[i].text);
}

void queue_order_print_summary(const struct queue_order *order)
{
	struct buffer text CLEANUP(buffer_clear) = {0};

	if (order->json) {
		buffer_append_byte(&text, '{');
		json_field_text(&text, "command", str_from(order->verb));
		json_field_number(&text, "done", order->done);
		json_field_number(&text, "refused", order->refused);
		json_reasons("reasons", &order->refusals, &text);
		json_reasons("waiting", &order->waits, &text);
		buffer_append_string(&text, "}\n");
	} else {
		buffer_append_format(&text, "%s: %llu done, %llu refused\n", order->verb,
				     (unsigned long long)order->done,
				     (unsigned long long)order->refused);
		append_reasons(&order->refusals, "", &text);
		append_reasons(&order->waits, "will be tried later: ", &text);
	}
	command_queue_flush(&text);
}
