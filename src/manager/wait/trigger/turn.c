// SPDX-License-Identifier: ISC
/* Triggers of classes of hosts: several messages may have a turn at once (gate.h). */
#include "base/panic.h"
#include "manager/wait/trigger/internal.h"
#include <stdlib.h>

struct turn {
	const void *who;
	struct trigger *trigger;
	UT_hash_handle hh;
};

bool trigger_is_of_class(const struct trigger *trigger)
{
	return queue_trigger_kind(str_from(trigger->name)) == QUEUE_TRIGGER_CLASS;
}

static struct turn *find_turn_of_message(const struct triggers *triggers, const void *who)
{
	struct turn *turn;

	HASH_FIND(hh, triggers->turns, &who, sizeof who, turn);
	return turn;
}

static void end_turn(struct triggers *triggers, struct turn *turn)
{
	turn->trigger->turn_count--;
	HASH_DELETE(hh, triggers->turns, turn);
	free(turn);
}

void trigger_begin_turn(struct triggers *triggers, struct trigger *trigger, const void *who)
{
	struct turn *turn;

	if (find_turn_of_message(triggers, who) != NULL)
		return;
	turn = memory_alloc_zero(1, sizeof *turn);
	turn->who = who;
	turn->trigger = trigger;
	trigger->turn_count++;
	HASH_ADD(hh, triggers->turns, who, sizeof turn->who, turn);
}

void trigger_end_turn(struct triggers *triggers, const void *who)
{
	struct turn *turn = find_turn_of_message(triggers, who);

	if (turn == NULL)
		return;
	end_turn(triggers, turn);
	triggers->handler->crowded(triggers->context);
}

void trigger_end_turns(struct triggers *triggers, const struct trigger *trigger)
{
	struct turn *turn;
	struct turn *next;

	HASH_ITER (hh, triggers->turns, turn, next)
		if (trigger == NULL || turn->trigger == trigger)
			end_turn(triggers, turn);
}

void triggers_give_turn(struct triggers *triggers, struct trigger *trigger)
{
	struct sleeper *sleeper = sleepers_waiting_first(triggers->sleepers, &trigger->waiters);

	if (sleeper != NULL)
		triggers->handler->probe(triggers->context, trigger, sleeper);
}

struct trigger *triggers_turn_of(const struct triggers *triggers, const void *who)
{
	const struct turn *turn =
		triggers->turns != NULL ? find_turn_of_message(triggers, who) : NULL;

	return turn != NULL ? turn->trigger : NULL;
}

size_t trigger_turns(const struct trigger *trigger)
{
	return trigger->turn_count;
}

struct trigger *triggers_next_of_class(const struct triggers *triggers,
				       const struct trigger *previous)
{
	return previous != NULL ? previous->next : triggers->of_classes;
}
