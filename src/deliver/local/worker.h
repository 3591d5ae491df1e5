// SPDX-License-Identifier: ISC
/*
 * deliver/local/worker.h - a thread that puts deliveries into mailboxes.
 *
 * It goes from owner to owner, and accesses files with the owner's rights. A mailbox whose disk
 * does not answer may block it for any length of time: the loop notices that
 * (local_worker_take_back()), takes back the deliveries to other owners and gives them to another
 * worker.
 */
#ifndef DELIVER_LOCAL_WORKER_H
#define DELIVER_LOCAL_WORKER_H

#include "deliver/local/writer.h"
#include "os/loop.h"
#include "os/process/process.h"

/* Deliveries, sorted by owner. Borrowed by the worker. */
struct local_group {
	struct maildir_delivery *deliveries;
	struct os_process_user *owners; /* of deliveries[i]; change is false: the process's own
					 * user */
	size_t count;
};

struct local_worker;

/* WAKEUP is sent when a group is done. -EAGAIN, -EPERM: no thread could be created. */
MUST_CHECK int local_worker_new(struct os_wakeup *wakeup, struct local_worker **hand_out);
/* Waits until its current work ends. */
void local_worker_free(struct local_worker *worker);

/* Makes GROUP's deliveries by WRITER; the worker owns both until the next call. It must have no
 * other group. */
void local_worker_give(struct local_worker *worker, struct local_writer *writer,
		       const struct local_group *group);
/* Whether the group is done, so that every delivery not taken back has its verdict. */
bool local_worker_is_done(struct local_worker *worker);

/* The index of the first delivery of the owner at whom the worker is; false: it is at none, or at
 * the process's own user. */
MUST_CHECK bool local_worker_owner(struct local_worker *worker, size_t *index_out);

/* True if the worker has been at an owner, other than the process's user, since BEFORE_US
 * (monotonic) or longer. Then deliveries [*FIRST_OUT, *END_OUT) are that owner's, those before
 * them have their verdicts, and those after them belong to the caller again. */
MUST_CHECK bool local_worker_take_back(struct local_worker *worker, int64_t before_us,
				       size_t *first_out, size_t *end_out);

#endif
