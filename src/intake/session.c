// SPDX-License-Identifier: ISC
#include "intake/session.h"
#include "base/panic.h"
#include "intake/internal.h"
#include "log/event.h"
#include "os/clock.h"
#include "os/process/process.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

enum { READ_SIZE = 65536 };

static void log_session_end(const struct intake_session *session)
{
	if (session->refusals > INTAKE_REFUSALS_LOGGED)
		log_event(EVENT_LOG_WITHHELD, log_string(of, "command_refused"),
			  log_number(lines, (int64_t)(session->refusals - INTAKE_REFUSALS_LOGGED)),
			  INTAKE_LOG_CLIENT(session));
	log_event(EVENT_SESSION_CLOSED, INTAKE_LOG_CLIENT(session));
}

static void session_free(struct intake_session *session)
{
	struct intake *intake = session->intake;

	intake_lookup_cancel(session);
	session->engine->cancel(session);
	intake_slow_end(session);
	intake_limit_leave(session);
	intake_session_leave(session);
	os_watch_free(session->watch);
	os_timer_free(session->timer);
	os_timer_free(session->limits.held);
	/* after QUIT, or its end of input, nothing unread can be left */
	tls_stream_close(&session->tls.stream, !session->is_at_end && !session->head->has_quit);
	intake_tell_end(session);
	session->engine->free(session);
	buffer_clear(&session->kept);
	buffer_clear(&session->limits.early);
	log_session_end(session);
	DL_DELETE2(intake->sessions, session, previous, next);
	intake->session_count--;
	free(session->name);
	free(session);
	intake->session_ended(intake->context);
}

bool intake_is_our_address(void *context, const struct in6_addr *address)
{
	const struct intake_session *session = context;
	union os_socket_address local;
	struct in6_addr mapped;

	if (config_is_own_address(session->intake->config, address))
		return true;
	if (os_socket_local_address(session->tls.stream.socket, &local) < 0)
		return false;
	mapped = os_socket_address_mapped(&local);
	return local.any.sa_family != AF_UNIX && memcmp(&mapped, address, sizeof mapped) == 0;
}

static void feed_kept(struct intake_session *session)
{
	size_t consumed =
		session->engine->input(session, buffer_data(&session->kept), session->kept.length);

	buffer_consume(&session->kept, consumed);
	if (session->kept.length == 0)
		buffer_clear(&session->kept);
}

/* The last reply goes along with the end of the connection. */
static ssize_t write_replies(struct intake_session *session, const struct buffer *output)
{
	return session->engine->is_closed(session)
		       ? tls_stream_write_part(&session->tls.stream, buffer_data(output),
					       output->length)
		       : tls_stream_write(&session->tls.stream, buffer_data(output),
					  output->length);
}

/* False when the connection is gone. */
static bool send_replies(struct intake_session *session)
{
	struct buffer *output = &session->head->output;

	intake_deadline_follow(session);
	while (output->length > 0 && !session->is_blocked) {
		ssize_t count = write_replies(session, output);

		if (count < 0 && count != -EAGAIN) {
			session->is_at_end = true;
			return false;
		}
		session->is_blocked = count == -EAGAIN;
		if (count > 0)
			buffer_consume(output, (size_t)count);
	}
	if (output->length == 0)
		buffer_clear(output);
	session->unsent = output->length;
	return true;
}

static void watch_what_is_needed(struct intake_session *session)
{
	unsigned events = OS_WATCH_NONE;

	if (intake_session_shakes_hands(session)) {
		os_watch_set(session->watch, tls_connection_wants(session->tls.stream.tls, false));
		return;
	}
	if (session->head->output.length > 0)
		events |= OS_WATCH_WRITE;
	if (session->engine->is_ready(session) && session->kept.length == 0 && !session->is_at_end)
		events |= OS_WATCH_READ;
	os_watch_set(session->watch, tls_stream_events(&session->tls.stream, events));
}

enum step {
	STEP_ASK,
	STEP_FEED,
	STEP_SEND,
	STEP_SECURE,
	STEP_SHAKE,
	STEP_READ,
	STEP_WAIT,
	STEP_END
};

