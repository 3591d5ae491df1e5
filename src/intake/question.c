// SPDX-License-Identifier: ISC
/* Passes the engine's questions to the directory, and the message to the queue. */
#include "base/panic.h"
#include "intake/internal.h"
#include "log/event.h"
#include "os/clock.h"
#include <errno.h>
#include <utlist.h>

enum { EXTRAS = 6 };

/* The reply when the queue cannot accept a message. */
static void queue_verdict(struct mail_verdict *verdict, int error)
{
	if (error == -ENOSPC || error == -EDQUOT)
		mail_verdict_set(verdict, "4.3.1", "Insufficient system storage");
	else if (error == -ETIMEDOUT)
		mail_verdict_set(verdict, "4.4.2", "The message took longer than a day");
	else if (error == -E2BIG)
		mail_verdict_set(verdict, "5.3.4", "The envelope is over the size limit");
	else
		mail_verdict_set(verdict, "4.3.0", "The queue cannot take the message now");
}

/* A process that writes a message gives up after a day (qmail internals, section 3): an older
 * unfinished file may be taken for litter. */
static const int64_t MESSAGE_US = DAY_US;

static bool is_too_late(const struct intake_session *session)
{
	return os_clock_monotonic_us() - session->message_began_us > MESSAGE_US;
}

static void open_message(struct intake_session *session)
{
	session->is_asking = true;
	queue_client_open(session->intake->queue, &session->message);
}

/* The trace header contains the name: a message begins when the name is known, or the lookup
 * took too long (names/client.h). */
static void on_name_known(void *context, const char *name, bool is_temporary)
{
	struct intake_session *session = context;

	(void)is_temporary;
	if (*name != '\0') {
		session->name = memory_copy_string(name);
		smtp_server_set_peer_name(session->server, session->name);
	}
	if (!session->is_unnamed)
		return;
	session->is_unnamed = false;
	open_message(session);
}

void intake_question_ask_name(struct intake_session *session, const struct in6_addr *address)
{
	if (session->intake->names != NULL)
		names_ask(session->intake->names, address, &session->name_request);
}

static void see_to_open(struct intake_session *session)
{
	const struct names *names = session->intake->names;

	session->is_unnamed = names != NULL && names_request_is_open(&session->name_request) &&
			      !names_are_slow(names);
	if (session->is_unnamed)
		session->is_asking = true;
	else
		open_message(session);
}

static void answer_question(struct intake_session *session, const struct mail_verdict *verdict)
{
	session->is_asking = false;
	smtp_server_answer(session->server, verdict);
	session->reason = NULL;
	if (!session->is_pumping)
		session->pump(session);
}

static void on_post_judged(void *context, const struct mail_verdict *verdict, bool is_away)
{
	(void)is_away;
	answer_question(context, verdict);
}

bool intake_session_may_relay(const struct intake_session *session)
{
	return session->may_relay || smtp_server_user(session->server).length > 0;
}

/* The directory has answered, perhaps at once. */
static void on_recipient_known(void *context, const struct directory_result *result)
{
	struct intake_session *session = context;
	const struct smtp_question *question = smtp_server_question(session->server);
	const struct directory_target *list = directory_result_closed_list(result);
	struct mail_verdict verdict;

	session->reason =
		directory_judge_recipient(result, intake_session_may_relay(session), &verdict);
	if (verdict.class == MAIL_OK && list != NULL)
		directory_post_ask(session->intake->directory, list, question->envelope->sender,
				   on_post_judged, session, &session->post);
	else
		answer_question(session, &verdict);
}

static void on_senders_judged(void *context, const struct mail_verdict *verdict)
{
	answer_question(context, verdict);
}

static void answer_open(struct intake_session *session, int result)
{
	struct mail_verdict verdict;

	if (result < 0) {
		log_event(EVENT_QUEUE_ERROR, log_string("client", session->address),
			  log_string("operation", "open"), log_error(result));
		queue_verdict(&verdict, result);
		smtp_server_answer(session->server, &verdict);
		return;
	}
	session->id = (struct mail_id){session->message.number, os_clock_wall_us()};
	session->message_began_us = os_clock_monotonic_us();
	smtp_server_answer_open(session->server, session->id);
}

/* What only some sessions have. */
static void add_extras(const struct intake_session *session, struct log_field extras[EXTRAS + 1])
{
	const struct tls_connection *tls = session->stream.tls;
	const struct smtp_claim *forwarded = smtp_server_forwarded(session->server);

	struct str user = smtp_server_user(session->server);

	if (session->name != NULL)
		*extras++ = log_string("name", session->name);
	if (user.length > 0)
		*extras++ = log_str("user", user);
	if (tls != NULL) {
		*extras++ = log_string("tls", tls_connection_version(tls));
		*extras++ = log_string("cipher", tls_connection_cipher(tls));
	}
	if (forwarded != NULL)
		*extras++ = log_string("forwarded_for", forwarded->address);
	if (forwarded != NULL && *forwarded->ident != '\0')
		*extras++ = log_string("ident", forwarded->ident);
	extras->type = LOG_FIELD_END;
}

static void log_accepted(struct intake_session *session, const struct smtp_question *commit)
{
	const struct mail_envelope *envelope = commit->envelope;
	struct log_field extras[EXTRAS + 1] = {{LOG_FIELD_END}};

	add_extras(session, extras);
	log_event(EVENT_MESSAGE_ACCEPTED, log_id(session->id),
		  log_string("client", session->address),
		  log_str("helo", smtp_server_helo(session->server)),
		  log_str("from", envelope->sender),
		  log_number("recipients", (int64_t)envelope->recipient_count),
		  log_number("size", (int64_t)envelope->size),
		  log_str("message_id", commit->message_id), extras[0], extras[1], extras[2],
		  extras[3], extras[4], extras[5]);
}

