// SPDX-License-Identifier: ISC
/* The bytes that the engine of a session with a server reads and writes, and the time that the
 * server has for its next ones. */
#include "deliver/remote/session/internal.h"
#include "os/clock.h"
#include <errno.h>
#include <string.h>

/* A timer that is already running is left to fire early and is then restarted: most deadlines
 * move many times before one passes. */
void remote_session_set_deadline(struct remote_session *session, int64_t delay_us)
{
	session->deadline_us = os_clock_monotonic_us() + delay_us;
	if (os_timer_is_running(session->timer) && session->timer_us <= session->deadline_us)
		return;
	session->timer_us = session->deadline_us;
	os_timer_start(session->timer, delay_us);
}

int64_t remote_session_timeout_us(const struct remote_session *session)
{
	int64_t timeout_us = remote_engine_timeout_us(&session->engine);
	int64_t left_us =
		session->begun_us + session->settings.patience_us - os_clock_monotonic_us();

	if (session->settings.patience_us == 0 || left_us > timeout_us ||
	    !remote_engine_is_beginning(&session->engine))
		return timeout_us;
	return left_us > 0 ? left_us : 1;
}

/* False: nothing more can be read now. */
static bool receive_part(struct remote_session *session)
{
	ssize_t count =
		tls_stream_read(&session->stream, session->settings.chunk, REMOTE_CHUNK_SIZE);

	if (count > 0)
		remote_engine_input(&session->engine,
				    str_slice(session->settings.chunk, (size_t)count));
	else if (count == 0)
		remote_engine_lost(&session->engine, "closed by the server");
	else if (count != -EAGAIN && session->stream.tls != NULL)
		remote_engine_lost(&session->engine, tls_connection_reason(session->stream.tls));
	else if (count != -EAGAIN)
		remote_engine_lost(&session->engine, strerror((int)-count));
	return count > 0;
}

void remote_session_receive(struct remote_session *session)
{
	while (receive_part(session) && tls_stream_has_pending(&session->stream) &&
	       remote_engine_status(&session->engine) != SMTP_CLIENT_CLOSED)
		continue;
}

/* A server that closes the connection has often said why: that is read first. */
static void lose_session_stream(struct remote_session *session, ssize_t error)
{
	remote_session_receive(session);
	if (remote_engine_status(&session->engine) != SMTP_CLIENT_CLOSED)
		remote_engine_lost(&session->engine, strerror((int)-error));
}

/* Whether all output has been passed to the kernel. */
static bool flush_session_output(struct remote_session *session)
{
	struct str output = remote_engine_output(&session->engine);

	while (output.length > 0) {
		ssize_t count = tls_stream_write(&session->stream, output.data, output.length);

		if (count < 0) {
			if (count != -EAGAIN)
				lose_session_stream(session, count);
			return false;
		}
		remote_engine_sent(&session->engine, (size_t)count);
		remote_session_set_deadline(session, remote_session_timeout_us(session));
		output = remote_engine_output(&session->engine);
	}
	return true;
}

bool remote_session_send_all(struct remote_session *session)
{
	bool is_sent;

	if (remote_engine_status(&session->engine) == SMTP_CLIENT_WANTS_FORM)
		remote_session_form(session);
	while ((is_sent = flush_session_output(session)) &&
	       remote_engine_status(&session->engine) == SMTP_CLIENT_WANTS_DATA)
		remote_session_feed(session);
	return is_sent;
}
