// SPDX-License-Identifier: ISC
/*
 * manager/internal.h - the parts of the manager, and the files that connect them.
 *
 * Each part is opaque to the others; its header describes what it does and the events that it
 * reports (its handler). Calls go down this list, and events come up through hear/, which passes
 * them to the files below:
 *
 *   manager.c    creates and frees the parts
 *   hear/        events from the parts, by origin
 *   command.c    carries out operators' orders
 *   why.c        what a message waits for, for people
 *   stop.c       whether everything is at rest
 *   busy.c       jobs that were not tried because their destination has had enough
 *   report.c     what helpers report of jobs
 *   said.c       what servers said that changes how mail goes to them
 *   dispatch.c   starts jobs, and ends them
 *   start.c      what a helper is told of a job
 *   package.c    jobs that are handed over to other nodes
 *   life.c       the table of a message's life (message.h)
 *   decide.c     what a message needs next
 *   unmapped.c   asks where recipients go, and waits for the directory
 *   await.c      what a message waits for that can do nothing now
 *   deliver.c    which of its deliveries must be tried now
 *   hold.c       whether an operator holds it
 *   message.c    the messages that are awake
 *   outcome.c    what becomes of a delivery
 *   tally.c      how often something has happened
 *   notice.c     who is notified of what
 *   link/        connections: "queue", helpers, resolve, the disk, reports, operators
 *   turn/        which delivery is started when
 *   wait/        which messages sleep, for what, and when they are woken
 *
 * tools/check-circles makes sure that no two files call each other.
 */
#ifndef MANAGER_INTERNAL_H
#define MANAGER_INTERNAL_H

#include "manager/link/answers.h"
#include "manager/link/cleaning.h"
#include "manager/link/handed.h"
#include "manager/link/helper.h"
#include "manager/link/orders.h"
#include "manager/link/queue_link.h"
#include "manager/link/resolver.h"
#include "manager/link/status.h"
#include "manager/manager.h"
#include "manager/message.h"
#include "manager/outcome.h"
#include "manager/said.h"
#include "manager/tally.h"
#include "manager/turn/transport.h"
#include "manager/wait/scan/scan.h"
#include "manager/wait/trigger/gate.h"
#include "os/load.h"

struct manager {
	struct os_loop *loop;
	struct queue_store *store;
	const struct config *config;
	struct manager_peers peers;

	struct message *messages; /* awake, by number */
	size_t in_state[MESSAGE_STATES];
	size_t content_bytes; /* of the message data that they keep */
	struct share share;
	struct sleepers sleepers;
	struct triggers *triggers;
	struct gate *gate;
	struct wake *wake;
	struct scan *scan;
	struct transports *transports;
	struct helpers *helpers;
	struct handed *handed;
	struct resolver *resolver;
	struct recorder *recorder;
	struct reporter *reporter;
	struct queue_link *queue;
	struct orders *orders;
	struct said *said;
	struct status *status;
	struct answers *answers;
	struct tally taken;                                    /* messages */
	struct tally delivered, handed_over, deferred, failed; /* deliveries that were tried */
	int64_t started_us;                                    /* time of day */
	struct cleaning *cleaning;                             /* NULL: not begun, or finished */

	struct os_task dispatch_task;
	struct os_timer *dispatch_timer; /* starting may be possible although nothing has ended */
	bool is_loaded; /* the machine: mail for other hosts waits (setting load_queue) */
	struct os_timer *sweep_timer;
	struct os_task scan_task;
	struct os_task stop_task;
	bool has_doubts;              /* some message is_doubtful */
	bool is_cleaned;              /* no names of ended messages are left */
	void (*ready)(void *context); /* NULL once called */
	void *ready_context;
	bool is_stopping;
	void (*stopped)(void *context);
	void *stopped_context;
};

/* --- deliver.c --- */

/* Makes jobs of MESSAGE's deliveries that must be tried now; returns how many deliveries. If
 * there is no room for one, *CROWDED_OUT is the list of waiters in which the message may sleep. */
size_t deliver(struct manager *manager, struct message *message, struct waiters **crowded_out);
/* The trigger that keeps the delivery from being tried now, or NULL. */
struct trigger *deliver_blocked_by(struct manager *manager, const struct message *message,
				   const struct queue_delivery *delivery);
