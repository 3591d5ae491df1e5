// SPDX-License-Identifier: ISC
/*
 * manager/link/answers.h - what all nodes answer to one question of an operator: "handover" asks
 * them, and the command fetches the text piece by piece (manager/order.h).
 *
 *   state     event                      action                  new state
 *   NONE      begin                      has handover ask        ASKING
 *   ASKING    begin, of the same message -                       ASKING
 *             a node is told             adds it                 ASKING
 *             all are told               -                       TOLD
 *             handover begins anew, or
 *             nothing for ANSWERS_PATIENCE_US   says so          TOLD
 *   TOLD      begin                      has handover ask        ASKING
 *             after ANSWERS_KEPT_US      forgets all             NONE
 */
#ifndef MANAGER_LINK_ANSWERS_H
#define MANAGER_LINK_ANSWERS_H

#include "manager/link/helper.h"
#include "manager/order.h"

struct answers;

enum {
	ANSWERS_TEXT_MAX = 4 << 20, /* bytes; a node whose answer has no room is named without it */
	ANSWERS_PATIENCE_US = 10000000,
	ANSWERS_KEPT_US = 30000000,
	ANSWERS_PIECE_MAX = ORDER_ANSWER_MAX - 32,
};

/* HELPERS is borrowed. */
struct answers *answers_new(struct os_loop *loop, struct helpers *helpers);
void answers_free(struct answers *answers);

/* Asks all nodes for their status, or what they know of the message with the id MESSAGE; appends the
 * number of the question to TOLD. ORDER_BUSY: another question is under way; ORDER_NO_NODES: there is no
 * process "handover". */
enum order_code answers_begin(struct answers *answers, struct str message, struct buffer *told);
/* Appends to TOLD, for the question and the offset in TEXT, "NUMBER OFFSET": "+" and a piece of the
 * text from there; "-": nothing yet; "=": that was all. The text is an array of JSON:
 * {"node":NAME,"status":TEXT}, where TEXT is what that node says, {"node":NAME,"reason":TEXT} and
 * {"problem":TEXT}. */
enum order_code answers_read(struct answers *answers, struct str text, struct buffer *told);

/* BODY of a NODE_IS; false: malformed. */
MUST_CHECK bool answers_hear(struct answers *answers, struct str body);
/* "handover" has begun anew: it knows of no question. */
void answers_lost(struct answers *answers);

#endif
