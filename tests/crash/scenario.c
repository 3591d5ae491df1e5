// SPDX-License-Identifier: ISC
#include "scenario.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "os/file/file.h"
#include "queue/handed.h"
#include "queue/message.h"
#include "queue/update.h"
#include "recorder.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void (*scenario_look)(void);

static struct queue_store *store;
static struct queue_intake *intake;

static void look(void)
{
	ledger.version++;
	if (scenario_look != NULL)
		scenario_look();
}

static void settle(void)
{
	queue_message_commit_group(intake, NULL, 0, NULL);
}

/* A daemon that cannot start is started again. But a sync that failed while the
 * queue was made cannot be made good by another: false, nothing was promised. */
static bool start(bool create)
{
	struct queue_options options = {.create = create, .split = 2, .sync = ledger.sync};
	struct queue_intake_options intake_options = {
		.spares = ledger.spares, .spare_size = 600, .is_daemon = true};
	int result = -1;

	for (unsigned i = 0; i < 2 && result < 0; i++) {
		if (create && strncmp(recorder.failed, "sync", 4) == 0)
			return false;
		result = queue_store_open("queue", &options, &store, NULL);
	}
	if (result < 0)
		panic("the store does not open: %d", result);
	ledger.has_queue = true;
	result = queue_store_add_service(store, ledger_services[0]);
	if (result < 0)
		result = queue_store_add_service(store, ledger_services[0]);
	if (result < 0)
		panic("a service cannot be added: %d", result);
	result = queue_intake_open(store, &intake_options, &intake);
	if (result < 0)
		result = queue_intake_open(store, &intake_options, &intake);
	if (result < 0)
		panic("the intake does not open: %d", result);
	return true;
}

static void stop(void)
{
	queue_intake_close(intake);
	queue_store_close(store);
	intake = NULL;
	store = NULL;
}

static void clean(void)
{
	int result = queue_intake_clean(intake, recorder.now_us, 36 * HOUR_US, NULL, NULL);

	if (result == 0)
		result = ledger_clean(store, intake);
	(void)result;
}

/* The process dies; the kernel lives on. */
static void restart(void)
{
	stop();
	start(false);
	clean();
	queue_message_commit_group(intake, NULL, 0, NULL);
}

static void write_control(struct entry *entry, unsigned recipients)
{
	struct mail_envelope *envelope = mail_envelope_new();
	char package[64];
	char text[64];

	envelope->id = (struct mail_id){entry->number, entry->born_us};
	envelope->stage = entry->stage;
	envelope->size = entry->data.length;
	envelope->sender = STR("sender@example.org");
	if (entry->package != NULL) {
		snprintf(package, sizeof package, "a1/%s", entry->package);
		envelope->handed = envelope->origin = str_from(package);
		envelope->via = 1;
	}
	for (unsigned i = 0; i < recipients; i++) {
		snprintf(text, sizeof text, "recipient%u@message%" PRId64 ".example.net", i,
			 entry->born_us);
		mail_envelope_add(envelope, str_from(text));
	}
	if (queue_control_write_envelope(&entry->control, envelope) < 0)
		panic("an envelope cannot be written");
	mail_envelope_free(envelope);
}

/* As the daemon takes it from another process. */
static int write_lent(struct queue_message *message, struct str data)
{
	int file;
	int result = queue_message_lend(message, &file);

	if (result < 0)
		return result;
	result = os_file_write(file, data.data, data.length, 0);
	os_file_close(file);
	return result;
}

/* By value what may, and the rest into a file that is lent. */
static int write_data(struct queue_message *message, struct entry *entry, enum mail_stage stage)
{
	struct str data = buffer_view(&entry->data);
	struct buffer copy CLEANUP(buffer_clear) = {0};
	int result;

	if (data.length <= QUEUE_BY_VALUE_MAX) {
		buffer_append_str(&copy, data);
		return queue_message_write(message, stage, &copy, &entry->control);
	}
	result = write_lent(message, data);
	return result == 0 ? queue_message_envelope(message, stage, &entry->control) : result;
}

