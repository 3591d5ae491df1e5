// SPDX-License-Identifier: ISC
/*
 * manager/link/orders.h - the socket for orders and notices (manager/order.h). Senders that bound
 * an address of their own are answered.
 */
#ifndef MANAGER_LINK_ORDERS_H
#define MANAGER_LINK_ORDERS_H

#include "manager/order.h"
#include "os/loop.h"
#include <sys/types.h>

struct orders;

/* Carries out ORDER. Appends the answer to a question to TOLD. Never returns ORDER_OTHER. */
typedef enum order_code order_carry_out(void *context, const struct order *order,
					struct buffer *told);

/* SOCKET: a datagram socket, borrowed. OWNER: who may give orders, besides root. */
struct orders *orders_new(struct os_loop *loop, int socket, uid_t owner, order_carry_out *carry_out,
			  void *context);
void orders_free(struct orders *orders);

#endif
