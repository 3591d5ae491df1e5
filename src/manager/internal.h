// SPDX-License-Identifier: ISC
/*
 * manager/internal.h - what the manager's files share.
 *
 * A message sleeps on disk (a small struct message with the time it is due), is
 * awake while its control file is in memory, and has jobs in flight.
 *
 *   asleep -> resolving -> busy (jobs wait or are in flight) -> recording -> asleep
 *                                                                        -> removing -> gone
 *
 * What is delivered whole at the first attempt goes from S4 straight to its
 * removal. Everything else is recorded in the control file: S5.
 */
#ifndef MANAGER_INTERNAL_H
#define MANAGER_INTERNAL_H

#include "base/heap.h"
#include "ipc/channel.h"
#include "manager/manager.h"
#include "queue/client.h"
#include "queue/control.h"
#include "queue/group.h"
#include "queue/protocol.h"
#include "queue/update.h"
#include <uthash.h>
#include <utlist.h>

/* Messages that sleep until something happens rather than until a time. */
struct waiters {
	struct message *first;
	size_t count;
};

/* What an operator wants done with what is not delivered yet. */
enum message_order { MESSAGE_ORDER_NONE, MESSAGE_ORDER_BOUNCE, MESSAGE_ORDER_REMOVE };

enum message_state {
	MESSAGE_ASLEEP,    /* nothing but its number and due time */
	MESSAGE_RESOLVING, /* resolve has been asked, or will be */
	MESSAGE_BUSY,      /* jobs wait or are in flight */
	MESSAGE_RECORDING, /* an update is at the disk; jobs may be in flight */
	MESSAGE_BOUNCING,  /* its bounce is being queued */
	MESSAGE_REMOVING,  /* "queue" has been asked to remove it */
};

struct message {
	uint64_t number;
	enum message_state state;
	bool is_queued;        /* at S4; otherwise S5 */
	enum mail_stage stage; /* of S4 */
	enum message_order order;
	bool is_scanned;          /* seen by the rescan under way */
	bool is_recorded;         /* its map block is in the control file */
	bool has_todo;            /* at S5, and "queue" has not removed todo/ yet */
	bool has_bounce;          /* bounce/ID may exist */
	bool is_delay_unrecorded; /* its delay was reported, which is not on disk */
	bool is_probe;            /* may have been chosen to try for a trigger */
	bool is_released;         /* what it waited for happened: do not look at times */
	int64_t born_us;          /* 0: not known yet */
	struct heap_node due;     /* while ASLEEP */
	uint32_t jobs;            /* waiting or in flight */
	uint32_t resolving;       /* parts that resolve has not answered */
	uint64_t directory_version;
	struct queue_control *control;  /* while awake */
	unsigned char *unrecorded;      /* for each delivery: its outcome is not on disk */
	struct queue_delivery *mapping; /* while RESOLVING, grows */
	size_t mapping_count;
	size_t mapping_capacity;
	int64_t record_at_us; /* 0, or when outcomes must be recorded at the latest */
	struct message *record_next, *record_previous; /* while record_at_us is not 0 */
	struct bounce_job *bounce;
	struct waiters *waiters; /* NULL, or the list it is in while ASLEEP */
	struct message *wait_next, *wait_previous;
	UT_hash_handle hh;
};

struct job_delivery {
	uint32_t index; /* into the message's deliveries */
	bool is_reported;
};

struct job {
	uint32_t tag;
	struct message *message;
	struct destination *destination;
	struct flow *flow;     /* while it waits as a first attempt */
	struct helper *helper; /* while in flight */
	struct job_delivery *deliveries;
	uint32_t delivery_count;
	size_t size;                 /* bytes of its deliveries in a START */
	bool is_retry;               /* not a first attempt */
	bool is_unreached;           /* its reports name a trigger: nobody was there */
	struct job *next, *previous; /* in its flow, its destination, or its helper */
	UT_hash_handle hh;           /* by tag while in flight */
};

/* First attempts of one sender to one destination. */
struct flow {
	char *sender;
	struct job *jobs;
	struct flow *next, *previous; /* in its destination's ring */
	UT_hash_handle hh;            /* by sender */
};

/*
 * What waits for one host or service. Senders take turns, so that none's burst
 * holds up another's first attempt; retries come after new mail, but for every
 * eighth turn. How much may be in flight is learnt: it grows with each success
 * and is halved by a failure of the destination as a whole.
 */
struct destination {
	struct stage *stage;
	char *name;         /* a domain; "" for a local service */
	struct flow *flows; /* by sender */
	struct flow *turn;  /* ring of the same; the first is next */
	struct job *retries;
	size_t waiting; /* jobs in flows and retries */
	uint32_t in_flight;
	uint32_t window; /* may be in flight */
	unsigned turns;
	bool is_ready;           /* in the stage's ring */
	struct waiters parked;   /* asleep until fewer jobs wait here */
	struct trigger *blocked; /* what has to happen before it is tried; or NULL */
	struct destination *next, *previous;
	UT_hash_handle hh;
};