static bool begin_package(struct queue_message *message, const struct entry *entry)
{
	const struct queue_package package = {.node = STR("a1"),
					      .name = str_from(entry->package),
					      .stage = entry->stage,
					      .numbers = STR(""),
					      .records = STR("")};

	return queue_handed_begin(message, &package) == 0;
}

/* S1 to S3. NULL: an error, and the message abandoned. */
static struct queue_message *write_message(struct entry *entry, enum mail_stage stage, size_t size,
					   unsigned recipients)
{
	struct queue_message *message;

	if (queue_message_new(intake, &message) < 0)
		return NULL;
	entry->number = queue_message_number(message);
	entry->stage = stage;
	while (entry->data.length < size)
		buffer_append_format(&entry->data, "message %" PRId64 " byte %zu\r\n",
				     entry->born_us, entry->data.length);
	buffer_truncate(&entry->data, size);
	write_control(entry, recipients);
	if (entry->package != NULL && !begin_package(message, entry)) {
		queue_message_abandon(message);
		return NULL;
	}
	if (write_data(message, entry, stage) < 0) {
		queue_message_abandon(message);
		return NULL;
	}
	return message;
}

struct letter {
	enum mail_stage stage;
	size_t size;
	unsigned recipients;
	const char *package; /* of a1; NULL: it comes from somebody else */
};

/* With other errors nothing is said. */
static void answer_a1(struct entry *entry, int result)
{
	queue_handed_end(intake, entry->number, result);
	entry->is_denied = result == -ENOSPC || result == -EDQUOT || result == -EMFILE;
}

/* Queues COUNT messages in one group. */
static void enqueue(const struct letter *letters, size_t count, struct entry **entries_out)
{
	struct queue_message *messages[4];
	struct entry *entries[4];
	int results[4];
	size_t ready = 0;

	for (size_t i = 0; i < count; i++) {
		entries_out[i] = ledger_add();
		entries_out[i]->package = letters[i].package;
		messages[ready] = write_message(entries_out[i], letters[i].stage, letters[i].size,
						letters[i].recipients);
		entries[ready] = entries_out[i];
		ready += messages[ready] != NULL;
	}
	queue_message_commit_group(intake, messages, ready, results);
	for (size_t i = 0; i < ready; i++) {
		entries[i]->is_answered = results[i] == 0;
		if (entries[i]->package != NULL)
			answer_a1(entries[i], results[i]);
		if (results[i] < 0)
			queue_message_abandon(messages[i]);
	}
	look();
}

static struct entry *enqueue_one(size_t size, unsigned recipients)
{
	struct letter letter = {MAIL_STAGE_ARRIVE, size, recipients};
	struct entry *entry;

	enqueue(&letter, 1, &entry);
	return entry;
}

static int remove_data(struct queue_intake *from, enum mail_stage stage, uint64_t number)
{
	(void)stage;
	return queue_message_remove_data(from, number);
}

/* One call may fail. A package that is not settled may wait for a group, or two. */
static int remove_last_name(const struct entry *entry,
			    int (*call)(struct queue_intake *from, enum mail_stage stage,
					uint64_t number))
{
	int result = call(intake, entry->stage, entry->number);

	for (unsigned i = 0; result != 0 && i < 3; i++) {
		if (result > 0)
			settle();
		result = call(intake, entry->stage, entry->number);
	}
	return result > 0 ? 0 : result;
}

/* All recipients had it while it was at S4. */
static void deliver_queued(struct entry *entry)
{
	if (!entry->is_answered)
		return;
	entry->is_ended = true;
	look();
	if (remove_last_name(entry, queue_message_remove_queued) < 0)
		panic("a message cannot be removed");
}

static bool update_once(struct entry *entry, struct queue_update *change)
{
	if (change->is_whole)
		entry->synced = 0;
	change->synced = entry->synced;
	queue_update_commit_group(store, &change, 1);
	if (change->result == 0 && !change->may_be_lost)
		entry->synced = change->size - entry->control.length;
	return change->result == 0;
}

static bool update(struct entry *entry, struct queue_update *change)
{
	return update_once(entry, change) || update_once(entry, change);
}

