// SPDX-License-Identifier: ISC
#include "base/panic.h"
#include "base/timestamp.h"
#include "log/event.h"
#include "manager/wait/trigger/internal.h"
#include "os/clock.h"
#include "os/random.h"
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

enum {
	LONGEST_PROBE = 30, /* in units of probe_delay */
	PROBES_A_TURN = 100,
	OF_PROGRAMS_MAX = 1000,
};

static struct trigger *find_any_trigger(struct triggers *triggers, struct str name)
{
	struct trigger *trigger;

	HASH_FIND(hh, triggers->by_name, name.data, name.length, trigger);
	return trigger;
}

bool triggers_have_any(const struct triggers *triggers)
{
	return triggers->by_name != NULL;
}

struct trigger *triggers_find(struct triggers *triggers, struct str name)
{
	struct trigger *trigger;

	if (!triggers_have_any(triggers)) /* nearly always */
		return NULL;
	trigger = find_any_trigger(triggers, name);
	if (trigger == NULL || trigger->state == TRIGGER_RELEASED)
		return NULL;
	trigger->is_wanted = true;
	return trigger;
}

struct str trigger_name(const struct trigger *trigger)
{
	return str_from(trigger->name);
}

struct waiters *trigger_waiters(struct trigger *trigger)
{
	return &trigger->waiters;
}

static void schedule_probes(struct triggers *triggers)
{
	const struct heap_node *first = heap_first(&triggers->probes);

	if (first == NULL || triggers->is_stopping)
		os_timer_stop(triggers->timer);
	else
		os_timer_start(triggers->timer, first->key - os_clock_monotonic_us());
}

static void probe_in(struct triggers *triggers, struct trigger *trigger, int64_t delay_us)
{
	heap_put(&triggers->probes, &trigger->probe_at, os_clock_monotonic_us() + delay_us);
	if (heap_first(&triggers->probes) == &trigger->probe_at)
		schedule_probes(triggers);
}

/* Whether it is for a server, so that a message can find it again by name. */
static bool is_probed(struct str name)
{
	enum queue_trigger_kind kind = queue_trigger_kind(name);

	return kind == QUEUE_TRIGGER_HOST || kind == QUEUE_TRIGGER_SERVICE ||
	       kind == QUEUE_TRIGGER_DIRECTORY;
}

bool trigger_is_of_program(struct str name)
{
	return queue_trigger_kind(name) == QUEUE_TRIGGER_PIPE;
}

char *trigger_copy(struct str text)
{
	char *copy = memory_alloc(text.length + 1);

	memcpy(copy, text.data, text.length);
	copy[text.length] = '\0';
	return copy;
}

static struct trigger *make_trigger(struct triggers *triggers, struct str name)
{
	struct trigger *trigger = memory_alloc_zero(1, sizeof *trigger);

	trigger->name = trigger_copy(name);
	triggers->of_programs += trigger_is_of_program(name);
	trigger->state = TRIGGER_RELEASED;
	trigger->waiters.owner = triggers;
	HASH_ADD_KEYPTR(hh, triggers->by_name, trigger->name, name.length, trigger);
	DL_APPEND2(triggers->released, trigger, previous, next);
	return trigger;
}

struct trigger *trigger_add(struct triggers *triggers, struct str name)
{
	struct trigger *trigger = find_any_trigger(triggers, name);

	if (trigger == NULL)
		trigger = make_trigger(triggers, name);
	if (trigger->state != TRIGGER_RELEASED)
		return trigger;
	DL_DELETE2(triggers->released, trigger, previous, next);
	trigger->state = TRIGGER_SET;
	trigger->is_wanted = true;
	trigger->delay_us = triggers->probe_delay_us;
	if (is_probed(name))
		probe_in(triggers, trigger, trigger->delay_us);
	if (trigger_is_of_class(trigger)) {
		DL_APPEND2(triggers->of_classes, trigger, previous, next);
		triggers->handler->crowded(triggers->context);
	}
	return trigger;
}

struct trigger *triggers_set_until(struct triggers *triggers, struct str name, struct str reason,
				   struct str until)
{
	struct trigger *trigger = triggers_find(triggers, name);
	int error;

	if (trigger != NULL || !queue_trigger_name_is_valid(name) ||
	    (trigger_is_of_program(name) && triggers->of_programs >= OF_PROGRAMS_MAX))
		return trigger;
	error = queue_trigger_set_until(triggers->store, name, os_clock_wall_us(), reason, until);
	if (error < 0) {
		log_event(EVENT_QUEUE_ERROR, log_str(trigger, name), log_error(error));
		return NULL;
	}
	trigger = trigger_add(triggers, name);
	log_event(EVENT_TRIGGER_SET, log_str(trigger, name), log_str(reason, reason));
	return trigger;
}

