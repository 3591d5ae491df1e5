// SPDX-License-Identifier: ISC
/*
 * manager/link/orders.h - the socket at which orders and notices arrive (manager/order.h). Who
 * bound an address of its own is answered.
 */
#ifndef MANAGER_LINK_ORDERS_H
#define MANAGER_LINK_ORDERS_H

#include "manager/order.h"
#include "os/loop.h"
#include <sys/types.h>

struct orders;

/* Carries it out. Appends the answer to a question to TOLD. The code is not ORDER_OTHER. */
typedef enum order_code order_carry_out(void *context, const struct order *order,
					struct buffer *told);

/* SOCKET: a datagram socket, borrowed. OWNER: who may give orders, besides root. */
struct orders *orders_new(struct os_loop *loop, int socket, uid_t owner, order_carry_out *carry_out,
			  void *context);
void orders_free(struct orders *orders);

#endif
