// SPDX-License-Identifier: ISC
/*
 * stagepost queue hold, release, retry, bounce, remove - one command a message to
 * the manager that runs. Without one, holds are changed on disk.
 */
#include "base/json.h"
#include "base/panic.h"
#include "os/clock.h"
#include "os/file.h"
#include "program/command_queue.h"
#include "program/manager_talk.h"
#include "program/queue_filter.h"
#include "queue/trigger.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	REASONS_MAX = 16, /* kinds of refusals; the rest is counted together */
	REASON_SIZE = 96,
	AGAIN_MAX = 100000, /* messages that are asked for again */
	AGAIN_ROUNDS = 40,
	AGAIN_MS = 250,
	SAID_MAX = 20, /* refusals that are told one by one */
};

struct order {
	const struct command *command;
	const char *verb; /* "hold" */
	struct config *config;
	struct queue_store *store;
	struct manager_talk *talk; /* NULL: nothing runs */
	bool json;
	bool is_last_round;
	uint64_t done;
	uint64_t refused;
	struct refusal {
		char text[REASON_SIZE];
		uint64_t count;
	} refusals[REASONS_MAX + 1];
	size_t refusal_count;
	struct mail_id *again; /* busy now; owned */
	size_t again_count;
	size_t again_capacity;
	int64_t progress_us; /* when it was last told */
};

/* --- what became of it --- */

static void say_progress(struct order *order)
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

static void count_refusal(struct order *order, struct str reason)
{
	struct refusal *refusal;
	size_t i = 0;

	if (reason.length >= REASON_SIZE)
		reason.length = REASON_SIZE - 1;
	while (i < order->refusal_count && !str_equal(str_from(order->refusals[i].text), reason))
		i++;
	refusal = &order->refusals[i];
	if (i == order->refusal_count && i < REASONS_MAX) {
		order->refusal_count++;
		memcpy(refusal->text, reason.data, reason.length);
	} else if (i == REASONS_MAX) {
		snprintf(refusal->text, REASON_SIZE, "other reasons");
	}
	refusal->count++;
}

static void refuse(struct order *order, const char *name, struct str reason)
{
	if (order->refused++ < SAID_MAX && !order->json)
		fprintf(stderr, "%s: " STR_FORMAT "\n", name, STR_ARGUMENTS(reason));
	count_refusal(order, reason);
}

/* Busy for the moment: a delivery under way ends soon. */
static bool is_passing(struct str reason)
{
	return str_ends_with_nocase(reason, STR("ask again")) ||
	       str_equal(reason, STR("the queue is not there yet"));
}

static void ask_later(struct order *order, struct mail_id id)
{
	if (order->again_count == order->again_capacity) {
		order->again_capacity = order->again_capacity * 2 + 64;
		order->again =
			memory_resize(order->again, order->again_capacity * sizeof *order->again);
	}
	order->again[order->again_count++] = id;
}

static void on_answer(void *context, struct mail_id id, struct str reason)
{
	struct order *order = context;
	char name[MAIL_ID_SIZE];

	if (reason.length == 0) {
		order->done++;
	} else if (!order->is_last_round && is_passing(reason) && order->again_count < AGAIN_MAX) {
		ask_later(order, id);
	} else {
		mail_id_format(id, name);
		refuse(order, name, reason);
	}
	say_progress(order);
}

/* --- giving it --- */

static int hold_on_disk(struct order *order, struct mail_id id)
{
	char name[LISTING_HOLD_SIZE];

	return queue_trigger_set(order->store, listing_hold_name(id, name), os_clock_wall_us(),
				 STR("held by the operator"));
}

static int release_on_disk(struct order *order, struct mail_id id)
{
	char name[LISTING_HOLD_SIZE];

	return queue_trigger_release(order->store, listing_hold_name(id, name));
}

static int give_on_disk(struct order *order, struct mail_id id, bool is_held)
{
	bool is_hold = strcmp(order->verb, "hold") == 0;
	int error;

	if (!is_hold && !is_held) {
		on_answer(order, id, STR("it is not held"));
		return 0;
	}
	error = is_hold ? hold_on_disk(order, id) : release_on_disk(order, id);
	on_answer(order, id, error < 0 ? str_from(strerror(-error)) : STR(""));
	return 0;
}