struct trigger *triggers_set(struct triggers *triggers, struct str name, struct str reason)
{
	return triggers_set_until(triggers, name, reason, STR(""));
}

static void trigger_free(struct triggers *triggers, struct trigger *trigger)
{
	HASH_DELETE(hh, triggers->by_name, trigger);
	triggers->of_programs -= trigger_is_of_program(str_from(trigger->name));
	free(trigger->name);
	free(trigger->until);
	free(trigger->domains);
	free(trigger);
}

/* A RELEASED trigger exists only for its waiters. */
static void free_if_alone(struct triggers *triggers, struct trigger *trigger)
{
	if (trigger->waiters.count > 0)
		return;
	DL_DELETE2(triggers->released, trigger, previous, next);
	trigger_free(triggers, trigger);
}

static void forget_prober(struct triggers *triggers, struct trigger *trigger)
{
	if (trigger->state != TRIGGER_PROBED)
		return;
	HASH_DELETE(by_prober, triggers->by_prober, trigger);
	trigger->prober = NULL;
	trigger->state = TRIGGER_SET;
}

/* Its file is gone. */
void trigger_drop(struct triggers *triggers, struct trigger *trigger)
{
	log_event(EVENT_TRIGGER_RELEASED, log_string(trigger, trigger->name),
		  log_number(messages, (int64_t)trigger->waiters.count));
	free(trigger->until); /* another file is another hold */
	trigger->until = NULL;
	forget_prober(triggers, trigger);
	if (trigger_is_of_class(trigger)) {
		trigger_end_turns(triggers, trigger);
		DL_DELETE2(triggers->of_classes, trigger, previous, next);
	}
	heap_remove(&triggers->probes, &trigger->probe_at);
	trigger->state = TRIGGER_RELEASED;
	DL_APPEND2(triggers->released, trigger, previous, next);
	triggers->handler->released(triggers->context, trigger);
	free_if_alone(triggers, trigger);
}

static int remove_trigger_file(struct triggers *triggers, const struct trigger *trigger)
{
	int error = queue_trigger_release(triggers->store, str_from(trigger->name));

	if (error < 0)
		log_event(EVENT_QUEUE_ERROR, log_string(trigger, trigger->name), log_error(error));
	return error;
}

void triggers_release(struct triggers *triggers, struct trigger *trigger)
{
	int error;

	if (trigger->state == TRIGGER_RELEASED)
		return;
	error = remove_trigger_file(triggers, trigger);
	(void)error; /* it was logged, and the mail need not wait */
	trigger_drop(triggers, trigger);
}

int triggers_release_for_good(struct triggers *triggers, struct trigger *trigger)
{
	int error = trigger->state != TRIGGER_RELEASED ? remove_trigger_file(triggers, trigger) : 0;

	if (error == 0 && trigger->state != TRIGGER_RELEASED)
		trigger_drop(triggers, trigger);
	return error;
}

bool triggers_have_released(const struct triggers *triggers)
{
	return triggers->released != NULL;
}

struct sleeper *triggers_next_released(struct triggers *triggers)
{
	while (triggers->released != NULL) {
		struct trigger *trigger = triggers->released;
		struct sleeper *sleeper =
			sleepers_waiting_first(triggers->sleepers, &trigger->waiters);

		if (sleeper != NULL) {
			sleeper->facts.is_released = true;
			DL_DELETE2(triggers->released, trigger, previous, next);
			DL_APPEND2(triggers->released, trigger, previous, next);
			return sleeper;
		}
		free_if_alone(triggers, trigger);
	}
	return NULL;
}

/* --- probes --- */

struct trigger *triggers_of_waiters(struct triggers *triggers, const struct waiters *waiters)
{
	struct trigger *trigger;

	if (waiters == NULL || waiters->owner != triggers)
		return NULL;
	trigger = CONTAINER_OF(waiters, struct trigger, waiters);
	return trigger->state != TRIGGER_RELEASED ? trigger : NULL;
}

void trigger_probe(struct triggers *triggers, struct trigger *trigger, const void *who)
{
	if (trigger->state != TRIGGER_SET)
		return;
	if (trigger_is_of_class(trigger)) {
		trigger_begin_turn(triggers, trigger, who);
		return;
	}
	heap_remove(&triggers->probes, &trigger->probe_at);
	trigger->state = TRIGGER_PROBED;
	trigger->prober = who;
	HASH_ADD(by_prober, triggers->by_prober, prober, sizeof trigger->prober, trigger);
}

