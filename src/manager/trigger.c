// SPDX-License-Identifier: ISC
/*
 * Triggers: events worth waiting for, each a file while it is waited for.
 *
 * trigger/host.NAME is made when a host cannot be reached, trigger/service.NAME when an LMTP
 * service's server cannot. While it stands, one message at a time tries, after probe_delay,
 * twice that, four times ...; all others sleep without a cost. Any answer releases them
 * all: they are woken by and by, and if it happens again meanwhile, those who still sleep
 * go on waiting.
 * So it is with trigger/directory, for which resolve looks out besides: once it is back
 * nobody waits. Triggers of other names are operators' and programs', who release them.
 */
#include "queue/trigger.h"
#include "base/panic.h"
#include "log/event.h"
#include "manager/internal.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/random.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	LONGEST_PROBE = 30, /* times probe_delay */
	FEW = 20,           /* waiters: all are woken at once */
};

struct trigger {
	char *name;
	struct waiters waiters;
	const struct message *probe;     /* the one that may try, or NULL */
	int64_t delay_us;                /* between the last attempt and the next */
	int64_t probe_at_us;             /* monotonic; INT64_MAX: never by itself */
	bool is_seen;                    /* by the scan under way */
	bool is_wanted;                  /* by a message that is awake */
	struct trigger *next, *previous; /* among those released */
	UT_hash_handle hh;
};

struct trigger *trigger_find(struct manager *manager, struct str name)
{
	struct trigger *trigger;

	HASH_FIND(hh, manager->triggers, name.data, name.length, trigger);
	return trigger;
}

struct waiters *trigger_waiters(struct trigger *trigger)
{
	return &trigger->waiters;
}

bool trigger_is_probe(const struct trigger *trigger, const struct message *message)
{
	return trigger->probe == message;
}

static void schedule(struct manager *manager)
{
	int64_t next_us = INT64_MAX;

	for (const struct trigger *trigger = manager->triggers; trigger != NULL;
	     trigger = trigger->hh.next)
		if (trigger->probe == NULL && trigger->probe_at_us < next_us)
			next_us = trigger->probe_at_us;
	if (next_us == INT64_MAX)
		os_timer_stop(manager->trigger_timer);
	else
		os_timer_start(manager->trigger_timer, next_us - os_clock_monotonic_us());
}

static struct trigger *trigger_new(struct str name)
{
	struct trigger *trigger = memory_alloc_zero(1, sizeof *trigger);

	trigger->name = memory_alloc(name.length + 1);
	memcpy(trigger->name, name.data, name.length);
	trigger->name[name.length] = '\0';
	return trigger;
}

static void trigger_free(struct trigger *trigger)
{
	free(trigger->name);
	free(trigger);
}

/* One that was released and has waiters yet, no longer so; or NULL. */
static struct trigger *take_back(struct manager *manager, struct str name)
{
	struct trigger *trigger;

	DL_FOREACH2 (manager->released, trigger, next)
		if (str_equal(name, str_from(trigger->name))) {
			DL_DELETE2(manager->released, trigger, previous, next);
			return trigger;
		}
	return NULL;
}

/* Whether it is for a server, which a message finds back. */
static bool is_probed(struct str name)
{
	return str_starts_with(name, STR("host.")) || str_starts_with(name, STR("service.")) ||
	       str_equal(name, STR(TRIGGER_DIRECTORY));
}

static struct trigger *add(struct manager *manager, struct str name)
{
	struct trigger *trigger = take_back(manager, name);

	if (trigger == NULL)
		trigger = trigger_new(name);
	trigger->delay_us = manager->config->probe_delay_us;
	trigger->probe_at_us = INT64_MAX;
	if (is_probed(name))
		trigger->probe_at_us = os_clock_monotonic_us() + trigger->delay_us;
	HASH_ADD_KEYPTR(hh, manager->triggers, trigger->name, name.length, trigger);
	return trigger;
}

/* An attempt was in vain: the next one later, not at the same moment as others'. */
static void put_off(const struct manager *manager, struct trigger *trigger)
{
	int64_t longest_us = LONGEST_PROBE * manager->config->probe_delay_us;

	trigger->delay_us *= 2;
	if (trigger->delay_us > longest_us)
		trigger->delay_us = longest_us;
	trigger->probe_at_us = os_clock_monotonic_us() + trigger->delay_us -
			       (int64_t)os_random_below((uint64_t)trigger->delay_us / 10);
}

void trigger_set(struct manager *manager, struct str name, struct str reason)
{
	struct trigger *trigger = trigger_find(manager, name);
	int error;

	if (trigger != NULL || !queue_trigger_name_is_valid(name))
		return;
	error = queue_trigger_set(manager->store, name, os_clock_wall_us(), reason);
	if (error < 0) {
		log_event(EVENT_QUEUE_ERROR, log_str("trigger", name), log_error(error));
		return;
	}
	add(manager, name);
	log_event(EVENT_TRIGGER_SET, log_str("trigger", name), log_str("reason", reason));
	schedule(manager);
}

static void drop(struct manager *manager, struct trigger *trigger)
{
	size_t count = trigger->waiters.count;

	log_event(EVENT_TRIGGER_RELEASED, log_string("trigger", trigger->name),
		  log_number("messages", (int64_t)count));
	HASH_DELETE(hh, manager->triggers, trigger);
	stage_unblock(manager, trigger);
	trigger->probe = NULL;
	/* what waits for the directory has not been tried yet: it is new mail */
	if (count <= FEW || strcmp(trigger->name, TRIGGER_DIRECTORY) == 0) {
		wake_waiters(manager, &trigger->waiters, count, false);
		trigger_free(trigger);
	} else {
		DL_APPEND2(manager->released, trigger, previous, next);
		wake_schedule(manager);
	}
	schedule(manager);
}

