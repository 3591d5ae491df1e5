// SPDX-License-Identifier: ISC
/*
 * manager/turn/internal.h - transports, destinations and flows, for the files of this folder.
 *
 * Each knows those before it: room.c, flow.c, destination.c, transport.c, transports.c.
 */
#ifndef MANAGER_TURN_INTERNAL_H
#define MANAGER_TURN_INTERNAL_H

#include "base/table.h"
#include "manager/turn/transport.h"
#include <utlist.h>

enum { FLOWS = 1024 }; /* senders of one destination that are told apart (by a hash of theirs) */

/* What one sender has for one destination, or all of its retries. */
struct flow {
	uint32_t key; /* the sender's hash; FLOWS: the retries */
	struct destination *destination;
	struct job *jobs;             /* that wait */
	size_t waiting;               /* of them */
	size_t units;                 /* what they weigh (wait/share.h) */
	struct waiters parked;        /* asleep until there is room */
	struct flow *next, *previous; /* in its destination's ring, while it has jobs */
	size_t expected;              /* of those who were parked: woken, and not here yet */
	bool is_starved;              /* nobody waits here, and somebody is parked */
	struct flow *starved_next, *starved_previous; /* in the transport's ring, while starved */
	UT_hash_handle hh;
};

enum speed { SPEED_FAST, SPEED_NEW, SPEED_SLOW, SPEEDS };

struct destination {
	struct transport *transport;
	char *name;
	bool is_host;       /* another one may be slow, or away */
	struct flow *flows; /* by key */
	struct flow *turn;  /* ring of those with new mail; the first is next */
	struct flow retries;
	size_t waiting; /* jobs */
	size_t units;
	uint32_t in_flight;
	uint32_t window; /* may be in flight */
	unsigned turns;
	enum speed speed;
	bool is_ready;        /* in the transport's ring */
	bool is_idle;         /* in the transport's list of those with nothing to do */
	const void *obstacle; /* or NULL */
	struct destination *blocked_next, *blocked_previous; /* while there is an obstacle */
	struct destination *next, *previous;                 /* in the ring or among the idle */
	UT_hash_handle hh;
};

/* Destinations that have the same obstacle. */
struct blockade {
	const void *obstacle;
	struct destination *blocked;
	UT_hash_handle hh;
};

struct transport {
	struct transports *transports;
	char *name;
	bool is_remote;
	bool is_paused;
	bool is_retired; /* no longer configured */
	unsigned skip;
	uint32_t concurrency;
	uint32_t destination_concurrency;
	uint32_t in_flight;
	uint32_t in_flight_by[SPEEDS];
	size_t waiting; /* jobs */
	size_t units;
	struct destination *destinations;  /* by name */
	struct destination *ready[SPEEDS]; /* rings of those with jobs that may start */
	struct destination *idle;          /* those without any, the longest first */
	size_t idle_count;
	unsigned turns;
	struct job *young;    /* in flight at destinations that are not slow, the oldest first */
	struct job *old;      /* at those that are */
	struct flow *starved; /* ring */
	struct transport *next;
};

struct transports {
	const struct share *share;
	const struct transport_handler *handler;
	void *context;
	struct transport *first;
	struct blockade *blockades; /* by obstacle */
};

/* --- room.c --- */

/* Units that one more destination of TRANSPORT, or one more flow of DESTINATION, may hold. */
size_t room_in_transport(const struct transport *transport);
size_t room_in_destination(const struct destination *destination);

/* --- flow.c --- */

uint32_t flow_key(struct str sender);
/* Whether one more job may wait in FLOW. */
bool flow_has_room(const struct flow *flow);
/* Wakes as many of those who are parked as there is room for. */
void flow_wake_parked(struct flow *flow);
/* Somebody will sleep with those who are parked. */
void flow_park(struct flow *flow);
/* Nothing waits in it, and nobody is parked. */
bool flow_is_empty(const struct flow *flow);
void flow_stop_starving(struct flow *flow);
/* A job of the message that has room for DELIVERY, or NULL. */
struct job *flow_find_job(struct flow *flow, const struct transport_delivery *delivery);
struct job *flow_add_job(struct flow *flow, const struct transport_delivery *delivery);
void flow_remove_job(struct flow *flow, struct job *job);
void job_add_delivery(struct job *job, const struct transport_delivery *delivery);
void job_free(struct job *job);
size_t job_units(const struct job *job);

/* --- destination.c --- */

struct destination *destination_find(const struct transport *transport, struct str name);
struct destination *destination_get(struct transport *transport, struct str name);
void destination_free(struct destination *destination);
/* After any change: enters and leaves the transport's rings. */
void destination_update(struct destination *destination);
/* The flow that DELIVERY belongs to, made when there is none. */
struct flow *destination_flow(struct destination *destination,
			      const struct transport_delivery *delivery);
/* The job whose turn it is; still in its flow. */
struct job *destination_next_job(struct destination *destination);
/* What the end of a delivery that took so long tells; WAS_REACHED: somebody was there. */
void destination_learn(struct destination *destination, bool was_reached, int64_t took_us);
void destination_set_speed(struct destination *destination, enum speed speed);
/* Frees FLOW should it be empty, and not that of the retries. */
void destination_forget_flow(struct destination *destination, struct flow *flow);
/* Frees all flows that are empty; wakes those for whom there is room. */
void destination_sweep(struct destination *destination);
void destination_block(struct destination *destination, const void *obstacle);
void destination_unblock(struct destination *destination);

enum { SLOW_US = 2000000 };

/* --- transport.c --- */

/* What has been learnt is kept of so many destinations, those that were used last. */
void transport_trim(struct transport *transport);

#endif
