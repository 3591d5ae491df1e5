// SPDX-License-Identifier: ISC
/*
 * Plays random events against the manager: new mail, helpers that work, die, stand still and lie,
 * a disk that fails, "queue" that is lost, clocks that are set, orders, times that pass. The
 * ledger (model_queue.c, model_helpers.c) sees at once what is done twice or forgotten; here it is
 * looked at whether anybody waits without a reason. From time to time there is peace: then
 * everything must end.
 *
 * usage: model [EVENTS [SEED]]
 */
#include "model.h"
#include "base/panic.h"
#include "model_class.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	CAPACITY = 4000,
	CROWD = 1000,
	LOOK_EVERY = 16,
	SMALL_SHARE = 640,
	ENOUGH = 100000, /* events, so that all that can happen does */
	BESIDES = 300,   /* units of those that are woken by an order or to probe */
};

static uint64_t seed;
static uint64_t event;
static bool is_extra_configured = true;
const struct config *model_config;
static struct manager *manager;
static bool is_ready;

void model_fail(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fprintf(stderr, "seed %" PRIu64 ", event %" PRIu64 ": ", seed, event);
	vfprintf(stderr, format, arguments);
	fprintf(stderr, "\n");
	va_end(arguments);
	abort();
}

static void on_ready(void *context)
{
	(void)context;
	is_ready = true;
}

/* HAS_EXTRA: the service of that name is configured. */
static struct config *configuration(bool has_extra)
{
	static struct config_transport transports[] = {
		{"remote", 10, 4, false}, {"local", 4, 4, false}, {"extra", 2, 2, false}};
	static struct config_service services[] = {
		{.name = "local", .kind = CONFIG_SERVICE_MAILDIR},
		{.name = "extra", .kind = CONFIG_SERVICE_MAILDIR}};
	static struct config config = {.hostname = "model.example",
				       .bouncefrom = "MAILER-DAEMON",
				       .doublebounceto = "postmaster@model.example",
				       .queuelifetime_us = MODEL_LIFETIME_US,
				       .rescan_us = HOUR_US,
				       .delaynotice_us = MODEL_DELAY_NOTICE_US,
				       .probe_delay_us = MINUTE_US,
				       .transports = transports,
				       .transport_count = 3,
				       .services = services,
				       .service_count = 2};

	is_extra_configured = has_extra;
	config.service_count = has_extra ? 2 : 1;
	config.transport_count = has_extra ? 3 : 2;
	transports[0] = (struct config_transport){"remote", 10, 4, false};
	transports[1] = (struct config_transport){"local", 4, 4, false};
	transports[2] = (struct config_transport){"extra", 2, 2, false};
	model_class_configure(&config);
	model_config = &config;
	return &config;
}

/* One with other limits and classes; a transport may be paused. */
static struct config *another_configuration(void)
{
	struct config *config;

	if (model_once_in(2))
		model_class_choose();
	config = configuration(model_once_in(2));

	for (size_t i = 0; i < config->transport_count; i++) {
		struct config_transport *transport = &config->transports[i];

		transport->concurrency = 1 + (uint32_t)model_random(10);
		transport->destination_concurrency =
			1 + (uint32_t)model_random(transport->concurrency);
		transport->paused = model_once_in(4);
	}
	return config;
}

static void configure(const struct config *config)
{
	manager_configure(manager, config);
	model_class_use(manager);
	model_run_tasks();
}

/* --- what must hold --- */

static void check_sleeper(void *context, struct sleeper *sleeper)
{
	(void)context;
	if (sleeper->due_us == INT64_MAX && sleeper->waiters == NULL)
		model_fail("message %" PRIu64 " sleeps without a reason to wake", sleeper->number);
	if (message_find(manager, sleeper->number) != NULL)
		model_fail("message %" PRIu64 " sleeps and is awake", sleeper->number);
}

