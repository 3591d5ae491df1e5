// SPDX-License-Identifier: ISC
/*
 * deliver/mailbox/hand.h - a thread that files groups of messages, with its own connections to the
 * record and to the store.
 */
#ifndef DELIVER_MAILBOX_HAND_H
#define DELIVER_MAILBOX_HAND_H

#include "config/config.h"
#include "filing/filing.h"
#include "os/loop.h"

enum { MAILBOX_GROUP_MAX = 64 }; /* messages in a group */

struct mailbox_hand;

/* RECORD and STORE belong to the hand. WAKEUP is sent when a group is done. -EAGAIN, -EPERM: no
 * thread could be created; they are freed. */
MUST_CHECK int mailbox_hand_new(struct os_wakeup *wakeup, struct record *record,
				struct mailstore *store, struct mailbox_hand **hand_out);
/* Waits until its current work ends. NULL is allowed. */
void mailbox_hand_free(struct mailbox_hand *hand);

/* Files COUNT messages, which are the hand's until mailbox_hand_is_busy() is false. */
void mailbox_hand_give(struct mailbox_hand *hand, struct filing_message **messages, size_t count);
bool mailbox_hand_is_busy(struct mailbox_hand *hand);
/* Waits until it is not busy. */
void mailbox_hand_wait(struct mailbox_hand *hand);
/* Logs what happened to them; in the loop's thread, when it is not busy. */
void mailbox_hand_log(struct mailbox_hand *hand);

#endif
