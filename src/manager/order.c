// SPDX-License-Identifier: ISC
#include "manager/order.h"
#include <errno.h>

/* --- orders --- */

static bool take_no_argument(struct str argument, struct order *order)
{
	(void)argument;
	(void)order;
	return true;
}

static bool take_name_argument(struct str argument, struct order *order)
{
	order->name = argument;
	return true;
}

static bool take_name_and_reason(struct str argument, struct order *order)
{
	if (str_split(&argument, ' ', &order->name) && argument.length > 0)
		order->reason = argument;
	return true;
}

static bool take_id_argument(struct str argument, struct order *order)
{
	return mail_id_parse(argument, &order->id) || str_to_u64(argument, &order->id.number);
}

static bool take_id_and_name(struct str argument, struct order *order)
{
	struct str id = argument;

	if (str_split(&argument, ' ', &id))
		order->name = argument;
	return take_id_argument(id, order);
}

static const struct {
	const char *word;
	bool (*take)(struct str argument, struct order *order); /* false: the ID is missing */
} kinds[ORDER_KINDS] = {
	[ORDER_QUEUED] = {"queued", take_no_argument},
	[ORDER_TRIGGER] = {"trigger", take_name_argument},
	[ORDER_WAIT] = {"wait", take_name_and_reason},
	[ORDER_RETRY] = {"retry", take_id_argument},
	[ORDER_HOLD] = {"hold", take_id_and_name},
	[ORDER_RELEASE] = {"release", take_id_argument},
	[ORDER_BOUNCE] = {"bounce", take_id_argument},
	[ORDER_REMOVE] = {"remove", take_id_argument},
	[ORDER_REQUEUE] = {"requeue", take_id_argument},
	[ORDER_WHY] = {"why", take_id_argument},
	[ORDER_PAUSED] = {"paused", take_name_argument},
	[ORDER_SAID] = {"said", take_name_argument},
	[ORDER_NODES] = {"nodes", take_name_argument},
	[ORDER_ANSWERS] = {"answers", take_name_argument},
	[ORDER_ACCEPT] = {"accept", take_id_argument},
};

bool order_kind_find(struct str text, enum order_kind *kind_out)
{
	for (size_t i = 0; i < COUNT_OF(kinds); i++) {
		if (str_equal(text, str_from(kinds[i].word))) {
			*kind_out = (enum order_kind)i;
			return true;
		}
	}
	return false;
}

enum order_code order_read(struct str text, struct order *order_out)
{
	struct str argument = text;
	struct str word = text;
	struct order order = {.reason = STR("asked for")};

	if (!str_split(&argument, ' ', &word))
		argument = STR("");
	if (!order_kind_find(word, &order.kind))
		return ORDER_UNKNOWN;
	if (!kinds[order.kind].take(argument, &order))
		return ORDER_NO_ID;
	*order_out = order;
	return ORDER_OK;
}

/* --- answers --- */

static const char *const reasons[ORDER_OTHER] = {
	[ORDER_OK] = "",
	[ORDER_UNKNOWN] = "unknown command",
	[ORDER_NO_ID] = "no message id",
	[ORDER_NOT_ALLOWED] = "only root and the queue's owner may give orders",
	[ORDER_NO_MESSAGE] = "no such message",
	[ORDER_IS_HELD] = "it is held",
	[ORDER_NOT_HELD] = "it is not held",
	[ORDER_NOTHING_WAITS] = "nothing waits for that",
	[ORDER_NO_TRIGGER_NAME] = "that is no name of a trigger",
	[ORDER_NO_UNTIL_NAME] = "that is no name of a trigger to wait for",
	[ORDER_TRIGGER_NOT_SET] = "the trigger cannot be set",
	[ORDER_HOLD_NOT_RECORDED] = "the hold cannot be recorded",
	[ORDER_NO_NODES] = "no process of this node speaks with others: it has no nodes, or begins",
	[ORDER_NO_ANSWERS] = "there are no answers to that question",
	[ORDER_NO_QUEUE] = "the queue is not there yet",
	[ORDER_UNREADABLE] = "it cannot be read; ask again",
	[ORDER_NOT_RECORDED] = "the disk does not take what became of it; ask again",
	[ORDER_UNDER_WAY] = "a delivery is under way; ask again",
	[ORDER_BUSY] = "it is being worked on; ask again",
};

struct order_answer order_refusal(enum order_code code)
{
	return (struct order_answer){code, str_from(reasons[code])};
}

bool order_code_is_passing(enum order_code code)
{
	return code >= ORDER_NO_QUEUE && code <= ORDER_BUSY;
}

void order_answer_write(const struct order_answer *answer, struct buffer *out)
{
	bool is_ok = answer->code == ORDER_OK;
	const char *word = is_ok ? "ok" : "err";
	struct str text = is_ok || answer->code == ORDER_OTHER ? answer->text
							       : str_from(reasons[answer->code]);
	size_t room = ORDER_ANSWER_MAX - str_from(word).length - 1;

	buffer_append_string(out, word);
	if (is_ok && text.length == 0)
		return;
	buffer_append_byte(out, ' ');
	buffer_append_str(out, text.length > room ? str_slice(text.data, room) : text);
}

static enum order_code find_code(struct str reason)
{
	size_t code = ORDER_OK + 1;

	while (code < ORDER_OTHER && !str_equal(reason, str_from(reasons[code])))
		code++;
	return (enum order_code)code;
}

int order_answer_read(struct str text, struct order_answer *answer_out)
{
	struct str rest = text;
	struct str word = text;

	if (!str_split(&rest, ' ', &word))
		rest = STR("");
	if (str_equal(word, STR("ok")))
		*answer_out = (struct order_answer){ORDER_OK, rest};
	else if (str_equal(word, STR("err")) && rest.length > 0)
		*answer_out = (struct order_answer){find_code(rest), rest};
	else
		return -EPROTO;
	return 0;
}