struct sleeper *trigger_next_released(struct manager *manager)
{
	while (manager->released != NULL) {
		struct trigger *trigger = manager->released;
		struct sleeper *sleeper =
			sleepers_waiting_first(&manager->sleepers, &trigger->waiters);

		DL_DELETE2(manager->released, trigger, previous, next);
		if (sleeper != NULL) {
			sleeper->is_released = true;
			DL_APPEND2(manager->released, trigger, previous, next);
			return sleeper;
		}
		trigger_free(trigger);
	}
	return NULL;
}

void trigger_release_this(struct manager *manager, struct trigger *trigger)
{
	int error = queue_trigger_release(manager->store, str_from(trigger->name));

	if (error < 0)
		log_event(EVENT_QUEUE_ERROR, log_string("trigger", trigger->name),
			  log_error(error));
	drop(manager, trigger);
}

void trigger_release(struct manager *manager, struct str name)
{
	struct trigger *trigger = trigger_find(manager, name);

	if (trigger != NULL)
		trigger_release_this(manager, trigger);
}

void trigger_let_try(struct manager *manager, struct message *message,
		     const struct waiters *waiters)
{
	struct trigger *trigger;

	for (trigger = manager->triggers; trigger != NULL; trigger = trigger->hh.next) {
		if (waiters != &trigger->waiters || trigger->probe != NULL)
			continue;
		trigger->probe = message;
		message->is_probe = true;
		return;
	}
}

void trigger_probe_ended(struct manager *manager, struct message *message)
{
	struct trigger *trigger;

	if (!message->is_probe)
		return;
	message->is_probe = false;
	for (trigger = manager->triggers; trigger != NULL; trigger = trigger->hh.next) {
		if (trigger->probe != message)
			continue;
		trigger->probe = NULL;
		put_off(manager, trigger);
		schedule(manager);
		return;
	}
}

/* A message that waits for a host may be busy with another. */
static void find_wanted(struct manager *manager)
{
	const struct message *message;
	struct trigger *trigger;

	for (trigger = manager->triggers; trigger != NULL; trigger = trigger->hh.next)
		trigger->is_wanted = false;
	for (message = manager->messages; message != NULL; message = message->hh.next)
		for (size_t i = 0; message->control != NULL && i < message->control->delivery_count;
		     i++) {
			const struct queue_delivery *delivery = &message->control->deliveries[i];

			if (delivery->outcome != QUEUE_WAIT)
				continue;
			trigger = trigger_find(manager, delivery->trigger);
			if (trigger != NULL)
				trigger->is_wanted = true;
		}
}

/* One message tries. A trigger that nobody waits for has no purpose. */
static void probe(struct manager *manager, struct trigger *trigger)
{
	struct sleeper *sleeper = sleepers_waiting_first(&manager->sleepers, &trigger->waiters);
	struct message *message;

	if (sleeper == NULL && trigger->is_wanted) {
		trigger->probe_at_us = os_clock_monotonic_us() + trigger->delay_us;
		return;
	}
	if (sleeper == NULL) {
		trigger_release_this(manager, trigger);
		return;
	}
	message = message_take(manager, sleeper);
	trigger->probe = message;
	message->is_probe = true;
	message->is_released = true;
	message_wake(manager, message, STR(""));
}

void trigger_timer(void *context)
{
	struct manager *manager = context;
	int64_t now_us = os_clock_monotonic_us();
	bool was_searched = false;
	struct trigger *trigger;
	struct trigger *next;

	if (manager->is_stopping)
		return;
	HASH_ITER (hh, manager->triggers, trigger, next) {
		if (trigger->probe != NULL || trigger->probe_at_us > now_us)
			continue;
		if (trigger->waiters.count == 0 && !was_searched)
			find_wanted(manager);
		was_searched |= trigger->waiters.count == 0;
		probe(manager, trigger);
	}
	schedule(manager);
}

static int on_name(void *context, struct str name)
{
	struct manager *manager = context;
	struct trigger *trigger = trigger_find(manager, name);

	if (trigger == NULL)
		trigger = add(manager, name);
	trigger->is_seen = true;
	return 0;
}

void trigger_scan(struct manager *manager)
{
	struct trigger *trigger;
	struct trigger *next;
	int error;

	for (trigger = manager->triggers; trigger != NULL; trigger = trigger->hh.next)
		trigger->is_seen = false;
	error = queue_trigger_each(manager->store, on_name, manager);
	if (error < 0) {
		log_event(EVENT_QUEUE_ERROR, log_string("operation", "read triggers"),
			  log_error(error));
		return;
	}
	HASH_ITER (hh, manager->triggers, trigger, next)
		if (!trigger->is_seen)
			drop(manager, trigger);
	schedule(manager);
}

void trigger_free_all(struct manager *manager)
{
	struct trigger *trigger;
	struct trigger *next;

	HASH_ITER (hh, manager->triggers, trigger, next) {
		HASH_DELETE(hh, manager->triggers, trigger);
		trigger_free(trigger);
	}
	DL_FOREACH_SAFE2 (manager->released, trigger, next, next)
		trigger_free(trigger);
	manager->released = NULL;
}
