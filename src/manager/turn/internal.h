// SPDX-License-Identifier: ISC
/*
 * manager/turn/internal.h - transports, destinations and flows, for the files of this folder.
 *
 * Each file knows those before it: room.c, flow.c, destination.c, pause.c, transport.c,
 * transports.c.
 */
#ifndef MANAGER_TURN_INTERNAL_H
#define MANAGER_TURN_INTERNAL_H

#include "base/heap.h"
#include "base/table.h"
#include "manager/turn/transport.h"
#include <utlist.h>

enum {
	FLOWS = 1024, /* of each urgency per destination; senders are hashed to them */
	FLOW_RETRIES = URGENCIES * FLOWS,
};

/* The mail of one sender and urgency to one destination, or all retries to it. */
struct flow {
	uint32_t key; /* the urgency and the sender's hash; FLOW_RETRIES: the retries */
	struct destination *destination;
	struct job *jobs;             /* waiting */
	size_t waiting;               /* number of JOBS */
	size_t units;                 /* their memory (wait/share.h) */
	struct waiters parked;        /* messages asleep until there is room */
	struct flow *next, *previous; /* in its destination's ring, while it has jobs */
	size_t expected;              /* parked messages that were woken and have not arrived yet */
	bool is_starved;              /* no jobs wait here, but messages are parked */
	struct flow *starved_next, *starved_previous; /* in the transport's ring, while starved */
	UT_hash_handle hh;
};

enum speed { SPEED_FAST, SPEED_NEW, SPEED_SLOW, SPEEDS };

struct destination {
	struct transport *transport;
	char *name;
	bool is_host;                 /* another host, which may be slow or down */
	struct flow *flows;           /* by key */
	struct flow *turn[URGENCIES]; /* rings of flows with new mail; the first is next */
	struct flow retries;
	size_t waiting; /* jobs */
	size_t units;
	uint32_t in_flight;
	uint32_t window; /* limit of jobs in flight */
	unsigned turns;
	enum speed speed;
	bool is_ready;          /* in the transport's ring */
	bool is_idle;           /* in the transport's list of idle destinations */
	struct heap_node pause; /* in the transport's pauses while it starts no job, by their end */
	char *pause_reason;     /* for people; NULL: no pause */
	bool is_for_place;      /* the pause ends with any of its jobs, too */
	bool is_paused_long;    /* retries do not wait here meanwhile, but asleep */
	const void *obstacle;   /* or NULL */
	struct destination *blocked_next, *blocked_previous; /* while there is an obstacle */
	struct destination *next, *previous;                 /* in the ring or in the idle list */
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
	bool is_handed;  /* to other nodes */
	uint32_t configured_concurrency;
	uint32_t concurrency; /* places: the configured ones, or those of jobs for nodes */
	uint32_t destination_concurrency;
	uint32_t in_flight;
	uint32_t in_flight_by[SPEEDS];
	size_t waiting; /* jobs */
	size_t units;
	struct destination *destinations;  /* by name */
	struct destination *ready[SPEEDS]; /* rings of destinations with jobs that may start */
	struct destination *idle;          /* destinations without jobs, idle longest first */
	size_t idle_count;
	struct heap pauses; /* of destinations */
	int64_t last_pause_us;
	unsigned turns;
	struct job *young;    /* in flight at destinations that are not slow, oldest first */
	struct job *old;      /* in flight at slow destinations */
	struct flow *starved; /* ring */
	struct transport *next;
};

struct transports {
	const struct share *share;
	const struct transport_handler *handler;
	void *context;
	struct transport *first;
	const char **services; /* the names of those that are not remote */
	size_t service_count;
	struct blockade *blockades; /* by obstacle */
	struct heap looks;          /* jobs that wait, by their look_us */
};

/* --- room.c --- */

/* Units that one more destination of TRANSPORT, or one more flow of DESTINATION, may use. */
size_t room_in_transport(const struct transport *transport);
size_t room_in_destination(const struct destination *destination);

/* --- flow.c --- */

uint32_t flow_key(struct str sender, enum urgency urgency);
enum urgency flow_urgency(const struct flow *flow);
/* Whether one more job may wait in FLOW. */
bool flow_has_room(const struct flow *flow);
/* Wakes as many parked messages as there is room for. */
void flow_wake_parked(struct flow *flow);
/* A message will be parked. */
void flow_park(struct flow *flow);
/* Whether no jobs wait in it and no messages are parked. */
bool flow_is_empty(const struct flow *flow);
void flow_stop_starving(struct flow *flow);
/* A job of the message that has room for DELIVERY, or NULL. */
struct job *flow_find_job(struct flow *flow, const struct transport_delivery *delivery);
struct job *flow_add_job(struct flow *flow, const struct transport_delivery *delivery);
/* JOB, which is in no flow, is the first of FLOW again, or the last one. */
void flow_return_job(struct flow *flow, struct job *job, bool is_first);
void flow_remove_job(struct flow *flow, struct job *job);
void job_add_delivery(struct job *job, const struct transport_delivery *delivery);
void job_free(struct job *job);
size_t job_units(const struct job *job);

/* --- destination.c --- */

struct destination *destination_find(const struct transport *transport, struct str name);
struct destination *destination_get(struct transport *transport, struct str name);
void destination_free(struct destination *destination);
/* After any change: enters or leaves the transport's rings. */
void destination_update(struct destination *destination);
/* The flow of KEY (struct flow), created if needed. */
struct flow *destination_flow(struct destination *destination, uint32_t key);
/* The job that is next; still in its flow. */
struct job *destination_next_job(struct destination *destination);
/* A delivery that took this long has ended: adjusts speed and window. WAS_REACHED: the host
 * answered. */
void destination_learn(struct destination *destination, bool was_reached, int64_t took_us);
void destination_set_speed(struct destination *destination, enum speed speed);
/* Frees FLOW if it is empty, but never that of the retries. */
void destination_forget_flow(struct destination *destination, struct flow *flow);
/* Frees all empty flows; wakes messages for which there is room. */
void destination_sweep(struct destination *destination);
void destination_block(struct destination *destination, const void *obstacle);
void destination_unblock(struct destination *destination);

enum { SLOW_US = 2000000 };

/* --- pause.c --- */

bool destination_is_paused(const struct destination *destination);
/* Starts no job before that of TERMS; a pause that ends earlier stays as it is. */
void destination_pause(struct destination *destination, int64_t now_us,
		       const struct transport_pause_terms *terms);
/* A job of it has ended. */
void destination_end_pause_for_place(struct destination *destination);
void transport_end_pauses(struct transport *transport, int64_t now_us);

/* --- transport.c --- */

/* Limits the number of idle destinations whose state is kept: the most recently used ones. */
void transport_trim(struct transport *transport);

#endif