/* A helper kind and its schedule; one struct for each of remote and the services. */
struct stage {
	struct manager *manager;
	char *name; /* "remote" or the service */
	bool is_remote;
	unsigned skip;
	uint32_t concurrency;
	uint32_t destination_concurrency;
	bool is_paused;
	uint32_t in_flight;
	struct destination *destinations; /* by name */
	struct destination *ready;        /* those with jobs that may start, in turn */
	struct stage *next;
};

struct helper {
	struct manager *manager;
	struct ipc_channel *channel;
	struct stage *stage; /* NULL before HELLO, and for resolve */
	bool is_resolve;
	uint32_t concurrency;
	uint32_t in_flight;
	struct job *jobs;
	struct helper *next, *previous;
};

struct manager {
	struct os_loop *loop;
	struct queue_store *store;
	const struct config *config;
	struct message *messages; /* by number */
	struct heap due;          /* those asleep */
	struct os_timer *due_timer;
	size_t awake;
	struct trigger *triggers; /* by name */
	struct os_timer *trigger_timer;
	struct stage *stages;
	struct job *jobs; /* in flight, by tag */
	struct helper *helpers;
	struct os_watch *helper_watch;
	int helper_listening;
	uint32_t next_tag;
	struct message **unresolved; /* wait for resolve to be there; owned array */
	size_t unresolved_count;
	size_t unresolved_capacity;
	struct queue_group *updates;
	size_t updating;
	struct message *to_record; /* in order of record_at_us */
	struct os_timer *record_timer;
	struct ipc_client *queue; /* notices and removals */
	bool is_cleaned; /* queue_update_clean() went well */
	bool is_managing;
	struct buffer removals;
	struct os_task removals_task;
	struct queue_client *bounce_queue;
	struct os_watch *notify_watch;
	int notify;
	struct os_watch *trigger_watch;
	int trigger;
	struct os_timer *rescan_timer;
	struct os_task dispatch_task;
	struct os_task stop_task;
	struct os_task scan_task;
	void (*ready)(void *context); /* NULL once called */
	void *ready_context;
	bool is_stopping;
	void (*stopped)(void *context);
	void *stopped_context;
};

/* message.c */
struct message *message_find(struct manager *manager, uint64_t number);
/* A message that was not known: asleep, due at DUE_US. */
struct message *message_add(struct manager *manager, uint64_t number, bool is_queued,
			    enum mail_stage stage, int64_t due_us);
/* Wakes MESSAGE, whose control file is TEXT (when empty it is read). */
void message_wake(struct manager *manager, struct message *message, struct str text);
/* Puts it to sleep until DUE_US; frees what it has in memory. */
void message_sleep(struct manager *manager, struct message *message, int64_t due_us);
/* Puts it to sleep until WAITERS are woken, or LATEST_US. */
void message_sleep_with(struct manager *manager, struct message *message, struct waiters *waiters,
			int64_t latest_us);
/* Wakes the first COUNT of WAITERS, soon. */
void message_wake_waiters(struct manager *manager, struct waiters *waiters, size_t count);
/* Whether another one may be woken now. */
bool message_may_wake(const struct manager *manager);
/* Whether many are awake: those with a choice had better sleep. */
bool message_many_are_awake(const struct manager *manager);
/* Forgets it. */
void message_free(struct manager *manager, struct message *message);
/* Starts the due timer, wakes what is due. */
void message_wake_due(void *context);
/* After a change: goes on with what the message needs next. */
void message_continue(struct manager *manager, struct message *message);
/* All of its recipients have their deliveries. */
void message_mapped(struct manager *manager, struct message *message);

/* resolver.c */
void resolver_ask(struct manager *manager, struct message *message);
void resolver_answered(struct manager *manager, struct helper *helper, struct ipc_message *message);
void resolver_connected(struct manager *manager);
void resolver_lost(struct manager *manager);

/* stage.c */
void stage_configure_all(struct manager *manager);
struct stage *stage_find(struct manager *manager, struct str name);
enum { STAGE_SERVICES_MAX = 256 };
/* The names of all local services; how many. */
size_t stage_services(struct manager *manager, const char *names[STAGE_SERVICES_MAX]);
/* Makes jobs of the message's deliveries that are to be tried now; how many.
 * Where they would only wait, *CROWDED_OUT is set to what for, and none is made. */
size_t stage_add_jobs(struct manager *manager, struct message *message,
		      struct destination **crowded_out);
/* The trigger that keeps the delivery from being tried now, or NULL. */
struct trigger *stage_blocked_by(struct manager *manager, const struct message *message,
				 const struct queue_delivery *delivery);
