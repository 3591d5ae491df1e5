// SPDX-License-Identifier: ISC
#include "intake/session.h"
#include "base/panic.h"
#include "directory/lookup.h"
#include "intake/pace.h"
#include "intake/proxy.h"
#include "log/event.h"
#include "os/clock.h"
#include "os/file.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

enum { READ_SIZE = 65536 };

struct intake_session {
	struct intake *intake;
	struct smtp_server *server;
	struct os_watch *watch;
	struct os_timer *timer;
	struct buffer kept; /* read, but not consumed yet */
	struct queue_client_message message;
	struct mail_id id; /* of that message */
	uint64_t written;  /* bytes of it in its file */
	struct intake_pace pace;
	int64_t deadline_us; /* monotonic; the client must have been heard by then */
	int64_t timer_us;    /* when the timer fires */
	size_t unsent;       /* bytes of replies that the client did not take yet */
	int socket;
	bool may_relay;
	bool is_asking; /* a question is with somebody else */
	bool is_pumping;
	bool is_receiving; /* a message */
	bool is_at_end;    /* the client closed its side */
	char address[OS_SOCKET_TEXT_SIZE];
	struct intake_session *next, *previous;
};

static void pump(struct intake_session *session);

static void session_free(struct intake_session *session)
{
	struct intake *intake = session->intake;

	queue_client_abandon(&session->message);
	smtp_server_free(session->server);
	os_watch_free(session->watch);
	os_timer_free(session->timer);
	os_socket_close_politely(session->socket);
	buffer_clear(&session->kept);
	log_event(EVENT_SESSION_CLOSED, log_string("client", session->address));
	DL_DELETE2(intake->sessions, session, previous, next);
	intake->session_count--;
	free(session);
	intake->session_ended(intake->context);
}

/* --- what is refused --- */

static struct str first_line(struct str text)
{
	struct str line;

	return str_split(&text, '\n', &line) ? line : text;
}

void intake_log_refusal(void *context, const struct smtp_refusal *refusal)
{
	const struct intake_session *session = context;

	log_event(refusal->is_message ? EVENT_MESSAGE_REFUSED : EVENT_COMMAND_REFUSED,
		  log_string("client", session->address),
		  log_str("helo", smtp_server_helo(session->server)),
		  log_number("code", refusal->code),
		  log_string("status", refusal->status != NULL ? refusal->status : "-"),
		  log_string("text", refusal->text),
		  log_str("command", first_line(refusal->command)));
}

/* --- the engine's questions --- */

/* What the client is told when the queue cannot take its message. */
static void queue_verdict(struct mail_verdict *verdict, int error)
{
	if (error == -ENOSPC || error == -EDQUOT)
		mail_verdict_set(verdict, "4.3.1", "Insufficient system storage");
	else
		mail_verdict_set(verdict, "4.3.0", "The queue cannot take the message now");
}

static void answer_recipient(struct intake_session *session, const struct smtp_question *question)
{
	struct mail_verdict verdict;

	directory_check_recipient(session->intake->config, session->may_relay,
				  question->address.text, &verdict);
	smtp_server_answer(session->server, &verdict);
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
	session->written = 0;
	smtp_server_answer_open(session->server, session->id);
}

static void log_accepted(struct intake_session *session, const struct mail_envelope *envelope)
{
	log_event(EVENT_MESSAGE_ACCEPTED, log_id(session->id),
		  log_string("client", session->address),
		  log_str("helo", smtp_server_helo(session->server)),
		  log_str("from", envelope->sender),
		  log_number("recipients", (int64_t)envelope->recipient_count),
		  log_number("size", (int64_t)envelope->size));
}

static void answer_commit(struct intake_session *session, int result)
{
	const struct smtp_question *question = smtp_server_question(session->server);
	struct mail_verdict verdict;
	char id[MAIL_ID_SIZE];

	if (result < 0) {
		log_event(EVENT_QUEUE_ERROR, log_id(session->id),
			  log_string("client", session->address), log_string("operation", "commit"),
			  log_error(result));
		queue_verdict(&verdict, result);
	} else {
		log_accepted(session, question->envelope);
		mail_id_format(session->id, id);
		mail_verdict_set(&verdict, "2.0.0", "queued as %s", id);
	}
	smtp_server_answer(session->server, &verdict);
}

