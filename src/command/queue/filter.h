// SPDX-License-Identifier: ISC
/*
 * command/queue/filter.h - the options that select messages of the queue.
 */
#ifndef COMMAND_QUEUE_FILTER_H
#define COMMAND_QUEUE_FILTER_H

#include "command/command.h"
#include "queue/listing/listing.h"
#include "queue/trigger.h"

struct queue_filter {
	const char *sender; /* arguments of the command line; NULL: not given */
	const char *recipient;
	const char *domain;
	const char *stage;
	const char *transport;
	const char *older;
	const char *younger;
	const char *reason;
	const char *trigger;
	const char *host;
	const char *user;
	const char *client;
	bool held;
	char host_trigger[QUEUE_TRIGGER_MAX + 1];
};

/* One row of a table of options: a member of the struct queue_filter FILTER in the
 * struct TYPE. */
#define QUEUE_FILTER_OPTION(name, argument, help, type, filter, member)                \
	{                                                                              \
		name, argument, help,                                                  \
			offsetof(type, filter) + offsetof(struct queue_filter, member) \
	}
/* All of them. */
#define QUEUE_FILTER_OPTIONS(type, filter)                                                        \
	QUEUE_FILTER_OPTION("--sender", "ADDRESS",                                                \
			    "only from this envelope sender (<>: from none)", type, filter,       \
			    sender),                                                              \
		QUEUE_FILTER_OPTION("--recipient", "ADDRESS", "only to this address", type,       \
				    filter, recipient),                                           \
		QUEUE_FILTER_OPTION("--domain", "DOMAIN", "only to addresses of this domain",     \
				    type, filter, domain),                                        \
		QUEUE_FILTER_OPTION("--stage", "submit|arrive",                                   \
				    "only what waits there to be mapped", type, filter, stage),   \
		QUEUE_FILTER_OPTION("--transport", "NAME",                                        \
				    "only what remote, list or a service has still to deliver",   \
				    type, filter, transport),                                     \
		QUEUE_FILTER_OPTION("--older", "AGE", "only older than that: 30m, 12h, 5d", type, \
				    filter, older),                                               \
		QUEUE_FILTER_OPTION("--younger", "AGE", "only younger than that", type, filter,   \
				    younger),                                                     \
		QUEUE_FILTER_OPTION("--reason", "TEXT",                                           \
				    "only what waits with this in its last reply or error, or "   \
				    "with this status (4.7.1)",                                   \
				    type, filter, reason),                                        \
		QUEUE_FILTER_OPTION("--trigger", "NAME",                                          \
				    "only what waits for this trigger by its last record, or is " \
				    "held until it",                                              \
				    type, filter, trigger),                                       \
		QUEUE_FILTER_OPTION(                                                              \
			"--host", "HOST",                                                         \
			"the same as --trigger host.HOST; HOST:PORT for other ports than 25",     \
			type, filter, host),                                                      \
		QUEUE_FILTER_OPTION("--user", "NAME",                                             \
				    "only what this user has sent: authenticated, or by a "       \
				    "command",                                                    \
				    type, filter, user),                                          \
		QUEUE_FILTER_OPTION("--client", "NETWORK",                                        \
				    "only what came from there: 192.0.2.7, 2001:db8::/32", type,  \
				    filter, client),                                              \
		QUEUE_FILTER_OPTION("--held", NULL, "only what an operator holds", type, filter,  \
				    held)

/* Whether any option was given. */
bool queue_filter_is_given(const struct queue_filter *filter);
/* Parses the options; false: *WHY_OUT says what is wrong. The result borrows from
 * FILTER. */
bool queue_filter_parse(struct queue_filter *filter, struct listing_filter *parsed_out,
			const char **why_out);

/* Whether the transport in the filter exists: it is configured, or has messages left from when it
 * was. If not, prints an error, since a misspelt name would silently match nothing. */
bool queue_filter_transport_exists(const struct listing_filter *filter, const struct config *config,
				   const struct queue_store *store);

#endif
