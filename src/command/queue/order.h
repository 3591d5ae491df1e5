// SPDX-License-Identifier: ISC
/*
 * command/queue/order.h - the state of "stagepost queue hold", "retry" and similar
 * commands: an order for each message, how many succeeded or were refused, and why.
 */
#ifndef COMMAND_QUEUE_ORDER_H
#define COMMAND_QUEUE_ORDER_H

#include "command/queue/queue.h"
#include "supervisor/talk/manager.h"

enum {
	QUEUE_ORDER_REASONS_MAX = 16, /* kinds of refusals; others are counted together */
	QUEUE_ORDER_REASON_SIZE = 160,
};

/* Texts, each with how many messages it is about; the last is that of all others. */
struct queue_order_reasons {
	struct queue_order_reason {
		char text[QUEUE_ORDER_REASON_SIZE];
		uint64_t count;
	} list[QUEUE_ORDER_REASONS_MAX + 1];
	size_t count;
};

struct queue_order {
	const struct command *command;
	enum order_kind kind;
	const char *verb;  /* the command's name: "hold" */
	const char *word;  /* the order's (manager/order.h) */
	const char *until; /* of a hold: the trigger that ends it; "": none */
	struct config *config;
	struct queue_store *store;
	struct manager_talk *talk; /* NULL: no manager runs */
	bool json;
	bool is_quiet; /* nothing is printed about any message */
	bool is_last_round;
	bool is_chosen; /* all, or selected by filters; otherwise named by the user */
	uint64_t done;
	uint64_t refused;
	struct queue_order_reasons refusals;
	struct queue_order_reasons waits; /* of what is done, and still cannot be tried */
	struct mail_id *again;            /* were busy; owned */
	size_t again_count;
	size_t again_capacity;
	int64_t progress_us; /* when it was last printed */
};

/* Gives the order for the messages in NAMES (ends with NULL) or, if that is empty, for those that
 * match FILTER; and waits for the answers. Orders are sent to the manager; if none runs, the disk
 * is changed. -errno: the remaining orders were not given. (order_give.c) */
MUST_CHECK int queue_order_give(struct queue_order *order, char **names,
				const struct listing_filter *filter);
/* The manager's answer for the message ID. Called by manager_talk. */
void queue_order_answered(void *context, struct mail_id id, const struct order_answer *answer);

/* Prints the progress on standard error, now and then. (order_result.c) */
void queue_order_progress(struct queue_order *order);
/* Counts the message NAME as refused, and prints the first ones; as JSON all. */
void queue_order_refuse(struct queue_order *order, const char *name, struct str reason);
/* Counts the message NAME as done, though it cannot be tried before REASON is over; as JSON, prints
 * it. */
void queue_order_wait(struct queue_order *order, const char *name, struct str reason);
/* Prints the totals on standard output. */
void queue_order_print_summary(const struct queue_order *order);

#endif
