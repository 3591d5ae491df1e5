// SPDX-License-Identifier: ISC
/*
 * manager/internal.h - what the manager's files share.
 *
 * A message sleeps on disk (a struct sleeper: its number and when it is due), is
 * awake as a struct message while its control file is in memory, and has jobs in
 * flight.
 *
 *   asleep -> resolving -> busy (jobs wait or are in flight) -> recording -> asleep
 *                                                                        -> removing -> gone
 *
 * What is delivered whole at the first attempt goes from S4 straight to its
 * removal. Everything else is recorded in the control file: S5.
 */
#ifndef MANAGER_INTERNAL_H
#define MANAGER_INTERNAL_H

#include "ipc/channel.h"
#include "ipc/job.h"
#include "manager/manager.h"
#include "manager/sleeper.h"
#include "queue/client.h"
#include "queue/control.h"
#include "queue/group.h"
#include "queue/protocol.h"
#include "queue/update.h"
#include <uthash.h>
#include <utlist.h>

enum message_state {
	MESSAGE_WAKING,    /* its control file is to be read */
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
	bool has_names;           /* of S5, some of them, though it may be at S4 */
	bool is_recorded;         /* its map block is in the control file */
	bool has_todo;            /* at S5, and "queue" has not removed todo/ yet */
	bool has_bounce;          /* bounce/ID may exist */
	bool is_delay_unrecorded; /* its delay was reported, which is not on disk */
	bool is_probe;            /* may have been chosen to try for a trigger */
	bool is_released;         /* what it waited for happened: do not look at times */
	bool is_retry;            /* counts as such while it is awake */
	bool is_found;            /* by a scan, at S4 */
	int64_t born_us;          /* 0: not known yet */
	uint32_t jobs;            /* waiting or in flight */
	uint32_t resolving;       /* parts that resolve has not answered */
	uint32_t question;        /* the first of them */
	uint32_t question_count;
	size_t asked;       /* recipients of theirs */
	bool is_unresolved; /* some recipient is not known now */
	bool is_overfull;   /* it became too many deliveries */
	uint64_t directory_version;
	struct queue_control *control;  /* NULL while WAKING */
	unsigned char *unrecorded;      /* for each delivery: its outcome is not on disk */
	size_t weight;                  /* deliveries that count as awake */
	struct queue_delivery *mapping; /* while RESOLVING, grows */
	size_t mapping_count;
	size_t mapping_capacity;
	int64_t record_at_us; /* 0, or when outcomes must be recorded at the latest */
	struct message *record_next, *record_previous; /* while record_at_us is not 0 */
	struct bounce_job *bounce;
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
	size_t waiting;         /* jobs in flows and retries */
	size_t waiting_retries; /* those in retries */
	uint32_t in_flight;
	uint32_t window; /* may be in flight */
	unsigned turns;
	bool is_ready;         /* in the stage's ring */
	struct waiters parked; /* asleep until fewer jobs wait here */
	struct waiters parked_retries;
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
	uid_t user;
	uint32_t concurrency;
	uint32_t in_flight;
	struct job *jobs;
	struct helper *next, *previous;
};

/* What is to be woken, and how fast: see wake.c. */
struct wake {
	struct os_timer *timer;
	int64_t timer_at_us;    /* wall clock; INT64_MAX: it does not run */
	int64_t ahead_us;       /* the wall clock of the one that is never set; 0: not known */
	int64_t pause_until_us; /* monotonic, as the following */
	int64_t new_mail_us;    /* when the last new message came */
	int64_t window_us;      /* began then, by a new message */
	uint32_t recent;        /* new messages in it */
	uint32_t before;        /* and in the one before */
	int64_t credited_us;    /* up to when CREDIT counts */
	uint32_t credit;        /* for retries while new mail comes */
	struct waiters first;   /* wake before anything else */
	struct waiters again;   /* retries for which there is room again */
	unsigned turn;          /* among the sources of retries */
	size_t retries;         /* awake */
	bool has_parked;        /* the last retry woken found its destination crowded */
	bool has_stalled;       /* retries that might be started wait for their share */
};