static int send_command(struct order *order, struct mail_id id)
{
	char text[MANAGER_TALK_COMMAND_MAX];
	char name[MAIL_ID_SIZE];

	mail_id_format(id, name);
	snprintf(text, sizeof text, "%s %s", order->verb, name);
	return manager_talk_send(order->talk, id, str_from(text));
}

static int give(void *context, const struct listing_entry *entry)
{
	struct order *order = context;
	char name[32];

	if (entry->control == NULL) {
		snprintf(name, sizeof name, "%llu", (unsigned long long)entry->number);
		refuse(order, name, STR("its control file is damaged"));
		return 0;
	}
	if (order->talk == NULL)
		return give_on_disk(order, entry->control->envelope->id, entry->is_held);
	return send_command(order, entry->control->envelope->id);
}

static int give_named(struct order *order, char **names)
{
	int error = 0;

	for (; error == 0 && *names != NULL; names++) {
		struct listing_entry entry;
		int found = listing_find(order->store, str_from(*names), &entry);

		if (found < 0) {
			refuse(order, *names,
			       found == -EINVAL   ? STR("that is no message id")
			       : found == -ENOENT ? STR("no such message")
						  : str_from(strerror(-found)));
			continue;
		}
		error = give(order, &entry);
		queue_control_free(entry.control);
	}
	return error;
}

/* Those that were busy, until they are not or it has been tried long enough. */
static int give_again(struct order *order)
{
	const struct timespec pause = {0, AGAIN_MS * 1000000};
	int error = 0;

	for (unsigned round = 1; error == 0 && order->again_count > 0; round++) {
		struct mail_id *again = order->again;
		size_t count = order->again_count;

		order->again = NULL;
		order->again_count = order->again_capacity = 0;
		order->is_last_round = round == AGAIN_ROUNDS;
		nanosleep(&pause, NULL);
		for (size_t i = 0; error == 0 && i < count; i++)
			error = send_command(order, again[i]);
		if (error == 0)
			error = manager_talk_finish(order->talk);
		free(again);
	}
	return error;
}

static int give_all(struct order *order, char **names, const struct listing_filter *filter)
{
	int error = names[0] != NULL ? give_named(order, names)
				     : listing_each(order->store, filter, give, order);

	if (error == 0 && order->talk != NULL)
		error = manager_talk_finish(order->talk);
	if (error == 0 && order->talk != NULL)
		error = give_again(order);
	return error;
}

/* --- before and after --- */

struct sum {
	uint64_t messages;
	uint64_t bytes;
};

static int add_up(void *context, const struct listing_entry *entry)
{
	struct sum *sum = context;

	sum->messages++;
	sum->bytes += entry->control != NULL ? entry->control->envelope->size : 0;
	return 0;
}

/* Asks on the terminal; false: no. */
static bool confirm(const struct order *order, char **names, const struct listing_filter *filter)
{
	struct sum sum = {0, 0};
	char answer[16];
	int error = 0;

	if (names[0] == NULL)
		error = listing_each(order->store, filter, add_up, &sum);
	else
		while (names[sum.messages] != NULL)
			sum.messages++;
	if (error < 0)
		return command_queue_failed(order->verb, error) == COMMAND_OK;
	fprintf(stderr, "%s %llu message%s", order->verb, (unsigned long long)sum.messages,
		sum.messages == 1 ? "" : "s");
	if (sum.bytes > 0)
		fprintf(stderr, " (%llu KiB)", (unsigned long long)(sum.bytes + 1023) / 1024);
	fputs("? [y/N] ", stderr);
	return fgets(answer, sizeof answer, stdin) != NULL &&
	       (answer[0] == 'y' || answer[0] == 'Y');
}

