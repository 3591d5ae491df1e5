// SPDX-License-Identifier: ISC
/* Passes the engine's questions to the directory, and the message to the queue. */
#include "intake/internal.h"
#include "log/event.h"
#include "os/clock.h"
#include <errno.h>

void intake_question_open(struct intake_session *session)
{
	session->question.is_asking = true;
	queue_client_open(session->intake->queue, &session->message.queued);
}

static void answer_open_question(struct intake_session *session, int result)
{
	struct mail_verdict verdict;

	if (result < 0) {
		intake_message_log_error(session, NULL, "open", result);
		intake_message_verdict(&verdict, result);
		smtp_server_answer(session->server, &verdict);
		return;
	}
	session->message.id = (struct mail_id){session->message.queued.number, os_clock_wall_us()};
	session->message.began_us = os_clock_monotonic_us();
	smtp_server_answer_open(session->server, session->message.id);
}

static void answer_commit_question(struct intake_session *session, int result)
{
	const struct smtp_question *question = smtp_server_question(session->server);
	struct buffer *body = smtp_server_body(session->server);
	struct mail_verdict verdict;
	char id[MAIL_ID_SIZE];

	buffer_consume(body, body->length);
	if (result < 0) {
		intake_message_log_error(session, &session->message.id, "commit", result);
		intake_message_verdict(&verdict, result);
	} else {
		intake_message_accepted(session, session->message.id, question->envelope,
					question->message_id);
		if (smtp_server_has_broken_signature(session->server))
			log_event(EVENT_SIGNATURE_BROKEN, INTAKE_LOG_CLIENT(session),
				  log_id(session->message.id),
				  log_str(user, intake_session_user(session)),
				  log_from(question->envelope->sender),
				  log_str(message_id, question->message_id));
		mail_id_format(session->message.id, id);
		mail_verdict_set(&verdict, "2.0.0", "queued as %s", id);
	}
	smtp_server_answer(session->server, &verdict);
}

/* The message is discarded: the client is told at its end. */
static void fail_message_data(struct intake_session *session, int error)
{
	struct mail_verdict verdict;

	intake_message_log_error(session, &session->message.id, "write", error);
	queue_client_abandon(&session->message.queued);
	intake_message_verdict(&verdict, error);
	smtp_server_data_failed(session->server, &verdict);
}

/* OPEN or COMMIT was decided, or the message has its file; perhaps at once. */
static void on_message_queue_done(void *context, int result)
{
	struct intake_session *session = context;
	const struct smtp_question *question = smtp_server_question(session->server);

	session->question.is_asking = false;
	if (question != NULL && question->type == SMTP_QUESTION_OPEN)
		answer_open_question(session, result);
	else if (question != NULL && question->type == SMTP_QUESTION_COMMIT)
		answer_commit_question(session, result);
	else if (result < 0 && smtp_server_message_is_open(session->server))
		fail_message_data(session, result);
	if (!session->is_pumping)
		session->pump(session);
}

static void on_senders_judged(void *context, const struct mail_verdict *verdict)
{
	struct intake_session *session = context;

	session->question.is_asking = false;
	smtp_server_answer(session->server, verdict);
	if (!session->is_pumping)
		session->pump(session);
}

static void ask_senders(struct intake_session *session)
{
	static const struct mail_verdict fine = {.class = MAIL_OK, .status = "2.0.0"};
	const struct smtp_question *question = smtp_server_question(session->server);

	session->question.is_asking = question->sender_count > 0;
	if (question->sender_count == 0)
		smtp_server_answer(session->server, &fine);
	else
		directory_sender_ask(session->intake->directory, intake_session_user(session),
				     question->senders, question->sender_count, on_senders_judged,
				     session, &session->question.senders);
}

void intake_question_handle(struct intake_session *session)
{
	const struct smtp_question *question = smtp_server_question(session->server);

	switch (question->type) {
	case SMTP_QUESTION_RECIPIENT:
		intake_lookup_recipient(session, question->address.text,
					question->envelope->sender);
		break;
	case SMTP_QUESTION_SENDERS:
		if (question->envelope == NULL)
			intake_auth_ask(session, ask_senders);
		else
			ask_senders(session);
		break;
	case SMTP_QUESTION_AUTH:
		intake_auth_handle(session, question);
		break;
	case SMTP_QUESTION_CLIENT:
		intake_claim_take(session, question->claim);
		break;
	case SMTP_QUESTION_RELEASE:
		intake_claim_release(session, question->node);
		break;
	case SMTP_QUESTION_OPEN:
		if (!intake_lookup_awaits_name(session))
			intake_question_open(session);
		break;
	case SMTP_QUESTION_COMMIT:
		if (intake_message_is_late(session->message.began_us)) {
			queue_client_abandon(&session->message.queued);
			answer_commit_question(session, -ETIMEDOUT);
			break;
		}
		session->question.is_asking = true;
		queue_client_commit(&session->message.queued, question->envelope,
				    buffer_view(smtp_server_body(session->server)));
		break;
	}
}

/* Writes what the engine has of a message too large to go by value. */
static void write_message_body(struct intake_session *session)
{
	int error = 0;

	/* while the file is requested, nothing more is read: the body is full */
	if (!intake_message_write(session, &session->message.queued, &session->message.id,
				  smtp_server_body(session->server), &error))
		session->question.is_asking = session->message.queued.state == QUEUE_CLIENT_SHARING;
	else if (error < 0)
		fail_message_data(session, error);
}

/* If the message is complete, the rest goes with COMMIT. */
static bool is_body_to_be_written(const struct intake_session *session)
{
	return session->message.queued.state == QUEUE_CLIENT_OPEN &&
	       smtp_server_question(session->server) == NULL &&
	       smtp_server_body(session->server)->length >= SMTP_SERVER_BODY_MAX;
}

void intake_question_spool_body(struct intake_session *session)
{
	enum queue_client_state state = session->message.queued.state;

	if ((state == QUEUE_CLIENT_OPEN || state == QUEUE_CLIENT_SHARING) &&
	    !smtp_server_message_is_open(session->server)) {
		session->question.is_asking &= state != QUEUE_CLIENT_SHARING;
		queue_client_abandon(&session->message.queued);
		return;
	}
	if (state == QUEUE_CLIENT_OPEN && smtp_server_question(session->server) == NULL &&
	    intake_message_is_late(session->message.began_us)) {
		fail_message_data(session, -ETIMEDOUT);
		return;
	}
	/* first the file is requested, which may come at once, then it is written */
	while (is_body_to_be_written(session))
		write_message_body(session);
}

void intake_question_init(struct intake_session *session)
{
	session->message.queued.done = on_message_queue_done;
	session->message.queued.context = session;
}
