// SPDX-License-Identifier: ISC
/*
 * manager/link/order.h - operators' orders and programs' notices, one a datagram, a line of text
 * each. Who bound an address of its own is answered "ok" or "err REASON".
 *
 *   queued            a message was queued without the daemon
 *   trigger NAME      the event NAME happened
 *   wait NAME REASON  the event NAME is to be waited for
 *   retry ID          try all of its deliveries now, whatever they wait for
 *   hold ID           try none of them before it is released
 *   release ID        end a hold
 *   bounce ID         give up what is not done: report it to the sender
 *   remove ID         give up what is not done, and say nothing
 *
 * ID is a message's number, or number and birth time.
 */
#ifndef MANAGER_LINK_ORDER_H
#define MANAGER_LINK_ORDER_H

#include "mail/envelope.h"
#include "os/loop.h"
#include <sys/types.h>

enum order_kind {
	ORDER_QUEUED,
	ORDER_TRIGGER,
	ORDER_WAIT,
	ORDER_RETRY, /* from here on: about a message */
	ORDER_HOLD,
	ORDER_RELEASE,
	ORDER_BOUNCE,
	ORDER_REMOVE,
};

struct order {
	enum order_kind kind;
	struct mail_id id; /* its birth may be 0: whatever message has that number */
	struct str name;   /* of a trigger: any text */
	struct str reason; /* to wait for it */
};

struct orders;

/* SOCKET: a datagram socket, borrowed. OWNER: who may give orders, besides root. CARRY_OUT: NULL,
 * or the reason why not. */
struct orders *orders_new(struct os_loop *loop, int socket, uid_t owner,
			  const char *(*carry_out)(void *context, const struct order *order),
			  void *context);
void orders_free(struct orders *orders);

/* NULL, or what is wrong with TEXT. */
const char *order_parse(struct str text, struct order *order_out);

#endif
