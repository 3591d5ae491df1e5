// SPDX-License-Identifier: ISC
/*
 * world/recorded.h - the judge of records: what "mailbox" has written down of the mail that it
 * files once (stagepost-record(5)).
 *
 * Each copy in a mailbox, the sender's too, is recorded once, as filed, and nothing else is; but
 * that a copy for the sender was given up the log says. A
 * message of which nobody could tell what is in it says so, and lacks nothing but that.
 */
#ifndef WORLD_RECORDED_H
#define WORLD_RECORDED_H

#include "kernel.h"

/* LINE of NODE's log says that a copy for the sender was given up: it need not be there. */
void recorded_given_up(const struct machine *node, const char *line);
/* All is done, and the mailboxes have been read. */
void recorded_look_at_end(struct machine *node);
/* What is in the record of NODE, a line for each copy: "NUMBER OWNER STATE PARTICIPANTS PROBLEM".
 * By the time all nodes' were read, recorded_check_all() is right. */
void recorded_check(struct machine *node, const char *lines);
void recorded_check_all(void);
void recorded_end(void);

#endif