/* OPEN or COMMIT was decided, perhaps at once. */
static void on_queue_done(void *context, int result)
{
	struct intake_session *session = context;
	const struct smtp_question *question = smtp_server_question(session->server);

	session->is_asking = false;
	if (question != NULL && question->type == SMTP_QUESTION_OPEN)
		answer_open(session, result);
	else if (question != NULL && question->type == SMTP_QUESTION_COMMIT)
		answer_commit(session, result);
	if (!session->is_pumping)
		pump(session);
}

/* Writes what the engine has of the message: 0 or -errno. */
static int write_body(struct intake_session *session)
{
	struct buffer *body = smtp_server_body(session->server);
	int error;

	if (body->length == 0)
		return 0;
	error = os_file_write(session->message.file, buffer_data(body), body->length,
			      session->written);
	session->written += body->length;
	buffer_consume(body, body->length);
	return error;
}

static void commit(struct intake_session *session, const struct smtp_question *question)
{
	int error = write_body(session);

	if (error < 0) {
		queue_client_abandon(&session->message);
		on_queue_done(session, error);
		return;
	}
	queue_client_commit(&session->message, question->envelope);
}

static void see_to_question(struct intake_session *session, const struct smtp_question *question)
{
	switch (question->type) {
	case SMTP_QUESTION_RECIPIENT:
		answer_recipient(session, question);
		break;
	case SMTP_QUESTION_OPEN:
		session->is_asking = true;
		queue_client_open(session->intake->queue, &session->message);
		break;
	case SMTP_QUESTION_COMMIT:
		session->is_asking = true;
		commit(session, question);
		break;
	}
}

static void see_to_body(struct intake_session *session)
{
	struct mail_verdict verdict;
	int error;

	if (session->message.state == QUEUE_CLIENT_OPEN &&
	    !smtp_server_message_is_open(session->server)) {
		queue_client_abandon(&session->message);
		return;
	}
	if (session->message.state != QUEUE_CLIENT_OPEN ||
	    smtp_server_body(session->server)->length < SMTP_SERVER_BODY_MAX)
		return;
	error = write_body(session);
	if (error == 0)
		return;
	log_event(EVENT_QUEUE_ERROR, log_id(session->id), log_string("client", session->address),
		  log_string("operation", "write"), log_error(error));
	queue_client_abandon(&session->message);
	queue_verdict(&verdict, error);
	smtp_server_data_failed(session->server, &verdict);
}

/* --- the socket --- */

/* False when the connection is gone. */
static bool flush(struct intake_session *session)
{
	struct buffer *output = smtp_server_output(session->server);

	while (output->length > 0) {
		ssize_t count =
			os_socket_write(session->socket, buffer_data(output), output->length);

		if (count == -EAGAIN)
			return true;
		if (count < 0)
			return false;
		buffer_consume(output, (size_t)count);
	}
	buffer_clear(output);
	return true;
}

static void feed_kept(struct intake_session *session)
{
	size_t consumed = smtp_server_input(session->server, buffer_data(&session->kept),
					    session->kept.length);

	buffer_consume(&session->kept, consumed);
	if (session->kept.length == 0)
		buffer_clear(&session->kept);
}

static void watch_what_is_needed(struct intake_session *session)
{
	unsigned events = OS_WATCH_NONE;

	if (smtp_server_output(session->server)->length > 0)
		events |= OS_WATCH_WRITE;
	if (smtp_server_is_ready(session->server) && session->kept.length == 0 &&
	    !session->is_at_end)
		events |= OS_WATCH_READ;
	os_watch_set(session->watch, events);
}

/* With a reply the client has done what it had to; but chunk after chunk it gains no
 * time: then only the whole message counts. */
static void follow_pace(struct intake_session *session)
{
	bool is_receiving = smtp_server_is_receiving(session->server);
	bool is_replied = smtp_server_output(session->server)->length > session->unsent;

	if (is_receiving != session->is_receiving || (is_replied && !is_receiving))
		intake_pace_reset(&session->pace);
	session->is_receiving = is_receiving;
}

static void set_deadline(struct intake_session *session)
{
	const struct config *config = session->intake->config;
	uint32_t seconds = smtp_server_timeout_seconds(session->server);
	int64_t now_us = os_clock_monotonic_us();
	int64_t left_us;

	if (seconds > 0 && session->kept.length == 0)
		intake_pace_wait(&session->pace, now_us);
	if (seconds == 0) /* not the client's turn, but it must read our reply */
		seconds = config->smtp_timeout;
	left_us = intake_pace_left_us(&session->pace, seconds * SECOND_US, config->smtp_min_rate);
	session->deadline_us = now_us + left_us;
	if (os_timer_is_running(session->timer) && session->timer_us <= session->deadline_us)
		return;
	session->timer_us = session->deadline_us;
	os_timer_start(session->timer, left_us > 0 ? left_us : 0);
}

