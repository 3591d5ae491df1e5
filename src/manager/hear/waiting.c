// SPDX-License-Identifier: ISC
/* Events from the parts that know what waits, and what may start. */
#include "log/event.h"
#include "manager/internal.h"
#include "os/clock.h"
#include <string.h>

enum { FEW = 20 }; /* this many waiters of a trigger are all woken at once */

/* Also for messages that are awake: a delivery of theirs was to wait for NAME once that is
 * recorded. Only that one is due: others may just have been tried, by the job whose report releases
 * NAME. */
static void release_awake(struct manager *manager, struct str name)
{
	const int64_t now_us = os_clock_wall_us();

	for (struct message *m = manager->messages; m != NULL; m = m->hh.next)
		for (size_t i = 0; m->control != NULL && i < m->control->delivery_count; i++) {
			struct queue_delivery *delivery = &m->control->deliveries[i];

			if (delivery->outcome == QUEUE_WAIT && delivery->until_us > now_us &&
			    str_equal(delivery->trigger, name))
				delivery->until_us = now_us;
		}
}

/* Whose hold was to end with another trigger sleeps with those that wait for that one, which has
 * not been released. */
static void wake_held(struct manager *manager, struct str hold)
{
	struct sleeper *sleeper = NULL;
	struct trigger *event = NULL;
	struct mail_id id;

	if (queue_trigger_kind(hold) == QUEUE_TRIGGER_HOLD &&
	    mail_id_parse(str_skip(hold, strlen("hold.")), &id))
		sleeper = sleepers_find(&manager->sleepers, id.number);
	if (sleeper != NULL)
		event = triggers_of_waiters(manager->triggers, sleeper->waiters);
	if (event == NULL || queue_trigger_kind(trigger_name(event)) != QUEUE_TRIGGER_OTHER)
		return;
	sleeper->facts.is_released = true;
	wake_first(manager->wake, sleeper);
}

static void on_trigger_released(void *context, struct trigger *trigger)
{
	struct manager *manager = context;
	struct waiters *waiters = trigger_waiters(trigger);

	transports_unblock(manager->transports, trigger);
	release_awake(manager, trigger_name(trigger));
	wake_held(manager, trigger_name(trigger));
	/* mail that waits for the directory has not been tried yet: it is new mail */
	if (waiters->count <= FEW ||
	    queue_trigger_kind(trigger_name(trigger)) == QUEUE_TRIGGER_DIRECTORY) {
		for (struct sleeper *sleeper;
		     (sleeper = sleepers_waiting_first(&manager->sleepers, waiters)) != NULL;) {
			sleeper->facts.is_released = true;
			wake_waiters(manager->wake, waiters, 1, false);
		}
	}
	wake_schedule(manager->wake);
	os_loop_defer(manager->loop, &manager->dispatch_task);
}

static void on_probe_of_trigger(void *context, struct trigger *trigger, struct sleeper *sleeper)
{
	sleeper->facts.is_released = true;
	life_wake(context, sleeper, false, trigger);
}

static void on_search(void *context)
{
	struct manager *manager = context;

	for (const struct message *m = manager->messages; m != NULL; m = m->hh.next)
		for (size_t i = 0; m->control != NULL && i < m->control->delivery_count; i++)
			if (m->control->deliveries[i].outcome == QUEUE_WAIT)
				(void)triggers_find(manager->triggers,
						    m->control->deliveries[i].trigger);
}

static void on_crowded(void *context)
{
	const struct manager *manager = context;

	gate_look_soon(manager->gate);
}

const struct trigger_handler manager_hear_triggers = {on_trigger_released, on_probe_of_trigger,
						      on_search, on_crowded};

static void on_wake(void *context, struct sleeper *sleeper, bool is_retry)
{
	life_wake(context, sleeper, is_retry, NULL);
}

static void on_load_question(void *context, unsigned *processors_out, unsigned *disk_out)
{
	struct manager *manager = context;

	*processors_out = manager->peers.load != NULL ? os_load_processors(manager->peers.load) : 0;
	*disk_out = queue_link_disk_load(manager->queue);
}

const struct wake_handler manager_hear_wake = {on_wake, on_load_question};

static bool is_awake(void *context, uint64_t number)
{
	return message_find(context, number) != NULL;
}

/* What an operator holds must be known before it is found: until then the mail of earlier processes
 * waits, and new mail does not. */
static void on_scan_wanted(void *context, bool only_new)
{
	struct manager *manager = context;
	bool is_to_read = !only_new || !triggers_are_read(manager->triggers);

	if (is_to_read && triggers_read(manager->triggers) < 0)
		scan_repeat(manager->scan);
	if (queue_link_is_up(manager->queue) && triggers_are_read(manager->triggers))
		scan_begin(manager->scan, only_new);
}

static void on_message_found(void *context, enum mail_stage stage, uint64_t number)
{
	struct manager *manager = context;

	queue_link_found(manager->queue, stage, number);
}

/* If that fails, its data may have two names: then they are not removed before the message has
 * gone through S5. */
static bool settle_found_message(void *context, enum mail_stage stage, uint64_t number)
{
	struct manager *manager = context;
	struct queue_settling settling = {manager->store, NULL, 0, cleaning_log, NULL};
	int error;

	if (manager->is_cleaned)
		return true;
	settling.service_count = transports_services(manager->transports, &settling.services);
	error = queue_update_settle(&settling, stage, number);
	if (error < 0)
		log_event(EVENT_QUEUE_ERROR, log_number(number, (int64_t)number),
			  log_string(operation, "settle"), log_error(error));
	return error == 0;
}

static void on_data_left(void *context, uint64_t number)
{
	struct manager *manager = context;

	queue_link_remove(manager->queue, QUEUE_REMOVE_DATA, MAIL_STAGE_ARRIVE, number);
}

static int on_hold_left(void *context, struct str name)
{
	struct manager *manager = context;
	struct trigger *hold = triggers_find(manager->triggers, name);

	return hold != NULL ? triggers_release_for_good(manager->triggers, hold)
			    : queue_trigger_release(manager->store, name);
}

static void on_cleaned(void *context, bool is_sure)
{
	struct manager *manager = context;

	manager->is_cleaned = is_sure;
	cleaning_free(manager->cleaning);
	manager->cleaning = NULL;
	if (is_sure)
		queue_link_cleaned(manager->queue);
}

static void on_message_left(void *context, uint64_t number)
{
	struct manager *manager = context;

	(void)scan_find(manager->scan, number);
}

static const struct cleaning_handler cleaning_handler = {is_awake, on_data_left, on_message_left,
							 on_hold_left, on_cleaned};

static void on_all_found(void *context)
{
	struct manager *manager = context;
	const char *const *services;
	size_t count;

	if (manager->is_cleaned || manager->cleaning != NULL || manager->is_stopping)
		return;
	count = transports_services(manager->transports, &services);
	manager->cleaning =
		cleaning_new(manager->loop, manager->store, &manager->sleepers, manager->wake,
			     services, count, &cleaning_handler, manager);
}

const struct scan_handler manager_hear_scan = {is_awake, on_scan_wanted, on_message_found,
					       settle_found_message, on_all_found};

/* --- turns --- */

static void on_room(void *context, struct waiters *waiters, size_t count, bool retries)
{
	struct manager *manager = context;

	wake_waiters(manager->wake, waiters, count, retries);
}

const struct transport_handler manager_hear_transports = {on_room};