/* The client has sent a message, so it is the last to lose its place. */
static void keep_place(struct intake_session *session)
{
	intake_pace_reset(&session->idle);
	DL_DELETE2(session->intake->sessions, session, previous, next);
	DL_APPEND2(session->intake->sessions, session, previous, next);
}

static void answer_commit(struct intake_session *session, int result)
{
	const struct smtp_question *question = smtp_server_question(session->server);
	struct buffer *body = smtp_server_body(session->server);
	struct mail_verdict verdict;
	char id[MAIL_ID_SIZE];

	buffer_consume(body, body->length);
	if (result < 0) {
		log_event(EVENT_QUEUE_ERROR, log_id(session->id),
			  log_string("client", session->address), log_string("operation", "commit"),
			  log_error(result));
		queue_verdict(&verdict, result);
	} else {
		log_accepted(session, question);
		keep_place(session);
		mail_id_format(session->id, id);
		mail_verdict_set(&verdict, "2.0.0", "queued as %s", id);
	}
	smtp_server_answer(session->server, &verdict);
}

/* The message is discarded: the client is told at its end. */
static void data_failed(struct intake_session *session, int error)
{
	struct mail_verdict verdict;

	log_event(EVENT_QUEUE_ERROR, log_id(session->id), log_string("client", session->address),
		  log_string("operation", "write"), log_error(error));
	queue_client_abandon(&session->message);
	queue_verdict(&verdict, error);
	smtp_server_data_failed(session->server, &verdict);
}

/* OPEN or COMMIT was decided, or the message has its file; perhaps at once. */
static void on_queue_done(void *context, int result)
{
	struct intake_session *session = context;
	const struct smtp_question *question = smtp_server_question(session->server);

	session->is_asking = false;
	if (question != NULL && question->type == SMTP_QUESTION_OPEN)
		answer_open(session, result);
	else if (question != NULL && question->type == SMTP_QUESTION_COMMIT)
		answer_commit(session, result);
	else if (result < 0 && smtp_server_message_is_open(session->server))
		data_failed(session, result);
	if (!session->is_pumping)
		session->pump(session);
}

void intake_question_see_to(struct intake_session *session, const struct smtp_question *question)
{
	switch (question->type) {
	case SMTP_QUESTION_RECIPIENT:
		session->is_asking = true;
		directory_lookup(session->intake->directory, question->address.text,
				 on_recipient_known, session, &session->recipient);
		break;
	case SMTP_QUESTION_SENDERS:
		session->is_asking = true;
		directory_sender_ask(session->intake->directory, smtp_server_user(session->server),
				     question->senders, question->sender_count, on_senders_judged,
				     session, &session->sender);
		break;
	case SMTP_QUESTION_OPEN:
		see_to_open(session);
		break;
	case SMTP_QUESTION_AUTH:
		intake_auth_see_to(session, question);
		break;
	case SMTP_QUESTION_CLIENT:
		intake_claim_take(session, question->claim);
		break;
	case SMTP_QUESTION_RELEASE:
		intake_claim_release(session, question->node);
		break;
	case SMTP_QUESTION_COMMIT:
		if (is_too_late(session)) {
			queue_client_abandon(&session->message);
			answer_commit(session, -ETIMEDOUT);
			break;
		}
		session->is_asking = true;
		queue_client_commit(&session->message, question->envelope,
				    buffer_view(smtp_server_body(session->server)));
		break;
	}
}

/* Writes what the engine has of a message too large to go by value. */
static void write_body(struct intake_session *session)
{
	struct buffer *body = smtp_server_body(session->server);
	int error;

	if (!queue_client_is_shared(&session->message)) {
		/* nothing more is read from the client while the body is full */
		session->is_asking = true;
		queue_client_share(&session->message);
		return;
	}
	error = queue_client_write(&session->message, buffer_view(body));
	buffer_consume(body, body->length);
	if (error < 0)
		data_failed(session, error);
}

/* If the message is complete, the rest goes with COMMIT. */
static bool is_body_to_be_written(const struct intake_session *session)
{
	return session->message.state == QUEUE_CLIENT_OPEN &&
	       smtp_server_question(session->server) == NULL &&
	       smtp_server_body(session->server)->length >= SMTP_SERVER_BODY_MAX;
}

void intake_question_see_to_body(struct intake_session *session)
{
	enum queue_client_state state = session->message.state;

	if ((state == QUEUE_CLIENT_OPEN || state == QUEUE_CLIENT_SHARING) &&
	    !smtp_server_message_is_open(session->server)) {
		session->is_asking &= state != QUEUE_CLIENT_SHARING;
		queue_client_abandon(&session->message);
		return;
	}
	if (state == QUEUE_CLIENT_OPEN && smtp_server_question(session->server) == NULL &&
	    is_too_late(session)) {
		data_failed(session, -ETIMEDOUT);
		return;
	}
	/* first the file is requested, which may come at once, then it is written */
	while (is_body_to_be_written(session))
		write_body(session);
}

void intake_question_cancel(struct intake_session *session)
{
	directory_request_cancel(&session->recipient);
	directory_post_cancel(&session->post);
	directory_sender_cancel(&session->sender);
	names_request_cancel(&session->name_request);
	auth_exchange_cancel(&session->exchange);
	queue_client_abandon(&session->message);
}

void intake_question_init(struct intake_session *session)
{
	session->name_request = (struct names_request){.done = on_name_known, .context = session};
	session->message.done = on_queue_done;
	session->message.context = session;
}