struct manager {
	struct os_loop *loop;
	struct queue_store *store;
	const struct config *config;
	struct message *messages; /* by number; those that are not asleep */
	struct sleepers sleepers;
	struct wake wake;
	size_t awake;
	size_t deliveries;        /* of those that are awake */
	struct trigger *triggers; /* by name */
	struct trigger *released; /* list of those whose waiters are being woken */
	struct os_timer *trigger_timer;
	struct stage *stages;
	struct job *jobs; /* in flight, by tag */
	struct helper *helpers;
	struct ipc_listener *helper_listener;
	struct manager_peers peers;
	uint32_t next_tag;
	struct message **unresolved; /* wait to be asked for; owned array */
	size_t unresolved_first;     /* the others are gone */
	size_t unresolved_count;
	size_t unresolved_capacity;
	uint32_t next_question;
	size_t asked;            /* recipients that resolve has been asked for */
	bool is_awaiting;        /* resolve says when the directory is back */
	struct buffer questions; /* for resolve, at the end of this turn */
	struct os_task questions_task;
	struct queue_group *updates;
	size_t updating;
	struct message *to_record; /* in order of record_at_us */
	struct os_timer *record_timer;
	struct ipc_client *queue; /* notices and removals */
	bool is_cleaned;          /* queue_update_clean() went well */
	bool is_managing;
	struct buffer removals;
	struct os_task removals_task;
	struct queue_client *bounce_queue;
	struct os_watch *notify_watch;
	struct os_watch *trigger_watch;
	int trigger;
	struct os_timer *rescan_timer;
	struct scan *scan;
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
/* The message, unless it sleeps (or is not known). */
struct message *message_find(struct manager *manager, uint64_t number);
/* A message that was not known: it wakes, its control file is not read. */
struct message *message_new(struct manager *manager, uint64_t number, bool is_queued,
			    enum mail_stage stage);
/* Takes one out of those that sleep: the same. Consumes SLEEPER. */
struct message *message_take(struct manager *manager, struct sleeper *sleeper);
/* Reads MESSAGE's control file, which is TEXT (when empty it is on the disk), and goes
 * on. The message may be gone afterwards. */
void message_wake(struct manager *manager, struct message *message, struct str text);
/* Puts it to sleep until DUE_US. Consumes MESSAGE. */
void message_sleep(struct manager *manager, struct message *message, int64_t due_us);
/* Puts it to sleep until WAITERS are woken, or LATEST_US. Consumes MESSAGE. */
void message_sleep_with(struct manager *manager, struct message *message, struct waiters *waiters,
			int64_t latest_us);
void message_free(struct manager *manager, struct message *message);
/* After a change: goes on with what the message needs next. */
void message_continue(struct manager *manager, struct message *message);
/* It has so many in memory now. */
void message_weigh(struct manager *manager, struct message *message, size_t deliveries);
bool message_has_unrecorded(const struct message *message); /* outcomes */
/* All of its recipients have their deliveries. */
void message_mapped(struct manager *manager, struct message *message);

/* wake.c */
/* Whether another one may be woken now, or become deliveries. */
bool wake_is_allowed(const struct manager *manager);
/* Whether many are awake: those with a choice had better sleep. */
bool wake_many_are_awake(const struct manager *manager);
/* A new message has come: retries get less. */
void wake_new_mail(struct manager *manager);
/* Whether no new mail comes. */
bool wake_has_spare_time(const struct manager *manager);
/* Whether a retry may be started now; otherwise what could not be is dispatched later. */
bool wake_may_start_retry(struct manager *manager);
/* SLEEPER is the next to be woken. */
void wake_first(struct manager *manager, struct sleeper *sleeper);
/* The first COUNT of WAITERS are, or when they are RETRIES, as others are. */
void wake_waiters(struct manager *manager, struct waiters *waiters, size_t count, bool retries);
/* After a change of what sleeps: the timer. */
void wake_schedule(struct manager *manager);
/* Before a time is compared with those of sleepers or put among them: where the wall
 * clock was set meanwhile, theirs follow, so that who had to wait ten minutes more waits
 * ten minutes more. */
void wake_check_clock(struct manager *manager);
void wake_due(void *context);

/* resolver.c */
void resolver_ask(struct manager *manager, struct message *message);
/* Nothing of MESSAGE is waited for any more: others may be asked for. */
void resolver_done(struct manager *manager, struct message *message);
/* Trigger `directory` was set because it does not answer: resolve is to say when it does. */
void resolver_await(struct manager *manager);
/* It does. */
void resolver_back(struct manager *manager);
void resolver_connected(struct manager *manager);
void resolver_lost(struct manager *manager);
void resolver_flush(void *context);

/* resolver_answer.c: BODY of a RESOLVED. False when it is malformed: what is right in front
 * of that counts. */
MUST_CHECK bool resolver_answered(struct manager *manager, struct str body);

/* stage.c */
void stage_configure_all(struct manager *manager);
struct stage *stage_find(struct manager *manager, struct str name);
enum { STAGE_SERVICES_MAX = 256 };
/* The names of all local services; how many. */
size_t stage_services(struct manager *manager, const char *names[STAGE_SERVICES_MAX]);
/* DESTINATION has become blocked. Of a remote one the jobs that wait are dropped, and their
 * messages sleep. */
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

/* stage_job.c */
/* Makes jobs of the message's deliveries that are to be tried now; how many.
 * Where they would only wait, *CROWDED_OUT is set to what for, and none is made. */
size_t stage_add_jobs(struct manager *manager, struct message *message,
		      struct destination **crowded_out);
/* The trigger that keeps the delivery from being tried now, or NULL. */
struct trigger *stage_blocked_by(struct manager *manager, const struct message *message,
				 const struct queue_delivery *delivery);
/* The body of a START. */
void stage_pack_job(const struct job *job, struct buffer *body);

/* helper.c */
void helper_on_connection(void *context, int socket);
void helper_close(struct helper *helper);
struct helper *helper_for_stage(struct stage *stage);
struct helper *helper_resolve(struct manager *manager);

/* outcome.c */
/* False when the job has no such delivery, or it was reported before. */
MUST_CHECK bool outcome_set(struct manager *manager, struct job *job,
			    const struct ipc_job_report *report);
/* What nobody reported on: the helper ended, or finished without a word. */
void outcome_lost(struct manager *manager, struct job *job);
/* Tells the log of a delivery's outcome: once for each attempt, and for what was decided
 * without one. */
void outcome_log(const struct message *message, const struct queue_delivery *delivery);
/* A delivery that waited too long: failed. */
void outcome_expire(const struct message *message, struct queue_delivery *delivery);

/* record.c */
/* Writes what is not on disk yet. */
void record_write(struct manager *manager, struct message *message);
/* Outcomes stand in memory while other jobs of the message run: not for long. */
void record_later(struct manager *manager, struct message *message);
/* There is nothing to be recorded any more. */
void record_cancel(struct manager *manager, struct message *message);
void record_due(void *context);
/* The manager stops: all that was put off. */
void record_all(struct manager *manager);
extern const struct queue_group_handler record_group_handler;

/* trigger.c */
/* What waits because the directory does not answer. */
#define TRIGGER_DIRECTORY "directory"
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
/* Lets MESSAGE, which was among WAITERS, try now if no other one does. */
void trigger_let_try(struct manager *manager, struct message *message,
		     const struct waiters *waiters);
/* One that waited for a trigger that was released, or NULL. */
struct sleeper *trigger_next_released(struct manager *manager);
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
/* Looks for what is not known, a little at a time: in todo/ and, unless ONLY_NEW,
 * in info/. */
void scan_begin(struct manager *manager, bool only_new);
void scan_timer(void *context);
void scan_open_trigger(struct manager *manager);
/* The message, if it sleeps; one that is not known is looked for on the disk. NULL:
 * there is none. */
struct sleeper *scan_find(struct manager *manager, uint64_t number);
/* Whether a message at S5 that is due then can be left to the scans. */
bool scan_will_find(const struct manager *manager, int64_t due_us);
void scan_end(struct manager *manager);

/* operator.c */
void operator_on_notice(void *context, unsigned events);
/* Carries out the order on a message whose deliveries are in memory. */
void operator_carry_out(struct message *message);
/* Those who wait for the end of the message's hold, itself alone; NULL: not held. */
struct waiters *operator_hold_of(struct manager *manager, struct mail_id message);
void operator_end_hold(struct manager *manager, struct mail_id message);

/* manager.c */
void manager_check_stopped(struct manager *manager);

#endif
