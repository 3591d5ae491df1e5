// SPDX-License-Identifier: ISC
/*
 * Fills a queue that no daemon has open, for measurements: COUNT messages for
 * DOMAIN, one recipient each. A "#" in DOMAIN becomes the message's number, so
 * that each is for a domain of its own.
 *
 *   fill_queue QUEUE COUNT DOMAIN queued          at S4, as if just accepted
 *   fill_queue QUEUE COUNT DOMAIN SECONDS [TRIGGER]
 *       at S5 after an attempt that failed, due in SECONDS (less than 0: they are
 *       due), or waiting for TRIGGER, which is not made
 */
#include "base/panic.h"
#include "base/timestamp.h"
#include "os/clock.h"
#include "os/file/file.h"
#include "os/random.h"
#include "queue/message.h"
#include "queue/update.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GROUP = 500, SPREAD_US = 1000 };

static const char body[] = "Received: from fill_queue\r\nSubject: one of many\r\n\r\nIt waits.\r\n";

struct fill {
	struct queue_store *store;
	struct queue_intake *intake;
	const char *domain;
	bool is_queued;
	int64_t due_us;
	const char *trigger;
	uint64_t made;
};

static void must(int result, const char *what)
{
	if (result < 0) {
		fprintf(stderr, "fill_queue: %s: %s\n", what, strerror(-result));
		exit(1);
	}
}

static struct str recipient(struct fill *fill, struct arena *arena)
{
	const char *hash = strchr(fill->domain, '#');
	unsigned long long number = fill->made++;
	char address[300];

	if (hash == NULL)
		snprintf(address, sizeof address, "user%llu@%s", number, fill->domain);
	else
		snprintf(address, sizeof address, "user@%.*s%llu%s", (int)(hash - fill->domain),
			 fill->domain, number, hash + 1);
	return arena_copy_str(arena, str_from(address));
}

static struct queue_message *begin(struct fill *fill, struct mail_envelope *envelope)
{
	struct queue_message *message = NULL;
	struct buffer text = {0};

	must(queue_message_new(fill->intake, &message), "new message");
	must(queue_message_share(message), "share");
	must(os_file_write(queue_message_file(message), body, sizeof body - 1, 0), "write");
	envelope->id = (struct mail_id){queue_message_number(message), os_clock_wall_us()};
	envelope->stage = MAIL_STAGE_ARRIVE;
	envelope->sender = STR("sender@filled.example");
	envelope->size = sizeof body - 1;
	mail_envelope_add(envelope, recipient(fill, envelope->arena));
	must(queue_control_write_envelope(&text, envelope), "envelope");
	must(queue_message_envelope(message, MAIL_STAGE_ARRIVE, &text), "envelope");
	buffer_clear(&text);
	return message;
}

/* What "send" writes after an attempt at a host that is not there. */
static void defer(const struct fill *fill, const struct mail_envelope *envelope,
		  struct queue_update *update, struct buffer *text)
{
	struct queue_delivery delivery = {
		.number = 1,
		.recipient = 1,
		.route = QUEUE_ROUTE_REMOTE,
		.address = envelope->recipients[0].address,
		.outcome = QUEUE_WAIT,
		.changed_us = envelope->id.born_us,
		.until_us = fill->due_us,
		.trigger = str_from(fill->trigger),
		.status = STR("4.4.1"),
		.text = STR("connection refused"),
	};

	must(queue_control_write_map(text, &delivery, 1, 0), "map");
	must(queue_control_write_outcome(text, &delivery), "outcome");
	*update = (struct queue_update){
		.number = envelope->id.number,
		.born_us = envelope->id.born_us,
		.is_queued = true,
		.stage = MAIL_STAGE_ARRIVE,
		.control = buffer_view(text),
		.preprocess = true,
		.link_remote = true,
	};
}

static void preprocess(struct fill *fill, struct mail_envelope **envelopes, size_t count)
{
	struct queue_update updates[GROUP];
	struct queue_update *pointers[GROUP];
	struct buffer texts[GROUP] = {0};

	for (size_t i = 0; i < count; i++) {
		pointers[i] = &updates[i];
		defer(fill, envelopes[i], &updates[i], &texts[i]);
	}
	queue_update_commit_group(fill->store, pointers, count);
	for (size_t i = 0; i < count; i++) {
		int64_t due_us = fill->due_us + (int64_t)os_random_below(count) * SPREAD_US;
		uint64_t number = envelopes[i]->id.number;

		must(updates[i].result, "preprocess");
		must(queue_message_remove_todo(fill->intake, MAIL_STAGE_ARRIVE, number), "todo");
		must(queue_update_set_due(fill->store, number, due_us), "due");
		buffer_clear(&texts[i]);
	}
}

static void add_group(struct fill *fill, size_t count)
{
	struct mail_envelope *envelopes[GROUP];
	struct queue_message *messages[GROUP];
	int results[GROUP];

	for (size_t i = 0; i < count; i++) {
		envelopes[i] = mail_envelope_new();
		messages[i] = begin(fill, envelopes[i]);
	}
	queue_message_commit_group(fill->intake, messages, count, results);
	for (size_t i = 0; i < count; i++)
		must(results[i], "commit");
	if (!fill->is_queued)
		preprocess(fill, envelopes, count);
	for (size_t i = 0; i < count; i++)
		mail_envelope_free(envelopes[i]);
}

int main(int argc, char **argv)
{
	const struct queue_options options = {.create = true, .sync = QUEUE_SYNC_FILESYSTEM};
	const struct queue_intake_options intake_options = {0};
	struct fill fill = {.trigger = ""};
	struct buffer reason = {0};
	unsigned long count;

	if (argc < 5) {
		fprintf(stderr, "usage: %s QUEUE COUNT DOMAIN queued|SECONDS [TRIGGER]\n", argv[0]);
		return 2;
	}
	count = strtoul(argv[2], NULL, 10);
	fill.domain = argv[3];
	fill.is_queued = strcmp(argv[4], "queued") == 0;
	fill.due_us = os_clock_wall_us() + strtoll(argv[4], NULL, 10) * SECOND_US;
	if (argc > 5)
		fill.trigger = argv[5];
	must(queue_store_open(argv[1], &options, &fill.store, &reason), "queue");
	must(queue_store_lock(fill.store, "queue"), "lock/queue");
	must(queue_store_lock(fill.store, "send"), "lock/send");
	must(queue_intake_open(fill.store, &intake_options, &fill.intake), "intake");
	while (fill.made < count)
		add_group(&fill, count - fill.made < GROUP ? count - fill.made : GROUP);
	queue_intake_close(fill.intake);
	queue_store_close(fill.store);
	buffer_clear(&reason);
	return 0;
}
