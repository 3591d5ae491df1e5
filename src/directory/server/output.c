// SPDX-License-Identifier: ISC
/* What a session has for its client, until session.c writes it. */
#include "directory/server/internal.h"
#include "log/event.h"

void session_wake(struct session *session)
{
	os_loop_defer(session->server->loop, &session->task);
}

void session_add_reset(const struct directory_server *server, struct buffer *out)
{
	struct directory_frame frame;

	directory_frame_begin(&frame, out, "reset");
	directory_frame_add(&frame, str_from(server->identity));
	directory_frame_add_number(&frame, server->store->version);
	directory_frame_end(&frame);
}

void session_late_reset(struct session *session)
{
	session->must_reset = false;
	session_add_reset(session->server, &session->output);
	session->server->counts.resets++;
}

struct buffer *session_output(struct session *session)
{
	if (session->must_reset)
		session_late_reset(session);
	return &session->output;
}

void session_error(struct session *session, struct str id, enum directory_error error,
		   const char *text)
{
	struct directory_frame frame;

	directory_frame_begin(&frame, session_output(session), "err");
	directory_frame_add(&frame, id);
	directory_frame_add(&frame, str_from(directory_error_name(error)));
	directory_frame_add(&frame, str_from(text));
	directory_frame_end(&frame);
}

void session_refuse(struct session *session, const char *reason)
{
	if (session->is_broken || session->has_ended)
		return;
	log_event(EVENT_DIRECTORY_REFUSED, log_string(peer, session->peer),
		  log_string(reason, reason));
	session->server->counts.errors++;
	session_error(session, STR("0"), DIRECTORY_ERROR_BAD, reason);
	session->has_ended = true;
	buffer_reset(&session->input);
	session_wake(session);
}
