// SPDX-License-Identifier: ISC
/*
 * manager/order.h - operators' orders and programs' notices, and what the manager answers: one
 * a datagram, a line of text each.
 *
 *   queued            a message was queued without the daemon
 *   trigger NAME      the event NAME happened
 *   wait NAME REASON  the event NAME is to be waited for
 *   retry ID          try all of its deliveries now, whatever they wait for
 *   hold ID [NAME]    try none of them before it is released, or the event NAME happened
 *   release ID        end a hold
 *   bounce ID         give up what is not done: report it to the sender
 *   remove ID         give up what is not done, and say nothing
 *   requeue ID        look up anew the addresses of what is not done, and try it
 *   why ID            the trigger that all of it waits for: "ok NAME", "ok" where there is none
 *
 * ID is a message's number, or number and birth time. The answer is "ok", "ok WHAT" where
 * something is asked, or "err REASON": a code has one reason, which people read as well.
 */
#ifndef MANAGER_ORDER_H
#define MANAGER_ORDER_H

#include "base/attributes.h"
#include "base/buffer.h"
#include "mail/envelope.h"

enum { ORDER_ANSWER_MAX = 248 }; /* bytes as text; what is told is cut there */

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
	ORDER_WHY,
	ORDER_KINDS,
};

struct order {
	enum order_kind kind;
	struct mail_id id; /* its birth may be 0: whatever message has that number */
	struct str name;   /* of a trigger: any text; may be empty */
	struct str reason; /* to wait for it */
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
	ORDER_NO_QUEUE, /* from here to BUSY: it passes */
	ORDER_UNREADABLE,
	ORDER_NOT_RECORDED, /* what became of the message */
	ORDER_UNDER_WAY,    /* a delivery */
	ORDER_BUSY,
	ORDER_OTHER, /* a reason of another version's */
};

struct order_answer {
	enum order_code code;
	struct str text; /* of OK what is told, may be empty; else the reason */
};

/* Whether TEXT is the word of a kind of order. */
MUST_CHECK bool order_kind_find(struct str text, enum order_kind *kind_out);

/* The code of what is wrong with TEXT, or ORDER_OK. *ORDER_OUT has views of TEXT. */
MUST_CHECK enum order_code order_read(struct str text, struct order *order_out);

/* With the reason that CODE, not OTHER, has. */
struct order_answer order_refusal(enum order_code code);
/* Whether the same order may be carried out in a moment. */
bool order_code_is_passing(enum order_code code);

/* Appends ANSWER to OUT, up to ORDER_ANSWER_MAX bytes; its text counts only for OK and OTHER. */
void order_answer_write(const struct order_answer *answer, struct buffer *out);
/* -EPROTO: TEXT is none. *ANSWER_OUT has a view of TEXT. */
MUST_CHECK int order_answer_read(struct str text, struct order_answer *answer_out);

#endif
