// SPDX-License-Identifier: ISC
/* stagepost queue list, mailq */
#include "command/queue/filter.h"
#include "command/queue/queue.h"
#include "os/process/process.h"
#include "supervisor/talk/drain.h"
#include "supervisor/talk/manager_why.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { OUTPUT_FAILED = 1 };

/* How it is listed. */
struct list_order {
	enum listing_order by;
	bool is_reversed;
	bool json;
};

struct list {
	bool json;
	uint64_t count;
	uint64_t bytes;
	struct buffer text;
};

static int count_one(void *context, const struct listing_entry *entry)
{
	int64_t *count = context;

	(void)entry;
	(*count)++;
	return 0;
}

static int list_one(void *context, const struct listing_entry *entry)
{
	struct list *list = context;

	if (list->json) {
		listing_print_json(entry, &list->text);
		buffer_append_byte(&list->text, '\n');
	} else {
		if (list->count == 0)
			listing_print_heading(&list->text);
		listing_print(entry, &list->text);
	}
	list->count++;
	list->bytes += entry->control != NULL ? entry->control->envelope->size : 0;
	command_queue_flush(&list->text);
	return ferror(stdout) ? OUTPUT_FAILED : 0;
}

/* The number of all messages in the queue; -1: unknown. */
static int64_t count_all_messages(struct queue_store *store)
{
	const struct listing_filter all = {0};
	int64_t count = 0;

	return listing_each(store, &all, count_one, &count) == 0 ? count : -1;
}

static void say_no_message_matches(struct queue_store *store, const struct listing_filter *filter)
{
	/* a user who sees only his own messages must not learn about others */
	int64_t count = filter->is_of_one_user ? 0 : count_all_messages(store);

	if (count > 0)
		printf("No message matches; %lld in the queue\n", (long long)count);
	else
		puts("Mail queue is empty");
}

static int list_store(struct queue_store *store, const struct listing_filter *filter,
		      const struct list_order *order)
{
	struct list list = {.json = order->json};
	int result =
		listing_each_sorted(store, filter, order->by, order->is_reversed, list_one, &list);

	buffer_clear(&list.text);
	if (result == OUTPUT_FAILED)
		return COMMAND_FAILED; /* main() prints the error */
	if (result < 0)
		return command_queue_failed("list", result);
	if (!list.json && list.count == 0)
		say_no_message_matches(store, filter);
	else if (!list.json)
		printf("-- %llu Kbytes in %llu Request%s.\n",
		       (unsigned long long)(list.bytes + 1023) / 1024,
		       (unsigned long long)list.count, list.count == 1 ? "" : "s");
	return COMMAND_OK;
}

/* With the rights of the queue's owner, every user can list the messages that he has queued. */
static void limit_filter_to_own_messages(struct listing_filter *filter)
{
	if (os_process_is_privileged() && !os_process_was_started_by_owner(&filter->uid))
		filter->is_of_one_user = true;
}

static void say_whether_draining(const struct config *config)
{
	char since[TIMESTAMP_SIZE];
	int64_t since_us;

	if (!drain_since(config->run, &since_us))
		return;
	timestamp_format_seconds(since_us, since);
	printf("(no mail is taken in from the network since %s: stagepost queue drain)\n", since);
}

static int list_queue(const char *config_file, const struct listing_filter *wanted,
		      const struct list_order *order)
{
	struct listing_filter limited = *wanted;
	const struct listing_filter *filter = &limited;
	struct config *config = command_config(config_file);
	struct queue_store *store = config != NULL ? command_queue_open_to_read(config) : NULL;
	struct manager_why why = {.run = config != NULL ? config->run : NULL};
	int status = COMMAND_FAILED;

	limit_filter_to_own_messages(&limited);
	limited.ask_why = manager_why_ask;
	limited.why_context = &why;
	if (store != NULL && !order->json)
		say_whether_draining(config);
	if (store != NULL && !queue_filter_transport_exists(filter, config, store))
		status = COMMAND_USAGE;
	else if (store != NULL)
		status = list_store(store, filter, order);
	manager_why_clear(&why);
	queue_store_close(store);
	config_free(config);
	return status;
}

int command_mailq_print(const char *config_file)
{
	const struct listing_filter everything = {.born_before_us = 0};
	const struct list_order order = {.by = LISTING_BY_PLACE};

	return list_queue(config_file, &everything, &order);
}

struct list_options {
	struct command_options common;
	struct queue_filter filter;
	const char *sort;
	bool reverse;
};

const struct command_option command_queue_list_options[] = {
	COMMAND_OPTION_CONFIG,
	QUEUE_FILTER_OPTIONS(struct list_options, filter),
	{"--sort", "age|size|sender|domain|next",
	 "in this order; domain: of the first recipient, next: attempt",
	 offsetof(struct list_options, sort)},
	{"--reverse", NULL, "the other way round", offsetof(struct list_options, reverse)},
	COMMAND_OPTION_JSON("one JSON object a line"),
	COMMAND_OPTION_END,
};

static bool parse_order(const struct list_options *options, struct list_order *order_out)
{
	static const char *const names[] = {
		[LISTING_BY_AGE] = "age",       [LISTING_BY_SIZE] = "size",
		[LISTING_BY_SENDER] = "sender", [LISTING_BY_DOMAIN] = "domain",
		[LISTING_BY_NEXT] = "next",
	};

	*order_out =
		(struct list_order){.is_reversed = options->reverse, .json = options->common.json};
	if (options->sort == NULL)
		return !options->reverse;
	for (size_t i = LISTING_BY_AGE; i < COUNT_OF(names); i++)
		if (strcmp(options->sort, names[i]) == 0)
			order_out->by = (enum listing_order)i;
	return order_out->by != LISTING_BY_PLACE;
}

int command_queue_list(const struct command *command, int argc, char **argv)
{
	struct list_options options = {.filter = {.sender = NULL}};
	struct listing_filter filter;
	struct list_order order;
	const char *why;
	int status;

	if (!command_parse_plain(command, argc, argv, &options.common, &status))
		return status;
	if (!queue_filter_parse(&options.filter, &filter, &why))
		return command_usage(command, why);
	if (!parse_order(&options, &order))
		return command_usage(command,
				     "--sort needs age, size, sender, domain or next; --reverse "
				     "needs --sort");
	return list_queue(options.common.config_file, &filter, &order);
}