/* Jobs that wait for a destination that has become blocked: their messages sleep. */
void stage_destination_blocked(struct destination *destination, struct trigger *trigger);
/* TRIGGER is no more. */
void stage_unblock(struct manager *manager, const struct trigger *trigger);
/* Starts what may start. */
void stage_dispatch(void *context);
/* A job ended or lost its helper: frees it and gives back what it held. */
void stage_job_ended(struct manager *manager, struct job *job);
/* Drops the jobs that wait (the manager stops). */
void stage_drop_waiting(struct manager *manager);
void stage_free_all(struct manager *manager);

/* helper.c */
void helper_on_connection(void *context, unsigned events);
void helper_close(struct helper *helper);
struct helper *helper_for_stage(struct stage *stage);
struct helper *helper_resolve(struct manager *manager);

/* outcome.c */
struct outcome {
	uint32_t number; /* of the delivery */
	unsigned flags;  /* enum ipc_job_flags */
	struct str status;
	struct str text;
	struct str trigger;
};
void outcome_set(struct manager *manager, struct job *job, const struct outcome *outcome);
/* What nobody reported on: the helper ended, or finished without a word. */
void outcome_lost(struct manager *manager, struct job *job);
/* Writes what is not on disk yet. */
void outcome_record(struct manager *manager, struct message *message);
/* Outcomes stand in memory while other jobs of the message run: not for long. */
void outcome_record_later(struct manager *manager, struct message *message);
/* There is nothing to be recorded any more. */
void outcome_record_cancel(struct manager *manager, struct message *message);
void outcome_record_due(void *context);
extern const struct queue_group_handler outcome_group_handler;

/* Tells the log of a delivery's outcome: once for each attempt, and for what was decided
 * without one. */
void outcome_log(const struct message *message, const struct queue_delivery *delivery);
/* A delivery that waited too long: failed. */
void outcome_expire(const struct message *message, struct queue_delivery *delivery);

/* trigger.c */
struct trigger *trigger_find(struct manager *manager, struct str name);
/* NAME is to be waited for: makes trigger/NAME. What waits for a host is tried
 * now and then, one message at a time, less and less often. */
void trigger_set(struct manager *manager, struct str name, struct str reason);
/* Its event happened: removes trigger/NAME, wakes all who wait. */
void trigger_release(struct manager *manager, struct str name);
void trigger_release_this(struct manager *manager, struct trigger *trigger);
struct waiters *trigger_waiters(struct trigger *trigger);
/* Whether MESSAGE is the one that may try although the trigger is set. */
bool trigger_is_probe(const struct trigger *trigger, const struct message *message);
/* Lets MESSAGE, which waits for a trigger, try now if no other one does. */
void trigger_let_try(struct manager *manager, struct message *message);
/* MESSAGE is forgotten, or its attempt is over. */
void trigger_probe_ended(struct manager *manager, struct message *message);
/* Reads the trigger directory, at start and when told that it changed. */
void trigger_scan(struct manager *manager);
void trigger_timer(void *context);
void trigger_free_all(struct manager *manager);

/* removal.c */
void removal_ask(struct manager *manager, struct message *message, enum queue_remove kind);
void removal_flush(void *context);
extern const struct ipc_client_handler removal_queue_handler;

/* notice.c */
/* Whether the delivery's recipient has asked to hear of its success. */
bool notice_is_success_wanted(const struct message *message, const struct queue_delivery *delivery);
/* Whether the delivery is told of in the report at the end: it has failed, or
 * it was successful and nobody else tells. */
bool notice_is_at_end(const struct message *message, const struct queue_delivery *delivery);
bool notice_has_any_at_end(const struct message *message);
/* When the sender is told that the message waits; INT64_MAX: never, or that was done. */
int64_t notice_delay_due_us(const struct manager *manager, const struct message *message);
/* What is in the report at the end, or in the one of a delay; in the envelope's arena. */
struct bounce_outcome *notice_collect_end(const struct message *message, size_t *count_out);
struct bounce_outcome *notice_collect_delay(const struct manager *manager,
					    const struct message *message, size_t *count_out);
/* The delay was reported at NOW_US: it will not be again. */
void notice_delay_reported(const struct manager *manager, struct message *message, int64_t now_us);

/* failure.c */
/* Queues the report on a message whose recipients are all done. */
void failure_bounce(struct manager *manager, struct message *message);
/* Queues the report on its delay, then goes on with it. */
void failure_report_delay(struct manager *manager, struct message *message);
void failure_abandon(struct message *message);

/* scan.c */
void scan_all(struct manager *manager);
void scan_timer(void *context);
void scan_open_trigger(struct manager *manager);

/* operator.c */
void operator_on_notice(void *context, unsigned events);
/* Carries out the order on a message whose deliveries are in memory. */
void operator_carry_out(struct message *message);
/* Those who wait for the end of MESSAGE's hold, itself alone; NULL: not held. */
struct waiters *operator_hold_of(struct manager *manager, const struct message *message);
void operator_end_hold(struct manager *manager, const struct message *message);

/* manager.c */
void manager_check_stopped(struct manager *manager);

#endif