static void print_summary(const struct order *order)
{
	struct buffer text CLEANUP(buffer_clear) = {0};

	if (order->json) {
		buffer_append_byte(&text, '{');
		json_field_text(&text, "command", str_from(order->verb));
		json_field_number(&text, "done", order->done);
		json_field_number(&text, "refused", order->refused);
		json_field(&text, "reasons");
		buffer_append_byte(&text, '{');
		for (size_t i = 0; i <= REASONS_MAX; i++)
			if (order->refusals[i].count > 0)
				json_field_number(&text, order->refusals[i].text,
						  order->refusals[i].count);
		buffer_append_string(&text, "}}\n");
	} else {
		buffer_append_format(&text, "%s: %llu done, %llu refused\n", order->verb,
				     (unsigned long long)order->done,
				     (unsigned long long)order->refused);
		for (size_t i = 0; i <= REASONS_MAX; i++)
			if (order->refusals[i].count > 0)
				buffer_append_format(&text, "  %8llu  %s\n",
						     (unsigned long long)order->refusals[i].count,
						     order->refusals[i].text);
	}
	command_queue_flush(&text);
}

static bool works_on_disk(const struct order *order)
{
	return strcmp(order->verb, "hold") == 0 || strcmp(order->verb, "release") == 0;
}

/* The way to the manager, or to the disk where nothing runs. */
static bool open_way(struct order *order, const char *config_file)
{
	int error = manager_talk_open(order->config->run, on_answer, order, &order->talk);

	if (error == 0) {
		order->store = command_queue_open(config_file);
	} else if (error == -ESRCH && works_on_disk(order)) {
		order->store = command_queue_open_for_change(order->config);
	} else if (error == -ESRCH) {
		fprintf(stderr,
			"stagepost %s: no manager runs with %s; only \"stagepost serve\" does "
			"this (hold and release work without)\n",
			order->command->name, order->config->run);
	} else {
		fprintf(stderr, "stagepost %s: %s: %s\n", order->command->name, order->config->run,
			manager_talk_explain(error));
	}
	return order->store != NULL;
}

static int carry_out(struct order *order, char **names, const struct listing_filter *filter)
{
	int error = give_all(order, names, filter);

	if (error < 0)
		fprintf(stderr, "stagepost %s: %s\n", order->command->name,
			manager_talk_explain(error));
	print_summary(order);
	return error < 0 || order->refused > 0 ? COMMAND_FAILED : COMMAND_OK;
}

static int begin(struct order *order, const char *config_file, char **names,
		 const struct listing_filter *filter, bool is_confirmed)
{
	int status = COMMAND_FAILED;

	order->config = command_config(config_file);
	if (order->config == NULL)
		return COMMAND_FAILED;
	if (open_way(order, config_file)) {
		if (is_confirmed || confirm(order, names, filter))
			status = carry_out(order, names, filter);
		else
			fputs("nothing was done\n", stderr);
	}
	manager_talk_close(order->talk);
	queue_store_close(order->store);
	config_free(order->config);
	free(order->again);
	return status;
}

/* Bounces that this very command makes are not meant. */
static void leave_out_later(struct listing_filter *filter)
{
	if (filter->born_before_us == 0)
		filter->born_before_us = os_clock_wall_us();
}

int command_queue_order(const struct command *command, int argc, char **argv)
{
	struct order order = {.command = command, .verb = strchr(command->name, ' ') + 1};
	bool gives_up = strcmp(order.verb, "bounce") == 0 || strcmp(order.verb, "remove") == 0;
	struct queue_filter words = {.sender = NULL};
	bool all = false;
	bool yes = false;
	struct command_option extras[QUEUE_FILTER_OPTIONS + 5] = {
		[QUEUE_FILTER_OPTIONS] = {"--all", NULL, "every message", NULL, &all},
		{"--yes", NULL, "do not ask", NULL, &yes},
		{"-y", NULL, "the same", NULL, &yes},
		{"--json", NULL, "print the sums as JSON", NULL, &order.json},
	};
	struct command_options options;
	struct listing_filter filter;
	const char *why;
	int status;

	queue_filter_options(&words, extras);
	if (!command_parse_extra(command, argc, argv, extras, &options, &status))
		return status;
	if ((options.first < argc) + queue_filter_is_given(&words) + all != 1)
		return command_usage(command, "give IDs, or filters, or --all");
	if (!queue_filter_parse(&words, &filter, &why))
		return command_usage(command, why);
	if (!yes && !isatty(STDIN_FILENO) && gives_up)
		return command_usage(command, "without a terminal to ask at, --yes is needed");
	leave_out_later(&filter);
	return begin(&order, options.config_file, argv + options.first, &filter,
		     yes || !isatty(STDIN_FILENO));
}
