// SPDX-License-Identifier: ISC
/*
 * manager/wait/trigger.h - triggers: events worth waiting for, each a file while it is
 * waited for (queue/trigger.h).
 *
 * trigger/host.NAME is made when a host cannot be reached, trigger/service.NAME when an LMTP
 * service's server cannot, trigger/service.NAME.HOST:PORT when one that the directory names cannot,
 * trigger/directory when the directory does not answer. While it is set, one message at a time
 * tries (the probe), after probe_delay, twice that, four times ...; all others sleep without a
 * cost. trigger/pipe.SERVICE.NAME is made when a program of that service says so; there are 1,000
 * of these at most. Triggers of other names are operators', who release all that are not probed.
 *
 *   state \ event   set            probe time       probe ended    release or file gone
 *   (none)          SET            -                -              -
 *   SET             -              PROBED, probe()  -              RELEASED, released()
 *   PROBED          -              -                SET, later     RELEASED, released()
 *   RELEASED        SET            -                -              -
 *
 * One that is RELEASED only has those who wait for it yet: they are taken out one by one,
 * and it is gone with the last. Set again meanwhile, it keeps those who still sleep. No call takes
 * longer for more triggers, but for triggers_read().
 */
#ifndef MANAGER_WAIT_TRIGGER_H
#define MANAGER_WAIT_TRIGGER_H

#include "manager/wait/sleeper.h"
#include "os/loop.h"
#include "queue/trigger.h"

/* What waits because the directory does not answer. */
#define TRIGGER_DIRECTORY "directory"

struct triggers;
struct trigger;

struct trigger_handler {
	/* TRIGGER is not set any more. Who waits for it may be taken out at once; whoever is
	 * not comes by triggers_next_released(). */
	void (*released)(void *context, struct trigger *trigger);
	/* SLEEPER, who waits for TRIGGER, is to try: it calls trigger_probe() and
	 * triggers_probe_ended() afterwards. */
	void (*probe)(void *context, struct trigger *trigger, struct sleeper *sleeper);
	/* triggers_find() is to be called for each that a message which is awake waits for. */
	void (*search)(void *context);
};

/* STORE and SLEEPERS are borrowed. PROBE_DELAY_US: before the first probe. */
struct triggers *triggers_new(struct os_loop *loop, struct queue_store *store,
			      struct sleepers *sleepers, int64_t probe_delay_us,
			      const struct trigger_handler *handler, void *context);
void triggers_configure(struct triggers *triggers, int64_t probe_delay_us);
/* No more probes. */
void triggers_stop(struct triggers *triggers);
void triggers_free(struct triggers *triggers);

/* Whether any is set, or was and is still waited for. */
bool triggers_have_any(const struct triggers *triggers);
/* The one called NAME, if it is set. Who asks wants it: one that nobody waits for, nor has
 * asked for since its last probe, is released, because it has no purpose. */
struct trigger *triggers_find(struct triggers *triggers, struct str name);
/* Sets NAME, for REASON; the trigger, or NULL when the name is bad or its file cannot be made
 * (which is logged). Nothing happens when it is set. */
struct trigger *triggers_set(struct triggers *triggers, struct str name, struct str reason);
/* The same of a hold that ends when the trigger UNTIL does. */
struct trigger *triggers_set_until(struct triggers *triggers, struct str name, struct str reason,
				   struct str until);
/* Sets it in memory where its file is there, which somebody else has made. */
void triggers_look(struct triggers *triggers, struct str name);
/* What triggers_set_until() was given, also to a process before us; empty: nothing. */
struct str triggers_until(struct triggers *triggers, struct trigger *trigger);
void triggers_release(struct triggers *triggers, struct trigger *trigger);
/* Reads the trigger directory: what is new there is set, what is gone there is released, and so is
 * what a program wanted of which nobody has asked since the last reading. */
void triggers_read(struct triggers *triggers);

struct str trigger_name(const struct trigger *trigger);
/* Those who wait for it: sleepers_wait() puts one there. */
struct waiters *trigger_waiters(struct trigger *trigger);
/* The trigger, which is set, that WAITERS belong to, or NULL. */
struct trigger *triggers_of_waiters(struct triggers *triggers, const struct waiters *waiters);

/* WHO (any pointer) tries although TRIGGER is set; nothing happens when somebody else does. */
void trigger_probe(struct triggers *triggers, struct trigger *trigger, const void *who);
bool trigger_is_probe(const struct trigger *trigger, const void *who);
/* WHO has tried, or is gone. Nothing happens when it was no probe. */
void triggers_probe_ended(struct triggers *triggers, const void *who);

/* The next sleeper of a trigger that was released, of each in turn; still in its list. Or NULL. */
struct sleeper *triggers_next_released(struct triggers *triggers);
bool triggers_have_released(const struct triggers *triggers);

#endif
