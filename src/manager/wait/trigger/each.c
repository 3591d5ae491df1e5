// SPDX-License-Identifier: ISC
/* All triggers that are set, for who describes them. */
#include "manager/wait/trigger/internal.h"

void triggers_each(const struct triggers *triggers,
		   void (*each)(void *context, const struct trigger *trigger), void *context)
{
	const struct trigger *trigger;
	const struct trigger *next;

	HASH_ITER (hh, triggers->by_name, trigger, next)
		if (trigger->state != TRIGGER_RELEASED)
			each(context, trigger);
}

size_t trigger_waiter_count(const struct trigger *trigger)
{
	return trigger->waiters.count;
}
