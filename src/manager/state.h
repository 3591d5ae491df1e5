// SPDX-License-Identifier: ISC
/*
 * manager/state.h - what the manager has in memory.
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
#ifndef MANAGER_STATE_H
#define MANAGER_STATE_H

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
	struct ipc_client *queue;  /* notices and removals */
	struct cleaning *cleaning; /* NULL before it begins and after its end */
	bool is_cleaned;           /* it was sure */
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

#endif
