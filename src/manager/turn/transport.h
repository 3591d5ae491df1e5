// SPDX-License-Identifier: ISC
/*
 * manager/turn/transport.h - which delivery is started when. Pure: no I/O, no clock.
 *
 * A transport is a way out ("remote", or a local service) with so many places. Its
 * destinations (domains; a service has one, "") have flows, one for each sender, in which jobs
 * wait. Nobody waits for another's slow destination:
 *
 * - Memory. What waits in a flow, in a destination and in a transport is bounded by what is
 *   free outside of it (wait/share.h). A delivery that finds no room is "crowded out": its
 *   message sleeps with the flow's waiters, and is woken when there is room.
 * - Turns. Destinations with a job and a free place take turns, one job each; within one, its
 *   flows do. New mail goes before retries, but for every eighth turn.
 * - Places. A destination that never answered may have two deliveries in flight. Each success
 *   lets it have one more, up to destination_concurrency; each failure of the destination as a
 *   whole halves that. Where one delivery takes longer than two seconds it is SLOW: all such
 *   may use half of a transport's places. Those that have not answered yet (NEW) and those
 *   that are slow may use three quarters together. The last quarter is for those that are
 *   known to be FAST.
 *
 *   speed \ event   a delivery answered   one is in flight for 2 s   answered after less than 1 s
 *   NEW             FAST                  SLOW                       FAST
 *   FAST            -                     SLOW                       -
 *   SLOW            -                     -                          FAST
 *
 * A service has one destination, which has all places: speed and window count for hosts.
 */
#ifndef MANAGER_TURN_TRANSPORT_H
#define MANAGER_TURN_TRANSPORT_H

#include "config/config.h"
#include "manager/wait/share.h"
#include "manager/wait/sleeper.h"

struct transports;
struct transport;
struct destination;
struct flow;
struct message;

struct job_delivery {
	uint32_t index; /* into the message's deliveries */
	bool is_reported;
};

/* Deliveries of one message to one destination that are attempted together. It waits, then it is in
 * flight, then it ends. Owned by its transport. */
struct job {
	struct message *message;
	struct job_delivery *deliveries;
	uint32_t delivery_count;
	bool is_unreached; /* set while in flight: nobody was there */
	void *flight;      /* while in flight: whoever carries it out keeps his own here */
	/* of this folder: */
	struct flow *flow;
	struct destination *destination;
	size_t size;   /* bytes of its deliveries in a START */
	bool is_alone; /* another delivery may not join */
	bool is_retry;
	bool is_old;                 /* in flight for long */
	int64_t started_us;          /* monotonic; 0: it waits */
	struct job *next, *previous; /* in its flow, then among those in flight */
};

struct transport_handler {
	/* There is room again: the first COUNT of WAITERS are to be woken. */
	void (*has_room)(void *context, struct waiters *waiters, size_t count, bool retries);
};

struct transports *transports_new(const struct share *share,
				  const struct transport_handler *handler, void *context);
/* Takes over CONFIG's transports. One that it lacks is retired: it is not found any more, and keeps
 * what it has until the caller has ended that (transports_retired_waiting()). */
void transports_configure(struct transports *transports, const struct config *config);
void transports_free(struct transports *transports);

/* The transport called NAME ("remote", or a service) that is configured, or NULL. */
struct transport *transports_find(struct transports *transports, struct str name);
enum { TRANSPORT_SERVICES_MAX = 256 };
/* The names of all local services, also of those that are retired; how many. */
size_t transports_services(const struct transports *transports,
			   const char *names[TRANSPORT_SERVICES_MAX]);
/* All in turn: the first (TRANSPORT NULL) or the next; NULL at the end. */
struct transport *transports_next(const struct transports *transports,
				  const struct transport *transport);
const char *transport_name(const struct transport *transport);
bool transport_is_remote(const struct transport *transport);
/* Of the transport's schedule (wait/schedule.h). */
unsigned transport_skip(const struct transport *transport);

/* --- what waits --- */

struct transport_delivery {
	struct message *message;
	uint32_t index;
	struct str destination; /* a domain in lower case; "" of a service */
	struct str sender;
	size_t size; /* bytes in a START */
	bool is_retry;
	bool is_alone; /* it has a sender of its own */
};

/* Lets DELIVERY wait for its turn: in *JOB_OUT, which is a new one (1), or one that the message
 * already has there (0). -1: it is crowded out; *JOB_OUT is untouched and *WAITERS_OUT is where its
 * message may sleep until there is room. They are of this transport as long as somebody waits
 * there. */
int transport_add(struct transport *transport, const struct transport_delivery *delivery,
		  struct job **job_out, struct waiters **waiters_out);
/* DELIVERY, a retry that waits in no job, goes with the job that its message has waiting there for
 * another attempt; nothing happens when there is none, or it is full. */
void transport_join(struct transport *transport, const struct transport_delivery *delivery);
/* What keeps DESTINATION (NULL: nothing is known of it) from being tried, or NULL. */
const void *transport_obstacle(const struct transport *transport, struct str destination);

/* --- what is in flight --- */

/* Whether some job could be started if there was somebody to carry it out. */
bool transport_is_ready(struct transport *transport, int64_t now_us);
/* The job whose turn it is: in flight from now on. Only when ready. */
struct job *transport_start(struct transport *transport, int64_t now_us);
/* When to ask again though nothing has ended: a destination will be known to be slow. INT64_MAX:
 * never. */
int64_t transport_look_again_us(const struct transport *transport);
/* JOB, in flight or waiting, is over: it is freed. */
void transport_job_ended(struct job *job, int64_t now_us);
struct transport *job_transport(const struct job *job);
/* The name of the destination: "" of a service. */
const char *job_destination(const struct job *job);

/* JOB's destination cannot be tried because of OBSTACLE (any pointer). */
void transport_block(struct job *job, const void *obstacle);
/* The obstacle that JOB's destination is blocked by, or NULL. */
const void *job_obstacle(const struct job *job);
/* OBSTACLE is no more. */
void transports_unblock(struct transports *transports, const void *obstacle);
/* A job that waits where JOB does (not JOB itself), or NULL. */
struct job *job_waiting_beside(const struct job *job);
/* Any job that waits, or NULL. */
struct job *transports_waiting(struct transports *transports);
/* The same of those that nobody will carry out. */
struct job *transports_retired_waiting(struct transports *transports);

/* Forgets what has had nothing to do for long; now and then. */
void transports_sweep(struct transports *transports);

struct transport_counts {
	size_t waiting;   /* jobs */
	size_t in_flight; /* jobs */
	size_t destinations;
};
struct transport_counts transport_count(const struct transport *transport);
/* The first rule that does not hold, or NULL: for tests. */
const char *transports_check(const struct transports *transports);

#endif
