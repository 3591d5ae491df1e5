// SPDX-License-Identifier: ISC
#include "supervisor/talk/nodes.h"
#include "os/clock.h"
#include "supervisor/talk/manager.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

enum { AGAIN_MS = 20, BUSY_MS = 250, BUSY_ROUNDS = 80 };

struct asking {
	struct manager_talk *talk;
	enum order_code code; /* of the last answer */
	struct buffer answer; /* its text */
};

static void note_answer(void *context, struct mail_id id, const struct order_answer *answer)
{
	struct asking *asking = context;

	(void)id;
	asking->code = answer->code;
	buffer_reset(&asking->answer);
	buffer_append_str(&asking->answer, answer->text);
}

static int put_order(struct asking *asking, const struct buffer *order)
{
	int error = manager_talk_send(asking->talk, (struct mail_id){0, 0}, buffer_view(order));

	return error < 0 ? error : manager_talk_finish(asking->talk);
}

/* Has the nodes asked; waits while somebody asks for another message. */
static int begin_question(struct asking *asking, struct str message)
{
	struct buffer order CLEANUP(buffer_clear) = {0};
	int error = 0;

	buffer_append_string(&order, "nodes");
	if (message.length > 0)
		buffer_append_format(&order, " " STR_FORMAT, STR_ARGUMENTS(message));
	for (unsigned round = 0; error == 0 && round < BUSY_ROUNDS; round++) {
		if (round > 0)
			os_clock_pause_ms(BUSY_MS);
		error = put_order(asking, &order);
		if (error == 0 && !order_code_is_passing(asking->code))
			return 0;
	}
	return error < 0 ? error : -EAGAIN;
}

static int fetch_answers(struct asking *asking, uint64_t question, struct buffer *text)
{
	struct buffer order CLEANUP(buffer_clear) = {0};
	size_t before = text->length;

	for (;;) {
		struct str piece;
		int error;

		buffer_reset(&order);
		buffer_append_format(&order, "answers %" PRIu64 " %zu", question,
				     text->length - before);
		error = put_order(asking, &order);
		if (error < 0)
			return error;
		piece = buffer_view(&asking->answer);
		if (asking->code != ORDER_OK)
			return 1;
		if (piece.length == 0)
			return -EPROTO;
		if (piece.data[0] == '=')
			return 0;
		if (piece.data[0] == '+')
			buffer_append_str(text, str_skip(piece, 1));
		else
			os_clock_pause_ms(AGAIN_MS);
	}
}

int nodes_talk_ask(const char *run, struct str message, struct buffer *text, struct buffer *reason)
{
	struct asking asking = {.code = ORDER_OK};
	uint64_t question;
	int result = manager_talk_open(run, note_answer, &asking, &asking.talk);

	if (result == 0)
		result = begin_question(&asking, message);
	if (result == 0 && asking.code != ORDER_OK)
		result = 1;
	else if (result == 0)
		result = str_to_u64(buffer_view(&asking.answer), &question)
				 ? fetch_answers(&asking, question, text)
				 : -EPROTO;
	if (result == 1)
		buffer_append_str(reason, buffer_view(&asking.answer));
	manager_talk_close(asking.talk);
	buffer_clear(&asking.answer);
	return result;
}
