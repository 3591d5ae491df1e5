// SPDX-License-Identifier: ISC
/*
 * manager/wait/facts.h - what is known of a message besides its number, asleep or awake. Passed on
 * unchanged when a message goes to sleep or wakes.
 */
#ifndef MANAGER_WAIT_FACTS_H
#define MANAGER_WAIT_FACTS_H

/* Where it is on the disk (ARCHITECTURE.md, the picture). */
enum message_place {
	MESSAGE_AT_S4,       /* todo/ */
	MESSAGE_AT_S4_NAMED, /* todo/, and S5 was begun: it may have names there */
	MESSAGE_AT_S5_TODO,  /* S5, and "queue" has not removed todo/ yet */
	MESSAGE_AT_S5,
};

/* What an operator has ordered for deliveries that are not decided. */
enum message_order {
	MESSAGE_ORDER_NONE,
	MESSAGE_ORDER_BOUNCE,
	MESSAGE_ORDER_REMOVE,
	MESSAGE_ORDER_REQUEUE, /* look up its addresses again */
	MESSAGE_ORDER_ACCEPT,  /* deliver its data as they are now, though they are damaged */
};

/* Why it sleeps until a time, besides what its control file says. */
enum message_rest {
	MESSAGE_RESTS_FOR_TIME,      /* nothing besides */
	MESSAGE_RESTS_FOR_DIRECTORY, /* which answers, and does not know for now */
	MESSAGE_RESTS_FOR_ROOM,      /* to be mapped anew */
	MESSAGE_RESTS_UNREADABLE,
	MESSAGE_RESTS_UNRECORDED, /* the disk has not taken what became of it */
};

struct message_facts {
	unsigned place : 2;       /* enum message_place */
	unsigned stage : 4;       /* enum mail_stage; of S4 */
	unsigned order : 3;       /* enum message_order: not carried out yet */
	unsigned is_released : 1; /* the event that it waited for has happened: times are ignored */
	unsigned is_hurried : 1;  /* an operator wants it tried now, also if its sender does not */
	unsigned is_found : 1;    /* by a scan, in todo/: not logged yet */
	unsigned is_listed : 1;   /* due according to intd/due: its file has not been looked at */
	unsigned is_reported : 1; /* what became of it, to its sender, but it could not be ended */
	unsigned rest : 3;        /* enum message_rest: of one that sleeps */
	unsigned is_partial : 1; /* some of its deliveries wait for a place in a class of hosts, and
				  * others for something else */
};

/* Whether its envelope is in todo/ (S4) rather than info/ (S5). */
static inline int message_facts_are_s4(struct message_facts facts)
{
	return facts.place == MESSAGE_AT_S4 || facts.place == MESSAGE_AT_S4_NAMED;
}

#endif
