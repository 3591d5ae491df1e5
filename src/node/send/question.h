// SPDX-License-Identifier: ISC
/*
 * node/send/question.h - the question of an operator to all nodes, which is under way: this one is
 * asked by "send" itself, the others over their connections, which are made for that if there are
 * none.
 *
 *   a node     event                        becomes
 *   WAITING    there is room to ask         ASKED (its patience begins)
 *   ASKED      it is connected, and between
 *              two packages                 - (the question is said)
 *              it answers                   told
 *              it does not know "status",
 *              or cannot be reached         told, with the reason
 *              its patience is over         told, with the reason
 */
#ifndef NODE_SEND_QUESTION_H
#define NODE_SEND_QUESTION_H

#include "node/send/internal.h"

struct asked_node {
	struct node_question *question;
	char name[MAIL_NODE_MAX + 1];
	bool is_own;
	bool is_said;            /* the question, to it */
	struct os_timer *timer;  /* its patience, while ASKED; NULL: WAITING */
	struct asked_node *next; /* in the order of their names */
};

struct node_question {
	struct node_sender *sender;
	uint64_t number;            /* of "send" */
	char message[MAIL_ID_SIZE]; /* its id; "": their status is wanted */
	struct asked_node *nodes;   /* that were not told */
	unsigned asked;             /* of these */
	struct os_task more;        /* asks those for which there is room */
};

/* "send" is told of NODE, "" for the end: its answer, or why there is none. */
void asked_node_say(const struct node_question *question, const char *node, bool is_answer,
		    struct str text);
/* The same of a node that was asked, which is freed: there is room to ask another one. */
void asked_node_tell(struct asked_node *node, bool is_answer, struct str text);
/* The node NAME, if it is ASKED; else NULL. */
struct asked_node *asked_node_find(const struct node_sender *sender, const char *name);

#endif