static void check_message(const struct message *m)
{
	bool is_mapping = m->state == MESSAGE_MAPPING;
	bool is_wrong =
		(m->state == MESSAGE_DELIVERING && m->jobs == 0) ||
		(m->state == MESSAGE_OWING && (m->jobs > 0 || !heap_has(&m->recording.due))) ||
		(m->state == MESSAGE_RECORDING && recorder_is_idle(manager->recorder)) ||
		(m->state == MESSAGE_REPORTING && m->report == NULL) ||
		(m->state == MESSAGE_ENDING && m->facts.place != MESSAGE_AT_S5_TODO) ||
		m->state == MESSAGE_READING || m->state == MESSAGE_DECIDING ||
		m->state >= MESSAGE_ASLEEP;

	if (m->is_mapping != is_mapping ||
	    (!is_mapping && m->units < share_of_message(m->control->delivery_count)))
		model_fail("message %" PRIu64 " weighs too little", m->id.number);
	if (is_wrong)
		model_fail("message %" PRIu64 " is in state %d and waits for nothing", m->id.number,
			   (int)m->state);
}

static void check_memory(void)
{
	size_t units = 0;
	size_t mapping = 0;

	for (const struct message *m = manager->messages; m != NULL; m = m->hh.next) {
		check_message(m);
		units += m->units;
		mapping += m->is_mapping ? m->units : 0;
	}
	if (mapping > share_mapping(&manager->share) + BESIDES)
		model_fail("messages that are to be mapped take %zu units", mapping);
	if (units != manager->share.used || mapping != manager->share.mapping)
		model_fail("the share of memory is counted wrong");
}

/* Nobody waits while his destination is free and places are. */
static void check_turns(void)
{
	const char *problem = transports_check(manager->transports);

	if (problem != NULL)
		model_fail("%s", problem);
	for (struct transport *t = transports_next(manager->transports, NULL); t != NULL;
	     t = transports_next(manager->transports, t))
		if (transport_is_ready(t, model_mono_us) &&
		    helpers_with_place(manager->helpers, transport_name(t)) != NULL)
			model_fail("a delivery by %s waits although there is a place",
				   transport_name(t));
}

static struct model_message *any_message(void);

/* Whoever asks what M waits for gets an answer, or finds it in the control file. */
static void check_reason(const struct model_message *m, const struct sleeper *sleeper)
{
	const struct message *message = message_find(manager, m->id.number);
	struct buffer told CLEANUP(buffer_clear) = {0};
	bool is_for_time = sleeper != NULL && sleeper->waiters == NULL &&
			   sleeper->due_us > model_wall_us && m->is_at_s5;

	if (message == NULL && sleeper == NULL)
		return;
	why_tell(manager, message, sleeper, &told);
	if (told.length == 0 && !is_for_time)
		model_fail("message %" PRIu64 " waits, and nobody can say for what", m->id.number);
}

static void check_asleep(void)
{
	const struct model_message *m = any_message();
	const struct sleeper *sleeper =
		m != NULL ? sleepers_find(&manager->sleepers, m->id.number) : NULL;

	if (m != NULL)
		check_reason(m, sleeper);
	if (sleeper != NULL)
		model_check_asleep(m, sleeper,
				   triggers_of_waiters(manager->triggers, sleeper->waiters) !=
					   NULL);
}

static void check(void)
{
	if (model_disk.open_files != 0)
		model_fail("%d data files are left open", model_disk.open_files);
	model_check_cleaned();
	check_asleep();
	sleepers_each(&manager->sleepers, check_sleeper, NULL);
	check_memory();
	check_turns();
	model_class_check_waiting(manager);
}

/* --- what happens --- */

static struct model_message *any_message(void)
{
	size_t first = model_random(model_disk.capacity);

	for (size_t i = 0; i < model_disk.capacity; i++) {
		struct model_message *m = &model_disk.messages[(first + i) % model_disk.capacity];

		if (m->is_present)
			return m;
	}
	return NULL;
}

