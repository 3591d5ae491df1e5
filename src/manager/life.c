// SPDX-License-Identifier: ISC
/* The table of a message's life: manager/message.h. */
#include "base/panic.h"
#include "log/event.h"
#include "log/recent.h"
#include "mail/package.h"
#include "manager/internal.h"
#include "manager/notice.h"
#include "manager/outcome.h"
#include "manager/package.h"
#include "os/clock.h"
#include <errno.h>

static const int64_t UNREADABLE_US = 10 * MINUTE_US;

/* Why recipients cannot be resolved. */
struct absence {
	bool is_away; /* the directory does not answer */
	struct str text;
};

/* --- what is done --- */

static enum message_state ask_for_mapping(struct manager *manager, struct message *message,
					  const void *detail)
{
	(void)detail;
	return unmapped_ask(manager, message);
}

static enum message_state wait_for_directory(struct manager *manager, struct message *message,
					     const void *detail)
{
	const struct absence *absence = detail;

	return unmapped_wait(manager, message, absence->is_away, absence->text);
}

static enum message_state wait_unreadable(struct manager *manager, struct message *message,
					  const void *detail)
{
	(void)detail;
	message->facts.rest = MESSAGE_RESTS_UNREADABLE;
	return message_sleep(manager, message, NULL, os_clock_wall_us() + UNREADABLE_US);
}

static enum message_state set_damaged_message_aside(struct manager *manager,
						    struct message *message, const void *detail)
{
	(void)detail;
	return damaged_set_aside(manager, message);
}

static enum message_state let_message_vanish(struct manager *manager, struct message *message,
					     const void *detail)
{
	(void)detail;
	if (message->is_handed) /* its removal is durable: decide.c */
		handed_settle(manager->handed, message->id, NULL, 0);
	return MESSAGE_GONE;
}

static enum message_state decide_on_message(struct manager *manager, struct message *message,
					    const void *detail)
{
	(void)manager;
	(void)message;
	(void)detail;
	return MESSAGE_DECIDING;
}

static enum message_state take_mapping(struct manager *manager, struct message *message,
				       const void *detail)
{
	(void)detail;
	unmapped_end(manager, message);
	return MESSAGE_DECIDING;
}

static enum message_state record_mapping(struct manager *manager, struct message *message,
					 const void *detail)
{
	(void)detail;
	message->facts.place =
		message_facts_are_s4(message->facts) ? MESSAGE_AT_S4_NAMED : message->facts.place;
	return decide_record(manager, message);
}

static enum message_state end_job(struct manager *manager, struct message *message,
				  const void *detail)
{
	(void)detail;
	if (message->jobs == 0)
		return MESSAGE_DECIDING;
	if (message_has_news(message)) /* written before long */
		recorder_soon(manager->recorder, &message->recording, recorder_delay_us());
	return MESSAGE_DELIVERING;
}

static enum message_state end_job_while_recording(struct manager *manager, struct message *message,
						  const void *detail)
{
	(void)manager;
	(void)message;
	(void)detail;
	return MESSAGE_RECORDING;
}

static enum message_state take_written_record(struct manager *manager, struct message *message,
					      const void *detail)
{
	message->record_failures = 0;
	if (message_facts_are_s4(message->facts)) {
		message->facts.place = MESSAGE_AT_S5_TODO;
		log_event(EVENT_MESSAGE_PREPROCESSED, log_id(message->id));
		queue_link_remove(manager->queue, QUEUE_REMOVE_TODO,
				  (enum mail_stage)message->facts.stage, message->id.number);
	}
	if (message->is_handed)
		package_settle_recorded(manager, message);
	return end_job(manager, message, detail);
}

static enum message_state take_record_failure(struct manager *manager, struct message *message,
					      const void *detail)
{
	const int *error = detail;

	log_event(EVENT_QUEUE_ERROR, log_id(message->id), log_string(operation, "record"),
		  log_error(*error));
	return decide_record_failed(manager, message);
}

static enum message_state end_life_of_message(struct manager *manager, struct message *message,
					      const void *detail)
{
	(void)detail;
	return decide_end(manager, message);
}

static enum message_state take_report(struct manager *manager, struct message *message,
				      const void *detail)
{
	message->facts.is_reported = true;
	return end_life_of_message(manager, message, detail);
}

static enum message_state take_delay(struct manager *manager, struct message *message,
				     const void *detail)
{
	struct queue_control *control = message->control;

	(void)detail;
	/* first which, for the time that is noted decides about others */
	for (size_t i = 0; i < control->delivery_count; i++)
		if (notice_is_delay_wanted(control, &control->deliveries[i], manager->config,
					   message->reported_us))
			message->news[i] |= RECORDER_DELAY;
	for (size_t i = 0; i < control->delivery_count; i++)
		if (message->news[i] & RECORDER_DELAY)
			control->deliveries[i].delayed_us = message->reported_us;
	return MESSAGE_DECIDING;
}

