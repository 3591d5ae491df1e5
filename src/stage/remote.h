// SPDX-License-Identifier: ISC
/*
 * stage/remote.h - delivering to other hosts by SMTP.
 *
 * A job's way: its next hop (smtproutes, or the domain's mail exchangers), a
 * connection that waits for this hop or a new one to the first of its addresses
 * that serves, one transaction for up to 100 recipients at a time, a report for
 * each.
 */
#ifndef STAGE_REMOTE_H
#define STAGE_REMOTE_H

#include "config/config.h"
#include "os/loop.h"
#include "stage/helper.h"

struct stage_remote;

/* CONFIG is borrowed until the next stage_remote_configure(). -EINVAL when
 * dns_server cannot be used. */
MUST_CHECK int stage_remote_new(struct os_loop *loop, const struct config *config,
				struct stage_remote **remote_out);
/* Gives up every job. */
void stage_remote_free(struct stage_remote *remote);

/* From now on CONFIG counts, for the jobs that come and the connections that are
 * made; dns_server stays what it was. */
void stage_remote_configure(struct stage_remote *remote, const struct config *config);

/* For struct stage_helper_handler: takes JOB over. */
void stage_remote_deliver(struct stage_remote *remote, struct stage_helper_job *job);
/* For struct stage_helper_handler: as remote_carrier_drain() says. */
void stage_remote_drain(struct stage_remote *remote);
/* For struct stage_helper_handler: finishes every job without a report. */
void stage_remote_give_up(struct stage_remote *remote);

#endif
