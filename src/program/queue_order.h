// SPDX-License-Identifier: ISC
/*
 * program/queue_order.h - what "stagepost queue hold", "retry" and so on have under way:
 * a command for each message, and how many were done or refused, and why.
 */
#ifndef PROGRAM_QUEUE_ORDER_H
#define PROGRAM_QUEUE_ORDER_H

#include "program/command_queue.h"
#include "program/manager_talk.h"

enum {
	QUEUE_ORDER_REASONS_MAX = 16, /* kinds of refusals; the rest is counted together */
	QUEUE_ORDER_REASON_SIZE = 96,
};

struct queue_order {
	const struct command *command;
	enum order_kind kind;
	const char *verb;  /* its word: "hold" */
	const char *until; /* of a hold: the trigger that ends it; "": it has none */
	struct config *config;
	struct queue_store *store;
	struct manager_talk *talk; /* NULL: nothing runs */
	bool json;
	bool is_last_round;
	bool is_chosen; /* all, or what filters let pass; else messages that somebody has named */
	uint64_t done;
	uint64_t refused;
	struct queue_order_refusal {
		char text[QUEUE_ORDER_REASON_SIZE];
		uint64_t count;
	} refusals[QUEUE_ORDER_REASONS_MAX + 1];
	size_t refusal_count;
	struct mail_id *again; /* busy now; owned */
	size_t again_count;
	size_t again_capacity;
	int64_t progress_us; /* when it was last told */
};

/* Gives the command for the messages that NAMES (the last is NULL) name or, where there
 * are none, for those that pass FILTER; and waits for the answers. What the manager
 * answers to is sent to it; where none runs, the disk is changed. -errno: the rest was not
 * asked for. (queue_order_give.c) */
MUST_CHECK int queue_order_give(struct queue_order *order, char **names,
				const struct listing_filter *filter);
/* The manager's answer about the message ID. Called by manager_talk. */
void queue_order_answered(void *context, struct mail_id id, const struct order_answer *answer);

/* Tells on standard error, now and then, how far it is. (queue_order_result.c) */
void queue_order_progress(struct queue_order *order);
/* Counts a message called NAME as refused, and tells the first of them; as JSON all. */
void queue_order_refuse(struct queue_order *order, const char *name, struct str reason);
/* The sums, on standard output. */
void queue_order_print_summary(const struct queue_order *order);

#endif
