// SPDX-License-Identifier: ISC
/* A session that speaks SMTP, submission or LMTP. */
#include "intake/internal.h"
#include <errno.h>

static void begin_smtp_session(struct intake_session *session, const struct smtp_service *service,
			       const struct smtp_peer *peer)
{
	intake_question_init(session);
	session->server = smtp_server_new(service, *peer);
	session->head = smtp_server_head(session->server);
}

static void end_smtp_session(struct intake_session *session)
{
	smtp_server_free(session->server);
}

/* Whoever spoke first is refused, and whoever has dropped the connection is not greeted. */
static void start_smtp_session(struct intake_session *session, struct str early)
{
	static const char handshake = 0x16; /* RFC 8446 section 5.1 */
	char byte = early.length > 0 ? early.data[0] : '\0';
	ssize_t count = early.length > 0 ? 1 : tls_stream_read(&session->tls.stream, &byte, 1);

	if (count > 0)
		smtp_server_early_talker(session->server,
					 byte == handshake && session->tls.stream.tls == NULL);
	else if (count == 0 || count == -EAGAIN)
		smtp_server_start(session->server);
	else
		session->is_at_end = true;
}

static size_t take_smtp_input(struct intake_session *session, const char *data, size_t length)
{
	return smtp_server_input(session->server, data, length);
}

static bool is_smtp_ready(const struct intake_session *session)
{
	return smtp_server_is_ready(session->server);
}

static bool is_smtp_closed(const struct intake_session *session)
{
	return smtp_server_is_closed(session->server);
}

static bool is_smtp_receiving(const struct intake_session *session)
{
	return smtp_server_is_receiving(session->server);
}

static bool wants_smtp_tls(const struct intake_session *session)
{
	return smtp_server_wants_tls(session->server);
}

static uint32_t timeout_of_smtp(const struct intake_session *session)
{
	return smtp_server_timeout_seconds(session->server);
}

static void time_out_smtp_session(struct intake_session *session)
{
	smtp_server_timeout(session->server);
}

static void stop_smtp_session(struct intake_session *session)
{
	smtp_server_shutdown(session->server);
}

static void drain_smtp_session(struct intake_session *session)
{
	smtp_server_drain(session->server);
}

static void refuse_smtp_client(struct intake_session *session, const char *text)
{
	smtp_server_refuse_session(session->server, text);
}

static void set_smtp_session_tls(struct intake_session *session, const struct smtp_tls *tls)
{
	intake_auth_forget(session);
	smtp_server_set_tls(session->server, tls);
}

static bool has_smtp_question(const struct intake_session *session, struct intake_asked *asked_out)
{
	const struct smtp_question *question = smtp_server_question(session->server);

	if (question == NULL)
		return false;
	*asked_out = (struct intake_asked){
		.type = question->type,
		.envelope = question->envelope,
		.goes_on = question->type == SMTP_QUESTION_AUTH && question->mechanism.length == 0,
	};
	return true;
}

static void answer_smtp_question(struct intake_session *session, const struct mail_verdict *verdict)
{
	smtp_server_answer(session->server, verdict);
}

static void spool_smtp_body(struct intake_session *session)
{
	intake_question_spool_body(session);
	intake_auth_handle_end(session);
}

static uint64_t unfinished_size_of_smtp(const struct intake_session *session)
{
	return queue_client_unfinished(&session->message.queued);
}

static void cancel_smtp_questions(struct intake_session *session)
{
	directory_sender_cancel(&session->question.senders);
	intake_auth_end(session);
	queue_client_abandon(&session->message.queued);
}

const struct intake_engine intake_engine_smtp = {
	.authenticates = true,
	.begin = begin_smtp_session,
	.free = end_smtp_session,
	.start = start_smtp_session,
	.input = take_smtp_input,
	.is_ready = is_smtp_ready,
	.is_closed = is_smtp_closed,
	.is_receiving = is_smtp_receiving,
	.wants_tls = wants_smtp_tls,
	.timeout_seconds = timeout_of_smtp,
	.timeout = time_out_smtp_session,
	.shutdown = stop_smtp_session,
	.drain = drain_smtp_session,
	.refuse_session = refuse_smtp_client,
	.set_tls = set_smtp_session_tls,
	.asks = has_smtp_question,
	.handle_question = intake_question_handle,
	.spool_body = spool_smtp_body,
	.answer = answer_smtp_question,
	.open = intake_question_open,
	.unfinished = unfinished_size_of_smtp,
	.cancel = cancel_smtp_questions,
};
