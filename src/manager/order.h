// SPDX-License-Identifier: ISC
/*
 * manager/order.h - orders from operators, notices from programs, and the manager's answers: each
 * is a datagram with one line of text.
 *
 *   queued            a message was queued without the daemon
 *   trigger NAME      the event NAME happened
 *   wait NAME REASON  begin to wait for the event NAME
 *   retry ID          try all deliveries now, whatever they wait for; "ok (DESTINATION: REASON)" if
 *                     they cannot be tried yet
 *   hold ID [NAME]    try none of them until release, or until the event NAME has happened
 *   release ID        end a hold
 *   bounce ID         give up undecided deliveries and report them to the sender
 *   remove ID         give up undecided deliveries without a report
 *   requeue ID        look up the addresses of undecided deliveries again, and try them
 *   accept ID         deliver the data as they are now, though the disk has changed them
 *   why ID            what it waits for: "ok TRIGGER", or "ok (WHERE: REASON)"; "ok" if that is the
 *                     time in its control file
 *   paused [NAME]     a destination that has a pause, the first or that after NAME: "ok DOMAIN
 *                     MILLISECONDS JOBS REASON", or "ok" if none; the domain "*" stands for all:
 *                     the load has reached load_queue
 *   said [N]          what a server said lately that changes how mail goes to it, the latest or
 *                     the N-th before: "ok" and as said_tell(), or "ok" if there are no more
 *   nodes [ID]        ask all nodes for their status, or what they know of a message: "ok NUMBER",
 *                     that of the question
 *   answers NUMBER OFFSET
 *                     what they have answered, from the byte at OFFSET: "ok +TEXT", "ok -" if there is
 *                     nothing more yet, or "ok =" if that was all (link/answers.h)
 *
 * ID is a message's number, or number and birth time. The answer is "ok", "ok WHAT" to a question,
 * or "err REASON": each code has one fixed reason, which is also shown to people.
 */
#ifndef MANAGER_ORDER_H
#define MANAGER_ORDER_H

#include "base/attributes.h"
#include "base/buffer.h"
#include "mail/envelope.h"

enum { ORDER_ANSWER_MAX = 1000 }; /* bytes of text; longer answers are cut */

enum order_kind {
	ORDER_QUEUED,
	ORDER_TRIGGER,
	ORDER_WAIT,
	ORDER_RETRY,
	ORDER_HOLD,
	ORDER_RELEASE,
	ORDER_BOUNCE,
	ORDER_REMOVE,
	ORDER_REQUEUE,
	ORDER_ACCEPT,
	ORDER_WHY,
	ORDER_PAUSED,
	ORDER_SAID,
	ORDER_NODES,
	ORDER_ANSWERS,
	ORDER_KINDS,
};

struct order {
	enum order_kind kind;
	struct mail_id id; /* birth may be 0: any message with that number */
	struct str name;   /* of a trigger: any text; may be empty */
	struct str reason; /* why to wait for it */
};

enum order_code {
	ORDER_OK, /* carried out, or recorded so that it will be */
	ORDER_UNKNOWN,
	ORDER_NO_ID,
	ORDER_NOT_ALLOWED,
	ORDER_NO_MESSAGE,
	ORDER_IS_HELD,
	ORDER_NOT_HELD,
	ORDER_NOTHING_WAITS,
	ORDER_NO_TRIGGER_NAME,
	ORDER_NO_UNTIL_NAME, /* nor one that an operator may choose */
	ORDER_TRIGGER_NOT_SET,
	ORDER_HOLD_NOT_RECORDED,
	ORDER_NO_NODES,       /* no process of this node asks others */
	ORDER_NO_ANSWERS,     /* to that question, or not any more */
	ORDER_NO_QUEUE, /* from here to BUSY: temporary */
	ORDER_UNREADABLE,
	ORDER_NOT_RECORDED, /* the order could not be recorded */
	ORDER_UNDER_WAY,    /* a delivery */
	ORDER_BUSY,
	ORDER_OTHER, /* a reason from another version of the manager */
};

struct order_answer {
	enum order_code code;
	struct str text; /* for OK the answer, may be empty; else the reason */
};

/* Whether TEXT is the name of an order. */
MUST_CHECK bool order_kind_find(struct str text, enum order_kind *kind_out);

/* Parses TEXT: ORDER_OK, or the code of what is wrong with it. *ORDER_OUT borrows from TEXT. */
MUST_CHECK enum order_code order_read(struct str text, struct order *order_out);

/* An answer with the reason for CODE, which is not OTHER. */
struct order_answer order_refusal(enum order_code code);
/* Whether the same order may succeed in a moment. */
bool order_code_is_passing(enum order_code code);

/* Appends ANSWER to OUT, up to ORDER_ANSWER_MAX bytes; its text counts only for OK and OTHER. */
void order_answer_write(const struct order_answer *answer, struct buffer *out);
/* -EPROTO: TEXT is not an answer. *ANSWER_OUT borrows from TEXT. */
MUST_CHECK int order_answer_read(struct str text, struct order_answer *answer_out);

#endif