bool trigger_is_probe(const struct trigger *trigger, const void *who)
{
	return (trigger->state == TRIGGER_PROBED && trigger->prober == who) ||
	       (trigger->turn_count > 0 &&
		triggers_turn_of(trigger->waiters.owner, who) == trigger);
}

/* A probe failed: the next one comes later, and not at the same moment as those of other
 * triggers. */
static void defer_probe(struct triggers *triggers, struct trigger *trigger)
{
	int64_t longest_us = LONGEST_PROBE * triggers->probe_delay_us;

	trigger->delay_us *= 2;
	if (trigger->delay_us > longest_us)
		trigger->delay_us = longest_us;
	if (is_probed(str_from(trigger->name)))
		probe_in(triggers, trigger,
			 trigger->delay_us -
				 (int64_t)os_random_below((uint64_t)trigger->delay_us / 10 + 1));
}

void triggers_probe_ended(struct triggers *triggers, const void *who)
{
	struct trigger *trigger;

	if (triggers->turns != NULL)
		trigger_end_turn(triggers, who);
	while (triggers->by_prober != NULL) { /* it is nearly always */
		HASH_FIND(by_prober, triggers->by_prober, &who, sizeof who, trigger);
		if (trigger == NULL)
			return;
		forget_prober(triggers, trigger);
		defer_probe(triggers, trigger);
	}
}

/* A message that waits for a host may also be awake, because of other recipients. */
void trigger_search(struct triggers *triggers)
{
	int64_t now_us = os_clock_monotonic_us();

	if (triggers->searched_us != 0 && now_us - triggers->searched_us < SECOND_US)
		return;
	triggers->searched_us = now_us;
	triggers->handler->search(triggers->context);
}

/* Makes one message the probe. */
static void probe_trigger(struct triggers *triggers, struct trigger *trigger)
{
	struct sleeper *sleeper = sleepers_waiting_first(triggers->sleepers, &trigger->waiters);

	heap_remove(&triggers->probes, &trigger->probe_at);
	if (sleeper != NULL) {
		probe_in(triggers, trigger, trigger->delay_us); /* if this one does not try */
		triggers->handler->probe(triggers->context, trigger, sleeper);
		return;
	}
	trigger_search(triggers);
	if (!trigger->is_wanted) {
		triggers_release(triggers, trigger);
		return;
	}
	trigger->is_wanted = false;
	probe_in(triggers, trigger, trigger->delay_us);
}

/* A probe that cannot be made now is tried again later. */
static void on_probe_due(void *context)
{
	struct triggers *triggers = context;
	int64_t now_us = os_clock_monotonic_us();

	for (unsigned i = 0; i < PROBES_A_TURN; i++) {
		struct heap_node *first = heap_first(&triggers->probes);

		if (first == NULL || first->key > now_us)
			break;
		probe_trigger(triggers, CONTAINER_OF(first, struct trigger, probe_at));
	}
	schedule_probes(triggers);
}

struct triggers *triggers_new(struct os_loop *loop, struct queue_store *store,
			      struct sleepers *sleepers, int64_t probe_delay_us,
			      const struct trigger_handler *handler, void *context)
{
	struct triggers *triggers = memory_alloc_zero(1, sizeof *triggers);

	triggers->loop = loop;
	triggers->store = store;
	triggers->sleepers = sleepers;
	triggers->probe_delay_us = probe_delay_us;
	triggers->handler = handler;
	triggers->context = context;
	triggers->timer = os_timer_new(loop, on_probe_due, triggers);
	return triggers;
}

void triggers_configure(struct triggers *triggers, int64_t probe_delay_us)
{
	triggers->probe_delay_us = probe_delay_us;
}

void triggers_stop(struct triggers *triggers)
{
	triggers->is_stopping = true;
	os_timer_stop(triggers->timer);
}

void triggers_free(struct triggers *triggers)
{
	struct trigger *trigger;
	struct trigger *next;

	heap_clear(&triggers->probes);
	trigger_end_turns(triggers, NULL);
	HASH_CLEAR(by_prober, triggers->by_prober);
	HASH_ITER (hh, triggers->by_name, trigger, next)
		trigger_free(triggers, trigger);
	os_timer_free(triggers->timer);
	free(triggers);
}
