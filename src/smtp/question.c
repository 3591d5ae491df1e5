// SPDX-License-Identifier: ISC
/* The one question that the engine may have open: asked, answered, and the command gone on with. */
#include "base/panic.h"
#include "smtp/internal.h"

static void ask(struct smtp_server *s, enum smtp_question_type type)
{
	s->question = (struct smtp_question){.type = type, .envelope = s->transaction->envelope};
	s->is_asking = true;
}

static bool take_verdict(struct smtp_server *s, const struct mail_verdict **answer_out)
{
	if (s->answer == NULL)
		return false;
	*answer_out = s->answer;
	s->answer = NULL;
	return true;
}

bool smtp_ask_recipient(struct smtp_server *s, const struct mail_address *address,
			const struct mail_verdict **answer_out)
{
	if (take_verdict(s, answer_out))
		return true;
	ask(s, SMTP_QUESTION_RECIPIENT);
	s->question.address = *address;
	return false;
}

bool smtp_ask_open(struct smtp_server *s, const struct mail_verdict **answer_out)
{
	if (take_verdict(s, answer_out))
		return true;
	if (s->has_opened) {
		s->has_opened = false;
		*answer_out = NULL;
		return true;
	}
	ask(s, SMTP_QUESTION_OPEN);
	return false;
}

bool smtp_ask_commit(struct smtp_server *s, const struct mail_verdict **answer_out)
{
	if (take_verdict(s, answer_out))
		return true;
	ask(s, SMTP_QUESTION_COMMIT);
	s->question.message_id = smtp_header_message_id(s->transaction);
	return false;
}

const struct smtp_question *smtp_server_question(const struct smtp_server *s)
{
	return s->is_asking ? &s->question : NULL;
}

/* The handler that asked runs again, and passes through its question. Behind OPEN
 * a message may be whole already (BDAT 0 LAST). */
static void run_again(struct smtp_server *s)
{
	bool is_open = s->question.type == SMTP_QUESTION_OPEN;
	enum smtp_step step;

	s->is_asking = false;
	step = s->state == SMTP_STATE_END ? smtp_message_end(s) : smtp_command(s);
	if ((step == SMTP_STEP_WAIT && !is_open) || s->answer != NULL || s->has_opened)
		panic("an SMTP handler asks more than one question");
	if (s->state != SMTP_STATE_CHUNK)
		buffer_clear(&s->line);
	if (s->is_stopping)
		smtp_server_shutdown(s);
}

void smtp_server_answer(struct smtp_server *s, const struct mail_verdict *verdict)
{
	if (!s->is_asking || (s->question.type == SMTP_QUESTION_OPEN && verdict->class == MAIL_OK))
		panic("an answer to no question of the SMTP server");
	s->answer = verdict;
	run_again(s);
}

void smtp_server_answer_open(struct smtp_server *s, struct mail_id id)
{
	if (!s->is_asking || s->question.type != SMTP_QUESTION_OPEN)
		panic("an answer to no question of the SMTP server");
	s->opened_id = id;
	s->has_opened = true;
	run_again(s);
}
