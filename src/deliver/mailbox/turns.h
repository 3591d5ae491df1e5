// SPDX-License-Identifier: ISC
/*
 * deliver/mailbox/turns.h - the threads of a mailbox service, and which message is filed when.
 *
 * Threads take groups of what waits: of each message one delivery. Messages of one Message-ID are
 * in one thread at a time, together: whoever guesses the Message-ID of another's message and sends
 * thousands with it makes nobody wait for them one by one. Deliveries that wait for another one of
 * the same message have half of the transport's places at most (WAIT 4.4.5 beyond that). While
 * another process has the lock of a Message-ID, all its messages are held: one of them tries again
 * after 50 ms, and the others follow it. So is a message that a lost attempt may still file for a
 * recipient, by itself. Each is held for the record's lock_timeout at most (WAIT 4.4.5), and all
 * together have half of the transport's places at most: what comes beyond that is deferred at once,
 * so that other mail always finds places.
 *
 * The sender's copy is an attempt of its own: when the recipients' copies have ended, it is tried
 * for ten minutes more if its connection or the store was lost, and then given up; at once if it is
 * refused. Its failure is nobody's.
 */
#ifndef DELIVER_MAILBOX_TURNS_H
#define DELIVER_MAILBOX_TURNS_H

#include "deliver/mailbox/entry.h"
#include "os/loop.h"

struct mailbox_turns;

struct mailbox_turns *mailbox_turns_new(struct os_loop *loop);
/* Waits for the threads, and ends the jobs of all entries. NULL is allowed. */
void mailbox_turns_free(struct mailbox_turns *turns);

/* From now on CONFIG and SERVICE apply, which are borrowed; what is being filed is not affected. */
void mailbox_turns_configure(struct mailbox_turns *turns, const struct config *config,
			     const struct config_service *service);
/* Takes over ENTRY, which is prepared. */
void mailbox_turns_add(struct mailbox_turns *turns, struct mailbox_entry *entry);
/* Ends the jobs of all that are not in a thread without reports; those in a thread wait for no lock
 * any more. */
void mailbox_turns_drain(struct mailbox_turns *turns);
/* Likewise; those in a thread are not reported. */
void mailbox_turns_lose(struct mailbox_turns *turns);

#endif
