// SPDX-License-Identifier: ISC
#include "deliver/remote/session/session.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "deliver/remote/route/peer.h"
#include "deliver/remote/session/internal.h"
#include "os/clock.h"
#include "transcript/transcript.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRANSACTIONS_MAX = 100 };

static void on_session_socket_event(void *context, unsigned events);
static void on_session_deadline(void *context);
static void drive_session(struct remote_session *session);

/* The destination is that of the current transaction, or of the one before. */
static void tell_line(void *context, enum smtp_said by, struct str line)
{
	struct remote_session *session = context;

	if (session->transaction.done != NULL && session->transaction.message.recipient_count > 0)
		remote_tell_destination(session->told,
					session->transaction.message.recipients[0].address);
	remote_tell_line(session->told, by, line);
}

static enum smtp_client_tls tls_wanted_by_policy(const struct remote_policy *policy)
{
	if (policy->level == CONFIG_TLS_NONE)
		return SMTP_CLIENT_TLS_NEVER;
	return policy->level == CONFIG_TLS_MAY ? SMTP_CLIENT_TLS_MAY : SMTP_CLIENT_TLS_MUST;
}

/* A descriptor, and TEXT as remote_session_source(); or -errno. */
static int open_socket(const struct remote_session_settings *settings,
		       const struct dns_server *server, char text[REMOTE_SOURCE_SIZE])
{
	char address[OS_SOCKET_TEXT_SIZE];
	struct in6_addr from;
	int result;

	*text = '\0';
	if (settings->source == NULL)
		return os_socket_connect(&server->address);
	result = remote_source_connect(settings->sources, settings->source, server, &from);
	if (result < 0)
		return result;
	os_socket_address_format_mapped(&from, address);
	snprintf(text, REMOTE_SOURCE_SIZE, "%s[%s]", settings->source->name, address);
	return result;
}

/* 0 or -errno, and no place is taken. */
static int connect_session_to_server(struct remote_session *session,
				     const struct dns_server *server,
				     const struct remote_session_settings *settings)
{
	int descriptor;

	if (!remote_place_open(&session->place, settings->places, server, settings->has_turn))
		return -EUSERS;
	descriptor = open_socket(settings, server, session->source);
	if (descriptor < 0) {
		remote_place_close(&session->place);
		return descriptor;
	}
	session->stream.socket = descriptor;
	return 0;
}

static struct remote_engine new_engine(struct remote_session *session, const char *peer)
{
	const struct remote_session_settings *settings = &session->settings;
	const struct remote_login *login = session->policy.login;

	return remote_engine_new(&(struct smtp_client_settings){
		.protocol = settings->protocol,
		.hostname =
			settings->source != NULL ? settings->source->hostname : settings->hostname,
		.peer = peer,
		.timeout_us = settings->reply_timeout_us,
		.tls = tls_wanted_by_policy(&session->policy),
		.tls_timeout_us = settings->tls_timeout_us,
		.avoids_chunks = settings->avoids_chunks,
		.wants_login = login != NULL,
		.may_login_plainly = login != NULL && login->may_be_plain,
		.watch = {transcript_is_on(), tell_line},
		.watch_context = session,
	});
}

int remote_session_new(const struct remote_session_settings *settings, const char *key,
		       const struct dns_server *server, const struct remote_policy *policy,
		       struct remote_session **session_out)
{
	struct remote_session *session = memory_alloc_zero(1, sizeof *session);
	int result = connect_session_to_server(session, server, settings);
	char peer[REMOTE_PEER_SIZE];

	if (result < 0) {
		free(session);
		return result;
	}
	remote_peer_format(server, peer);
	session->told = remote_tell_new(peer, server);
	session->settings = *settings;
	session->address = server->address;
	session->policy = *policy;
	if (policy->level != CONFIG_TLS_NONE)
		session->host = memory_copy_string(server->host);
	if (policy->login != NULL)
		remote_session_want_login(session, policy->login);
	session->is_connecting = true;
	session->begun_us = os_clock_monotonic_us();
	session->engine = new_engine(session, peer);
	snprintf(session->key, sizeof session->key, "%s", key);
	mail_verdict_set(&session->failure, "4.4.1", "connect to %s: ", peer);
	session->events = OS_WATCH_WRITE;
	session->watch = os_watch_new(settings->loop, session->stream.socket, session->events,
				      on_session_socket_event, session);
	session->timer = os_timer_new(settings->loop, on_session_deadline, session);
	remote_session_set_deadline(session, settings->connect_timeout_us);
	*session_out = session;
	return 0;
}

