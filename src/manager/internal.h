// SPDX-License-Identifier: ISC
/*
 * manager/internal.h - the parts of the manager, and the files that connect them.
 *
 * Each part is opaque to the others and says in its header what it does and what it tells
 * (its handler). Calls go down this list, and events come up through the hear_ files, which hand
 * them to those below:
 *
 *   manager.c    makes the parts, and ends them
 *   hear_*.c     what the parts tell: by where it comes from
 *   command.c    carries out operators' orders
 *   stop.c       whether all is at rest
 *   dispatch.c   starts jobs, and hears of them
 *   life.c       the table of a message's life (message.h)
 *   decide.c     what a message needs next
 *   deliver.c    which of its deliveries are to be tried now
 *   message.c    the messages that are awake
 *   outcome.c    what becomes of a delivery
 *   notice.c     who is notified of what
 *   link/        the others: "queue", helpers, resolve, the disk, reports, operators
 *   turn/        whose delivery is started when
 *   wait/        who sleeps, for what, and who is woken when
 *
 * tools/check-circles sees to it that no two files call each other.
 */
#ifndef MANAGER_INTERNAL_H
#define MANAGER_INTERNAL_H

#include "manager/link/cleaning.h"
#include "manager/link/helper.h"
#include "manager/link/orders.h"
#include "manager/link/queue_link.h"
#include "manager/link/resolver.h"
#include "manager/manager.h"
#include "manager/message.h"
#include "manager/turn/transport.h"
#include "manager/wait/scan.h"
#include "os/load.h"

struct manager {
	struct os_loop *loop;
	struct queue_store *store;
	const struct config *config;
	struct manager_peers peers;

	struct message *messages; /* awake, by number */
	size_t in_state[MESSAGE_STATES];
	size_t content_bytes; /* of the data that these keep */
	struct share share;
	struct sleepers sleepers;
	struct triggers *triggers;
	struct wake *wake;
	struct scan *scan;
	struct transports *transports;
	struct helpers *helpers;
	struct resolver *resolver;
	struct recorder *recorder;
	struct reporter *reporter;
	struct queue_link *queue;
	struct orders *orders;
	struct cleaning *cleaning; /* NULL: it did not begin, or is over */

	struct os_task dispatch_task;
	struct os_timer *dispatch_timer; /* places may be free though nothing has ended */
	struct os_timer *sweep_timer;
	struct os_task scan_task;
	struct os_task stop_task;
	bool has_doubts;              /* some message is_doubtful */
	bool is_cleaned;              /* no name is left whose message is gone */
	void (*ready)(void *context); /* NULL once called */
	void *ready_context;
	bool is_stopping;
	void (*stopped)(void *context);
	void *stopped_context;
};

/* --- deliver.c --- */

/* Makes jobs of MESSAGE's deliveries that are to be tried now: how many deliveries. Where there is
 * no room for one, *CROWDED_OUT is whom it may sleep with. */
size_t deliver(struct manager *manager, struct message *message, struct waiters **crowded_out);
/* The trigger that keeps the delivery from being tried now, or NULL. */
struct trigger *deliver_blocked_by(struct manager *manager, const struct message *message,
				   const struct queue_delivery *delivery);
/* MESSAGE was requeued: what keeps mail from one of its destinations may be of a route that it
 * had yesterday, so it is the one that tries. */
void deliver_probe(struct manager *manager, struct message *message);
/* The trigger hold.ID of the message, which nobody else waits for; NULL: it is not held. */
struct trigger *deliver_any_hold_of(struct manager *manager, struct mail_id message);
/* The same where it does not end with another trigger. */
struct trigger *deliver_hold_of(struct manager *manager, struct mail_id message);
/* Releases a hold that was to end with another trigger when that is not set any more. */
void deliver_end_hold(struct manager *manager, struct mail_id message);

/* --- decide.c --- */

/* What the message needs next is begun; its new state. */
enum message_state decide(struct manager *manager, struct message *message);
/* Its news is written; its new state. */
enum message_state decide_record(struct manager *manager, struct message *message);
/* Its news could not be written. */
enum message_state decide_record_failed(struct manager *manager, struct message *message);
/* Its end was reported, where somebody wanted to hear of it. */
enum message_state decide_end(struct manager *manager, struct message *message);
/* It sleeps with WAITERS (NULL: alone), due at DUE_US. A later process looks at it then, and at
 * once where it waits for an event. */
enum message_state decide_await(struct manager *manager, struct message *message,
				struct waiters *waiters, int64_t due_us);
/* OPERATION failed with ERROR: later again. */
enum message_state decide_again(struct manager *manager, struct message *message,
				const char *operation, int error);

/* --- life.c --- */

/* EVENT has happened to MESSAGE, which may be gone afterwards. */
void life_event(struct manager *manager, struct message *message, enum message_event event);
/* Takes SLEEPER out of those who sleep and wakes its message. IS_RETRY: wake.h counts it. PROBE:
 * that it is to try for, or NULL. */
void life_wake(struct manager *manager, struct sleeper *sleeper, bool is_retry,
	       struct trigger *probe);
/* A message is at S4. */
void life_begin(struct manager *manager, const struct queue_link_notice *notice);
/* EVENT, a failure, has happened because of ERROR. */
void life_failed(struct manager *manager, struct message *message, enum message_event event,
		 int error);
/* "queue" has removed the message's todo/. */
void life_todo_removed(struct manager *manager, struct message *message);
/* Recipients of MESSAGE are not known, because of TEXT; IS_AWAY: the directory does not answer. */
void life_not_mapped(struct manager *manager, struct message *message, bool is_away,
		     struct str text);
/* For the end: MESSAGE is forgotten, whatever it is doing. */
void life_forget(struct manager *manager, struct message *message);

/* --- dispatch.c --- */

/* Starts what may start. */
void dispatch(void *context);
bool dispatch_on_report(void *context, void *job, const struct ipc_job_report *report);
/* The helper is done with JOB. */
void dispatch_on_ended(void *context, void *job);
/* Nothing that waits is started any more. */
void dispatch_drop_waiting(struct manager *manager);
/* Nor what was for a service that is not configured any more: its messages decide anew. */
void dispatch_drop_retired(struct manager *manager);

/* --- command.c --- */

/* An order is carried out: ORDER_OK, or why not. */
enum order_code command_carry_out(void *context, const struct order *order, struct buffer *told);

/* --- stop.c --- */

/* The manager may be at rest now. */
void stop_check(void *context);
/* At the end of a turn: tells whoever wanted the stop, who may free the manager. */
void stop_finish(void *context);

/* --- hear_waiting.c, hear_helpers.c, hear_disk.c, hear_queue.c --- */

extern const struct trigger_handler manager_hear_triggers;
extern const struct wake_handler manager_hear_wake;
extern const struct scan_handler manager_hear_scan;
extern const struct transport_handler manager_hear_transports;
extern const struct helpers_handler manager_hear_helpers;
extern const struct resolver_handler manager_hear_resolver;
extern const struct recorder_handler manager_hear_recorder;
extern const struct queue_link_handler manager_hear_queue;
void manager_hear_reported(void *context, struct message *message, enum report_kind kind,
			   int result);
/* Of what could not be looked at when "queue" came back it is asked again. */
void manager_hear_queue_doubts(struct manager *manager);

#endif
