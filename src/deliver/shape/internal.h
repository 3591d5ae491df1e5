// SPDX-License-Identifier: ISC
/*
 * deliver/shape/internal.h - what is counted of bearers and servers, for shape.c, which decides,
 * and hold.c, which knows what of it is under way.
 */
#ifndef DELIVER_SHAPE_INTERNAL_H
#define DELIVER_SHAPE_INTERNAL_H

#include "base/table.h"
#include "deliver/shape/learnt.h"
#include "deliver/shape/meter.h"
#include "deliver/shape/room.h"
#include "deliver/shape/shape.h"
#include "deliver/shape/throttle.h"
#include "log/event.h"

/* What is not in the meters yet. */
struct shape_under_way {
	uint32_t sessions;
	uint32_t messages;
	uint64_t recipients;
};

/* Of a bearer of a section, or of a server. */
struct shape_entry {
	char *key; /* the section's mask, of a server its port, then '\n' and the name */
	const char *name;
	uint16_t port;   /* of a server */
	uint32_t places; /* connections */
	uint32_t holds;  /* that know it: it is not forgotten */
	struct shape_meter sessions;
	struct shape_meter messages;
	struct shape_meter recipients;
	struct shape_under_way under_way; /* of a bearer */
	struct shape_throttle throttle;   /* of a server, as is ROOM */
	struct shape_room room;
	struct shape_alike alike;
	struct shape_learnt learnt_messages, learnt_recipients;
	char *words;                         /* with which it was throttled last; NULL: it is not */
	struct shape_entry *next, *previous; /* used longest ago first */
	UT_hash_handle hh;
};

/* A message for so many RECIPIENTS is under way over HOLD's connection, and counts for BEARER in
 * INTERVAL_US. */
void shape_hold_message(struct shape_hold *hold, struct shape_entry *bearer, int64_t interval_us,
			uint32_t recipients);
/* The connection itself is, and has a place of BEARER; NULL: nobody counts it. */
void shape_hold_session(struct shape_hold *hold, struct shape_entry *bearer);

/* said.c */
/* SERVER is sent less mail, or has fewer connections, because of COMPLAINT. */
void shape_slow_down(struct shape_entry *server, const struct shape_complaint *complaint,
		     int64_t now_us);
void shape_narrow(struct shape_entry *server, const struct shape_complaint *complaint,
		  int64_t now_us);

#endif
