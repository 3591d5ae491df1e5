// SPDX-License-Identifier: ISC
/*
 * deliver/remote/search.h - finding the servers of a job's next hop.
 */
#ifndef DELIVER_REMOTE_SEARCH_H
#define DELIVER_REMOTE_SEARCH_H

#include "deliver/remote/attempt/attempt.h"
#include "deliver/remote/route/route.h"

struct deliver_remote {
	struct remote_client client;
	struct remote_dane *dane;
	struct dns_resolver *resolver; /* of DANE */
	struct remote_routes *routes;
	struct remote_sources *sources;
	struct sts_client *reports; /* is told how TLS went; NULL: nobody is */
	struct remote_policies *policies;
	const struct config *config; /* borrowed */
	bool may_login_plainly;
	bool may_bind_login;
	enum login_strength weakest_login;
};

struct remote_search;

/* The search for JOB, in its arena, to be given to remote_attempt_start() with
 * remote_search_finder. NULL when the job's destination or its relay is not a valid host. */
MUST_CHECK struct remote_search *remote_search_new(struct deliver_remote *remote,
						   struct deliver_helper_job *job);
/* Jobs with the same one go to the same next hop by the same policy. */
const char *remote_search_key(const struct remote_search *search);
enum smtp_client_protocol remote_search_protocol(const struct remote_search *search);
extern const struct remote_finder remote_search_finder;

#endif
