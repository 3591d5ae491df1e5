// SPDX-License-Identifier: ISC
/* The engine's open question, of which there is at most one; server.c takes its answer. */
#include "base/panic.h"
#include "smtp/server/internal.h"
#include <stdlib.h>
#include <string.h>

static void ask_smtp_question(struct smtp_server *s, enum smtp_question_type type)
{
	const struct smtp_transaction *t = s->transaction;

	s->question =
		(struct smtp_question){.type = type, .envelope = t != NULL ? t->envelope : NULL};
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
	ask_smtp_question(s, SMTP_QUESTION_RECIPIENT);
	s->question.address = *address;
	return false;
}

bool smtp_ask_client(struct smtp_server *s, const struct smtp_claim *claim,
		     const struct mail_verdict **answer_out)
{
	if (take_verdict(s, answer_out))
		return true;
	ask_smtp_question(s, SMTP_QUESTION_CLIENT);
	s->question.claim = claim;
	return false;
}

bool smtp_ask_release(struct smtp_server *s, struct str node,
		      const struct mail_verdict **answer_out)
{
	if (take_verdict(s, answer_out))
		return true;
	free(s->node);
	s->node = memory_alloc_zero(node.length + 1, 1);
	memcpy(s->node, node.data, node.length);
	ask_smtp_question(s, SMTP_QUESTION_RELEASE);
	s->question.node = str_from(s->node);
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
	ask_smtp_question(s, SMTP_QUESTION_OPEN);
	return false;
}

bool smtp_ask_senders(struct smtp_server *s, const struct str *senders, size_t count,
		      const struct mail_verdict **answer_out)
{
	if (take_verdict(s, answer_out))
		return true;
	ask_smtp_question(s, SMTP_QUESTION_SENDERS);
	s->question.senders = senders;
	s->question.sender_count = count;
	return false;
}

bool smtp_take_auth_answer(struct smtp_server *s, const struct smtp_auth_answer **answer_out)
{
	if (s->auth_answer == NULL)
		return false;
	*answer_out = s->auth_answer;
	s->auth_answer = NULL;
	return true;
}

bool smtp_ask_auth(struct smtp_server *s, const struct smtp_auth_answer **answer_out)
{
	struct smtp_exchange *exchange = s->exchange;

	if (smtp_take_auth_answer(s, answer_out))
		return true;
	ask_smtp_question(s, SMTP_QUESTION_AUTH);
	s->question.response = buffer_view(&exchange->message);
	if (exchange->has_begun)
		return false;
	exchange->has_begun = true;
	s->question.mechanism = str_slice(exchange->mechanism, exchange->mechanism_length);
	s->question.has_response = exchange->has_initial;
	return false;
}

bool smtp_ask_commit(struct smtp_server *s, const struct mail_verdict **answer_out)
{
	if (take_verdict(s, answer_out))
		return true;
	ask_smtp_question(s, SMTP_QUESTION_COMMIT);
	s->question.message_id = smtp_text_message_id(&s->transaction->text);
	return false;
}

const struct smtp_question *smtp_server_question(const struct smtp_server *s)
{
	return s->is_asking ? &s->question : NULL;
}
