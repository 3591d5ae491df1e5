// SPDX-License-Identifier: ISC
/* Gives an order for each message: to the manager, or to the disk if none runs. */
#include "base/panic.h"
#include "command/queue/order.h"
#include "os/clock.h"
#include "queue/trigger.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	AGAIN_MAX = 100000, /* messages to ask for again */
	AGAIN_ROUNDS = 40,
	AGAIN_MS = 250,
};

static void ask_about_message_later(struct queue_order *order, struct mail_id id)
{
	order->again = memory_grow(order->again, order->again_count, &order->again_capacity,
				   sizeof *order->again);
	order->again[order->again_count++] = id;
}

void queue_order_answered(void *context, struct mail_id id, const struct order_answer *answer)
{
	struct queue_order *order = context;
	char name[MAIL_ID_SIZE];

	if (answer->code == ORDER_OK && answer->text.length > 2) { /* "(DESTINATION: REASON)" */
		mail_id_format(id, name);
		queue_order_wait(order, name,
				 str_slice(answer->text.data + 1, answer->text.length - 2));
	} else if (answer->code == ORDER_OK) {
		order->done++;
	} else if (order->is_chosen && answer->code == ORDER_NO_MESSAGE) {
		/* the message has ended since it was selected */
	} else if (!order->is_last_round && order_code_is_passing(answer->code) &&
		   order->again_count < AGAIN_MAX) {
		ask_about_message_later(order, id);
	} else {
		mail_id_format(id, name);
		queue_order_refuse(order, name, answer->text);
	}
	queue_order_progress(order);
}

static int hold_on_disk(struct queue_order *order, struct mail_id id)
{
	char name[LISTING_HOLD_SIZE];

	struct str until = str_from(order->until);
	int error = 0;

	if (until.length > 0)
		error = queue_trigger_set(order->store, until, os_clock_wall_us(),
					  STR("messages are held until it"));
	return error < 0 ? error
			 : queue_trigger_set_until(order->store, listing_hold_name(id, name),
						   os_clock_wall_us(), STR("held by the operator"),
						   until);
}

static int release_on_disk(struct queue_order *order, struct mail_id id)
{
	char name[LISTING_HOLD_SIZE];

	return queue_trigger_release(order->store, listing_hold_name(id, name));
}

static int give_on_disk(struct queue_order *order, struct mail_id id, bool is_held)
{
	struct order_answer answer = {.code = ORDER_OK};
	bool is_hold = order->kind == ORDER_HOLD;
	int error = 0;

	if (is_hold)
		error = hold_on_disk(order, id);
	else if (is_held)
		error = release_on_disk(order, id);
	else
		answer = order_refusal(ORDER_NOT_HELD);
	if (error < 0)
		answer = (struct order_answer){ORDER_OTHER, str_from(strerror(-error))};
	queue_order_answered(order, id, &answer);
	return 0;
}

static int send_command(struct queue_order *order, struct mail_id id)
{
	char text[MANAGER_TALK_COMMAND_MAX];
	char name[MAIL_ID_SIZE];

	mail_id_format(id, name);
	snprintf(text, sizeof text, "%s %s%s%s", order->word, name,
		 order->until[0] != '\0' ? " " : "", order->until);
	return manager_talk_send(order->talk, id, str_from(text));
}

static int give_order_for_entry(void *context, const struct listing_entry *entry)
{
	struct queue_order *order = context;
	char name[32];

	if (entry->control == NULL) {
		snprintf(name, sizeof name, "%llu", (unsigned long long)entry->number);
		queue_order_refuse(order, name, STR("its control file is damaged"));
		return 0;
	}
	if (order->talk == NULL)
		return give_on_disk(order, entry->control->envelope->id, entry->is_held);
	return send_command(order, entry->control->envelope->id);
}

/* Who retries all mail does not mean what its senders want to be delivered later. */
static bool is_before_release(const struct listing_entry *entry)
{
	return entry->control != NULL && entry->control->envelope->release_us > os_clock_wall_us();
}

/* For a message selected by a filter, or of all: if it is not held, releasing it is skipped, and
 * not counted as refused as it would be for a named one. */
static int give_chosen(void *context, const struct listing_entry *entry)
{
	const struct queue_order *order = context;

	if ((!entry->is_held && order->kind == ORDER_RELEASE) ||
	    (order->kind == ORDER_RETRY && is_before_release(entry)))
		return 0;
	return give_order_for_entry(context, entry);
}

static int give_named(struct queue_order *order, char **names)
{
	int error = 0;

	for (; error == 0 && *names != NULL; names++) {
		struct listing_entry entry;
		int found = listing_find(order->store, str_from(*names), &entry);

		if (found < 0) {
			queue_order_refuse(order, *names,
					   found == -EINVAL   ? STR("that is no message id")
					   : found == -ENOENT ? order_refusal(ORDER_NO_MESSAGE).text
							      : str_from(strerror(-found)));
			continue;
		}
		error = give_order_for_entry(order, &entry);
		queue_control_free(entry.control);
	}
	return error;
}

/* Retries messages that were busy, until they are not, or for a limited time. */
static int give_again(struct queue_order *order)
{
	int error = 0;

	for (unsigned round = 1; error == 0 && order->again_count > 0; round++) {
		struct mail_id *again = order->again;
		size_t count = order->again_count;

		order->again = NULL;
		order->again_count = order->again_capacity = 0;
		order->is_last_round = round == AGAIN_ROUNDS;
		os_clock_pause_ms(AGAIN_MS);
		for (size_t i = 0; error == 0 && i < count; i++)
			error = send_command(order, again[i]);
		if (error == 0)
			error = manager_talk_finish(order->talk);
		free(again);
	}
	return error;
}

int queue_order_give(struct queue_order *order, char **names, const struct listing_filter *filter)
{
	int error;

	order->is_chosen = names[0] == NULL;
	error = order->is_chosen ? listing_each(order->store, filter, give_chosen, order)
				 : give_named(order, names);
	if (error == 0 && order->talk != NULL)
		error = manager_talk_finish(order->talk);
	if (error == 0 && order->talk != NULL)
		error = give_again(order);
	return error;
}
