// SPDX-License-Identifier: ISC
/*
 * deliver/remote/remote.h - delivering to other hosts by SMTP.
 *
 * The course of a job: find its next hop (smtproutes, or the domain's mail exchangers); use an idle
 * connection to that host, or make a new one to the first of its addresses that serves;
 * transactions of up to 100 recipients each; a report for each recipient.
 */
#ifndef DELIVER_REMOTE_REMOTE_H
#define DELIVER_REMOTE_REMOTE_H

#include "config/config.h"
#include "deliver/helper.h"
#include "os/loop.h"

struct deliver_remote;
struct remote_policies;

/* CONFIG is borrowed until the next deliver_remote_configure(), POLICIES until
 * deliver_remote_free(). -EINVAL when dns_server cannot be used. */
MUST_CHECK int deliver_remote_new(struct os_loop *loop, const struct config *config,
				  struct remote_policies *policies,
				  struct deliver_remote **remote_out);
/* Gives up every job. */
void deliver_remote_free(void *transport);

/* Whether CONFIG has the settings of the resolver that are in use; others need a new process. */
bool deliver_remote_fits(const struct deliver_remote *remote, const struct config *config);
/* From now on CONFIG applies, for new jobs and new connections; the resolver does not change. */
void deliver_remote_configure(struct deliver_remote *remote, const struct config *config);

struct remote_logins;

/* From now on there are LOGINS, which must live until deliver_remote_free(); NULL, as at first:
 * none is possible. */
void deliver_remote_use_logins(struct deliver_remote *remote, struct remote_logins *logins);

struct remote_places;

/* From now on sessions are counted in PLACES, which must live until deliver_remote_free(). */
void deliver_remote_count(struct deliver_remote *remote, struct remote_places *places);

struct sts_client;

/* From now on CLIENT is told how TLS goes; it must live until deliver_remote_free(). */
void deliver_remote_report(struct deliver_remote *remote, struct sts_client *client);

/* For struct deliver_helper_handler: takes over JOB. */
void deliver_remote_start(void *transport, struct deliver_helper_job *job);
/* For struct deliver_helper_handler: as remote_client_drain(). */
void deliver_remote_drain(void *transport);
/* For struct deliver_helper_handler: finishes every job without a report. */
void deliver_remote_give_up(void *transport);

#endif
