// SPDX-License-Identifier: ISC
/*
 * program/queue_filter.h - the options that choose messages of the queue.
 */
#ifndef PROGRAM_QUEUE_FILTER_H
#define PROGRAM_QUEUE_FILTER_H

#include "listing/listing.h"
#include "program/command.h"
#include "queue/trigger.h"

enum { QUEUE_FILTER_OPTIONS = 7 };

struct queue_filter {
	const char *sender; /* the words of the command line; NULL: not given */
	const char *recipient;
	const char *domain;
	const char *stage;
	const char *older;
	const char *trigger;
	const char *host;
	char host_trigger[QUEUE_TRIGGER_MAX + 1];
};

/* Fills OPTIONS; the words go to FILTER. */
void queue_filter_options(struct queue_filter *filter,
			  struct command_option options[QUEUE_FILTER_OPTIONS]);
/* Whether any was given. */
bool queue_filter_is_given(const struct queue_filter *filter);
/* What the words mean; false: *WHY_OUT says what is wrong. The result borrows from
 * FILTER. */
bool queue_filter_parse(struct queue_filter *filter, struct listing_filter *parsed_out,
			const char **why_out);

#endif