/* What keeps one of MESSAGE's deliveries waiting for its turn besides others: false: nothing. */
bool deliver_paused_by(struct manager *manager, const struct message *message,
		       struct transport_pause *pause_out);
/* The address of the envelope, if DELIVERY's is another one, to which it leads; otherwise "". */
struct str deliver_via(const struct mail_recipient *recipient,
		       const struct queue_delivery *delivery);
/* The delivery waits for TRIGGER: noted for who asks for the mail of its domain. */
void deliver_note_wait(const struct queue_delivery *delivery, struct trigger *trigger);
/* The event that MESSAGE waited for has happened: each of its waiting deliveries is due once, but
 * not before its release; those that a place in a class of hosts does not help are not. */
void deliver_make_due(struct manager *manager, struct message *message, int64_t now_us);
/* MESSAGE was requeued: a trigger of one of its destinations may be due to an old route, so this
 * message becomes the probe. */
void deliver_probe(struct manager *manager, struct message *message);

/* --- hold.c --- */

/* The trigger hold.ID of the message, which no other message waits for; NULL: it is not held. */
struct trigger *hold_find_any(struct manager *manager, struct mail_id message);
/* The same, but only for a hold that does not end with another trigger. */
struct trigger *hold_find(struct manager *manager, struct mail_id message);
/* Releases a hold that ends with another trigger, if that one is no longer set. */
void hold_end_if_over(struct manager *manager, struct mail_id message);

/* MESSAGE, at S4, was held at the node that handed it over, and is held here. If it is released before
 * it is at S5, it is held once more after a restart. */
void hold_take_over(struct manager *manager, const struct message *message);

/* --- await.c --- */

/* Nothing of the message can be tried now: puts it to sleep, with all that wait for the same
 * trigger if there is one; returns its new state. */
enum message_state await(struct manager *manager, struct message *message);
/* Puts it to sleep with WAITERS (NULL: alone), due at DUE_US. A later process looks at it then,
 * or at once if it waits for an event. */
enum message_state await_with(struct manager *manager, struct message *message,
			      struct waiters *waiters, int64_t due_us);
/* When the first of its waiting deliveries is due. A blocked one is looked at again after a
 * while. */
int64_t await_due(struct manager *manager, const struct message *message);
/* When it is to be returned, even if an operator holds it; INT64_MAX: not at any time that its
 * sender has set. */
int64_t await_return_due(const struct message *message);

/* --- unmapped.c --- */

/* Asks where the message's recipients go, unless it must wait for room; returns its new state. */
enum message_state unmapped_ask(struct manager *manager, struct message *message);
/* They cannot be resolved, because of TEXT; IS_AWAY: the directory does not answer. The message
 * waits, or its sender is notified that it does; returns its new state. */
enum message_state unmapped_wait(struct manager *manager, struct message *message, bool is_away,
				 struct str text);
/* The message has been mapped: logs what the directory decided about recipients. If others wait
 * for the directory, they go on. */
void unmapped_end(struct manager *manager, struct message *message);

/* --- decide.c --- */

/* Begins what the message needs next; returns its new state. */
enum message_state decide(struct manager *manager, struct message *message);
/* Begins to write its news; returns its new state. */
enum message_state decide_record(struct manager *manager, struct message *message);
/* Its news could not be written. */
enum message_state decide_record_failed(struct manager *manager, struct message *message);
/* Its end was reported, if a report was due. */
enum message_state decide_end(struct manager *manager, struct message *message);
/* OPERATION failed with ERROR: try again later. */
enum message_state decide_again(struct manager *manager, struct message *message,
				const char *operation, int error);

/* --- damaged.c --- */

/* The envelope of MESSAGE, at S4, is damaged: it leaves the queue for damaged/. */
enum message_state damaged_set_aside(struct manager *manager, struct message *message);

/* --- life.c --- */

/* EVENT has happened to MESSAGE, which may be freed afterwards. */
void life_event(struct manager *manager, struct message *message, enum message_event event);
/* Removes SLEEPER from the sleepers and wakes its message. IS_RETRY: wake.h counts it. PROBE:
 * the trigger for which it is the probe, or NULL. */