/* S4 to S5, its first recipient local, the others remote. */
static bool preprocess(struct entry *entry, unsigned recipients)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct queue_delivery deliveries[LEDGER_DELIVERIES_MAX];
	struct queue_update change = {.number = entry->number,
				      .is_queued = true,
				      .stage = entry->stage,
				      .preprocess = true,
				      .link_remote = true,
				      .link_services = ledger_services,
				      .link_service_count = LEDGER_SERVICES};

	if (!entry->is_answered)
		return false;
	for (unsigned i = 0; i < recipients; i++)
		deliveries[i] = (struct queue_delivery){
			.number = i + 1,
			.recipient = i + 1,
			.route = i == 0 ? QUEUE_ROUTE_LOCAL : QUEUE_ROUTE_REMOTE,
			.service = STR("mailbox"),
			.address = STR("somebody@elsewhere.example.com")};
	if (queue_control_write_map(&text, deliveries, recipients, 1) < 0)
		panic("a map cannot be written");
	change.control = buffer_view(&text);
	entry->is_updated = true;
	if (!update(entry, &change))
		return false;
	if (queue_message_remove_todo(intake, entry->stage, entry->number) < 0 &&
	    queue_message_remove_todo(intake, entry->stage, entry->number) < 0)
		panic("a todo name cannot be removed");
	return true;
}

/* The whole text of the control file, with OUTCOME in it; false: it cannot be read. */
static bool write_whole(const struct entry *entry, uint32_t number, enum queue_outcome outcome,
			struct buffer *whole, bool is_there[LEDGER_DELIVERIES_MAX + 1])
{
	struct queue_control *control;

	if (queue_update_load(store, NULL, entry->number, &control, NULL) < 0)
		return false;
	for (size_t i = 0; i < control->delivery_count; i++) {
		struct queue_delivery *delivery = &control->deliveries[i];

		is_there[delivery->number] =
			delivery->outcome == entry->deliveries[delivery->number].tried;
		if (delivery->number != number)
			continue;
		delivery->outcome = outcome;
		delivery->changed_us = 6 * SECOND_US;
		delivery->status = STR("2.0.0");
	}
	control->must_be_whole = true;
	if (!queue_control_outgrown(control, 0, whole))
		panic("a control file cannot be written anew");
	queue_control_free(control);
	return true;
}

/* Notes an outcome, and writes the control file anew. */
static void renew(struct entry *entry, uint32_t number, enum queue_outcome outcome)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	bool is_there[LEDGER_DELIVERIES_MAX + 1] = {0};
	struct queue_update change = {.number = entry->number,
				      .born_us = entry->born_us,
				      .is_whole = true,
				      .link_remote = true,
				      .link_services = ledger_services,
				      .link_service_count = LEDGER_SERVICES};
	char bounce[64];

	if (!write_whole(entry, number, outcome, &text, is_there))
		return;
	change.control = buffer_view(&text);
	snprintf(bounce, sizeof bounce, "bounce %" PRId64 " %u.\n", entry->born_us, number);
	if (outcome == QUEUE_FAIL)
		change.bounce = str_from(bounce);
	entry->deliveries[number].tried = outcome;
	is_there[number] = true;
	if (update(entry, &change))
		for (uint32_t i = 1; i <= LEDGER_DELIVERIES_MAX; i++) {
			if (!is_there[i])
				continue;
			entry->deliveries[i].marked = entry->deliveries[i].tried;
			entry->deliveries[i].may_wait = false;
		}
	look();
}

static void mark(struct entry *entry, uint32_t number, enum queue_outcome outcome)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct queue_delivery delivery = {.number = number,
					  .outcome = outcome,
					  .changed_us = 5 * SECOND_US,
					  .until_us = 9 * SECOND_US,
					  .status = STR("4.0.0")};
	struct queue_update change = {.number = entry->number,
				      .may_be_lost = outcome == QUEUE_WAIT};
	char bounce[64];
	bool is_done;

	if (queue_control_write_outcome(&text, &delivery) < 0)
		panic("an outcome cannot be written");
	change.control = buffer_view(&text);
	snprintf(bounce, sizeof bounce, "bounce %" PRId64 " %u.\n", entry->born_us, number);
	if (outcome == QUEUE_FAIL)
		change.bounce = str_from(bounce);
	entry->deliveries[number].tried = outcome;
	entry->deliveries[number].may_wait |= change.may_be_lost;
	is_done = update_once(entry, &change);
	if (change.is_in_doubt) {
		look();
		renew(entry, number, outcome);
		return;
	}
	if ((is_done || update(entry, &change)) && !change.may_be_lost) {
		entry->deliveries[number].marked = outcome;
		entry->deliveries[number].may_wait = false;
	}
	look();
}

