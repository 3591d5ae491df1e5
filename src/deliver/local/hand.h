// SPDX-License-Identifier: ISC
/*
 * deliver/local/hand.h - a thread that puts deliveries into mailboxes.
 *
 * It goes from owner to owner, and accesses files with the owner's rights. A mailbox whose disk
 * does not answer may block it for any length of time: the loop notices that
 * (local_hand_take_back()), takes back the deliveries to other owners and gives them to another
 * hand.
 */
#ifndef DELIVER_LOCAL_HAND_H
#define DELIVER_LOCAL_HAND_H

#include "deliver/local/writer.h"
#include "os/loop.h"
#include "os/process/process.h"

/* Deliveries, sorted by owner. Borrowed by the hand. */
struct local_group {
	struct maildir_delivery *deliveries;
	struct os_process_user *owners; /* of deliveries[i]; change is false: the process's own
					 * user */
	size_t count;
};

struct local_hand;

/* WAKEUP is sent when a group is done. -EAGAIN, -EPERM: no thread could be created. */
MUST_CHECK int local_hand_new(struct os_wakeup *wakeup, struct local_hand **hand_out);
/* Waits until its current work ends. */
void local_hand_free(struct local_hand *hand);

/* Makes GROUP's deliveries by WRITER; the hand owns both until the next call. It must have no
 * other group. */
void local_hand_give(struct local_hand *hand, struct local_writer *writer,
		     const struct local_group *group);
/* Whether the group is done, so that every delivery not taken back has its verdict. */
bool local_hand_is_done(struct local_hand *hand);

/* The index of the first delivery of the owner at whom the hand is; false: it is at none, or at
 * the process's own user. */
MUST_CHECK bool local_hand_owner(struct local_hand *hand, size_t *index_out);

/* True if the hand has been at an owner, other than the process's user, since BEFORE_US
 * (monotonic) or longer. Then deliveries [*FIRST_OUT, *END_OUT) are that owner's, those before
 * them have their verdicts, and those after them belong to the caller again. */
MUST_CHECK bool local_hand_take_back(struct local_hand *hand, int64_t before_us, size_t *first_out,
				     size_t *end_out);

#endif