/* One that was retried sleeps on only where there is something to wait for. */
static void check_retried(const struct model_message *m, size_t unread)
{
	const struct sleeper *sleeper = sleepers_find(&manager->sleepers, m->id.number);

	if (sleeper != NULL && sleeper->waiters == NULL && m->is_at_s5 && m->recipients == 1 &&
	    m->decided[1] == 0 && is_extra_configured && model_disk.unread == unread &&
	    !model_is_requeued(m))
		model_fail("message %" PRIu64 " is not tried though it was asked for",
			   m->id.number);
}

/* What was accepted is news at least, which does not wait for others than the disk. */
static void check_given_up(uint64_t number)
{
	const struct message *message = message_find(manager, number);
	const struct sleeper *sleeper = sleepers_find(&manager->sleepers, number);

	if (sleeper != NULL && sleeper->facts.order != MESSAGE_ORDER_NONE)
		model_fail("an order for message %" PRIu64 " sleeps", number);
	if (message != NULL && message->state == MESSAGE_MAPPING)
		model_fail("an order for message %" PRIu64 " waits for resolve", number);
}

/* M has got the order, which was carried out. */
static void note_order(struct model_message *m, const char *word, bool was_asleep, size_t unread)
{
	if (strcmp(word, "bounce") == 0 || strcmp(word, "remove") == 0)
		check_given_up(m->id.number);
	if (strcmp(word, "hold") == 0 && was_asleep)
		m->is_held = true;
	if (strcmp(word, "retry") == 0 && was_asleep)
		check_retried(m, unread);
}

static void note_released(void *context, struct sleeper *sleeper)
{
	struct model_message *m = model_find(sleeper->number);

	if (m != NULL && sleeper->waiters == context && sleeper->waiters != NULL)
		m->is_released = true;
}

/* NAME is about to be released: who waits for it is to be woken and tried. */
static void release_waiters(struct str name)
{
	struct trigger *trigger = triggers_find(manager->triggers, name);

	if (trigger != NULL)
		sleepers_each(&manager->sleepers, note_released, trigger_waiters(trigger));
}

static void give_order(void)
{
	static const char *const words[] = {"retry",  "hold",   "release", "bounce", "requeue",
					    "remove", "queued", "trigger", "wait"};
	const char *word = words[model_random(COUNT_OF(words))];
	struct model_message *m = any_message();
	bool is_giving_up;
	bool was_given_up;
	bool was_asleep;
	size_t unread = model_disk.unread;
	const char *answer;
	char text[128];

	if (strcmp(word, "trigger") == 0 || strcmp(word, "wait") == 0)
		snprintf(text, sizeof text, "%s %s", word,
			 model_once_in(2) ? "host.dead" : "host.event");
	else
		snprintf(text, sizeof text, "%s %" PRIu64, word, m != NULL ? m->id.number : 1);
	is_giving_up = m != NULL && (strcmp(word, "bounce") == 0 || strcmp(word, "remove") == 0);
	was_given_up = m != NULL && m->is_given_up;
	if (is_giving_up)
		m->is_given_up = true; /* it may be gone before there is an answer */
	was_asleep = m != NULL && sleepers_find(&manager->sleepers, m->id.number) != NULL;
	if (m != NULL && strcmp(word, "retry") == 0)
		m->is_hurried = true;
	if (m != NULL && strcmp(word, "release") == 0)
		m->is_held = false;
	if (m != NULL && strcmp(word, "requeue") == 0)
		m->is_mapped_again = true;
	if (strcmp(word, "trigger") == 0)
		release_waiters(str_from(text + strlen("trigger ")));
	answer = model_give_order(text);
	if (m != NULL && strcmp(answer, "ok") == 0)
		note_order(m, word, was_asleep, unread);
	if (is_giving_up && strcmp(answer, "ok") != 0)
		m->is_given_up = was_given_up;
}

static void restart(void);

static void set_clock(void)
{
	int64_t by_us = ((int64_t)model_random(4000) - 2000) * SECOND_US;

	model_wall_us += by_us;
	model_jumped_us += by_us > 0 ? by_us : -by_us;
}

