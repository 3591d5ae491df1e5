// SPDX-License-Identifier: ISC
/*
 * manager/link/order.h - operators' orders and programs' notices, one a datagram, a line of text
 * each. Who bound an address of its own is answered "ok", "ok WHAT" where something is asked,
 * or "err REASON".
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
 * ID is a message's number, or number and birth time.
 */
#ifndef MANAGER_LINK_ORDER_H
#define MANAGER_LINK_ORDER_H

#include "base/buffer.h"
#include "mail/envelope.h"
#include "os/loop.h"
#include <sys/types.h>

enum { ORDER_TOLD_MAX = 240 };

enum order_kind {
	ORDER_QUEUED,
	ORDER_TRIGGER,
	ORDER_WAIT,
	ORDER_RETRY, /* from here on: about a message */
	ORDER_HOLD,
	ORDER_RELEASE,
	ORDER_BOUNCE,
	ORDER_REMOVE,
	ORDER_REQUEUE,
	ORDER_WHY,
};

struct order {
	enum order_kind kind;
	struct mail_id id; /* its birth may be 0: whatever message has that number */
	struct str name;   /* of a trigger: any text; may be empty */
	struct str reason; /* to wait for it */
};

struct orders;

/* Carries it out: NULL, or the reason why not. Appends the answer to a question to TOLD, less
 * than ORDER_TOLD_MAX. */
typedef const char *order_carry_out(void *context, const struct order *order, struct buffer *told);

/* SOCKET: a datagram socket, borrowed. OWNER: who may give orders, besides root. */
struct orders *orders_new(struct os_loop *loop, int socket, uid_t owner, order_carry_out *carry_out,
			  void *context);
void orders_free(struct orders *orders);

/* NULL, or what is wrong with TEXT. */
const char *order_parse(struct str text, struct order *order_out);

#endif
