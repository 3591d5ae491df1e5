// SPDX-License-Identifier: ISC
/* The state of a session, and its transaction. */
#include "smtp/server/internal.h"
#include <stdlib.h>

void smtp_transaction_end(struct smtp_server *s)
{
	s->message_is_open = false;
	buffer_clear(&s->body);
	buffer_clear(&s->completed);
	if (s->transaction == NULL)
		return;
	free(s->head.forwarded);
	s->head.forwarded = NULL;
	header_edit_free(s->transaction->text.edit);
	mail_envelope_free(s->transaction->envelope);
	s->transaction = NULL;
}

void smtp_server_enter(struct smtp_server *s, enum smtp_state state)
{
	if (s->state == SMTP_STATE_CLOSED)
		return;
	s->state = state;
	if (state & (SMTP_STATE_CONNECTED | SMTP_STATE_GREETED | SMTP_STATE_CLOSED))
		smtp_transaction_end(s);
}

bool smtp_peer_is_trusted(const struct smtp_server *s)
{
	return s->head.peer.is_ours || s->head.user != NULL;
}

static bool normalizes_bare_newlines(const struct smtp_server *s)
{
	enum smtp_bare_newline rule = s->service->rules.bare_newline;

	if (rule != SMTP_BARE_NEWLINE_AUTO)
		return rule == SMTP_BARE_NEWLINE_NORMALIZE;
	return smtp_peer_is_trusted(s) || s->service->protocol == SMTP_PROTOCOL_SUBMISSION;
}

static struct smtp_text_rules text_rules(const struct smtp_server *s)
{
	return (struct smtp_text_rules){
		.form = SMTP_TEXT_STUFFED, /* until BDAT is sent */
		.size = s->service->limits.message_size,
		.hops = s->service->limits.hops,
		.is_normalized = normalizes_bare_newlines(s),
		.removes_nul = s->service->rules.removes_nul,
	};
}

/* Who could have authenticated, and has not, is no more urgent than others (RFC 6710). */
static int priority_of_mail(const struct smtp_server *s, const struct smtp_argument *mail)
{
	return mail->priority > 0 && !smtp_peer_is_trusted(s) ? 0 : mail->priority;
}

void smtp_transaction_begin(struct smtp_server *s, const struct smtp_argument *mail)
{
	struct mail_envelope *envelope = mail_envelope_new();

	s->transaction = arena_alloc(envelope->arena, sizeof *s->transaction);
	s->transaction->envelope = envelope;
	s->transaction->declared_size = mail->size;
	s->transaction->text = (struct smtp_text){
		.rules = text_rules(s), .arena = envelope->arena, .body = &s->body};
	envelope->stage = s->service->stage;
	envelope->sender = arena_copy_str(envelope->arena, mail->address.text);
	envelope->binary = mail->is_binary;
	envelope->utf8 = mail->is_utf8;
	envelope->require_tls = mail->requires_tls;
	envelope->release_us = mail->release_us;
	envelope->deadline = mail->deadline;
	envelope->priority = priority_of_mail(s, mail);
	envelope->ret = mail->ret;
	envelope->envid = arena_copy_str(envelope->arena, mail->envid);
}
