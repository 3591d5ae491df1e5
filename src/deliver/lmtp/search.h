// SPDX-License-Identifier: ISC
/*
 * deliver/lmtp/search.h - a job for a server that the directory names: checks whether the service
 * permits that server, and finds its addresses.
 */
#ifndef DELIVER_LMTP_SEARCH_H
#define DELIVER_LMTP_SEARCH_H

#include "config/config.h"
#include "deliver/remote/attempt/attempt.h"
#include "dns/search.h"

struct lmtp_search;

/* The search for JOB's destination, in JOB's arena, to be given to remote_attempt_start() with
 * lmtp_search_finder. RESOLVER is borrowed; NULL: no names are looked up. NULL, and *VERDICT_OUT
 * of class WAIT, if SERVICE may not deliver there. */
MUST_CHECK struct lmtp_search *lmtp_search_new(struct dns_resolver *resolver,
					       const struct remote_policies *policies,
					       const struct config_service *service,
					       struct deliver_helper_job *job,
					       struct mail_verdict *verdict_out);
/* The key of connections to it. */
const char *lmtp_search_key(const struct lmtp_search *search);
extern const struct remote_finder lmtp_search_finder;

#endif