static void something_bad(void)
{
	switch (model_random(9)) {
	case 0:
		model_lose_helper();
		break;
	case 1:
		model_queue_lost();
		break;
	case 2:
		model_disk.fails = model_once_in(3);
		break;
	case 3:
		model_disk.refuses = model_once_in(3);
		break;
	case 4:
		set_clock();
		break;
	case 5:
		configure(another_configuration());
		break;
	case 6:
		model_ready(MODEL_TRIGGER);
		break;
	case 7:
		if (model_once_in(4))
			restart();
		break;
	default:
		give_order();
	}
}

/* While mail waits for a class of hosts, the manager looks 50 times a second. */
static void pass_time(void)
{
	bool is_looking = triggers_next_of_class(manager->triggers, NULL) != NULL;

	if (model_once_in(500))
		model_advance((int64_t)model_random(is_looking ? HOUR_US / 2 : 3 * DAY_US));
	else if (model_once_in(10))
		model_advance((int64_t)model_random(is_looking ? MINUTE_US : 10 * MINUTE_US));
	else
		model_advance((int64_t)model_random(SECOND_US / 10));
}

static void happen(void)
{
	uint64_t kind = model_random(108);

	if (kind >= 100)
		model_class_happens();
	else if (kind < 18 && model_disk.alive < CROWD)
		model_new_mail(1 +
			       (uint32_t)model_random(model_once_in(4) ? MODEL_RECIPIENTS_MAX : 1));
	else if (kind < 62)
		model_helper_acts(false);
	else if (kind < 72)
		(void)model_disk_works();
	else if (kind < 80)
		model_answer_removals();
	else if (kind < 84)
		(void)model_queue_bounce();
	else if (kind < 88)
		model_connect_helpers();
	else if (kind < 91)
		model_queue_connects();
	else if (kind < 98)
		pass_time();
	else
		something_bad();
}

/* --- peace --- */

static void release(const char *name)
{
	char text[128];

	snprintf(text, sizeof text, "trigger %s", name);
	(void)model_give_order(text);
}

static void release_holds(void)
{
	for (size_t i = 0; i < model_disk.capacity; i++) {
		char text[128];

		if (!model_disk.messages[i].is_present)
			continue;
		snprintf(text, sizeof text, "release %" PRIu64, model_disk.messages[i].id.number);
		model_disk.messages[i].is_held = false;
		(void)model_give_order(text);
	}
}

/* Nobody who was released sleeps. */
static void check_woken(void)
{
	for (size_t i = 0; i < model_disk.capacity; i++) {
		const struct model_message *m = &model_disk.messages[i];

		if (m->is_present && m->is_released)
			model_fail("message %" PRIu64 " was released and sleeps", m->id.number);
	}
}

/* All that was accepted is out, though some waits for hours by its schedule, and what is for a
 * service that is not configured any more for its lifetime. */
static void peace(void)
{
	model_disk.fails = false;
	model_disk.refuses = false;
	configure(configuration(!model_once_in(30))); /* that takes days */
	model_class_calm();
	for (unsigned i = 0; i < 4000 && model_disk.alive > 0; i++) {
		model_connect_helpers();
		model_queue_connects();
		if (i % 1000 == 0) {
			release("host.event");
			release_holds();
		}
		model_helpers_finish_all();
		while (model_disk_works() || model_queue_bounce())
			;
		model_answer_removals();
		if (i == 999)
			check_woken();
		model_advance(i < 1000 ? SECOND_US / 10 : MINUTE_US * 10);
	}
	if (model_disk.alive > 0)
		model_fail("%zu messages are left in peace, the first is %" PRIu64,
			   model_disk.alive, any_message()->id.number);
	model_answer_removals();
	model_advance(MINUTE_US);
	model_answer_removals();
	check();
	model_class_check_over(manager);
	if (manager->sleepers.count > 0 || manager->messages != NULL || manager->share.used > 0)
		model_fail(
			"the manager remembers messages that are gone: %zu asleep, %u awake, %zu "
			"units",
			manager->sleepers.count, HASH_COUNT(manager->messages),
			manager->share.used);
}

