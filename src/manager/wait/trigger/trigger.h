// SPDX-License-Identifier: ISC
/*
 * manager/wait/trigger/trigger.h - triggers: events that messages wait for, each a file in the
 * meantime (queue/trigger.h).
 *
 * trigger/host.NAME is made when a host cannot be reached, trigger/service.NAME when a service's
 * LMTP or IMAP server or its record cannot, trigger/service.NAME.HOST:PORT when a server named by
 * the directory cannot, trigger/directory when the directory does not answer. While it is set, one
 * message at a time tries (the probe), after probe_delay, twice that, four times ...; all others
 * sleep at no cost. trigger/pipe.SERVICE.NAME is made when a program of that service asks for it;
 * at most 1,000 of these exist. trigger/class.MASK is made when a class of hosts has no place for a
 * session; for it several messages may have a turn at once, as many as there are places (gate.h),
 * and none probes. Triggers with other names belong to operators, who release all triggers that are
 * not probed.
 *
 *   state \ event   set            probe time       probe ended    release or file gone
 *   (none)          SET            -                -              -
 *   SET             -              PROBED, probe()  -              RELEASED, released()
 *   PROBED          -              -                SET, later     RELEASED, released()
 *   RELEASED        SET            -                -              -
 *
 * A RELEASED trigger exists only while messages still wait for it: they are taken out one by one,
 * and it is freed with the last. If it is set again meanwhile, it keeps those that still sleep. No
 * call takes longer with more triggers, except triggers_read() and triggers_release_domain().
 */
#ifndef MANAGER_WAIT_TRIGGER_TRIGGER_H
#define MANAGER_WAIT_TRIGGER_TRIGGER_H

#include "manager/wait/sleeper.h"
#include "os/loop.h"
#include "queue/trigger.h"

/* The trigger for mail that waits because the directory does not answer. */
#define TRIGGER_DIRECTORY "directory"

struct triggers;
struct trigger;

/* Implemented by manager/hear/waiting.c. */
struct trigger_handler {
	/* TRIGGER is no longer set. Its waiters may be taken out at once; the others come by
	 * triggers_next_released(). */
	void (*released)(void *context, struct trigger *trigger);
	/* SLEEPER, which waits for TRIGGER, must probe: it calls trigger_probe(), and
	 * triggers_probe_ended() afterwards. */
	void (*probe)(void *context, struct trigger *trigger, struct sleeper *sleeper);
	/* Call triggers_find() for each trigger that a message which is awake waits for. */
	void (*search)(void *context);
	/* A trigger of a class of hosts was set, or a turn there has ended. */
	void (*crowded)(void *context);
};

/* STORE and SLEEPERS are borrowed. PROBE_DELAY_US: before the first probe. */
struct triggers *triggers_new(struct os_loop *loop, struct queue_store *store,
			      struct sleepers *sleepers, int64_t probe_delay_us,
			      const struct trigger_handler *handler, void *context);
void triggers_configure(struct triggers *triggers, int64_t probe_delay_us);
/* Stops probing. */
void triggers_stop(struct triggers *triggers);
void triggers_free(struct triggers *triggers);

/* Whether any trigger is set, or is released and still has waiters. */
bool triggers_have_any(const struct triggers *triggers);
/* The trigger NAME, if it is set. Asking shows interest: a trigger without waiters that nobody
 * has asked for since its last probe is released, because it has no purpose. */
struct trigger *triggers_find(struct triggers *triggers, struct str name);
/* Sets NAME, for REASON; returns the trigger, or NULL when the name is bad or its file cannot be
 * made (which is logged). Nothing changes if it is set already. */
struct trigger *triggers_set(struct triggers *triggers, struct str name, struct str reason);
/* The same for a hold that ends when the trigger UNTIL does. */
struct trigger *triggers_set_until(struct triggers *triggers, struct str name, struct str reason,
				   struct str until);
/* Sets it in memory if its file exists because another process made it, or may exist: what cannot
 * be looked at (which is logged) counts as set until the next triggers_read(). */
void triggers_look(struct triggers *triggers, struct str name);
/* The UNTIL of triggers_set_until(), even if an earlier process set it; empty: none, or (which is
 * logged) it could not be read. */
struct str triggers_until(struct triggers *triggers, struct trigger *trigger);
/* Whether triggers_until() has read it. */
bool trigger_knows_until(const struct trigger *trigger);
void triggers_release(struct triggers *triggers, struct trigger *trigger);
enum { TRIGGER_DOMAINS_MAX = 256 };
/* Mail for DOMAIN, in its canonical form, waits for TRIGGER: noted if that is a server's. With as
 * many as TRIGGER_DOMAINS_MAX it counts as every domain's. */
void trigger_note_domain(struct trigger *trigger, struct str domain);
/* Releases those of servers that mail for DOMAIN waits for, or that are called DOMAIN or are in it,
 * at any port. */
void triggers_release_domain(struct triggers *triggers, struct str domain);
/* The same only if its file is removed, which would set it again at the next reading: 0, or -errno,
 * which is logged, and all is as before. */
MUST_CHECK int triggers_release_for_good(struct triggers *triggers, struct trigger *trigger);
/* Reads the trigger directory: sets triggers whose files are new, releases those whose files are
 * gone, and releases triggers of programs that nobody has asked for since the last reading. -errno,
 * which is logged: it could not be read, and nothing was released. */
MUST_CHECK int triggers_read(struct triggers *triggers);
/* Whether that has succeeded: before, what an earlier process has left to wait may be held, and
 * nobody knows. */
bool triggers_are_read(const struct triggers *triggers);

struct str trigger_name(const struct trigger *trigger);
/* Its waiters: sleepers_wait() adds one. */
struct waiters *trigger_waiters(struct trigger *trigger);
/* Calls EACH with all that are set. */
void triggers_each(const struct triggers *triggers,
		   void (*each)(void *context, const struct trigger *trigger), void *context);
size_t trigger_waiter_count(const struct trigger *trigger);
/* The trigger to which WAITERS belong, if it is set; otherwise NULL. */
struct trigger *triggers_of_waiters(struct triggers *triggers, const struct waiters *waiters);

/* WHO (any pointer) probes although TRIGGER is set; does nothing if there is a probe already. For
 * a class of hosts there may be many, each of which has a turn: everything below is the same. It may
 * probe several. */
void trigger_probe(struct triggers *triggers, struct trigger *trigger, const void *who);
bool trigger_is_probe(const struct trigger *trigger, const void *who);
/* WHO has tried, or is gone: all that it probed. Does nothing if it was not a probe. */
void triggers_probe_ended(struct triggers *triggers, const void *who);

/* --- of classes of hosts --- */

bool trigger_is_of_class(const struct trigger *trigger);
/* The first one that is set, or the one after PREVIOUS; NULL: none. */
struct trigger *triggers_next_of_class(const struct triggers *triggers,
				       const struct trigger *previous);
/* Has who waited longest for TRIGGER probe. */
void triggers_give_turn(struct triggers *triggers, struct trigger *trigger);
/* How many have a turn. */
size_t trigger_turns(const struct trigger *trigger);
/* The one for which WHO has a turn, or NULL. */
struct trigger *triggers_turn_of(const struct triggers *triggers, const void *who);

/* --- released ones --- */

/* The next sleeper of the released triggers, which take turns; still in its list. Or NULL. */
struct sleeper *triggers_next_released(struct triggers *triggers);
bool triggers_have_released(const struct triggers *triggers);

#endif
