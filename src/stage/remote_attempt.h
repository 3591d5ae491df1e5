// SPDX-License-Identifier: ISC
/*
 * stage/remote_attempt.h - one job's way to the servers of its next hop.
 */
#ifndef STAGE_REMOTE_ATTEMPT_H
#define STAGE_REMOTE_ATTEMPT_H

#include "dns/search.h"
#include "stage/helper.h"
#include "stage/remote_pool.h"
#include "stage/remote_route.h"

struct remote_attempt;

struct stage_remote {
	struct os_loop *loop;
	struct dns_resolver *resolver;
	struct remote_routes *routes;
	struct remote_pool *pool;
	char *chunk; /* REMOTE_CHUNK_SIZE bytes */
	struct remote_session_settings settings;
	struct remote_attempt *attempts; /* under way */
};

/* Delivers JOB and finishes it; then the attempt is no more. */
void remote_attempt_start(struct stage_remote *remote, struct stage_helper_job *job);
/* Finishes the job without a report. */
void remote_attempt_abandon(struct remote_attempt *attempt);

#endif