static void on_stopped(void *context)
{
	*(bool *)context = true;
}

static void begin(void)
{
	static const struct ipc_tokens tokens = {
		{{"resolve", "token"}, {"remote", "token"}, {"local", "token"}}, 3};
	const struct manager_peers peers = {.listening = MODEL_LISTENING,
					    .notify = MODEL_NOTIFY,
					    .queue_path = "queue",
					    .helpers = {[MANAGER_RESOLVE] = {"resolve", 0},
							[MANAGER_REMOTE] = {"remote", 0},
							[MANAGER_LOCAL] = {"local", 0}},
					    .tokens = &tokens};

	manager = manager_new(model_loop, model_store, configuration(true), &peers, on_ready, NULL);
	model_class_use(manager);
	manager->share.limit = model_once_in(2) ? SMALL_SHARE : SHARE_UNITS;
	model_queue_connects();
	model_connect_helpers();
}

static void excuse_order(void *context, struct sleeper *sleeper)
{
	struct model_message *known = model_find(sleeper->number);

	(void)context;
	if (known != NULL && sleeper->facts.order != MESSAGE_ORDER_NONE)
		known->is_given_up = false;
}

/* What the disk did not take to the end is done again by the next one, and an order that was not
 * carried out is forgotten. */
static void excuse_unrecorded(void)
{
	sleepers_each(&manager->sleepers, excuse_order, NULL);
	for (const struct message *m = manager->messages; m != NULL; m = m->hh.next) {
		struct model_message *known = model_find(m->id.number);

		if (known != NULL && m->facts.order != MESSAGE_ORDER_NONE)
			known->is_given_up = false;

		for (size_t i = 0; m->news != NULL && i < m->control->delivery_count; i++) {
			if (known != NULL && (m->news[i] & RECORDER_DELAY))
				known->delays = known->is_late_told = 0;
			if (m->news[i] != 0 && known != NULL) {
				known->decided[m->control->deliveries[i].number] = 0;
				known->is_given_up = false;
			}
		}
	}
}

/* In an orderly way. */
static void stop(void)
{
	bool is_stopped = false;

	manager_stop(manager, on_stopped, &is_stopped);
	model_run_tasks();
	for (unsigned i = 0; i < 1000 && !is_stopped; i++) {
		model_helpers_finish_all();
		while (model_disk_works() || model_queue_bounce())
			;
		model_answer_removals();
		model_advance(SECOND_US);
	}
	if (!is_stopped)
		model_fail("the manager does not stop");
	excuse_unrecorded();
	for (size_t i = 0; i < model_disk.capacity; i++)
		model_disk.messages[i].is_released = model_disk.messages[i].is_due = false;
	manager_free(manager);
	model_forget_manager();
}

/* The next one finds what this one has left. */
static void restart(void)
{
	model_disk.fails = false;
	model_queue_connects();
	stop();
	begin();
}

int main(int argc, char **argv)
{
	uint64_t events = argc > 1 ? strtoull(argv[1], NULL, 10) : 200000;

	setvbuf(stdout, NULL, _IOLBF, 0);
	seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	model_seed(seed);
	model_disk.capacity = CAPACITY;
	model_disk.messages = memory_alloc_zero(CAPACITY, sizeof *model_disk.messages);
	model_class_begin();
	begin();
	for (event = 1; event <= events; event++) {
		happen();
		model_class_check(manager);
		if (event % LOOK_EVERY == 0)
			check();
		if (model_once_in(20000))
			peace();
	}
	peace();
	for (unsigned i = 0; i < 100; i++)
		model_new_mail(2);
	stop();
	if (events >= ENOUGH)
		model_class_check_seen();
	model_class_end();
	printf("%" PRIu64 " events, seed %" PRIu64 ": ok\n", events, seed);
	for (size_t i = 0; i < model_disk.capacity; i++) {
		buffer_clear(&model_disk.messages[i].envelope);
		buffer_clear(&model_disk.messages[i].control);
	}
	free(model_disk.messages);
	return is_ready ? 0 : 1;
}
