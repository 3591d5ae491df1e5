// SPDX-License-Identifier: ISC
#include "manager/wait/trigger/gate.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "limit/count.h"
#include "os/clock.h"
#include <stdlib.h>

static const int64_t LOOK_US = SECOND_US / 50;
static const int64_t SOON_US = SECOND_US / 500; /* so that nobody is let go in a circle */

struct gate {
	struct triggers *triggers;
	const struct limit_memory *limits;
	struct limit_classes *classes; /* NULL: none */
	struct limit_counter *counter; /* of the messages that wait; likewise */
	struct os_timer *timer;
	int64_t next_us; /* when it looks next; monotonic; INT64_MAX: it does not */
	bool is_stopped;
};

static void give_turns_of_all_classes(void *context);

struct gate *gate_new(struct os_loop *loop, struct triggers *triggers)
{
	struct gate *gate = memory_alloc_zero(1, sizeof *gate);

	gate->triggers = triggers;
	gate->timer = os_timer_new(loop, give_turns_of_all_classes, gate);
	gate->next_us = INT64_MAX;
	return gate;
}

void gate_configure(struct gate *gate, const struct config *config,
		    const struct limit_memory *limits)
{
	struct limit_classes *old = gate->classes;

	gate->limits = limits;
	gate->classes = limits != NULL ? limit_classes_new(config) : NULL;
	if (gate->classes == NULL) {
		limit_counter_free(gate->counter);
		gate->counter = NULL;
	} else if (gate->counter == NULL) {
		gate->counter = limit_counter_new(limits, gate->classes);
	} else {
		limit_recount_begin(gate->counter, limits, gate->classes);
		limit_recount_end(gate->counter);
	}
	limit_classes_free(old);
	gate_look_soon(gate);
}

static void look_in(struct gate *gate, int64_t delay_us)
{
	int64_t now_us = os_clock_monotonic_us();

	if (gate->is_stopped || gate->next_us <= now_us + delay_us)
		return;
	gate->next_us = now_us + delay_us;
	os_timer_start(gate->timer, delay_us);
}

void gate_look_soon(struct gate *gate)
{
	look_in(gate, SOON_US);
}

/* Its index, or how many there are. */
static size_t find_class_of_trigger(const struct gate *gate, struct str trigger)
{
	size_t count = limit_classes_count(gate->classes);
	char name[LIMIT_TRIGGER_SIZE];

	for (size_t i = 0; i < count; i++) {
		limit_class_trigger(limit_classes_at(gate->classes, i), name);
		if (str_equal(trigger, str_from(name)))
			return i;
	}
	return count;
}

bool gate_knows(const struct gate *gate, struct str trigger)
{
	return find_class_of_trigger(gate, trigger) < limit_classes_count(gate->classes);
}

/* Those who have a turn may be among the outgoing sessions already. */
static uint64_t free_places_of_class(const struct gate *gate, size_t class, size_t turns)
{
	const struct limit_class *limits = limit_classes_at(gate->classes, class);
	struct limit_total total;
	uint64_t taken;

	limit_total_of(gate->limits, limits->key, &total);
	taken = total.in + (total.out > turns ? total.out : turns);
	return taken < limits->queue ? limits->queue - taken : 0;
}

/* Who was refused and is not asleep yet waits as long as all places are taken, too. */
static void give_turns_of_class(struct gate *gate, struct trigger *trigger)
{
	const struct waiters *waiters = trigger_waiters(trigger);
	size_t class = find_class_of_trigger(gate, trigger_name(trigger));
	uint64_t places;

	if (class == limit_classes_count(gate->classes)) {
		triggers_release(gate->triggers, trigger);
		return;
	}
	places = free_places_of_class(gate, class, trigger_turns(trigger));
	for (uint64_t i = 0; i < places && waiters->count > 0; i++)
		triggers_give_turn(gate->triggers, trigger);
	limit_set_waiting(gate->counter, class,
			  waiters->count < UINT32_MAX ? (uint32_t)waiters->count : UINT32_MAX);
	if (places > 0 && waiters->count == 0 && trigger_turns(trigger) == 0)
		triggers_release(gate->triggers, trigger);
}

static void give_turns_of_all_classes(void *context)
{
	struct gate *gate = context;
	struct trigger *trigger = triggers_next_of_class(gate->triggers, NULL);

	gate->next_us = INT64_MAX;
	while (trigger != NULL) {
		struct trigger *next = triggers_next_of_class(gate->triggers, trigger);

		give_turns_of_class(gate, trigger);
		trigger = next;
	}
	if (triggers_next_of_class(gate->triggers, NULL) != NULL)
		look_in(gate, LOOK_US);
}

void gate_stop(struct gate *gate)
{
	gate->is_stopped = true;
	os_timer_stop(gate->timer);
}

void gate_free(struct gate *gate)
{
	limit_counter_free(gate->counter);
	limit_classes_free(gate->classes);
	os_timer_free(gate->timer);
	free(gate);
}
