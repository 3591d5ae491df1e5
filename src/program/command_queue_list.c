// SPDX-License-Identifier: ISC
/* stagepost queue list, mailq */
#include "os/clock.h"
#include "program/command_queue.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

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

/* "90", "30m", "12h", "5d": seconds are meant without a letter. */
static bool parse_age(const char *text, int64_t *age_us_out)
{
	static const char letters[] = "smhdw";
	static const int64_t units[] = {SECOND_US, MINUTE_US, HOUR_US, DAY_US, 7 * DAY_US};
	struct str number = str_from(text);
	int64_t unit = SECOND_US;
	uint64_t count;

	if (number.length > 0) {
		const char *letter = strchr(letters, number.data[number.length - 1]);

		if (letter != NULL) {
			unit = units[letter - letters];
			number.length--;
		}
	}
	if (!str_to_u64(number, &count) || count > (uint64_t)(INT64_MAX / (8 * DAY_US)))
		return false;
	*age_us_out = (int64_t)count * unit;
	return true;
}

int command_queue_list(const struct command *command, int argc, char **argv)
{
	const char *sender = "";
	const char *recipient = "";
	const char *domain = "";
	const char *stage = "";
	const char *older = NULL;
	bool json = false;
	const struct command_option extras[] = {
		{"--sender", "ADDRESS", "only from this envelope sender", &sender, NULL},
		{"--recipient", "ADDRESS", "only to this address", &recipient, NULL},
		{"--domain", "DOMAIN", "only to addresses of this domain", &domain, NULL},
		{"--stage", "STAGE", "submit, arrive, remote or a service: what waits there",
		 &stage, NULL},
		{"--older", "AGE", "only older than that: 30m, 12h, 5d", &older, NULL},
		{"--json", NULL, "one JSON object a line", NULL, &json},
		{NULL, NULL, NULL, NULL, NULL},
	};
	struct listing_filter filter = {.born_before_us = 0};
	struct command_options options;
	int64_t age_us;
	int status;

	if (!command_parse_extra(command, argc, argv, extras, &options, &status))
		return status;
	if (options.first < argc)
		return command_usage(command, "unexpected argument");
	if (older != NULL) {
		if (!parse_age(older, &age_us))
			return command_usage(command, "--older needs a time like 30m, 12h or 5d");
		filter.born_before_us = os_clock_wall_us() - age_us;
	}
	filter.sender = str_from(sender);
	filter.recipient = str_from(recipient);
	filter.domain = str_from(domain);
	filter.stage = str_from(stage);
	return list_queue(options.config_file, &filter, json);
}
