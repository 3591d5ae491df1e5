// SPDX-License-Identifier: ISC
/* stagepost queue list, mailq */
#include "program/command_queue.h"
#include "program/queue_filter.h"
#include <errno.h>
#include <stdio.h>

struct list {
	bool json;
	uint64_t count;
	uint64_t bytes;
	struct buffer text;
};

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
	return ferror(stdout) ? -EPIPE : 0;
}

static int list_queue(const char *config_file, const struct listing_filter *filter, bool json)
{
	struct list list = {.json = json};
	struct queue_store *store = command_queue_open(config_file);
	int result;

	if (store == NULL)
		return COMMAND_FAILED;
	result = listing_each(store, filter, list_one, &list);
	queue_store_close(store);
	buffer_clear(&list.text);
	if (result < 0)
		return command_queue_failed("list", result);
	if (!json && list.count == 0)
		puts("Mail queue is empty");
	else if (!json)
		printf("-- %llu Kbytes in %llu Request%s.\n",
		       (unsigned long long)(list.bytes + 1023) / 1024,
		       (unsigned long long)list.count, list.count == 1 ? "" : "s");
	return COMMAND_OK;
}

int command_mailq_print(const char *config_file)
{
	const struct listing_filter everything = {.born_before_us = 0};

	return list_queue(config_file, &everything, false);
}

int command_queue_list(const struct command *command, int argc, char **argv)
{
	struct queue_filter words = {.sender = NULL};
	bool json = false;
	struct command_option extras[QUEUE_FILTER_OPTIONS + 2] = {
		[QUEUE_FILTER_OPTIONS] = {"--json", NULL, "one JSON object a line", NULL, &json},
	};
	struct listing_filter filter;
	struct command_options options;
	const char *why;
	int status;

	queue_filter_options(&words, extras);
	if (!command_parse_extra(command, argc, argv, extras, &options, &status))
		return status;
	if (options.first < argc)
		return command_usage(command, "unexpected argument");
	if (!queue_filter_parse(&words, &filter, &why))
		return command_usage(command, why);
	return list_queue(options.config_file, &filter, json);
}