/* The table in intake/internal.h. */
static enum step next_step(const struct intake_session *session)
{
	size_t replies = session->head->output.length;

	if (intake_session_shakes_hands(session))
		return session->engine->is_closed(session) ? STEP_END : STEP_SHAKE;
	if (!session->question.is_asking && intake_session_has_question(session))
		return STEP_ASK;
	if (session->kept.length > 0 && session->engine->is_ready(session))
		return STEP_FEED;
	if (replies > 0)
		return session->is_blocked ? STEP_WAIT : STEP_SEND;
	if (session->engine->is_closed(session) || (session->is_at_end && session->commits == 0))
		return STEP_END;
	if (session->engine->wants_tls(session))
		return STEP_SECURE;
	if (tls_stream_has_pending(&session->tls.stream) && session->engine->is_ready(session))
		return STEP_READ;
	return STEP_WAIT;
}

static enum step take_handshake_step(struct intake_session *session)
{
	static const enum step steps[] = {
		[INTAKE_SECURE_WAIT] = STEP_WAIT,
		[INTAKE_SECURE_DONE] = STEP_SHAKE,
		[INTAKE_SECURE_FAILED] = STEP_END,
	};

	enum intake_secure outcome = intake_secure_go_on(session);

	if (outcome == INTAKE_SECURE_DONE && intake_security_is_implicit(session->tls.security))
		intake_session_greet(session, STR(""));
	return steps[outcome];
}

/* What is kept came in plain text behind STARTTLS. */
static enum step begin_session_tls(struct intake_session *session)
{
	if (session->kept.length > 0 || !intake_secure_begin(session, STR("")))
		return STEP_END;
	return STEP_WAIT; /* for the client, which speaks first */
}

static void receive_from_client(struct intake_session *session);

static enum step take_session_step(struct intake_session *session, enum step step)
{
	switch (step) {
	case STEP_ASK:
		if (!intake_hold_question(session))
			session->engine->handle_question(session);
		break;
	case STEP_FEED:
		feed_kept(session);
		break;
	case STEP_SEND:
		return send_replies(session) ? step : STEP_END;
	case STEP_SECURE:
		return begin_session_tls(session);
	case STEP_SHAKE:
		return take_handshake_step(session);
	case STEP_READ:
		receive_from_client(session);
		break;
	case STEP_WAIT:
	case STEP_END:
		break;
	}
	return step;
}

/* Continues as far as possible: STEP_WAIT, or STEP_END. */
static enum step go_on_with_session(struct intake_session *session)
{
	enum step step;

	session->is_pumping = true;
	do {
		session->engine->spool_body(session);
		intake_share_follow(session);
		step = take_session_step(session, next_step(session));
		intake_rate_end_session(session);
	} while (step != STEP_WAIT && step != STEP_END);
	session->is_pumping = false;
	return step;
}

void intake_session_pump(struct intake_session *session)
{
	session->is_blocked = false;
	if (go_on_with_session(session) == STEP_END) {
		session_free(session);
		return;
	}
	intake_deadline_follow(session);
	watch_what_is_needed(session);
	intake_deadline_set(session);
}

/* What comes may have a password, or a part of one. */
static bool may_get_secret(const struct intake_session *session)
{
	return session->intake->auth != NULL && intake_session_user(session).length == 0 &&
	       !session->engine->is_receiving(session);
}

static void receive_from_client(struct intake_session *session)
{
	static char bytes[READ_SIZE];
	ssize_t count = tls_stream_read(&session->tls.stream, bytes, sizeof bytes);
	bool may_be_secret = may_get_secret(session);
	size_t consumed;

	if (count == -EAGAIN)
		return;
	if (count <= 0) {
		session->is_at_end = true;
		return;
	}
	intake_deadline_receive(session, (uint64_t)count);
	intake_lookup_name(session);
	consumed = session->engine->input(session, bytes, (size_t)count);
	if (consumed < (size_t)count)
		buffer_append(&session->kept, bytes + consumed, (size_t)count - consumed);
	if (may_be_secret)
		explicit_bzero(bytes, (size_t)count);
}

