// SPDX-License-Identifier: ISC
/*
 * manager/wait/trigger/gate.h - lets mail go that waits for a place in a class of hosts
 * (limit/count.h).
 *
 * While such a trigger is set, the counts are looked at every 20 ms, and as soon as one of those
 * who were let go is done. As many messages get a turn as there are places, who waited longest
 * first. The trigger is released with the last one, or when the class is no longer configured.
 */
#ifndef MANAGER_WAIT_TRIGGER_GATE_H
#define MANAGER_WAIT_TRIGGER_GATE_H

#include "config/config.h"
#include "limit/memory.h"
#include "manager/wait/trigger/trigger.h"

struct gate;

/* No class is known yet. TRIGGERS is borrowed. */
struct gate *gate_new(struct os_loop *loop, struct triggers *triggers);
/* The classes are those of CONFIG, whose counts are in LIMITS, which is borrowed; NULL: none. */
void gate_configure(struct gate *gate, const struct config *config,
		    const struct limit_memory *limits);
/* Looks before long, and from then on as long as a class has a trigger. */
void gate_look_soon(struct gate *gate);
/* Whether TRIGGER is that of a class. */
bool gate_knows(const struct gate *gate, struct str trigger);
/* Looks no more. */
void gate_stop(struct gate *gate);
void gate_free(struct gate *gate);

#endif
