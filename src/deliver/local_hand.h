// SPDX-License-Identifier: ISC
/*
 * deliver/local_hand.h - a thread that puts deliveries into mailboxes.
 *
 * It goes from owner to owner, and what it does to files it does as the owner. A
 * mailbox whose disk does not answer keeps it there for as long as it likes: the
 * loop sees that (local_hand_take_back()), takes the other owners' deliveries
 * back and gives them to another hand.
 */
#ifndef DELIVER_LOCAL_HAND_H
#define DELIVER_LOCAL_HAND_H

#include "mailbox/maildir.h"
#include "os/loop.h"
#include "os/process.h"

/* Deliveries; those of one owner are next to each other. Borrowed by the hand. */
struct local_group {
	struct maildir_delivery *deliveries;
	struct os_process_user *owners; /* of deliveries[i]; not changed: as the process */
	size_t count;
};

struct local_hand;

/* WAKEUP is sent when a group is done. -EAGAIN, -EPERM: there is no thread to be had. */
MUST_CHECK int local_hand_new(struct os_wakeup *wakeup, struct local_hand **hand_out);
/* Waits for what it does. */
void local_hand_free(struct local_hand *hand);

/* GROUP's deliveries are made by MAILDIR, which the hand owns until the next call. The
 * hand has no other group. */
void local_hand_give(struct local_hand *hand, struct maildir *maildir,
		     const struct local_group *group);
/* Whether the group is done, and every delivery that was not taken back has its verdict. */
bool local_hand_is_done(struct local_hand *hand);

/* At whose deliveries the hand is, the first of them; false: at nobody's, or as the process's user.
 */
MUST_CHECK bool local_hand_owner(struct local_hand *hand, size_t *index_out);

/* When the hand is at an owner, other than the process's user, since BEFORE_US (monotonic)
 * or longer: true. Then deliveries [*FIRST_OUT, *END_OUT) are that owner's, those before them
 * have their verdicts, and those after them are the caller's again. */
MUST_CHECK bool local_hand_take_back(struct local_hand *hand, int64_t before_us, size_t *first_out,
				     size_t *end_out);

#endif
