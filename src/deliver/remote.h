// SPDX-License-Identifier: ISC
/*
 * deliver/remote.h - delivering to other hosts by SMTP.
 *
 * A job's way: its next hop (smtproutes, or the domain's mail exchangers), a
 * connection that waits for this hop or a new one to the first of its addresses
 * that serves, one transaction for up to 100 recipients at a time, a report for
 * each.
 */
#ifndef DELIVER_REMOTE_H
#define DELIVER_REMOTE_H

#include "config/config.h"
#include "deliver/helper.h"
#include "os/loop.h"

struct deliver_remote;

/* CONFIG is borrowed until the next deliver_remote_configure(). -EINVAL when
 * dns_server cannot be used. */
MUST_CHECK int deliver_remote_new(struct os_loop *loop, const struct config *config,
				  struct deliver_remote **remote_out);
/* Gives up every job. */
void deliver_remote_free(struct deliver_remote *remote);

/* From now on CONFIG counts, for the jobs that come and the connections that are
 * made; dns_server stays what it was. */
void deliver_remote_configure(struct deliver_remote *remote, const struct config *config);

/* For struct deliver_helper_handler: takes JOB over. */
void deliver_remote_start(struct deliver_remote *remote, struct deliver_helper_job *job);
/* For struct deliver_helper_handler: as remote_carrier_drain() says. */
void deliver_remote_drain(struct deliver_remote *remote);
/* For struct deliver_helper_handler: finishes every job without a report. */
void deliver_remote_give_up(struct deliver_remote *remote);

#endif