/* The process that writes it anew is killed as soon as it is in its place, and another one
 * goes on. */
static void renew_and_die(const struct entry *entry)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	bool is_there[LEDGER_DELIVERIES_MAX + 1] = {0};
	int directory = queue_store_directory(store);
	char from[QUEUE_PATH_SIZE];
	char to[QUEUE_PATH_SIZE];
	int result;
	int file;

	if (!write_whole(entry, 0, QUEUE_PENDING, &text, is_there))
		return;
	queue_store_path(store, QUEUE_INTD, NULL, entry->number, from);
	queue_store_path(store, QUEUE_INFO, NULL, entry->number, to);
	file = os_file_open(directory, from, OS_FILE_WRITE | OS_FILE_CREATE);
	if (file < 0)
		return;
	result = os_file_write(file, buffer_data(&text), text.length, 0);
	if (result == 0 && ledger.sync == QUEUE_SYNC_ORDERED)
		os_file_write_out_many(&file, 1, &result);
	else if (result == 0)
		os_file_sync_many(&file, 1, &result);
	os_file_close(file);
	if (result == 0)
		result = os_file_rename(directory, from, to);
	(void)result;
	stop();
	start(false);
}

static void finish(struct entry *entry)
{
	const struct mail_id id = {entry->number, entry->born_us};

	entry->is_ended = true;
	look();
	for (unsigned i = 0; i < 2 && !queue_intake_is_settled(intake); i++)
		settle();
	if (queue_update_finish(store, id, ledger_services, LEDGER_SERVICES) < 0 &&
	    queue_update_finish(store, id, ledger_services, LEDGER_SERVICES) < 0)
		panic("a message cannot be finished");
	if (remove_last_name(entry, remove_data) < 0)
		panic("a message's data cannot be removed");
}

static void create(void)
{
	if (!start(true))
		return;
	enqueue_one(100, 1);
	stop();
}

static void lone_message(void)
{
	start(false);
	enqueue_one(700, 2);
	stop();
}

static void group(void)
{
	static const struct letter letters[] = {{MAIL_STAGE_ARRIVE, 1300, 1},
						{MAIL_STAGE_SUBMIT, 10, 30},
						{MAIL_STAGE_ARRIVE, 0, 1}};
	struct entry *entries[3];

	start(false);
	enqueue(letters, 3, entries);
	stop();
}

/* Files of delivered messages become others', longer and shorter. */
static void reuse(void)
{
	static const struct letter letters[] = {{MAIL_STAGE_ARRIVE, 900, 12},
						{MAIL_STAGE_SUBMIT, 40, 1}};
	struct queue_message *abandoned;
	struct entry *entries[4];

	start(false);
	enqueue(letters, 2, entries);
	deliver_queued(entries[0]);
	deliver_queued(entries[1]);
	enqueue(letters, 1, entries);
	enqueue(letters, 2, entries + 1);
	deliver_queued(entries[1]);
	abandoned = write_message(ledger_add(), MAIL_STAGE_ARRIVE, 300, 1);
	if (abandoned != NULL)
		queue_message_abandon(abandoned);
	settle();
	enqueue(letters, 2, entries + 1);
	deliver_queued(entries[0]);
	deliver_queued(entries[2]);
	settle();
	restart();
	settle();
	enqueue_one(100, 1);
	stop();
}