static enum message_state report_again(struct manager *manager, struct message *message,
				       const void *detail)
{
	const int *error = detail;

	return decide_again(manager, message, "queue bounce", *error);
}

/* --- the table --- */

#define TO(state) (1U << (MESSAGE_##state))

struct step {
	enum message_state (*act)(struct manager *manager, struct message *message,
				  const void *detail);
	unsigned next; /* the states that may follow */
};

static const struct step life[MESSAGE_STATES][MESSAGE_EVENTS] =
	{
		[MESSAGE_READING] =
			{
				[MESSAGE_NOT_MAPPED] = {ask_for_mapping, TO(MAPPING) | TO(ASLEEP)},
				[MESSAGE_MAPPED] = {decide_on_message, TO(DECIDING)},
				[MESSAGE_HALF_MAPPED] = {record_mapping,
							 TO(RECORDING) | TO(OWING) | TO(ASLEEP)},
				[MESSAGE_UNREADABLE] = {wait_unreadable, TO(ASLEEP)},
				[MESSAGE_DAMAGED] = {set_damaged_message_aside,
						     TO(REMOVING) | TO(ASLEEP)},
				[MESSAGE_VANISHED] = {let_message_vanish, TO(GONE)},
			},
		[MESSAGE_MAPPING] =
			{
				[MESSAGE_MAPPED] = {take_mapping, TO(DECIDING)},
				[MESSAGE_NOT_MAPPED] = {wait_for_directory,
							TO(ASLEEP) | TO(DECIDING)},
			},
		[MESSAGE_DELIVERING] =
			{
				[MESSAGE_JOB_ENDED] = {end_job, TO(DELIVERING) | TO(DECIDING)},
				[MESSAGE_RECORD_DUE] = {record_mapping, TO(RECORDING) |
										TO(DELIVERING)},
			},
		[MESSAGE_OWING] =
			{
				[MESSAGE_RECORD_DUE] = {record_mapping, TO(RECORDING) | TO(OWING) |
										TO(ASLEEP)},
			},
		[MESSAGE_RECORDING] =
			{
				[MESSAGE_JOB_ENDED] = {end_job_while_recording, TO(RECORDING)},
				[MESSAGE_RECORDED] = {take_written_record,
						      TO(DELIVERING) | TO(DECIDING)},
				[MESSAGE_RECORD_FAILED] = {take_record_failure,
							   TO(DELIVERING) | TO(OWING) | TO(ASLEEP)},
			},
		[MESSAGE_REPORTING] =
			{
				[MESSAGE_END_REPORTED] = {take_report, TO(ENDING) | TO(REMOVING) |
									       TO(OWING) |
									       TO(ASLEEP)},
				[MESSAGE_DELAY_REPORTED] = {take_delay, TO(DECIDING)},
				[MESSAGE_REPORT_FAILED] = {report_again, TO(OWING) | TO(ASLEEP)},
			},
		[MESSAGE_ENDING] =
			{
				[MESSAGE_TODO_REMOVED] = {end_life_of_message,
							  TO(REMOVING) | TO(OWING) | TO(ASLEEP)},
			},
		[MESSAGE_REMOVING] =
			{
				[MESSAGE_REMOVED] = {let_message_vanish, TO(GONE)},
			},
};

/* The exits of DECIDING, which ends as soon as it begins. */
static const unsigned decisions = TO(MAPPING) | TO(DELIVERING) | TO(OWING) | TO(RECORDING) |
				  TO(REPORTING) | TO(ENDING) | TO(REMOVING) | TO(ASLEEP);

/* --- events --- */

static void forget_message(struct manager *manager, struct message *message)
{
	bool is_retry = message->is_retry;
	bool is_crowded_out = message->is_crowded_out;

	triggers_probe_ended(manager->triggers, message);
	resolver_forget(manager->resolver, message->id.number);
	message_free(manager, message);
	if (is_retry)
		wake_retry_ended(manager->wake, is_crowded_out);
	else
		wake_schedule(manager->wake);
	if (manager->is_stopping)
		os_loop_defer(manager->loop, &manager->stop_task);
}

/* The one place where a state changes. */
static void enter_message_state(struct manager *manager, struct message *message,
				enum message_state state, unsigned allowed)
{
	if (!(allowed & (1U << state)))
		panic("message %llu cannot go from state %d to %d",
		      (unsigned long long)message->id.number, (int)message->state, (int)state);
	manager->in_state[message->state]--;
	manager->in_state[state]++;
	message->state = state;
	if (state != MESSAGE_DELIVERING && state != MESSAGE_OWING && state != MESSAGE_RECORDING)
		recorder_cancel(manager->recorder, &message->recording);
}

static void handle_message_event(struct manager *manager, struct message *message,
				 enum message_event event, const void *detail)
{
	const struct step *step = &life[message->state][event];

