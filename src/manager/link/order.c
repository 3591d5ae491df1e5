// SPDX-License-Identifier: ISC
#include "manager/link/order.h"
#include "base/panic.h"
#include "os/socket.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NOTICE_MAX = 1024, NOTICES_A_TURN = 256 };

struct orders {
	int socket;
	uid_t owner;
	struct os_watch *watch;
	order_carry_out *carry_out;
	void *context;
};

static const struct {
	const char *word;
	enum order_kind kind;
} words[] = {
	{"queued", ORDER_QUEUED}, {"trigger", ORDER_TRIGGER}, {"wait", ORDER_WAIT},
	{"retry", ORDER_RETRY},   {"hold", ORDER_HOLD},       {"release", ORDER_RELEASE},
	{"bounce", ORDER_BOUNCE}, {"remove", ORDER_REMOVE},   {"requeue", ORDER_REQUEUE},
	{"why", ORDER_WHY},
};

static const char *parse_argument(struct str argument, struct order *order)
{
	struct str name = argument;

	if (order->kind == ORDER_HOLD && str_split(&argument, ' ', &name)) {
		order->name = argument;
		argument = name;
	}
	if (order->kind >= ORDER_RETRY)
		return mail_id_parse(argument, &order->id) ||
				       str_to_u64(argument, &order->id.number)
			       ? NULL
			       : "no message id";
	if (order->kind == ORDER_WAIT && str_split(&argument, ' ', &name) && argument.length > 0)
		order->reason = argument;
	order->name = name;
	return NULL;
}

const char *order_parse(struct str text, struct order *order_out)
{
	struct str argument = text;
	struct str word = text;
	struct order order = {.reason = STR("asked for")};

	if (!str_split(&argument, ' ', &word))
		argument = STR("");
	for (size_t i = 0; i < COUNT_OF(words); i++) {
		const char *problem;

		if (!str_equal(word, str_from(words[i].word)))
			continue;
		order.kind = words[i].kind;
		problem = parse_argument(argument, &order);
		if (problem == NULL)
			*order_out = order;
		return problem;
	}
	return "unknown command";
}

static const char *on_datagram(struct orders *orders, struct str text, uid_t user,
			       struct buffer *told)
{
	struct order order;
	const char *problem;

	if (user != 0 && user != orders->owner)
		return "only root and the queue's owner may give orders";
	problem = order_parse(str_trim(text), &order);
	return problem != NULL ? problem : orders->carry_out(orders->context, &order, told);
}

static void on_socket(void *context, unsigned events)
{
	struct buffer told CLEANUP(buffer_clear) = {0};
	struct orders *orders = context;

	(void)events;
	for (unsigned i = 0; i < NOTICES_A_TURN; i++) {
		char text[NOTICE_MAX];
		char answer[ORDER_TOLD_MAX + 8];
		struct os_socket_sender sender;
		const char *reason;
		ssize_t length = os_socket_receive_from(orders->socket, text, sizeof text, &sender);

		if (length < 0)
			break;
		buffer_reset(&told);
		reason = on_datagram(orders, str_slice(text, (size_t)length), sender.user, &told);
		if (reason != NULL)
			snprintf(answer, sizeof answer, "err %s", reason);
		else
			snprintf(answer, sizeof answer, "ok%s" STR_FORMAT,
				 told.length > 0 ? " " : "", STR_ARGUMENTS(buffer_view(&told)));
		os_socket_answer(orders->socket, answer, strlen(answer), &sender);
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
	orders->watch = os_watch_new(loop, socket, OS_WATCH_READ, on_socket, orders);
	return orders;
}

void orders_free(struct orders *orders)
{
	os_watch_free(orders->watch);
	free(orders);
}