static void whole_life(void)
{
	struct entry *entry;
	struct entry *next;

	start(false);
	entry = enqueue_one(200, 20);
	if (preprocess(entry, 20)) {
		mark(entry, 1, QUEUE_DONE);
		mark(entry, 2, QUEUE_WAIT);
		mark(entry, 4, QUEUE_WAIT);
		mark(entry, 2, QUEUE_DONE);
		mark(entry, 3, QUEUE_FAIL);
		(void)!queue_update_leave(store, entry->number, "mailbox");
		next = enqueue_one(80, 1); /* the bounce */
		entry->has_queued_bounce = next->is_answered;
		look();
		if (next->is_answered) {
			if (queue_update_bounced(store, entry->number) == 0)
				finish(entry);
			deliver_queued(next);
		}
	}
	settle();
	/* the same numbers again */
	entry = enqueue_one(300, 2);
	next = enqueue_one(30, 2);
	if (preprocess(next, 2)) {
		mark(next, 1, QUEUE_WAIT);
		mark(next, 2, QUEUE_FAIL);
	}
	if (preprocess(entry, 2))
		mark(entry, 1, QUEUE_DONE);
	stop();
}

static void writing_anew(void)
{
	struct entry *entry;

	start(false);
	entry = enqueue_one(120, 6);
	if (preprocess(entry, 6)) {
		mark(entry, 1, QUEUE_DONE);
		mark(entry, 2, QUEUE_WAIT);
		renew(entry, 3, QUEUE_DONE);
		mark(entry, 2, QUEUE_DONE);
		renew(entry, 4, QUEUE_FAIL);
		mark(entry, 5, QUEUE_WAIT);
		renew_and_die(entry);
		mark(entry, 5, QUEUE_DONE);
		renew(entry, 6, QUEUE_WAIT);
		entry->has_queued_bounce = true;
		finish(entry);
	}
	settle();
	/* its number, and the numbers of its files, again */
	entry = enqueue_one(60, 2);
	if (preprocess(entry, 2)) {
		renew(entry, 1, QUEUE_DONE);
		mark(entry, 2, QUEUE_FAIL);
	}
	stop();
}

/* An operator wants the first recipient, who is local, to be mapped anew. */
static bool requeue(struct entry *entry)
{
	struct queue_update change = {
		.number = entry->number, .born_us = entry->born_us, .control = STR("requeue: 1\n")};

	entry->deliveries[1].may_be_requeued = true;
	entry->deliveries[1].is_requeued = update(entry, &change);
	look();
	return entry->deliveries[1].is_requeued;
}

/* He is at a remote host now. */
static void map_anew(struct entry *entry)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct queue_update change = {.number = entry->number,
				      .born_us = entry->born_us,
				      .is_whole = true,
				      .link_remote = true};
	struct queue_control *control;

	if (queue_update_load(store, NULL, entry->number, &control, NULL) < 0)
		return;
	control->deliveries[0].route = QUEUE_ROUTE_REMOTE;
	control->deliveries[0].is_requeued = false;
	control->must_be_whole = true;
	if (!queue_control_outgrown(control, 0, &text))
		panic("a control file cannot be written anew");
	queue_control_free(control);
	change.control = buffer_view(&text);
	entry->deliveries[1].may_have_moved = true;
	entry->deliveries[1].has_moved = update(entry, &change);
	look();
	if (entry->deliveries[1].has_moved)
		(void)!queue_update_leave(store, entry->number, "mailbox");
}

static void mapping_anew(void)
{
	struct entry *entry;

	start(false);
	entry = enqueue_one(120, 3);
	if (preprocess(entry, 3)) {
		mark(entry, 2, QUEUE_DONE);
		if (requeue(entry))
			map_anew(entry);
		if (entry->deliveries[1].has_moved) {
			mark(entry, 1, QUEUE_DONE);
			mark(entry, 3, QUEUE_DONE);
			finish(entry);
		}
	}
	settle();
	entry = enqueue_one(60, 2); /* its number, and the numbers of its files, again */
	if (preprocess(entry, 2) && requeue(entry))
		map_anew(entry);
	stop();
}