	if (step->act == NULL)
		panic("event %d happens to message %llu in state %d", (int)event,
		      (unsigned long long)message->id.number, (int)message->state);
	enter_message_state(manager, message, step->act(manager, message, detail), step->next);
	if (message->state == MESSAGE_DECIDING)
		enter_message_state(manager, message, decide(manager, message), decisions);
	if (message->state == MESSAGE_ASLEEP || message->state == MESSAGE_GONE)
		forget_message(manager, message);
}

void life_event(struct manager *manager, struct message *message, enum message_event event)
{
	handle_message_event(manager, message, event, NULL);
}

void life_failed(struct manager *manager, struct message *message, enum message_event event,
		 int error)
{
	handle_message_event(manager, message, event, &error);
}

void life_not_mapped(struct manager *manager, struct message *message, bool is_away,
		     struct str text)
{
	const struct absence absence = {is_away, text};

	handle_message_event(manager, message, MESSAGE_NOT_MAPPED, &absence);
}

void life_todo_removed(struct manager *manager, struct message *message)
{
	message->facts.place = MESSAGE_AT_S5;
	if (message->state == MESSAGE_ENDING)
		life_event(manager, message, MESSAGE_TODO_REMOVED);
}

/* --- waking --- */

/* Not mapped yet, but an order to give up is carried out all the same, and so is its sender's to
 * return it by now. */
static bool is_given_up(const struct message *message)
{
	return message->facts.order == MESSAGE_ORDER_BOUNCE ||
	       message->facts.order == MESSAGE_ORDER_REMOVE ||
	       outcome_is_missed(&message->control->envelope->deadline, os_clock_wall_us());
}

static enum message_event event_of_reading(const struct message *message, int error)
{
	if (error == -ENOENT)
		return MESSAGE_VANISHED;
	if (message_facts_are_s4(message->facts) && (message_is_damage(error) || error == -EPROTO))
		return MESSAGE_DAMAGED;
	if (error < 0)
		return MESSAGE_UNREADABLE;
	if (!message->control->is_mapped)
		return is_given_up(message) ? MESSAGE_MAPPED : MESSAGE_NOT_MAPPED;
	/* a new one was mapped by another node, and has no control file: it needs one if there is
	 * something to remember */
	return message_facts_are_s4(message->facts) &&
			       (!message->is_new || message_has_news(message))
		       ? MESSAGE_HALF_MAPPED
		       : MESSAGE_MAPPED;
}

/* "noded" has logged it; here it is only kept, for who asks for the story of a message. */
static void note_where_from(const struct message *message)
{
	struct str node;
	struct str package;

	if (message->control == NULL ||
	    !mail_package_split(message->control->envelope->handed, &node, &package))
		return;
	log_event_by(log_recent_write, EVENT_NODE_TOOK, log_id(message->id), log_str(node, node),
		     log_str(package, package),
		     log_number(recipients, (int64_t)message->control->envelope->recipient_count),
		     log_number(size, (int64_t)message->control->envelope->size));
}

/* IS_FIRST: this process has not read it before. Later its hold may have been released. */
static void begin_life_of_message(struct manager *manager, struct message *message, struct str text,
				  bool is_first)
{
	int error = message_read(manager, message, text);
	enum message_event event = event_of_reading(message, error);

	if (error == 0 && is_first && message_facts_are_s4(message->facts) &&
	    message->control->envelope->is_held)
		hold_take_over(manager, message);
	if (message->is_new)
		note_where_from(message);
	if (event == MESSAGE_NOT_MAPPED && package_map(manager, message))
		event = MESSAGE_MAPPED;
	if (event == MESSAGE_MAPPED && !message->control->is_mapped)
		message_map_nowhere(manager, message);
	if (event == MESSAGE_NOT_MAPPED && message->facts.order == MESSAGE_ORDER_REQUEUE) {
		message->is_requeued = true; /* its addresses are looked up now */
		message->facts.order = MESSAGE_ORDER_NONE;
	}
	life_event(manager, message, event);
}

void life_wake(struct manager *manager, struct sleeper *sleeper, bool is_retry,
	       struct trigger *probe)
{
	struct message *message = message_new(manager, sleeper->number, sleeper->facts);

	sleepers_remove(&manager->sleepers, sleeper);
	message->is_retry = is_retry;
	if (probe != NULL)
		trigger_probe(manager->triggers, probe, message);
	begin_life_of_message(manager, message, STR(""), message->facts.is_found);
}

void life_begin(struct manager *manager, const struct queue_link_notice *notice)
{
	const struct message_facts facts = {.place = MESSAGE_AT_S4,
					    .stage = (unsigned)notice->stage & 15U};
	struct message *message = message_new(manager, notice->number, facts);

	message_keep_content(manager, message, notice->content);
	message->is_sound = true; /* "queue" has just computed their checksum */
	message->is_new = notice->text.length > 0;
	tally_add(&manager->taken, os_clock_monotonic_us());
	begin_life_of_message(manager, message, notice->text, true);
}

void life_forget(struct manager *manager, struct message *message)
{
	message->jobs = 0;
	message->job_list = NULL;
	forget_message(manager, message);
}
