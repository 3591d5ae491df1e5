// SPDX-License-Identifier: ISC
/* A session that speaks QMTP or QMQP: its engine, and the answers to the engine's questions. */
#include "base/panic.h"
#include "intake/qmtp/internal.h"
#include <stdlib.h>

static struct qmtp_server *server_of(const struct intake_session *session)
{
	return session->packages->server;
}

/* Once for all the answers of a group of commits. */
static void pump(void *context)
{
	struct intake_session *session = context;

	session->pump(session);
}

static void begin(struct intake_session *session, const struct smtp_service *service,
		  const struct smtp_peer *peer)
{
	session->packages = memory_alloc_zero(1, sizeof *session->packages);
	session->packages->server = qmtp_server_new(service, *peer);
	session->packages->pump = (struct os_task){.call = pump, .context = session};
}

static void end(struct intake_session *session)
{
	qmtp_server_free(server_of(session));
	free(session->packages);
}

static void start(struct intake_session *session, struct str early)
{
	buffer_append_str(&session->kept, early);
	qmtp_server_start(server_of(session));
}

static size_t input(struct intake_session *session, const char *data, size_t length)
{
	return qmtp_server_input(server_of(session), data, length);
}

static bool is_ready(const struct intake_session *session)
{
	return qmtp_server_is_ready(server_of(session));
}

static struct buffer *output(const struct intake_session *session)
{
	return qmtp_server_output(server_of(session));
}

static bool is_closed(const struct intake_session *session)
{
	return qmtp_server_is_closed(server_of(session));
}

/* The protocol has no word for that: what is unread may be a package. */
static bool has_quit(const struct intake_session *session)
{
	(void)session;
	return false;
}

static bool is_receiving(const struct intake_session *session)
{
	return qmtp_server_is_receiving(server_of(session));
}

static bool wants_tls(const struct intake_session *session)
{
	(void)session;
	return false;
}

static uint32_t timeout_seconds(const struct intake_session *session)
{
	return qmtp_server_timeout_seconds(server_of(session));
}

static void timeout(struct intake_session *session)
{
	qmtp_server_timeout(server_of(session));
}

static void stop(struct intake_session *session)
{
	qmtp_server_shutdown(server_of(session));
}

static void turn_away(struct intake_session *session, const char *text)
{
	qmtp_server_turn_away(server_of(session), text);
}

static void set_tls(struct intake_session *session, const struct smtp_tls *tls)
{
	qmtp_server_set_tls(server_of(session), tls);
}

static void set_peer_name(struct intake_session *session, const char *name)
{
	qmtp_server_set_peer_name(server_of(session), name);
}

static void set_peer_ours(struct intake_session *session)
{
	qmtp_server_set_peer_ours(server_of(session));
}

static struct str helo(const struct intake_session *session)
{
	(void)session;
	return STR("");
}

static bool asks(const struct intake_session *session, struct intake_asked *asked_out)
{
	const struct qmtp_question *question = qmtp_server_question(server_of(session));

	if (question == NULL)
		return false;
	*asked_out = (struct intake_asked){.type = question->type, .envelope = question->envelope};
	return true;
}

static void answer(struct intake_session *session, const struct mail_verdict *verdict)
{
	qmtp_server_answer(server_of(session), verdict);
}

const struct intake_engine intake_engine_qmtp = {
	.begin = begin,
	.free = end,
	.start = start,
	.input = input,
	.is_ready = is_ready,
	.output = output,
	.is_closed = is_closed,
	.has_quit = has_quit,
	.is_receiving = is_receiving,
	.wants_tls = wants_tls,
	.timeout_seconds = timeout_seconds,
	.timeout = timeout,
	.shutdown = stop,
	.turn_away = turn_away,
	.set_tls = set_tls,
	.set_peer_name = set_peer_name,
	.set_peer_ours = set_peer_ours,
	.helo = helo,
	.asks = asks,
	.see_to = intake_package_see_to,
	.see_to_body = intake_package_see_to_body,
	.answer = answer,
	.open = intake_package_open,
	.unfinished = intake_package_unfinished,
	.cancel = intake_package_cancel,
};