static void short_lives(void)
{
	struct entry *entry = NULL;

	start(false);
	for (unsigned i = 0; i < 4; i++) {
		entry = enqueue_one(100 + 50 * i, 1);
		if (i % 2 == 0) {
			deliver_queued(entry);
		} else if (preprocess(entry, 1)) {
			mark(entry, 1, QUEUE_DONE);
			finish(entry);
		}
		settle();
	}
	restart();
	settle();
	enqueue_one(60, 1);
	stop();
}

/* a1 connects in its next run, and learns what is here; at once again when that fails. */
static void greet(void)
{
	bool is_kept[LEDGER_MESSAGES_MAX];
	uint64_t run = ledger.run + 1;

	if (ledger_greet(intake, run, is_kept) < 0 && ledger_greet(intake, run, is_kept) < 0)
		panic("a node cannot be greeted");
	ledger.run = run;
	for (size_t i = 0; i < ledger.count; i++) {
		struct entry *entry = &ledger.messages[i];

		if (entry->package != NULL && !is_kept[i] && !entry->is_settled)
			entry->is_denied = true;
	}
	look();
}

static void say_settled(struct entry *entry)
{
	int result;

	if (!entry->is_answered)
		return;
	entry->is_settled = true;
	look();
	result = queue_handed_settle(intake, STR("a1"), str_from(entry->package));
	(void)result; /* the next greeting lists it again */
}

/* Three in one group with other mail: one ends before it is settled, one after, and one moves to S5
 * before it ends; then the files are used again. */
static void packages(void)
{
	static const struct letter letters[] = {{MAIL_STAGE_ARRIVE, 300, 1, "1-1"},
						{MAIL_STAGE_ARRIVE, 100, 1, NULL},
						{MAIL_STAGE_SUBMIT, 600, 2, "2-1"},
						{MAIL_STAGE_ARRIVE, 50, 1, "3-1"}};
	struct entry *entries[4];

	start(false);
	greet();
	enqueue(letters, 4, entries);
	deliver_queued(entries[0]);
	say_settled(entries[0]);
	settle();
	enqueue_one(40, 1);
	if (entries[2]->is_answered && preprocess(entries[2], 2)) {
		mark(entries[2], 1, QUEUE_DONE);
		mark(entries[2], 2, QUEUE_DONE);
		finish(entries[2]);
	}
	say_settled(entries[3]);
	deliver_queued(entries[3]);
	settle();
	enqueue_one(20, 1);
	restart();
	greet();
	say_settled(entries[2]);
	settle();
	enqueue_one(30, 1);
	stop();
}

/* The power fails, or a call, just when it comes. */
static void lone_package(void)
{
	static const struct letter letter = {MAIL_STAGE_ARRIVE, 700, 2, "1-1"};
	struct entry *entry;

	start(false);
	greet();
	enqueue(&letter, 1, &entry);
	stop();
}

/* Another machine waits until it is gone, while nothing else comes, or with the next message. */
static void remove_durably(struct entry *entry, bool has_next)
{
	uint64_t durable;

	if (!entry->is_answered)
		return;
	deliver_queued(entry);
	durable = queue_intake_await(intake);
	if (has_next)
		enqueue_one(70, 1);
	else
		settle();
	entry->is_gone = queue_intake_durable(intake) >= durable;
	look();
}

static void durable_removals(void)
{
	static const struct letter letters[] = {{MAIL_STAGE_ARRIVE, 300, 1, "1-1"},
						{MAIL_STAGE_ARRIVE, 100, 1, NULL},
						{MAIL_STAGE_SUBMIT, 600, 2, "2-1"},
						{MAIL_STAGE_ARRIVE, 50, 1, NULL}};
	struct entry *entries[4];

	start(false);
	greet();
	enqueue(letters, 4, entries);
	for (unsigned i = 0; i < COUNT_OF(letters); i++)
		remove_durably(entries[i], i > 1);
	stop();
}

/* a1 connects, hands one over, and so on, while nothing else comes. */
static void packages_alone(void)
{
	static const char *const names[] = {"1-1", "2-1", "3-1"};

	start(false);
	for (unsigned i = 0; i < COUNT_OF(names); i++) {
		struct letter letter = {MAIL_STAGE_ARRIVE, 100 + 100 * i, 1, names[i]};
		struct entry *entry;

		greet();
		enqueue(&letter, 1, &entry);
		if (i == 1)
			restart();
		deliver_queued(entry);
		if (i == 2)
			greet();
		say_settled(entry);
	}
	stop();
}

