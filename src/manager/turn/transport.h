// SPDX-License-Identifier: ISC
/*
 * manager/turn/transport.h - which delivery is started when. Pure: no I/O, no clock.
 *
 * A transport ("remote", or a local service) has a number of places for jobs. Its destinations
 * (domains; of a service "", which is its own server, and the servers that the directory names)
 * have flows, one for each sender, in which jobs wait. No mail waits for the slow destination of
 * other mail:
 *
 * - Memory. The jobs that wait in a flow, a destination or a transport may use as much memory as
 *   is free outside of it (wait/share.h). A delivery that finds no room is "crowded out": its
 *   message sleeps with the flow's waiters, and is woken when there is room.
 * - Turns. Destinations with a job and a free place take turns, one job each; within a
 *   destination, its flows do. New mail goes before retries, except in every eighth turn.
 *   Urgent mail (enum urgency) goes before ordinary mail, and that before mail that can wait,
 *   except in the turns 4, 20, 28 ... of 32, where ordinary mail is first, and in turn 12, where
 *   what can wait is.
 * - Places. A destination that has never answered may have two deliveries in flight. Each
 *   success allows one more, up to destination_concurrency; each failure of the destination as a
 *   whole halves the number. A destination where a delivery takes longer than two seconds is
 *   SLOW: all slow ones together may use half of the transport's places. They and those that
 *   have not answered yet (NEW) may use three quarters together. The last quarter is for those
 *   known to be FAST.
 *
 *   speed \ event   a delivery answered   one is in flight for 2 s   answered after less than 1 s
 *   NEW             FAST                  SLOW                       FAST
 *   FAST            -                     SLOW                       -
 *   SLOW            -                     -                          FAST
 *
 * - Pauses. A destination that has had enough, as its helper says, starts no job until a
 *   pause ends. The job that was refused is the first of its flow again, as if it had not been
 *   started; or the last one, if its helper says that it is what the destination complains of. In a
 * long pause, or while the whole transport is paused, no retries wait in jobs: their messages
 * sleep, because only so many of them may be awake, which others need.
 *
 * The destination "" of a service, or of the nodes to which mail is handed over, may use all places:
 * speed and window only matter for hosts.
 */
#ifndef MANAGER_TURN_TRANSPORT_H
#define MANAGER_TURN_TRANSPORT_H

#include "base/heap.h"
#include "config/config.h"
#include "manager/wait/share.h"
#include "manager/wait/sleeper.h"

struct transports;
struct transport;
struct destination;
struct flow;
struct message;

/* Of new mail, by its priority: the three of the profile MIXER (RFC 6710). */
enum urgency { URGENCY_HIGH, URGENCY_ORDINARY, URGENCY_LOW, URGENCIES };

struct job_delivery {
	uint32_t index; /* into the message's deliveries */
	bool is_reported;
};

/* Deliveries of one message to one destination that are attempted together. A job waits, then it
 * is in flight, then it ends. Owned by its transport. */
struct job {
	struct message *message;
	struct job_delivery *deliveries;
	uint32_t delivery_count;
	bool is_unreached; /* set while in flight: the host did not answer */
	bool is_held;      /* likewise: there was no place for a session, so nothing is learnt */
	void *flight;      /* while in flight: for the owner of the attempt */
	struct job *of_message_next, *of_message_previous; /* for the owner of the message */
	/* private to this folder: */
	struct flow *flow;
	struct destination *destination;
	size_t size;                 /* bytes of its deliveries in a START */
	uint32_t apart;              /* as of its deliveries */
	uint32_t key;                /* of its flow */
	bool is_old;                 /* in flight for long */
	int64_t started_us;          /* monotonic; 0: it waits */
	int64_t look_us;             /* as of its deliveries */
	struct heap_node look;       /* while it waits, if there is such a time */
	struct job *next, *previous; /* in its flow, then among those in flight */
};

/* Implemented by manager/hear/waiting.c. */
struct transport_handler {
	/* There is room again: wake the first COUNT of WAITERS. */
	void (*has_room)(void *context, struct waiters *waiters, size_t count, bool retries);
};

struct transports *transports_new(const struct share *share,
				  const struct transport_handler *handler, void *context);
/* Takes over CONFIG's transports. One that is no longer configured is retired: it is not found
 * any more, and keeps its jobs until the caller has ended them (transports_retired_waiting()). */
void transports_configure(struct transports *transports, const struct config *config);
void transports_free(struct transports *transports);
/* Whether TRANSPORT's jobs go to other nodes: then it has TRANSPORT_HANDED_PLACES, for what it costs to
 * deliver them is not this node's. */
void transport_hand_over(struct transport *transport, bool is_handed);
enum { TRANSPORT_HANDED_PLACES = 1024 };

/* The configured transport NAME ("remote", or a service), or NULL. */
struct transport *transports_find(struct transports *transports, struct str name);
/* The names of all local services, including retired ones, valid until transports_configure();
 * returns how many. */
size_t transports_services(const struct transports *transports, const char *const **names_out);
/* Iterates over all: the first (TRANSPORT NULL) or the next; NULL at the end. */
struct transport *transports_next(const struct transports *transports,
				  const struct transport *transport);
const char *transport_name(const struct transport *transport);
bool transport_is_remote(const struct transport *transport);
/* The skip of the transport's schedule (wait/schedule.h). */
unsigned transport_skip(const struct transport *transport);

