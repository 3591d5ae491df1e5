// SPDX-License-Identifier: ISC
/*
 * manager/wait/facts.h - what is known of a message, asleep or awake, besides its
 * number. Whoever puts it to sleep and whoever wakes it hand these on as they are.
 */
#ifndef MANAGER_WAIT_FACTS_H
#define MANAGER_WAIT_FACTS_H

/* Where it is on the disk (ARCHITECTURE.md, the picture). */
enum message_place {
	MESSAGE_AT_S4,       /* todo/ */
	MESSAGE_AT_S4_NAMED, /* todo/, and S5 was begun: it may have names of it */
	MESSAGE_AT_S5_TODO,  /* S5, and "queue" has not removed todo/ yet */
	MESSAGE_AT_S5,
};

/* What an operator wants done with what is not delivered yet. */
enum message_order {
	MESSAGE_ORDER_NONE,
	MESSAGE_ORDER_BOUNCE,
	MESSAGE_ORDER_REMOVE,
	MESSAGE_ORDER_REQUEUE, /* its addresses are looked up anew */
};

struct message_facts {
	unsigned place : 2;       /* enum message_place */
	unsigned stage : 4;       /* enum mail_stage; of S4 */
	unsigned order : 2;       /* enum message_order: not carried out yet */
	unsigned is_released : 1; /* what it waited for happened: times are not looked at */
	unsigned is_found : 1;    /* by a scan, in todo/: nobody has logged it yet */
	unsigned is_listed : 1;   /* due as intd/due says: nobody has looked at its file yet */
};

/* Whether its envelope is read from todo/ (S4) and not from info/ (S5). */
static inline int message_facts_are_s4(struct message_facts facts)
{
	return facts.place == MESSAGE_AT_S4 || facts.place == MESSAGE_AT_S4_NAMED;
}

#endif
