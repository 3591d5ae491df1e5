// SPDX-License-Identifier: ISC
/*
 * manager/link/status.h - tells "handover" and "noded" what this process knows of the node's queue,
 * for other nodes and for "stagepost nodes" (node/status.h).
 *
 * How many messages there are, and how old the oldest is, only the disk knows: it is surveyed when
 * somebody asks, a little at a time, and not again for some seconds. An answer does not wait for
 * more than STATUS_PATIENCE_US: then it has the survey before, whose time it says, or none.
 *
 * Who asks about a message gets an object with "message" only: "lines" of the log, and whether the
 * whole disk was "searched". It is looked for by its birth, which it keeps when nodes hand it over.
 */
#ifndef MANAGER_LINK_STATUS_H
#define MANAGER_LINK_STATUS_H

#include "manager/link/helper.h"
#include "queue/listing/survey.h"

struct status;

enum {
	STATUS_ASKERS_MAX = 256, /* who asks beyond is answered at once, by the survey before */
	STATUS_PLACES_MAX = 64,  /* places that are told: those with messages come first */
	STATUS_PATIENCE_US = 700000,
	STATUS_KEPT_US = 5000000,     /* for so long a survey is new */
	STATUS_LINES_MAX = 16 * 1024, /* bytes of lines about a message: the latest */
};

/* Implemented by manager/hear/status.c. */
struct status_handler {
	/* Appends fields of JSON about what is in memory to OUT, which is an object. */
	void (*describe)(void *context, struct buffer *out);
	/* Calls EACH with a line of the log for each thing that is known of messages that were born
	 * at BORN_US, of which COUNT were FOUND on the disk. */
	void (*describe_message)(void *context, int64_t born_us,
				 const struct listing_survey_found *found, size_t count,
				 void (*each)(void *receiver, struct str line), void *receiver);
	/* The names of all local services; returns how many. */
	size_t (*services)(void *context, const char *const **names_out);
};

/* STORE and HELPERS are borrowed. */
struct status *status_new(struct os_loop *loop, struct queue_store *store, struct helpers *helpers,
			  const struct status_handler *handler, void *context);
/* The helper SERVICE asks; it is answered by IPC_JOB_STATUS_IS. BODY is that of STATUS; false: it
 * is malformed. */
MUST_CHECK bool status_ask(struct status *status, const char *service, struct str body);
/* Reads the disk no more. */
void status_stop(struct status *status);
void status_free(struct status *status);

#endif
