// SPDX-License-Identifier: ISC
#include "command/queue/drained.h"
#include "base/text/json.h"
#include "base/timestamp.h"
#include "os/clock.h"
#include "supervisor/talk/pid_file.h"
#include <stdio.h>

enum { COUNT_AGAIN_MS = 250 };

static const int64_t PROGRESS_US = 5 * SECOND_US;

bool queue_is_served(const struct config *config)
{
	uid_t owner;

	return pid_file_read(config->run, &owner) > 0;
}

bool queue_is_drained(const struct listing_left *left)
{
	return left->messages == 0 && left->packages == 0 && left->peers == 0;
}

static bool is_same_left(const struct listing_left *a, const struct listing_left *b)
{
	return a->messages == b->messages && a->packages == b->packages && a->peers == b->peers;
}

void queue_append_left(struct buffer *out, const struct listing_left *left)
{
	const struct {
		uint64_t count;
		const char *one;
		const char *more;
	} parts[] = {
		{left->messages, "message", "messages"},
		{left->packages, "package of other nodes", "packages of other nodes"},
		{left->peers, "node to be told what is settled",
		 "nodes to be told what is settled"},
	};
	const char *separator = "";
	uint64_t sum = 0;

	for (size_t i = 0; i < COUNT_OF(parts); i++) {
		if (parts[i].count == 0 && (i > 0 || !queue_is_drained(left)))
			continue;
		buffer_append_format(out, "%s%llu %s", separator,
				     (unsigned long long)parts[i].count,
				     parts[i].count == 1 ? parts[i].one : parts[i].more);
		separator = ", ";
		sum += parts[i].count;
	}
	buffer_append_string(out, sum == 1 ? " is left" : " are left");
}

void queue_append_left_json(struct buffer *out, const struct listing_left *left)
{
	buffer_append_byte(out, '{');
	json_field_number(out, "messages", left->messages);
	json_field_number(out, "packages", left->packages);
	json_field_number(out, "peers", left->peers);
	buffer_append_string(out, "}\n");
}

static void say_progress(const struct listing_left *left)
{
	struct buffer text CLEANUP(buffer_clear) = {0};

	queue_append_left(&text, left);
	fprintf(stderr, STR_FORMAT "\n", STR_ARGUMENTS(buffer_view(&text)));
}

int queue_wait_drained(const struct queue_draining *draining, struct listing_left *left_out)
{
	int64_t begun_us = os_clock_monotonic_us();
	int64_t said_us = begun_us - PROGRESS_US;
	int64_t left_us = begun_us; /* when something was left last */
	struct listing_left said = {.messages = UINT64_MAX};

	for (;;) {
		int64_t now_us = os_clock_monotonic_us();
		int error = listing_count_left(draining->store, left_out);
		bool is_drained = error == 0 && queue_is_drained(left_out);

		if (!is_drained)
			left_us = now_us;
		if (error < 0 || now_us - begun_us >= draining->timeout_us ||
		    !queue_is_served(draining->config) ||
		    (is_drained && now_us - left_us >= draining->quiet_us))
			return error;
		if (!is_drained && !is_same_left(left_out, &said) &&
		    now_us - said_us >= PROGRESS_US) {
			if (!draining->is_silent)
				say_progress(left_out);
			said = *left_out;
			said_us = now_us;
		}
		os_clock_pause_ms(COUNT_AGAIN_MS);
	}
}