void remote_session_free(struct remote_session *session)
{
	if (session == NULL)
		return;
	if (remote_engine_status(&session->engine) == SMTP_CLIENT_READY) {
		struct str quit;

		remote_engine_quit(&session->engine);
		quit = remote_engine_output(&session->engine);
		if (quit.length > 0 &&
		    tls_stream_write(&session->stream, quit.data, quit.length) < 0)
			session->transaction.done = NULL;
	}
	shape_leave(&session->hold, os_clock_monotonic_us());
	remote_certificates_give_up(&session->waiter);
	remote_session_forget_login(session);
	remote_form_free(session->form);
	os_timer_free(session->timer);
	os_watch_free(session->watch);
	tls_stream_close(&session->stream, false);
	remote_place_close(&session->place);
	remote_engine_free(&session->engine);
	free(session->host);
	remote_tell_free(session->told);
	free(session);
}

const struct mail_verdict *remote_session_failure(const struct remote_session *session)
{
	const struct mail_verdict *failure = remote_engine_failure(&session->engine);

	return failure != NULL ? failure : &session->failure;
}

const union os_socket_address *remote_session_address(const struct remote_session *session)
{
	return &session->address;
}

const char *remote_session_source(const struct remote_session *session)
{
	return session->source;
}

const char *remote_session_key(const struct remote_session *session)
{
	return session->key;
}

struct shape_hold *remote_session_hold(struct remote_session *session)
{
	return &session->hold;
}

bool remote_session_take_slower(struct remote_session *session,
				struct smtp_client_slower *slower_out)
{
	return remote_engine_take_slower(&session->engine, slower_out);
}

bool remote_session_is_before_mail(const struct remote_session *session)
{
	return session->transaction.done != NULL && remote_engine_is_before_mail(&session->engine);
}

bool remote_session_is_deciding(const struct remote_session *session)
{
	return session->transaction.done != NULL && remote_engine_is_deciding(&session->engine);
}

bool remote_session_is_reusable(const struct remote_session *session)
{
	return session->transaction.done == NULL &&
	       remote_engine_status(&session->engine) == SMTP_CLIENT_READY &&
	       session->transaction_count < TRANSACTIONS_MAX &&
	       (session->transactions_most == 0 ||
		session->transaction_count < session->transactions_most) &&
	       !remote_engine_is_used_up(&session->engine);
}

void remote_session_limit(struct remote_session *session, uint32_t most)
{
	session->transactions_most = most;
}

uint32_t remote_session_transactions(const struct remote_session *session)
{
	return session->transaction_count;
}

static void watch_session_socket(struct remote_session *session, unsigned events)
{
	if (events != session->events)
		os_watch_set(session->watch, events);
	session->events = events;
}

/* Must be the last call on the session. */
static void finish_remote_transaction(struct remote_session *session, enum remote_outcome outcome)
{
	struct remote_transaction transaction = session->transaction;

	remote_form_free(session->form);
	session->form = NULL;
	session->transaction.done = NULL;
	transaction.done(transaction.context, outcome);
}

static enum remote_outcome outcome_of_transaction(const struct remote_session *session)
{
	if (remote_engine_is_stale(&session->engine))
		return REMOTE_STALE;
	if (remote_engine_is_insecure(&session->engine) && !session->is_ours)
		return REMOTE_INSECURE;
	if (remote_engine_is_login_refused(&session->engine))
		return REMOTE_REFUSED;
	return remote_engine_is_unserved(&session->engine) ? REMOTE_UNSERVED : REMOTE_DECIDED;
}

static void wait_for_session_socket(struct remote_session *session, bool is_sent)
{
	unsigned events = OS_WATCH_READ;

	if (!is_sent || remote_engine_status(&session->engine) == SMTP_CLIENT_WANTS_FORM)
		events |= OS_WATCH_WRITE; /* a form continues at once */
	watch_session_socket(session, tls_stream_events(&session->stream, events));
}

static void resume_session(void *context)
{
	drive_session(context);
}

/* The handshake, while the engine wants it. False: it waits. */
static bool secure_remote_session(struct remote_session *session)
{
	unsigned events;

	if (remote_engine_status(&session->engine) != SMTP_CLIENT_WANTS_TLS ||
	    remote_session_secure(session, resume_session, &events))
		return true;
	watch_session_socket(session, events);
	return false;
}