static void on_client_socket_ready(void *context, unsigned events)
{
	struct intake_session *session = context;

	if (!intake_session_shakes_hands(session) && session->engine->is_ready(session) &&
	    session->kept.length == 0 &&
	    ((events & OS_WATCH_READ) != 0 || session->tls.stream.tls != NULL))
		receive_from_client(session);
	intake_session_pump(session);
}

static void on_session_timer(void *context)
{
	struct intake_session *session = context;

	if (!intake_deadline_has_passed(session))
		return;
	if (intake_session_shakes_hands(session))
		intake_secure_timeout(session);
	if (intake_session_shakes_hands(session) || session->is_blocked) {
		session_free(session);
		return;
	}
	if (session->head->output.length == 0)
		session->engine->timeout(session);
	intake_session_pump(session);
}

/* Nothing can be said to who waits for a handshake, or is amid one. */
static bool can_be_told(const struct intake_session *session)
{
	return !intake_session_shakes_hands(session) &&
	       (!intake_security_is_implicit(session->tls.security) ||
		session->tls.stream.tls != NULL);
}

void intake_session_refuse(struct intake_session *session)
{
	static const char text[] = "Too many clients wait, try again later";

	intake_hold_give_up(session, text);
	if (!intake_session_has_question(session))
		session->engine->refuse_session(session, text);
	if (can_be_told(session))
		(void)send_replies(session);
	session_free(session);
}

/* Two that begin at the same time differ by a microsecond. */
static void mark_session(struct intake *intake, char mark[INTAKE_MARK_SIZE])
{
	int64_t now_us = os_clock_wall_us();

	if (now_us <= intake->last_mark_us)
		now_us = intake->last_mark_us + 1;
	intake->last_mark_us = now_us;
	mail_id_format((struct mail_id){(uint64_t)os_process_id(), now_us}, mark);
	*strchr(mark, '-') = ':'; /* it is no message */
}

static struct intake_session *session_new(struct intake *intake, const struct smtp_service *service,
					  const struct intake_security *security, int socket,
					  const union os_socket_address *peer, bool is_stranger)
{
	struct intake_session *session = memory_alloc_zero(1, sizeof *session);
	struct smtp_peer who = {.name = "", .context = session};

	session->mapped = os_socket_address_mapped(peer);
	os_socket_address_format_host(peer, session->address);
	session->port = intake_session_has_address(session) ? os_socket_address_port(peer) : 0;
	mark_session(intake, session->mark);
	who.address = session->address;
	who.port = session->port;
	session->intake = intake;
	session->tls.security = security;
	session->tls.stream.socket = socket;
	session->kept.is_secret = true;
	session->limits.class = INTAKE_NO_CLASS;
	session->is_stranger = is_stranger;
	session->may_relay = !is_stranger && (intake_security_trusts_all(security) ||
					      config_may_relay(intake->config, &session->mapped));
	who.is_ours = session->may_relay;
	intake_claim_grant(session, &session->mapped, &who);
	who.may_tls = intake_secure_is_possible(session);
	session->pump = intake_session_pump;
	session->yield_place = intake_session_refuse;
	intake_lookup_init(session);
	session->engine = intake->engine;
	session->engine->begin(session, service, &who);
	session->watch =
		os_watch_new(intake->loop, socket, OS_WATCH_NONE, on_client_socket_ready, session);
	session->timer = os_timer_new(intake->loop, on_session_timer, session);
	DL_APPEND2(intake->sessions, session, previous, next);
	intake->session_count++;
	log_event(EVENT_SESSION_OPENED, INTAKE_LOG_CLIENT(session));
	return session;
}

static void begin_session(struct intake_session *session, struct str early)
{
	if (intake_session_admit(session, early))
		intake_session_pump(session);
	else
		session_free(session);
}

void intake_session_new(struct intake *intake, const struct smtp_service *service,
			const struct intake_security *security, int socket,
			const union os_socket_address *peer, struct str early)
{
	begin_session(session_new(intake, service, security, socket, peer, false), early);
}

void intake_session_new_stranger(struct intake *intake, const struct smtp_service *service,
				 const struct intake_security *security, int socket,
				 const union os_socket_address *peer, struct str early)
{
	begin_session(session_new(intake, service, security, socket, peer, true), early);
}
