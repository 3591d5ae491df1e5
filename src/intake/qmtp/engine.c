// SPDX-License-Identifier: ISC
/* A session that speaks QMTP or QMQP: its engine, and the answers to the engine's questions. */
#include "base/panic.h"
#include "intake/qmtp/internal.h"
#include <stdlib.h>

static struct qmtp_server *qmtp_server_of_session(const struct intake_session *session)
{
	return session->packages->server;
}

/* Once for all the answers of a group of commits. */
static void pump_qmtp_session(void *context)
{
	struct intake_session *session = context;

	session->pump(session);
}

static void begin_qmtp_session(struct intake_session *session, const struct smtp_service *service,
			       const struct smtp_peer *peer)
{
	session->packages = memory_alloc_zero(1, sizeof *session->packages);
	session->packages->server = qmtp_server_new(service, *peer);
	session->head = qmtp_server_head(session->packages->server);
	session->packages->pump = (struct os_task){.call = pump_qmtp_session, .context = session};
}

static void end_qmtp_session(struct intake_session *session)
{
	qmtp_server_free(qmtp_server_of_session(session));
	free(session->packages);
}

static void start_qmtp_session(struct intake_session *session, struct str early)
{
	buffer_append_str(&session->kept, early);
	qmtp_server_start(qmtp_server_of_session(session));
}

static size_t take_qmtp_input(struct intake_session *session, const char *data, size_t length)
{
	return qmtp_server_input(qmtp_server_of_session(session), data, length);
}

static bool is_qmtp_ready(const struct intake_session *session)
{
	return qmtp_server_is_ready(qmtp_server_of_session(session));
}

static bool is_qmtp_closed(const struct intake_session *session)
{
	return qmtp_server_is_closed(qmtp_server_of_session(session));
}

static bool is_qmtp_receiving(const struct intake_session *session)
{
	return qmtp_server_is_receiving(qmtp_server_of_session(session));
}

static bool wants_qmtp_tls(const struct intake_session *session)
{
	(void)session;
	return false;
}

static uint32_t timeout_of_qmtp(const struct intake_session *session)
{
	return qmtp_server_timeout_seconds(qmtp_server_of_session(session));
}

static void time_out_qmtp_session(struct intake_session *session)
{
	qmtp_server_timeout(qmtp_server_of_session(session));
}

static void stop_qmtp_session(struct intake_session *session)
{
	qmtp_server_shutdown(qmtp_server_of_session(session));
}

static void refuse_qmtp_client(struct intake_session *session, const char *text)
{
	qmtp_server_refuse_session(qmtp_server_of_session(session), text);
}

static void set_qmtp_session_tls(struct intake_session *session, const struct smtp_tls *tls)
{
	qmtp_server_set_tls(qmtp_server_of_session(session), tls);
}

static bool has_qmtp_question(const struct intake_session *session, struct intake_asked *asked_out)
{
	const struct qmtp_question *question =
		qmtp_server_question(qmtp_server_of_session(session));

	if (question == NULL)
		return false;
	*asked_out = (struct intake_asked){.type = question->type, .envelope = question->envelope};
	return true;
}

static void answer_qmtp_question(struct intake_session *session, const struct mail_verdict *verdict)
{
	qmtp_server_answer(qmtp_server_of_session(session), verdict);
}

const struct intake_engine intake_engine_qmtp = {
	.begin = begin_qmtp_session,
	.free = end_qmtp_session,
	.start = start_qmtp_session,
	.input = take_qmtp_input,
	.is_ready = is_qmtp_ready,
	.is_closed = is_qmtp_closed,
	.is_receiving = is_qmtp_receiving,
	.wants_tls = wants_qmtp_tls,
	.timeout_seconds = timeout_of_qmtp,
	.timeout = time_out_qmtp_session,
	.shutdown = stop_qmtp_session,
	.drain = stop_qmtp_session, /* a package has no end before which one could wait */
	.refuse_session = refuse_qmtp_client,
	.set_tls = set_qmtp_session_tls,
	.asks = has_qmtp_question,
	.handle_question = intake_package_handle,
	.spool_body = intake_package_spool_body,
	.answer = answer_qmtp_question,
	.open = intake_package_open,
	.unfinished = intake_package_unfinished,
	.cancel = intake_package_cancel,
};
