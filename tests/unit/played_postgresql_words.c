// SPDX-License-Identifier: ISC
/* What a played PostgreSQL server says. */
#include "played_postgresql_internal.h"
#include "test.h"
#include <arpa/inet.h>
#include <string.h>

void played_postgresql_append_number(struct buffer *out, uint32_t number, size_t size)
{
	while (size-- > 0)
		buffer_append_byte(out, (char)(number >> (8 * size)));
}

static void append_text(struct buffer *out, const char *text)
{
	buffer_append(out, text, strlen(text) + 1);
}

/* Its body follows, and end_message(). */
static size_t begin_message(struct played_postgresql_session *session, char kind)
{
	buffer_append_byte(&session->out, kind);
	played_postgresql_append_number(&session->out, 0, 4);
	return session->out.length - 4;
}

static void end_message(struct played_postgresql_session *session, size_t at)
{
	uint32_t length = htonl((uint32_t)(session->out.length - at));

	memcpy(buffer_data(&session->out) + at, &length, sizeof length);
}

void played_postgresql_send_message(struct played_postgresql_session *session, char kind)
{
	end_message(session, begin_message(session, kind));
}

void played_postgresql_send_parameter(struct played_postgresql_session *session, const char *name,
				      const char *value)
{
	size_t at = begin_message(session, 'S');

	append_text(&session->out, name);
	append_text(&session->out, value);
	end_message(session, at);
}

void played_postgresql_send_ready(struct played_postgresql_session *session)
{
	size_t at = begin_message(session, 'Z');

	buffer_append_byte(&session->out, 'I');
	end_message(session, at);
}

void played_postgresql_send_words(struct played_postgresql_session *session, char kind,
				  const char *severity, const char *state, const char *text)
{
	size_t at = begin_message(session, kind);
	const char *const fields[] = {"S", severity, "V", severity, "C", state, "M", text};

	for (size_t i = 0; i < COUNT_OF(fields); i += 2) {
		buffer_append_byte(&session->out, *fields[i]);
		append_text(&session->out, fields[i + 1]);
	}
	buffer_append_byte(&session->out, '\0');
	end_message(session, at);
}

void played_postgresql_refuse(struct played_postgresql_session *session, const char *state,
			      const char *text)
{
	bool is_fatal = strncmp(state, "57P", 3) == 0 || strncmp(state, "25P03", 5) == 0;

	played_postgresql_send_words(session, 'E', is_fatal ? "FATAL" : "ERROR", state, text);
	session->is_skipping = true;
	session->is_closing = is_fatal;
}

void played_postgresql_columns(struct played_postgresql_session *session, const uint32_t *types,
			       size_t count)
{
	size_t at = begin_message(session, 'T');

	played_postgresql_append_number(&session->out, (uint32_t)count, 2);
	for (size_t i = 0; i < count; i++) {
		append_text(&session->out, "column");
		played_postgresql_append_number(&session->out, 0, 4);
		played_postgresql_append_number(&session->out, 0, 2);
		played_postgresql_append_number(&session->out, types[i], 4);
		played_postgresql_append_number(&session->out, (uint32_t)-1, 2);
		played_postgresql_append_number(&session->out, (uint32_t)-1, 4);
		played_postgresql_append_number(&session->out, session->bound.wants_binary, 2);
	}
	end_message(session, at);
	session->has_columns = true;
}

void played_postgresql_row(struct played_postgresql_session *session, const struct str *values,
			   const bool *is_null, size_t count)
{
	size_t at = begin_message(session, 'D');

	played_postgresql_append_number(&session->out, (uint32_t)count, 2);
	for (size_t i = 0; i < count; i++) {
		bool is_nothing = is_null != NULL && is_null[i];

		played_postgresql_append_number(
			&session->out, is_nothing ? (uint32_t)-1 : (uint32_t)values[i].length, 4);
		if (!is_nothing)
			buffer_append_str(&session->out, values[i]);
	}
	end_message(session, at);
}

void played_postgresql_complete(struct played_postgresql_session *session, const char *tag)
{
	size_t at;

	if (!session->has_columns)
		played_postgresql_send_message(session, 'n'); /* the answer to Describe: no rows */
	at = begin_message(session, 'C');
	append_text(&session->out, tag);
	end_message(session, at);
}

void played_postgresql_notify(const char *channel)
{
	for (size_t i = 0; i < PLAYED_POSTGRESQL_SESSIONS; i++) {
		struct played_postgresql_session *session = &played_postgresql_sessions[i];
		size_t at;

		if (session->socket < 0 || !session->is_started)
			continue;
		at = begin_message(session, 'A');
		played_postgresql_append_number(&session->out, 4711, 4);
		append_text(&session->out, channel);
		append_text(&session->out, "");
		end_message(session, at);
	}
}

void played_postgresql_notice(const char *text)
{
	for (size_t i = 0; i < PLAYED_POSTGRESQL_SESSIONS; i++)
		if (played_postgresql_sessions[i].socket >= 0 &&
		    played_postgresql_sessions[i].is_started)
			played_postgresql_send_words(&played_postgresql_sessions[i], 'N', "NOTICE",
						     "00000", text);
}

void played_postgresql_send(struct str bytes)
{
	for (size_t i = 0; i < PLAYED_POSTGRESQL_SESSIONS; i++)
		if (played_postgresql_sessions[i].socket >= 0)
			buffer_append_str(&played_postgresql_sessions[i].out, bytes);
}