/* Two processes ago somebody died at S2, S3 and in pid/. */
static void cleaning(void)
{
	struct queue_message *lost;
	int result;

	start(false);
	enqueue_one(100, 1);
	lost = write_message(ledger_add(), MAIL_STAGE_ARRIVE, 600, 1);
	(void)lost;
	if (queue_message_new(intake, &lost) == 0)
		(void)lost;
	restart();
	recorder.now_us += 40 * HOUR_US;
	for (unsigned i = 0; i < 2; i++)
		result = queue_intake_clean(intake, recorder.now_us, 36 * HOUR_US, NULL, NULL);
	(void)result;
	settle();
	enqueue_one(100, 1);
	enqueue_one(700, 2);
	stop();
}

/* The kernel writes by itself what the check of the filesystem did: so numbers are
 * free to be used again at once. */
static void forget_probes(void)
{
	int result = os_file_sync_directory(queue_store_directory(store), "pid");

	if (result == 0)
		result = os_file_sync_directory(queue_store_directory(store), "lock");
	(void)result;
}

/* A power failure took the name of an ended message's data, and only that. */
static void stray(void)
{
	char path[QUEUE_PATH_SIZE];
	struct entry *entry;
	int result = 0;

	start(false);
	forget_probes();
	entry = enqueue_one(100, 1);
	if (preprocess(entry, 1)) {
		mark(entry, 1, QUEUE_FAIL);
		entry->is_ended = true;
		look();
		queue_store_path(store, QUEUE_MESS, NULL, entry->number, path);
		result = os_file_unlink(queue_store_directory(store), path);
	}
	(void)result;
	settle();
	stop();
}

void scenario_aftermath(void)
{
	static bool goes_first; /* every second time */
	static const struct letter letters[] = {{MAIL_STAGE_SUBMIT, 20, 1},
						{MAIL_STAGE_ARRIVE, 530, 3}};
	struct queue_store *outer_store = store;
	struct queue_intake *outer_intake = intake;
	struct entry *entries[2];

	start(false);
	forget_probes();
	if (goes_first) { /* mail is served before anything is cleaned */
		enqueue(letters, 2, entries);
		(void)preprocess(entries[0], 1);
	}
	clean();
	goes_first = !goes_first;
	enqueue(letters, 2, entries);
	(void)preprocess(entries[0], 1);
	settle();
	enqueue(letters, 2, entries);
	stop();
	store = outer_store;
	intake = outer_intake;
}

const struct scenario scenarios[] = {
	{"create", create, 4, true},
	{"lone message", lone_message, 4, false},
	{"group", group, 4, false},
	{"reuse", reuse, 4, false},
	{"whole life", whole_life, 4, false},
	{"writing anew", writing_anew, 4, false},
	{"mapping anew", mapping_anew, 4, false},
	{"short lives", short_lives, 4, false},
	{"cleaning", cleaning, 4, false},
	{"lone package", lone_package, 4, false},
	{"packages", packages, 4, false},
	{"packages alone", packages_alone, 4, false},
	{"durable removals", durable_removals, 4, false},
	{"reuse, no spares", reuse, 0, false},
	{"short lives, no spares", short_lives, 0, false},
	{"packages, no spares", packages, 0, false},
	{"writing anew, no spares", writing_anew, 0, false},
	{"stray, no spares", stray, 0, false, true},
};
const size_t scenario_count = COUNT_OF(scenarios);

struct disk *scenario_prepare(void)
{
	struct world *world = world_new(disk_new());
	struct world *before = world_enter(world);
	struct disk *disk;

	if (!start(true))
		panic("the queue cannot be made");
	stop();
	disk = disk_copy(world_disk(world));
	for (uint64_t i = 0; i < DISK_NODES_MAX; i++)
		if (disk->nodes[i] != NULL)
			disk_sync(disk->nodes[i], NULL);
	world_enter(before);
	world_free(world);
	return disk;
}
