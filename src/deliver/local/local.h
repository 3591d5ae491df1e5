// SPDX-License-Identifier: ISC
/*
 * deliver/local/local.h - the transport of kind maildir: puts jobs into mailboxes, in groups.
 *
 * While one group is being written in a thread of its own, the next one is collected; a single job
 * is written at once, without a timer. If one owner's mailbox (written with the owner's rights)
 * blocks the thread for 5 s, the thread is left there: the mail of other owners continues in
 * another thread, and mail of that owner is deferred (4.3.0) until the disk answers. Once four
 * threads are stuck on one filesystem, so is the mail of all owners whose last mail went there: a
 * file server that is down takes four threads, however many owners it has.
 */
#ifndef DELIVER_LOCAL_LOCAL_H
#define DELIVER_LOCAL_LOCAL_H

#include "config/config.h"
#include "deliver/helper.h"
#include "directory/lookup/lookup.h"
#include "os/loop.h"

struct deliver_local;

/* CONFIG and SERVICE (one of its services) are borrowed, as is DIRECTORY (may be NULL), which is
 * asked for the quotas of mailboxes if SERVICE counts them. Sets the process's umask to 077:
 * files created from now on are private to their user. */
struct deliver_local *deliver_local_new(struct os_loop *loop, const struct config *config,
					const struct config_service *service,
					struct directory *directory);
/* From now on CONFIG, SERVICE and DIRECTORY apply; deliveries being written, and jobs that wait
 * for them, are not affected. */
void deliver_local_configure(struct deliver_local *local, const struct config *config,
			     const struct config_service *service, struct directory *directory);
/* Waits for deliveries being written; every job is finished, those not yet delivered without a
 * report. Before deliver_helper_free(). */
void deliver_local_free(void *transport);

/* For the helper's handler: takes over JOB, reports each of its recipients and finishes it. */
void deliver_local_start(void *transport, struct deliver_helper_job *job);
/* No new jobs come: those that are not being written are finished without a report. */
void deliver_local_drain(void *transport);
/* The connection to "send" is lost: jobs are finished without reports, those being written when
 * they are done. */
void deliver_local_lost(void *transport);

#endif