/* Lets the engine go on as far as it can, then waits for what it lacks. */
static void pump(struct intake_session *session)
{
	session->is_pumping = true;
	for (;;) {
		const struct smtp_question *question;

		see_to_body(session);
		question = smtp_server_question(session->server);
		if (question != NULL && !session->is_asking)
			see_to_question(session, question);
		else if (question == NULL && session->kept.length > 0 &&
			 smtp_server_is_ready(session->server))
			feed_kept(session);
		else
			break;
	}
	session->is_pumping = false;
	follow_pace(session);
	if (!flush(session) ||
	    (smtp_server_is_closed(session->server) &&
	     smtp_server_output(session->server)->length == 0) ||
	    (session->is_at_end && !session->is_asking && session->kept.length == 0)) {
		session_free(session);
		return;
	}
	session->unsent = smtp_server_output(session->server)->length;
	watch_what_is_needed(session);
	set_deadline(session);
}

static void receive(struct intake_session *session)
{
	static char bytes[READ_SIZE];
	ssize_t count = os_socket_read(session->socket, bytes, sizeof bytes);
	size_t consumed;

	if (count == -EAGAIN)
		return;
	if (count <= 0) {
		session->is_at_end = true;
		return;
	}
	intake_pace_receive(&session->pace, os_clock_monotonic_us(), (uint64_t)count);
	consumed = smtp_server_input(session->server, bytes, (size_t)count);
	if (consumed < (size_t)count)
		buffer_append(&session->kept, bytes + consumed, (size_t)count - consumed);
}

static void on_ready(void *context, unsigned events)
{
	struct intake_session *session = context;

	if ((events & OS_WATCH_READ) && smtp_server_is_ready(session->server) &&
	    session->kept.length == 0)
		receive(session);
	pump(session);
}

/* Deadlines move with every byte; the timer is set anew only when it fires. */
static void on_timer(void *context)
{
	struct intake_session *session = context;
	int64_t left_us = session->deadline_us - os_clock_monotonic_us();

	if (left_us > 0 || session->is_asking) {
		if (left_us <= 0)
			left_us = SECOND_US;
		session->timer_us = os_clock_monotonic_us() + left_us;
		os_timer_start(session->timer, left_us);
		return;
	}
	if (smtp_server_output(session->server)->length > 0) {
		session_free(session);
		return;
	}
	smtp_server_timeout(session->server);
	pump(session);
}

static void greet(struct intake_session *session, bool has_spoken)
{
	char early;

	if (has_spoken || os_socket_read(session->socket, &early, 1) > 0)
		smtp_server_early_talker(session->server);
	else
		smtp_server_start(session->server);
}

void intake_session_new(struct intake *intake, const struct smtp_service *service, int socket,
			const union os_socket_address *peer, bool has_spoken)
{
	struct intake_session *session = memory_alloc_zero(1, sizeof *session);
	struct in6_addr mapped = os_socket_address_mapped(peer);
	struct smtp_peer who = {.name = "", .context = session};

	os_socket_address_format_host(peer, session->address);
	who.address = session->address;
	who.port = os_socket_address_port(peer);
	session->intake = intake;
	session->socket = socket;
	session->may_relay = config_may_relay(intake->config, &mapped);
	session->message.done = on_queue_done;
	session->message.context = session;
	session->server = smtp_server_new(service, who);
	session->watch = os_watch_new(intake->loop, socket, OS_WATCH_NONE, on_ready, session);
	session->timer = os_timer_new(intake->loop, on_timer, session);
	DL_APPEND2(intake->sessions, session, previous, next);
	intake->session_count++;
	log_event(EVENT_SESSION_OPENED, log_string("client", session->address));
	greet(session, has_spoken);
	pump(session);
}

void intake_stop(struct intake *intake)
{
	struct intake_session *session;
	struct intake_session *next;

	intake_proxy_stop(intake);
	DL_FOREACH_SAFE2 (intake->sessions, session, next, next) {
		smtp_server_shutdown(session->server);
		if (!session->is_asking)
			pump(session);
	}
}
