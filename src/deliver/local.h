// SPDX-License-Identifier: ISC
/*
 * deliver/local.h - the transport of kind maildir: puts jobs into mailboxes, in groups.
 *
 * While one group is at the disk in a thread of its own, the next one gathers;
 * a lone job goes at once. Nothing is counted or waited for. A group that is kept
 * for 5 s by one owner's mailbox (delivered as that owner) is left there: the others'
 * mail goes on in another thread, that owner's is deferred (4.3.0) until the disk answers.
 * Once four are stuck on one filesystem, so is the mail of all who had their last mail there:
 * a file server that is away takes four threads, however many owners it has.
 */
#ifndef DELIVER_LOCAL_H
#define DELIVER_LOCAL_H

#include "config/config.h"
#include "deliver/helper.h"
#include "directory/lookup/lookup.h"
#include "os/loop.h"

struct deliver_local;

/* CONFIG and SERVICE (one of its services) are borrowed, as is DIRECTORY, which is asked for the
 * quotas of mailboxes where SERVICE counts them; NULL: there is none. Sets the process's
 * umask to 077: what is made from now on is private to its user. */
struct deliver_local *deliver_local_new(struct os_loop *loop, const struct config *config,
					const struct config_service *service,
					struct directory *directory);
/* From now on deliveries are made as CONFIG and SERVICE say, and DIRECTORY is asked; those at the
 * disk, and who waits for them, do not notice. */
void deliver_local_configure(struct deliver_local *local, const struct config *config,
			     const struct config_service *service, struct directory *directory);
/* Waits for what is at the disk; every job is finished, those that did not
 * come to be delivered without a report. Before deliver_helper_free(). */
void deliver_local_free(struct deliver_local *local);

/* For the helper's handler: takes JOB, reports each of its recipients and
 * finishes it. */
void deliver_local_start(struct deliver_local *local, struct deliver_helper_job *job);
/* No new jobs come: those that are not at the disk are finished without a report. */
void deliver_local_drain(struct deliver_local *local);
/* The connection to "send" is gone: jobs are finished without reports, those at
 * the disk when they come back. */
void deliver_local_lost(struct deliver_local *local);

#endif
