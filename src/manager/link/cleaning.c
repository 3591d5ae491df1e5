// SPDX-License-Identifier: ISC
#include "manager/link/cleaning.h"
#include "base/arena.h"
#include "base/panic.h"
#include "log/event.h"
#include "manager/outcome.h"
#include "os/clock.h"
#include "queue/cleaner.h"
#include <stdlib.h>

enum { CLEANING_SLICE_US = 2000, CLEANING_PAUSE_US = 1000, CLEANING_BUSY_PAUSE_US = 20000 };

/* Recipients of one message, each with an event of its own. */
enum { LOGGED_MAX = 100 };

struct cleaning {
	struct queue_store *store;
	struct sleepers *sleepers;
	struct wake *wake;
	const struct cleaning_handler *handler;
	void *context;
	struct os_timer *timer;
	struct arena *arena; /* of the names: a new configuration may remove services */
	struct queue_cleaner *cleaner;
};

void cleaning_log(void *context, const char *path)
{
	(void)context;
	log_event(EVENT_QUEUE_CLEANED, log_string(path, path));
}

static bool is_busy(void *context, uint64_t number)
{
	struct cleaning *cleaning = context;

	return cleaning->handler->is_awake(cleaning->context, number);
}

static void forget_sleeping_message(void *context, uint64_t number)
{
	struct cleaning *cleaning = context;
	struct sleeper *sleeper = sleepers_find(cleaning->sleepers, number);

	if (sleeper != NULL)
		sleepers_remove(cleaning->sleepers, sleeper);
}

static int remove_data_in_queue(void *context, uint64_t number)
{
	struct cleaning *cleaning = context;

	cleaning->handler->remove_data(cleaning->context, number);
	return 0;
}

static int end_hold(void *context, struct str name)
{
	struct cleaning *cleaning = context;

	return cleaning->handler->end_hold(cleaning->context, name);
}

/* --- messages that have lost names --- */

static void log_undelivered(enum log_name event, const struct queue_cleaner_finding *finding,
			    struct str to, int64_t recipients)
{
	const struct mail_envelope *envelope = finding->control->envelope;

	log_event_like(log_write, event, EVENT_MESSAGE_LOST, log_id(envelope->id),
		       log_from(envelope->sender), log_str(to, to),
		       log_number(recipients, recipients), log_string(reason, finding->why),
		       log_string(path, finding->path));
}

/* Those of whom it is not known that they have it: an event for each, for the first of them. */
static void log_each_undelivered(enum log_name event, const struct queue_cleaner_finding *finding)
{
	const struct queue_control *control = finding->control;
	const struct mail_envelope *envelope = control->envelope;
	int64_t count = 0;

	for (size_t i = 0; control->is_mapped && i < control->delivery_count; i++)
		count += outcome_is_open(&control->deliveries[i]);
	for (size_t i = 0, logged = 0; control->is_mapped && i < control->delivery_count; i++)
		if (outcome_is_open(&control->deliveries[i]) && logged++ < LOGGED_MAX)
			log_undelivered(event, finding, control->deliveries[i].address, count);
	for (size_t i = 0; !control->is_mapped && i < envelope->recipient_count && i < LOGGED_MAX;
	     i++)
		log_undelivered(event, finding, envelope->recipients[i].address,
				(int64_t)envelope->recipient_count);
	if (control->is_mapped ? count == 0 : envelope->recipient_count == 0)
		log_undelivered(event, finding, STR(""), 0);
}

void cleaning_log_finding(const struct queue_cleaner_finding *finding)
{
	static const enum log_name events[] = {
		[QUEUE_CLEANER_REBUILT] = EVENT_MESSAGE_REBUILT,
		[QUEUE_CLEANER_DAMAGED] = EVENT_MESSAGE_LOST,
		[QUEUE_CLEANER_LITTER] = EVENT_MESSAGE_LITTER,
	};

	if (finding->control != NULL)
		log_each_undelivered(events[finding->kind], finding);
	else
		log_event_like(log_write, events[finding->kind], EVENT_MESSAGE_LOST,
			       log_number(number, (int64_t)finding->number),
			       log_string(reason, finding->why), log_string(path, finding->path));
}

static void on_cleaner_finding(void *context, const struct queue_cleaner_finding *finding)
{
	struct cleaning *cleaning = context;

	cleaning_log_finding(finding);
	if (finding->kind == QUEUE_CLEANER_REBUILT)
		cleaning->handler->found(cleaning->context, finding->number);
	if (finding->report != 0)
		cleaning->handler->found(cleaning->context, finding->report);
}

/* --- itself --- */

static const struct queue_cleaner_handler cleaner_handler = {
	is_busy,      forget_sleeping_message, remove_data_in_queue,
	cleaning_log, on_cleaner_finding,      end_hold};

static void finish_cleaning(struct cleaning *cleaning)
{
	int error = queue_cleaner_sweep(cleaning->store, os_clock_wall_us(), cleaning_log, NULL);

	if (error < 0)
		log_event(EVENT_QUEUE_ERROR, log_string(operation, "clean litter"),
			  log_error(error));
	cleaning->handler->done(cleaning->context, queue_cleaner_is_sure(cleaning->cleaner));
}

static void on_cleaning_slice(void *context)
{
	struct cleaning *cleaning = context;
	int64_t until_us = os_clock_monotonic_us() + CLEANING_SLICE_US;
	int result = 1;

	while (result > 0 && os_clock_monotonic_us() < until_us)
		result = queue_cleaner_step(cleaning->cleaner);
	if (result < 0)
		log_event(EVENT_QUEUE_ERROR, log_string(operation, "clean"), log_error(result));
	if (result != 0)
		os_timer_start(cleaning->timer, wake_is_quiet(cleaning->wake)
							? CLEANING_PAUSE_US
							: CLEANING_BUSY_PAUSE_US);
	else
		finish_cleaning(cleaning);
}

struct cleaning *cleaning_new(struct os_loop *loop, struct queue_store *store,
			      struct sleepers *sleepers, struct wake *wake,
			      const char *const *services, size_t service_count,
			      const struct cleaning_handler *handler, void *context)
{
	struct cleaning *cleaning = memory_alloc_zero(1, sizeof *cleaning);
	const char **names;

	cleaning->store = store;
	cleaning->sleepers = sleepers;
	cleaning->wake = wake;
	cleaning->handler = handler;
	cleaning->context = context;
	cleaning->arena = arena_new();
	names = arena_alloc(cleaning->arena, (service_count + 1) * sizeof *names);
	for (size_t i = 0; i < service_count; i++)
		names[i] = arena_copy(cleaning->arena, str_from(services[i]));
	cleaning->cleaner =
		queue_cleaner_new(store, names, service_count, &cleaner_handler, cleaning);
	cleaning->timer = os_timer_new(loop, on_cleaning_slice, cleaning);
	os_timer_start(cleaning->timer, 0);
	return cleaning;
}

void cleaning_free(struct cleaning *cleaning)
{
	if (cleaning == NULL)
		return;
	os_timer_free(cleaning->timer);
	queue_cleaner_free(cleaning->cleaner);
	arena_free(cleaning->arena);
	free(cleaning);
}