/* The login, while the engine wants it. False: it waits. */
static bool log_in(struct remote_session *session)
{
	if (remote_engine_status(&session->engine) != SMTP_CLIENT_WANTS_LOGIN ||
	    remote_session_log_in(session, resume_session))
		return true;
	watch_session_socket(session, OS_WATCH_NONE);
	return false;
}

/* Does what can be done; ends the transaction when it is done. */
static void drive_session(struct remote_session *session)
{
	enum smtp_client_status status;
	unsigned reply_count = remote_engine_reply_count(&session->engine);
	bool is_allowed = secure_remote_session(session) && log_in(session);
	bool is_sent = is_allowed && remote_session_send_all(session);

	if (reply_count != session->reply_count)
		remote_session_set_deadline(session, remote_session_timeout_us(session));
	session->reply_count = reply_count;
	if (!is_allowed)
		return;
	status = remote_engine_status(&session->engine);
	if (status == SMTP_CLIENT_READY || status == SMTP_CLIENT_CLOSED)
		finish_remote_transaction(session, outcome_of_transaction(session));
	else
		wait_for_session_socket(session, is_sent);
}

static void fail_session_connection(struct remote_session *session, const char *reason)
{
	char so_far[MAIL_TEXT_SIZE];

	memcpy(so_far, session->failure.text, sizeof so_far);
	mail_verdict_set(&session->failure, "4.4.1", "%s%s", so_far, reason);
	if (*transcript_is_on())
		tell_line(session, SMTP_SAID_NOTHING, str_from(session->failure.text));
	finish_remote_transaction(session, REMOTE_UNREACHABLE);
}

static void end_idle_wait(struct remote_session *session)
{
	void (*ended)(void *context, struct remote_session *session) = session->ended;

	session->ended = NULL;
	if (ended != NULL)
		ended(session->ended_context, session);
}

/* TLS may have to write before it can read. What comes in a handshake is not the engine's. */
static bool may_read(const struct remote_session *session, unsigned events)
{
	if (remote_engine_status(&session->engine) == SMTP_CLIENT_WANTS_TLS)
		return false;
	return session->stream.tls != NULL || (events & OS_WATCH_READ) != 0;
}

static void on_session_socket_event(void *context, unsigned events)
{
	struct remote_session *session = context;

	if (session->transaction.done == NULL) {
		end_idle_wait(session);
		return;
	}
	if (session->is_connecting) {
		int error = os_socket_error(session->stream.socket);

		if (error < 0) {
			fail_session_connection(session, strerror(-error));
			return;
		}
		session->is_connecting = false;
		remote_session_set_deadline(session, remote_session_timeout_us(session));
	}
	if (may_read(session, events))
		remote_session_receive(session);
	drive_session(session);
}

static void on_session_deadline(void *context)
{
	struct remote_session *session = context;
	int64_t left_us = session->deadline_us - os_clock_monotonic_us();

	if (left_us > 0) {
		session->timer_us = session->deadline_us;
		os_timer_start(session->timer, left_us);
	} else if (session->transaction.done == NULL) {
		end_idle_wait(session);
	} else if (session->is_connecting) {
		session->is_unmet = true;
		fail_session_connection(session, "timeout");
	} else {
		remote_session_blame(session);
		remote_engine_timed_out(&session->engine);
		drive_session(session);
	}
}

void remote_session_run(struct remote_session *session,
			const struct remote_transaction *transaction)
{
	session->transaction = *transaction;
	session->transaction_count++;
	session->pass = (struct ipc_content_pass){0};
	session->ended = NULL;
	remote_engine_begin(&session->engine, &transaction->message);
	if (!session->is_connecting)
		drive_session(session);
}

void remote_session_wait(struct remote_session *session, int64_t delay_us,
			 void (*ended)(void *context, struct remote_session *session),
			 void *context)
{
	remote_place_rest(&session->place);
	session->ended = ended;
	session->ended_context = context;
	watch_session_socket(session, OS_WATCH_READ);
	remote_session_set_deadline(session, delay_us);
}

bool remote_session_claim(struct remote_session *session, bool has_turn)
{
	return remote_place_claim(&session->place, has_turn);
}

bool remote_session_is_in_the_way(const struct remote_session *session)
{
	return remote_place_is_wanted(&session->place);
}

bool remote_session_is_spare(const struct remote_session *session, const struct limit_class *class)
{
	return remote_place_is_spare(&session->place, class);
}
