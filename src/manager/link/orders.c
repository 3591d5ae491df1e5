// SPDX-License-Identifier: ISC
#include "manager/link/orders.h"
#include "base/panic.h"
#include "os/socket/socket.h"
#include <stdlib.h>

enum { NOTICE_MAX = 1024, NOTICES_A_TURN = 256 };

struct orders {
	int socket;
	uid_t owner;
	struct os_watch *watch;
	order_carry_out *carry_out;
	void *context;
};

static enum order_code on_datagram(struct orders *orders, struct str text, uid_t user,
				   struct buffer *told)
{
	struct order order;
	enum order_code code;

	if (user != 0 && user != orders->owner)
		return ORDER_NOT_ALLOWED;
	code = order_read(str_trim(text), &order);
	return code != ORDER_OK ? code : orders->carry_out(orders->context, &order, told);
}

static void on_order_socket(void *context, unsigned events)
{
	struct buffer told CLEANUP(buffer_clear) = {0};
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct orders *orders = context;

	(void)events;
	for (unsigned i = 0; i < NOTICES_A_TURN; i++) {
		char notice[NOTICE_MAX];
		struct os_socket_sender sender;
		struct order_answer answer;
		ssize_t length =
			os_socket_receive_from(orders->socket, notice, sizeof notice, &sender);

		if (length < 0)
			break;
		buffer_reset(&told);
		buffer_reset(&text);
		answer.code =
			on_datagram(orders, str_slice(notice, (size_t)length), sender.user, &told);
		answer.text = buffer_view(&told);
		order_answer_write(&answer, &text);
		os_socket_answer(orders->socket, buffer_data(&text), text.length, &sender);
	}
}

struct orders *orders_new(struct os_loop *loop, int socket, uid_t owner, order_carry_out *carry_out,
			  void *context)
{
	struct orders *orders = memory_alloc_zero(1, sizeof *orders);

	orders->socket = socket;
	orders->owner = owner;
	orders->carry_out = carry_out;
	orders->context = context;
	orders->watch = os_watch_new(loop, socket, OS_WATCH_READ, on_order_socket, orders);
	return orders;
}

void orders_free(struct orders *orders)
{
	os_watch_free(orders->watch);
	free(orders);
}
