// SPDX-License-Identifier: ISC
/*
 * deliver/lmtp/lmtp.h - delivering to LMTP servers (RFC 2033), such as Dovecot: a service's own,
 * and those that the directory names.
 *
 * The server answers for each recipient separately. If the connection ends between these answers,
 * the recipients already answered for are done, and only the others are tried again.
 */
#ifndef DELIVER_LMTP_LMTP_H
#define DELIVER_LMTP_LMTP_H

#include "config/config.h"
#include "deliver/helper.h"
#include "os/loop.h"

struct deliver_lmtp;

struct dns_resolver;
struct remote_policies;
struct remote_places;

/* CONFIG and SERVICE (one of its services) are borrowed until the next deliver_lmtp_configure();
 * RESOLVER (NULL: servers cannot be found by name) and POLICIES until deliver_lmtp_free(). */
struct deliver_lmtp *deliver_lmtp_new(struct os_loop *loop, const struct config *config,
				      const struct config_service *service,
				      struct dns_resolver *resolver,
				      struct remote_policies *policies);
/* From now on sessions are counted in PLACES, which must live until deliver_lmtp_free(). */
void deliver_lmtp_count(struct deliver_lmtp *lmtp, struct remote_places *places);
/* Gives up every job. */
void deliver_lmtp_free(void *transport);

/* From now on CONFIG and SERVICE apply; running jobs continue. */
void deliver_lmtp_configure(void *transport, const struct config *config,
			    const struct config_service *service);

/* For struct deliver_helper_handler: takes over JOB. */
void deliver_lmtp_start(void *transport, struct deliver_helper_job *job);
/* For struct deliver_helper_handler: as remote_client_drain(). */
void deliver_lmtp_drain(void *transport);
/* For struct deliver_helper_handler: finishes every job without a report. */
void deliver_lmtp_give_up(void *transport);

#endif
