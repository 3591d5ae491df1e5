// SPDX-License-Identifier: ISC
#include "manager/link/answers.h"
#include "base/panic.h"
#include "base/text/json.h"
#include "mail/package.h"
#include "manager/link/handed.h"
#include <stdlib.h>

enum answers_state { ANSWERS_NONE, ANSWERS_ASKING, ANSWERS_TOLD };

struct answers {
	struct helpers *helpers;
	enum answers_state state;
	uint64_t question; /* the latest */
	struct buffer message;
	struct buffer text; /* "[...", and "]" once TOLD */
	struct os_timer *timer;
};

static void enter_answers_state(struct answers *answers, enum answers_state state)
{
	answers->state = state;
	if (state == ANSWERS_NONE)
		buffer_clear(&answers->text);
	else
		os_timer_start(answers->timer,
			       state == ANSWERS_ASKING ? ANSWERS_PATIENCE_US : ANSWERS_KEPT_US);
}

static void begin_told_object(struct answers *answers, const char *name, struct str text)
{
	bool is_first = answers->text.length == 1;

	buffer_append_string(&answers->text, is_first ? "{" : ",{");
	json_field_text(&answers->text, name, text);
}

static void end_answers(struct answers *answers, struct str problem)
{
	if (answers->state != ANSWERS_ASKING)
		return;
	if (problem.length > 0) {
		begin_told_object(answers, "problem", problem);
		buffer_append_byte(&answers->text, '}');
	}
	buffer_append_byte(&answers->text, ']');
	enter_answers_state(answers, ANSWERS_TOLD);
}

static void on_answers_timer(void *context)
{
	struct answers *answers = context;

	if (answers->state == ANSWERS_ASKING)
		end_answers(answers, STR("the process \"handover\" does not answer"));
	else
		enter_answers_state(answers, ANSWERS_NONE);
}

void answers_lost(struct answers *answers)
{
	end_answers(answers, STR("the process \"handover\" has ended meanwhile: ask again"));
}

/* --- the operator --- */

enum order_code answers_begin(struct answers *answers, struct str message, struct buffer *told)
{
	struct buffer body CLEANUP(buffer_clear) = {0};
	bool is_same = str_equal(message, buffer_view(&answers->message));

	if (answers->state == ANSWERS_ASKING && !is_same)
		return ORDER_BUSY;
	if (answers->state != ANSWERS_ASKING) {
		if (!helpers_have(answers->helpers, HANDED_SERVICE))
			return ORDER_NO_NODES;
		buffer_reset(&answers->message);
		buffer_append_str(&answers->message, message);
		buffer_reset(&answers->text);
		buffer_append_byte(&answers->text, '[');
		answers->question++;
		pack_u64(&body, answers->question);
		pack_str(&body, message);
		enter_answers_state(answers, ANSWERS_ASKING);
		helpers_tell(answers->helpers, HANDED_SERVICE, IPC_JOB_ASK_NODES,
			     buffer_view(&body));
	}
	buffer_append_number(told, answers->question);
	return ORDER_OK;
}

enum order_code answers_read(struct answers *answers, struct str text, struct buffer *told)
{
	struct str offset_text = text;
	struct str question_text = text;
	struct str rest = buffer_view(&answers->text);
	uint64_t question;
	uint64_t offset;

	if (!str_split(&offset_text, ' ', &question_text) ||
	    !str_to_u64(question_text, &question) || !str_to_u64(offset_text, &offset) ||
	    answers->state == ANSWERS_NONE || question != answers->question || offset > rest.length)
		return ORDER_NO_ANSWERS;
	rest = str_skip(rest, (size_t)offset);
	if (rest.length == 0) {
		buffer_append_byte(told, answers->state == ANSWERS_TOLD ? '=' : '-');
		return ORDER_OK;
	}
	buffer_append_byte(told, '+');
	buffer_append(told, rest.data,
		      rest.length < ANSWERS_PIECE_MAX ? rest.length : ANSWERS_PIECE_MAX);
	return ORDER_OK;
}

/* --- handover --- */

static void add_told_node(struct answers *answers, struct str node, bool is_answer, struct str text)
{
	bool has_room = answers->text.length + text.length < ANSWERS_TEXT_MAX;

	begin_told_object(answers, "node", node);
	if (!has_room) {
		json_field_text(&answers->text, "reason",
				STR("the answers of the nodes together are too long"));
	} else if (is_answer) {
		json_field_text(&answers->text, "status", text);
	} else {
		json_field_text(&answers->text, "reason", text);
	}
	buffer_append_byte(&answers->text, '}');
	enter_answers_state(answers, ANSWERS_ASKING);
}

bool answers_hear(struct answers *answers, struct str body)
{
	struct unpack unpack = {body, false};
	uint64_t question = unpack_u64(&unpack);
	struct str node = unpack_str(&unpack);
	bool is_answer = unpack_u32(&unpack) != 0;
	struct str text = unpack_str(&unpack);

	if (!unpack_is_whole(&unpack) || (node.length > 0 && !mail_node_is_valid(node)) ||
	    str_has_control(text))
		return false;
	if (answers->state != ANSWERS_ASKING || question != answers->question)
		return true; /* too late */
	if (node.length == 0)
		end_answers(answers, text);
	else
		add_told_node(answers, node, is_answer, text);
	return true;
}

/* --- its life --- */

struct answers *answers_new(struct os_loop *loop, struct helpers *helpers)
{
	struct answers *answers = memory_alloc_zero(1, sizeof *answers);

	answers->helpers = helpers;
	answers->timer = os_timer_new(loop, on_answers_timer, answers);
	return answers;
}

void answers_free(struct answers *answers)
{
	os_timer_free(answers->timer);
	buffer_clear(&answers->message);
	buffer_clear(&answers->text);
	free(answers);
}
