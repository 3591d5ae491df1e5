// SPDX-License-Identifier: ISC
/*
 * world/states.h - the judge of states: at every instant each message is in a state of the table.
 *
 *          pid todo intd mess info local remote bounce
 *   S1-S3   ?   -    -    -    -    -     -      -     not accepted
 *   S4      -   +    ?    ?    ?    ?     ?      ?     queued
 *   S5      -   -    ?    +    +    ?     ?      ?     preprocessed
 *   end     -   -    -    +    -    -     -      -     done
 *
 * (queue/store.h; the sources, section 2.) It looks after each call that changed a name, at the
 * messages whose names it changed:
 *
 * - names in todo and mess are the number of the file they lead to, and are in its part;
 * - what gets a name in todo is complete: it ends with the line that says where its envelope is;
 * - what a client was answered 250 for is durable then, or its recipients are done.
 *
 * - after a power cut: a failure in a control file is in bounce/, too.
 *
 * What a power cut leaves may be none of these states: such a message is watched again from when
 * it is in one. After a fault names in intd, local and remote may outlive their message, until the
 * cleaner of the next start comes by (queue/cleaner.h). At the end all are in a state.
 */
#ifndef WORLD_STATES_H
#define WORLD_STATES_H

#include "kernel.h"

enum { STATES_SPLIT = 23 /* of a node's queue: its setting */ };

/* Watches the queue in /var/queue of MACHINE, from before it is made until states_end(). */
void states_begin(struct machine *machine);
/* The node at ADDRESS has said 250 and that it has queued message NUMBER as ID. */
void states_promised(uint32_t address, const char *id, uint64_t number);
/* failures.c: after a power cut, what the control file of NUMBER calls failed is in bounce/, if
 * others of its deliveries are open. */
void states_check_failures(struct machine *machine, uint64_t number);
/* The disk has changed something of NUMBER (damages.h): it is watched again from when it is in a
 * state. */
void states_damaged(const struct machine *machine, uint64_t number);
/* Which message of the ledger NUMBER is in the queue of MACHINE; UINT64_MAX: that is not known. */
uint64_t states_message(struct machine *machine, uint64_t number);
/* Whether message NUMBER has a data file in the queue of MACHINE. */
bool states_have(const struct machine *machine, uint64_t number);
/* When it went, the last time; 0: never. */
int64_t states_gone_us(const struct machine *machine, uint64_t number);
/* When the message that NUMBER is, or was, the last time got it, but for what a power cut does. */
int64_t states_begun_us(const struct machine *machine, uint64_t number);
/* Nothing is left to be done, and the nodes were started since the last fault: all that is left is
 * in a state. */
void states_look_at_end(void);
void states_end(void);

#endif
