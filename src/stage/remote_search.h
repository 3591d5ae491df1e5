// SPDX-License-Identifier: ISC
/*
 * stage/remote_search.h - finding the servers of a job's next hop.
 */
#ifndef STAGE_REMOTE_SEARCH_H
#define STAGE_REMOTE_SEARCH_H

#include "stage/remote_attempt.h"
#include "stage/remote_route.h"

struct stage_remote {
	struct remote_carrier carrier;
	struct dns_resolver *resolver;
	struct remote_routes *routes;
};

struct remote_search;

/* The search for JOB, in its arena, to be given to remote_attempt_start() with
 * remote_search_finder. NULL when the job's destination or its relay cannot be a
 * host. */
MUST_CHECK struct remote_search *remote_search_new(struct stage_remote *remote,
						   struct stage_helper_job *job);
const char *remote_search_key(const struct remote_search *search);
extern const struct remote_finder remote_search_finder;

#endif