void life_wake(struct manager *manager, struct sleeper *sleeper, bool is_retry,
	       struct trigger *probe);
/* A message is at S4. */
void life_begin(struct manager *manager, const struct queue_link_notice *notice);
/* EVENT, a failure, has happened because of ERROR. */
void life_failed(struct manager *manager, struct message *message, enum message_event event,
		 int error);
/* "queue" has removed the message's todo/. */
void life_todo_removed(struct manager *manager, struct message *message);
/* Recipients of MESSAGE cannot be resolved, because of TEXT; IS_AWAY: the directory does not
 * answer. */
void life_not_mapped(struct manager *manager, struct message *message, bool is_away,
		     struct str text);
/* When the manager ends: forgets MESSAGE, whatever it is doing. */
void life_forget(struct manager *manager, struct message *message);

/* --- dispatch.c --- */

/* How often a load that holds mail back is looked at again. */
static const int64_t DISPATCH_LOAD_AGAIN_US = SECOND_US;

/* Starts all jobs that may start. */
void dispatch(void *context);
/* The helper has finished JOB. */
void dispatch_on_ended(void *context, void *job);
/* JOB, in flight or waiting, is over: its message goes on. */
void dispatch_end(struct manager *manager, struct job *job);
struct outcome_terms dispatch_terms(const struct manager *manager, const struct job *job);
/* Ends those of MESSAGE's jobs that wait: with the last one it decides again, and may be freed. */
void dispatch_end_waiting(struct manager *manager, const struct message *message);
/* Ends all jobs that wait now, and has their messages decide again. */
void dispatch_drop_waiting(struct manager *manager);
/* Ends jobs that wait for a service that is no longer configured: their messages decide again. */
void dispatch_drop_retired(struct manager *manager);
/* Ends retries that wait in a transport that is paused: their messages sleep. */
void dispatch_sleep_paused(struct manager *manager);

/* --- report.c --- */

/* REPORT of a delivery of JOB; false: it cannot be. */
bool report_take(void *context, void *job, const struct ipc_job_report *report);

/* --- busy.c --- */

/* Only another host can have had enough. */
bool busy_may_be_said(void *context, const void *job);
/* JOB's destination has had enough: JOB waits there again, unless its message is too old. */
void busy_take(void *context, void *job, const struct ipc_job_busy *busy);

/* --- command.c --- */

/* Carries out an order: ORDER_OK, or why not. */
enum order_code command_carry_out(void *context, const struct order *order, struct buffer *told);

/* --- why.c --- */

/* Appends what MESSAGE, or SLEEPER if it is NULL, waits for to TOLD: the name of a trigger, or
 * "(WHERE: REASON)". Nothing only if it sleeps for the time in its control file. */
void why_tell(struct manager *manager, const struct message *message, const struct sleeper *sleeper,
	      struct buffer *told);
/* What keeps it from its turn: a pause, or that there is no room in memory; false: nothing, or a
 * trigger. Both may be NULL: it has ended. */
bool why_is_paused(struct manager *manager, const struct message *message,
		   const struct sleeper *sleeper, struct transport_pause *pause_out);

/* --- stop.c --- */

/* Checks whether the manager is at rest now. */
void stop_check(void *context);
/* At the end of a turn: reports that the manager has stopped; the callback may free it. */
void stop_finish(void *context);

/* --- hear/: waiting.c, helpers.c, handed.c, disk.c, queue.c, status.c --- */

extern const struct trigger_handler manager_hear_triggers;
extern const struct wake_handler manager_hear_wake;
extern const struct scan_handler manager_hear_scan;
extern const struct transport_handler manager_hear_transports;
extern const struct helpers_handler manager_hear_helpers;
extern const struct handed_handler manager_hear_handed;
extern const struct resolver_handler manager_hear_resolver;
extern const struct status_handler manager_hear_status;
extern const struct recorder_handler manager_hear_recorder;
extern const struct queue_link_handler manager_hear_queue;
void manager_hear_reported(void *context, struct message *message, enum report_kind kind,
			   int result);
/* Asks again about messages that could not be checked when "queue" came back. */
void manager_hear_queue_doubts(struct manager *manager);

#endif
