// SPDX-License-Identifier: ISC
/*
 * The BDAT command (RFC 3030). The bytes of a chunk are always read, and there is no reply before
 * that: otherwise a refused chunk would be read as commands.
 */
#include "smtp/server/internal.h"

static const unsigned WELCOME = SMTP_STATE_RECIPIENTS | SMTP_STATE_BETWEEN;

enum smtp_step smtp_chunk_begin(struct smtp_server *s, const struct smtp_argument *argument)
{
	s->chunk_left = argument->size;
	s->chunk_is_last = argument->is_last;
	s->chunk_is_skipped = !(s->state & WELCOME);
	s->state_after_chunk = s->state;
	smtp_server_enter(s, SMTP_STATE_CHUNK);
	return s->chunk_left > 0 ? SMTP_STEP_DONE : smtp_chunk_end(s);
}

bool smtp_chunk_take(struct smtp_server *s, const char *data, size_t length, size_t *taken_out)
{
	size_t piece = s->transaction != NULL ? smtp_text_piece(&s->transaction->text)
					      : SMTP_SERVER_BODY_MAX;

	if (length > piece)
		length = piece;
	if (length > s->chunk_left)
		length = (size_t)s->chunk_left;
	if (!s->chunk_is_skipped)
		smtp_data_take_all(s, data, length);
	s->chunk_left -= length;
	*taken_out = length;
	return s->chunk_left == 0;
}

/* RFC 2033 section 4.3: one reply for each recipient that was accepted, and none if none was. */
static enum smtp_step refuse_lmtp(struct smtp_server *s)
{
	static const struct mail_verdict nobody = {MAIL_FAIL, "5.5.1", "No valid recipients"};

	return smtp_reply_message(s, s->state == SMTP_STATE_FAILED ? smtp_message_refusal(s)
								   : &nobody);
}

/* A refused message ends with its last chunk, so that a client that sent everything at once can
 * continue with the next one; by LMTP one without recipients does, too. */
static enum smtp_step end_skipped(struct smtp_server *s)
{
	bool is_lmtp = s->service->protocol == SMTP_PROTOCOL_LMTP;
	unsigned ending = SMTP_STATE_FAILED | (is_lmtp ? SMTP_STATE_SENDER : 0u);

	smtp_server_enter(s, s->state_after_chunk);
	if (is_lmtp && s->chunk_is_last && s->state != SMTP_STATE_CONNECTED)
		refuse_lmtp(s);
	else
		smtp_reply_misplaced(s, false);
	if ((s->state & ending) != 0 && s->chunk_is_last)
		smtp_server_enter(s, SMTP_STATE_GREETED);
	return SMTP_STEP_DONE;
}

/* A bare CR or LF is reported after the last chunk, as with DATA; everything else at once. */
enum smtp_step smtp_chunk_end(struct smtp_server *s)
{
	const struct mail_verdict *refusal;

	if (s->chunk_is_skipped)
		return end_skipped(s);
	if (s->chunk_is_last) {
		smtp_data_end(s);
		smtp_server_enter(s, SMTP_STATE_END);
		return smtp_message_end(s);
	}
	refusal = smtp_message_refusal(s);
	if (refusal != NULL) {
		smtp_server_enter(s, SMTP_STATE_FAILED);
		return smtp_reply_verdict(s, refusal);
	}
	smtp_server_enter(s, SMTP_STATE_BETWEEN);
	return smtp_reply(s, 250, "2.0.0", "Chunk ok");
}