/* --- waiting --- */

struct transport_delivery {
	struct message *message;
	uint32_t index;
	struct str destination; /* a domain in lower case; for a service "", or HOST:PORT */
	struct str sender;
	size_t size; /* bytes in a START */
	bool is_retry;
	enum urgency urgency; /* retries are all alike */
	uint32_t apart;       /* only deliveries of its message with the same number may be in
			       * its job; 0: those of no such number */
	int64_t look_us;      /* of the message, time of day: transports_overdue(); 0: never */
};

/* Lets DELIVERY wait for its turn: in *JOB_OUT, which is a new job (1), or one that the message
 * already has there (0). -1: it is crowded out; *JOB_OUT is untouched and *WAITERS_OUT is where
 * its message may sleep until there is room. These waiters belong to the transport and stay
 * valid while a message waits there. */
int transport_add(struct transport *transport, const struct transport_delivery *delivery,
		  struct job **job_out, struct waiters **waiters_out);
/* Adds DELIVERY, a retry that is in no job, to the job that its message has waiting there for
 * another attempt; does nothing if there is none, or it is full. */
void transport_join(struct transport *transport, const struct transport_delivery *delivery);
/* Whether JOB waits, and is not in flight. */
bool job_waits(const struct job *job);
/* Where JOB is. */
struct transport_turn {
	const char *destination;   /* or the service, if it has no other name */
	size_t in_flight, waiting; /* jobs there, JOB among them */
};
struct transport_turn job_turn(const struct job *job);
/* A job that waits although its deliveries were to be looked at by NOW_US, time of day; NULL:
 * none. */
struct job *transports_overdue(const struct transports *transports, int64_t now_us);
/* When there will be one; INT64_MAX: never. */
int64_t transports_next_overdue_us(const struct transports *transports);
/* The obstacle that prevents attempts to DESTINATION, or NULL (also if DESTINATION is unknown). */
const void *transport_obstacle(const struct transport *transport, struct str destination);

/* --- in flight --- */

/* Whether a job could be started if a helper had a free place. */
bool transport_is_ready(struct transport *transport, int64_t now_us);
/* The next job, which is in flight from now on. Only when ready. */
struct job *transport_start(struct transport *transport, int64_t now_us);
/* When to ask again although nothing has ended, because a destination will become slow then, or
 * its pause ends. INT64_MAX: never. */
int64_t transport_look_again_us(const struct transport *transport);
struct transport_pause_terms {
	int64_t until_us;
	bool is_for_place; /* or until another job of the destination ends */
	bool is_last;      /* what is paused for was said of the job: all others come before it */
	struct str reason; /* for people */
};
/* JOB, in flight, was not tried because it is not its destination's time: it waits again, and none
 * is started there before that ends. */
void transport_pause(struct job *job, int64_t now_us, const struct transport_pause_terms *terms);
struct transport_pause {
	const char *destination;
	int64_t left_us;
	size_t waiting; /* jobs */
	const char *reason;
};
/* The paused destination that comes after AFTER (empty: the first) in an order that stays as long
 * as destinations do; false: none. */
bool transport_next_pause(const struct transport *transport, struct str after, int64_t now_us,
			  struct transport_pause *pause_out);
/* What keeps jobs of DESTINATION from being started: the setting "paused" of TRANSPORT, or a pause
 * of the destination; false: neither. */
bool transport_pause_of(const struct transport *transport, struct str destination, int64_t now_us,
			struct transport_pause *pause_out);
/* Why messages sleep in WAITERS, of transport_add(): a pause, or that there is no room in memory
 * for more jobs. False: WAITERS are not of a transport. */
bool transports_pause_of_waiters(const struct transports *transports, const struct waiters *waiters,
				 int64_t now_us, struct transport_pause *pause_out);
/* A job that waits at JOB's destination, and must not while the pause lasts: its message is to
 * sleep. JOB itself is the last. NULL: none. */
struct job *job_to_sleep_beside(const struct job *job);
/* JOB, in flight or waiting, is over: frees it. */
void transport_job_ended(struct job *job, int64_t now_us);
struct transport *job_transport(const struct job *job);
/* The name of its destination: for a service "", or the server that the directory names. */
const char *job_destination(const struct job *job);

/* JOB's destination cannot be tried because of OBSTACLE (any pointer). */
void transport_block(struct job *job, const void *obstacle);
/* The obstacle that JOB's destination is blocked by, or NULL. */
const void *job_obstacle(const struct job *job);
/* OBSTACLE is gone. */
void transports_unblock(struct transports *transports, const void *obstacle);
/* Another job that waits where JOB does, or NULL. */
struct job *job_waiting_beside(const struct job *job);
/* Any job that waits, or NULL. */
struct job *transports_waiting(struct transports *transports);
/* Any job that waits in a retired transport, or NULL. */
struct job *transports_retired_waiting(struct transports *transports);

/* A retry that waits in a transport that is paused, and is to sleep; or NULL. */
struct job *transports_paused_retry(const struct transports *transports);

/* Forgets what has been unused for long; call it now and then. */
void transports_sweep(struct transports *transports);

struct transport_counts {
	size_t waiting;   /* jobs */
	size_t in_flight; /* jobs */
	size_t destinations;
};
struct transport_counts transport_count(const struct transport *transport);
/* The first invariant that is violated, or NULL: for tests. */
const char *transports_check(const struct transports *transports);

#endif
