// SPDX-License-Identifier: ISC
/* A message from its beginning to its end: the Received field, and reasons to refuse it. */
#include "smtp/server/internal.h"
#include "smtp/server/trace.h"

enum {
	TRACE_SIZE = 512,   /* usually enough for our own header fields */
	TYPICAL_SIZE = 8192 /* of a message without SIZE */
};

/* RFC 3848, RFC 6531 section 4.3. There is no word for SMTP without EHLO in TLS. */
static const char *with_protocol(const struct smtp_server *s)
{
	static const char *const names[][4] = {
		{"SMTP", "SMTP", "SMTP", "SMTP"},
		{"ESMTP", "ESMTPS", "ESMTPA", "ESMTPSA"},
		{"UTF8SMTP", "UTF8SMTPS", "UTF8SMTPA", "UTF8SMTPSA"},
		{"UTF8LMTP", "UTF8LMTPS", "UTF8LMTPA", "UTF8LMTPSA"},
		{"LMTP", "LMTPS", "LMTPA", "LMTPSA"},
	};
	bool is_utf8 = s->transaction->envelope->utf8;
	size_t row = s->is_extended ? 1 : 0;

	if (s->service->protocol == SMTP_PROTOCOL_LMTP)
		row = is_utf8 ? 3 : 4;
	else if (is_utf8)
		row = 2;
	return names[row][(s->tls.version != NULL) + 2 * (s->head.user != NULL)];
}

static struct smtp_trace trace_of(const struct smtp_server *s)
{
	return (struct smtp_trace){
		.peer = &s->head.peer,
		.tls = &s->tls,
		.helo = s->head.helo,
		.hostname = s->service->hostname,
		.user = s->head.user,
		.shows_user = s->service->shows_user,
		.hides_client = s->service->hides_client && s->head.user != NULL,
		.with = with_protocol(s),
		.protocol = s->service->protocol == SMTP_PROTOCOL_LMTP ? "lmtp" : "smtp",
	};
}

static struct header_edit *new_edit(const struct smtp_server *s)
{
	const struct smtp_service *service = s->service;
	const struct mail_envelope *envelope = s->transaction->envelope;
	const struct header_edit_settings settings = {
		.completes = service->completes,
		.repairs = service->repairs && !envelope->binary,
		.allows_utf8 = envelope->utf8,
		.has_authors = smtp_authors_are_held(s),
		.domain = service->local_domain != NULL ? str_from(service->local_domain)
							: str_from(service->hostname),
		.hostname = str_from(service->hostname),
		.from = envelope->sender,
		.id = envelope->id,
	};

	return header_edit_new(&settings, envelope->arena);
}

void smtp_message_begin(struct smtp_server *s)
{
	struct smtp_transaction *t = s->transaction;
	struct smtp_trace trace = trace_of(s);
	uint64_t expected = t->declared_size > 0 ? t->declared_size : TYPICAL_SIZE;

	if (expected > SMTP_SERVER_BODY_MAX)
		expected = SMTP_SERVER_BODY_MAX;
	(void)buffer_reserve(&s->body, TRACE_SIZE + (size_t)expected);
	t->envelope->id = s->opened_id;
	t->envelope->received = smtp_trace_origin(&trace, t->envelope->arena);
	smtp_trace_append(&s->body, &trace, t->envelope);
	t->trace_size = s->body.length;
	t->text.edit = new_edit(s);
	t->text.is_kept = true;
	s->message_is_open = true;
}

void smtp_message_discard(struct smtp_server *s)
{
	s->message_is_open = false;
	s->transaction->text.is_kept = false;
	buffer_clear(&s->body);
}

void smtp_message_refuse(struct smtp_server *s, const struct mail_verdict *verdict)
{
	struct mail_verdict *kept = arena_alloc(s->transaction->envelope->arena, sizeof *kept);

	*kept = *verdict;
	s->transaction->refusal = kept;
	smtp_message_discard(s);
}

const struct mail_verdict *smtp_message_refusal(const struct smtp_server *s)
{
	const struct mail_verdict *refusal = smtp_text_refusal_so_far(&s->transaction->text);

	return refusal != NULL ? refusal : s->transaction->refusal;
}

/* Checked at the end, when the whole message is known. */
static const struct mail_verdict *refusal_of(const struct smtp_server *s)
{
	const struct smtp_transaction *t = s->transaction;
	const struct mail_verdict *refusal = smtp_text_refusal(&t->text);

	if (refusal == NULL)
		refusal = t->refusal;
	if (refusal == NULL &&
	    smtp_text_loops_everywhere(&t->text, s->service->site_key, t->envelope))
		refusal = &smtp_text_loop;
	return refusal;
}

/* False: it is being asked. */
static bool judge_authors(struct smtp_server *s)
{
	struct mail_verdict verdict;

	if (!smtp_authors_judge(s, &verdict))
		return false;
	if (verdict.class != MAIL_OK)
		smtp_message_refuse(s, &verdict);
	return true;
}

enum smtp_step smtp_message_end(struct smtp_server *s)
{
	struct smtp_transaction *t = s->transaction;
	const struct mail_verdict *verdict;

	t->has_judged |= !smtp_authors_are_held(s) || (s->answer == NULL && refusal_of(s) != NULL);
	if (!t->has_judged && !judge_authors(s))
		return SMTP_STEP_WAIT;
	t->has_judged = true;
	verdict = refusal_of(s);
	t->envelope->size = t->trace_size + t->text.kept;
	if (verdict == NULL && !smtp_ask_commit(s, &verdict))
		return SMTP_STEP_WAIT;
	if (verdict->class == MAIL_OK)
		s->errors = s->deferrals = s->commands = 0;
	smtp_reply_message(s, verdict);
	smtp_server_enter(s, SMTP_STATE_GREETED);
	return SMTP_STEP_DONE;
}

bool smtp_server_has_broken_signature(const struct smtp_server *s)
{
	return s->transaction != NULL && s->transaction->text.edit != NULL &&
	       header_edit_has_broken_signature(s->transaction->text.edit);
}
