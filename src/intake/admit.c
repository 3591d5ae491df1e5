// SPDX-License-Identifier: ISC
/* The first step of a session: whether the client may have it, and its greeting. */
#include "intake/internal.h"

const char intake_too_many[] = "You have too many connections to this server";

/* A proxy has a session for each of its clients, which are counted when it names them. */
static bool is_session_counted(const struct intake_session *session)
{
	const struct config *config = session->intake->config;
	bool is_proxy = !session->is_claimed && config_may_xclient(config, &session->mapped);

	return intake_session_has_address(session) && !session->may_relay &&
	       !session->is_stranger && !is_proxy;
}

void intake_session_leave(struct intake_session *session)
{
	if (session->limits.client == NULL)
		return;
	limit_client_change_bytes(session->limits.client, session->limits.unfinished, 0);
	session->limits.unfinished = 0;
	limit_client_leave(session->limits.client);
	session->limits.client = NULL;
}

bool intake_session_count(struct intake_session *session)
{
	const struct intake *intake = session->intake;
	uint32_t limit = intake->config->maxsessions_client;

	intake_session_leave(session);
	if (!is_session_counted(session))
		return true;
	session->limits.client = limit_client_enter(intake->clients, &session->mapped,
						    limit > 0 ? limit : UINT32_MAX);
	return session->limits.client != NULL;
}

void intake_session_greet(struct intake_session *session, struct str early)
{
	session->engine->start(session, early);
}

/* Nothing can be said in plain text to who waits for a handshake. */
static bool refuse_new_session(struct intake_session *session, const char *text)
{
	session->engine->refuse_session(session, text);
	return !intake_security_is_implicit(session->tls.security);
}

static bool begin_admitted_session(struct intake_session *session, struct str early)
{
	if (intake_security_is_implicit(session->tls.security))
		return intake_secure_begin(session, early);
	intake_session_greet(session, early);
	return true;
}

/* What was read EARLY waits with it. */
static bool wait_before_admission(struct intake_session *session, struct str early)
{
	buffer_append_str(&session->limits.early, early);
	session->question.is_asking = true;
	return true;
}

/* It has waited, and takes STEP now. */
static void go_on_with_admission(struct intake_session *session,
				 bool (*step)(struct intake_session *session, struct str early))
{
	struct buffer early = session->limits.early;
	bool goes_on = false;

	session->limits.early = (struct buffer){0};
	session->question.is_asking = false;
	if (!session->engine->is_closed(session)) /* the service may be stopping */
		goes_on = step(session, buffer_view(&early));
	buffer_clear(&early);
	if (!session->engine->is_closed(session) && !goes_on)
		session->engine->refuse_session(session, "TLS cannot begin");
	if (session->engine->is_closed(session) &&
	    intake_security_is_implicit(session->tls.security))
		buffer_clear(&session->head->output);
	session->pump(session);
}

/* A rate has held the greeting back for long enough. */
static void admit_delayed(struct intake_session *session)
{
	go_on_with_admission(session, begin_admitted_session);
}

/* Its class is known. */
static bool admit_to_class(struct intake_session *session, struct str early)
{
	const char *text;

	if (!intake_limit_enter(session))
		return refuse_new_session(session, "Too many sessions, try again later");
	switch (intake_rate_of_connection(session, admit_delayed, &text)) {
	case INTAKE_RATE_PASSES:
		return begin_admitted_session(session, early);
	case INTAKE_RATE_WAITS:
		return wait_before_admission(session, early);
	case INTAKE_RATE_REFUSES:
		break;
	}
	session->is_turned_away = true;
	return refuse_new_session(session, text);
}

static void on_named(struct intake_session *session)
{
	session->named = NULL;
	go_on_with_admission(session, admit_to_class);
}

bool intake_session_admit(struct intake_session *session, struct str early)
{
	if (!intake_security_admits(session->tls.security, &session->mapped) ||
	    (session->is_stranger && intake_security_trusts_all(session->tls.security))) {
		session->engine->refuse_session(session, "The address is not in clients");
		return false;
	}
	if (intake_security_lacks_tls(session->tls.security)) {
		intake_secure_log_lacking(session);
		return refuse_new_session(session, "TLS is not possible now, try again later");
	}
	if (session->intake->is_draining)
		return refuse_new_session(session, "Down for maintenance, try again later");
	if (intake_limit_is_overloaded(session)) {
		session->bound =
			(struct intake_bound){"load_refuse", session->intake->config->load_refuse};
		return refuse_new_session(session, "The load is too high, try again later");
	}
	if (!intake_session_count(session)) {
		session->bound = (struct intake_bound){"maxsessions_client",
						       session->intake->config->maxsessions_client};
		return refuse_new_session(session, intake_too_many);
	}
	if (!intake_limit_ask_name(session))
		return admit_to_class(session, early);
	session->named = on_named;
	return wait_before_admission(session, early);
}
