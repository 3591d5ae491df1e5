// SPDX-License-Identifier: ISC
#include "played_postgresql_internal.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum {
	STARTUP_CODE = 3 << 16,
	CANCEL_CODE = 80877102,
};

struct played_postgresql played_postgresql;

struct played_postgresql_session played_postgresql_sessions[PLAYED_POSTGRESQL_SESSIONS];
static int listening = -1;
static struct sockaddr_un address;

/* --- messages of the client --- */

static uint32_t take_number(struct str *rest, size_t size)
{
	uint32_t number = 0;

	assert_true(rest->length >= size);
	for (size_t i = 0; i < size; i++)
		number = number << 8 | (unsigned char)rest->data[i];
	*rest = str_skip(*rest, size);
	return number;
}

static struct str take_text(struct str *rest)
{
	ptrdiff_t end = str_find(*rest, '\0');
	struct str text;

	assert_true(end >= 0);
	text = str_slice(rest->data, (size_t)end);
	*rest = str_skip(*rest, (size_t)end + 1);
	return text;
}

static void start_session(struct played_postgresql_session *session, struct str rest)
{
	struct str name;

	buffer_reset(&played_postgresql.startup);
	while ((name = take_text(&rest)).length > 0) {
		struct str value = take_text(&rest);

		buffer_append_format(&played_postgresql.startup, STR_FORMAT "=" STR_FORMAT "\n",
				     STR_ARGUMENTS(name), STR_ARGUMENTS(value));
	}
	if (played_postgresql.refuses_login != NULL) {
		played_postgresql_send_words(session, 'E', "FATAL", played_postgresql.refuses_login,
					     "you are refused");
		session->is_closing = true;
		return;
	}
	played_postgresql_append_number(&session->out, 'R', 1);
	played_postgresql_append_number(&session->out, 8, 4);
	played_postgresql_append_number(&session->out, 0, 4);
	played_postgresql_send_parameter(session, "server_version", "15.4");
	played_postgresql_send_parameter(session, "client_encoding", "UTF8");
	played_postgresql_send_ready(session);
	session->is_started = true;
	if (played_postgresql.opened != NULL)
		played_postgresql.opened(session);
}

static struct played_postgresql_prepared *find_prepared(struct played_postgresql_session *session,
							struct str name)
{
	for (size_t i = 0; i < session->prepared_count; i++)
		if (str_equal(session->prepared[i].name, name))
			return &session->prepared[i];
	return NULL;
}

static void parse_statement(struct played_postgresql_session *session, struct str rest)
{
	struct str name = take_text(&rest);
	struct str text = take_text(&rest);
	struct played_postgresql_prepared *prepared = find_prepared(session, name);
	uint32_t count = take_number(&rest, 2);

	if (prepared != NULL && name.length > 0) {
		played_postgresql_refuse(session, "42P05", "it is prepared already");
		return;
	}
	if (prepared == NULL)
		prepared = &session->prepared[session->prepared_count++];
	assert_true(session->prepared_count <= PREPARED_MAX);
	*prepared =
		(struct played_postgresql_prepared){.name = arena_copy_str(session->arena, name),
						    .text = arena_copy_str(session->arena, text)};
	for (uint32_t i = 0; i < count; i++)
		prepared->types[i] = take_number(&rest, 4);
	played_postgresql_send_message(session, '1');
}

static void take_values(struct played_postgresql_session *session, struct str *rest)
{
	struct played_postgresql_statement *bound = &session->bound;
	uint32_t count = take_number(rest, 2);
	uint32_t formats[PLAYED_POSTGRESQL_PARAMETERS] = {0};

	assert_true(count <= PLAYED_POSTGRESQL_PARAMETERS);
	for (uint32_t i = 0; i < count; i++)
		formats[i] = take_number(rest, 2);
	bound->count = take_number(rest, 2);
	assert_true(bound->count <= PLAYED_POSTGRESQL_PARAMETERS);
	for (size_t i = 0; i < bound->count; i++) {
		uint32_t length = take_number(rest, 4);

		bound->is_null[i] = length == (uint32_t)-1;
		bound->is_binary[i] = formats[count == 1 ? 0 : i] == 1;
		if (bound->is_null[i])
			continue;
		assert_true(length <= rest->length);
		bound->values[i] = arena_copy_str(session->arena, str_slice(rest->data, length));
		*rest = str_skip(*rest, length);
	}
}

static void bind_statement(struct played_postgresql_session *session, struct str rest)
{
	struct played_postgresql_prepared *prepared;
	struct str name;

	assert_int_equal(take_text(&rest).length, 0); /* the portal */
	name = take_text(&rest);
	prepared = find_prepared(session, name);
	if (prepared == NULL) {
		played_postgresql_refuse(session, "26000", "it is not prepared");
		return;
	}
	memset(&session->bound, 0, sizeof session->bound);
	session->bound.name = prepared->name;
	session->bound.text = prepared->text;
	memcpy(session->bound.types, prepared->types, sizeof prepared->types);
	take_values(session, &rest);
	if (take_number(&rest, 2) > 0)
		session->bound.wants_binary = take_number(&rest, 2) == 1;
	played_postgresql_send_message(session, '2');
}

static bool flush_session(struct played_postgresql_session *session)
{
	struct str out = buffer_view(&session->out);
	ssize_t sent =
		out.length > 0 ? send(session->socket, out.data, out.length, MSG_NOSIGNAL) : 0;

	if (sent > 0)
		buffer_consume(&session->out, (size_t)sent);
	return sent > 0;
}

static bool does_statement_fail(struct str text)
{
	if (str_equal(text, buffer_view(&played_postgresql.last)))
		return false;
	buffer_reset(&played_postgresql.last);
	buffer_append_str(&played_postgresql.last, text);
	return ++played_postgresql.statements == played_postgresql.fails_at;
}

static void run_bound_statement(struct played_postgresql_session *session)
{
	bool fails = does_statement_fail(session->bound.text);
	enum played_postgresql_fault fault =
		fails ? played_postgresql.fault : PLAYED_POSTGRESQL_FINE;

	buffer_append_format(&played_postgresql.heard, STR_FORMAT "\n",
			     STR_ARGUMENTS(session->bound.text));
	session->has_columns = false;
	if (fault != PLAYED_POSTGRESQL_FINE) /* what was said before was said */
		(void)flush_session(session);
	switch (fault) {
	case PLAYED_POSTGRESQL_REFUSES:
		played_postgresql_refuse(session, played_postgresql.fault_state,
					 "it is refused\nby the test");
		break;
	case PLAYED_POSTGRESQL_CLOSES:
		session->is_mute = session->is_closing = true;
		break;
	case PLAYED_POSTGRESQL_IS_SILENT:
		played_postgresql.is_silent = true;
		break;
	case PLAYED_POSTGRESQL_BABBLES:
		buffer_append_string(&session->out, "\x07 what is this?");
		(void)flush_session(session);
		session->is_mute = session->is_closing = true;
		break;
	default:
		played_postgresql.answer(session, &session->bound);
		session->is_mute = fault == PLAYED_POSTGRESQL_DOES_IT_CLOSES;
		session->is_closing = session->is_closing || session->is_mute;
	}
}

static void take_message(struct played_postgresql_session *session, char kind, struct str rest)
{
	if (kind == 'X') {
		session->is_closing = true;
	} else if (kind == 'S') {
		session->is_skipping = false;
		buffer_append_string(&played_postgresql.heard, "sync\n");
		played_postgresql_send_ready(session);
	} else if (session->is_skipping) {
		return;
	} else if (kind == 'P') {
		parse_statement(session, rest);
	} else if (kind == 'B') {
		bind_statement(session, rest);
	} else if (kind == 'E') {
		run_bound_statement(session);
	} else if (kind != 'D' && kind != 'H') { /* Describe is answered with the rows */
		fail_msg("libpq says '%c'", kind);
	}
}

/* False: there is no whole one. */
static bool take_one(struct played_postgresql_session *session)
{
	struct str in = buffer_view(&session->in);
	size_t head = session->is_started ? 5 : 4;
	struct str rest = str_skip(in, head - 4);
	uint32_t length;

	if (in.length < head)
		return false;
	length = take_number(&rest, 4);
	if (rest.length < length - 4)
		return false;
	rest = str_slice(rest.data, length - 4);
	if (session->is_started) {
		take_message(session, in.data[0], rest);
	} else {
		uint32_t code = take_number(&rest, 4);

		if (code == STARTUP_CODE)
			start_session(session, rest);
		else if (code == CANCEL_CODE)
			session->is_closing = true;
		else
			played_postgresql_append_number(&session->out, 'N', 1); /* no TLS */
	}
	buffer_consume(&session->in, head - 4 + length);
	return true;
}

/* --- sockets --- */

static void close_session(struct played_postgresql_session *session)
{
	if (session->is_started && played_postgresql.closed != NULL)
		played_postgresql.closed(session);
	close(session->socket);
	buffer_clear(&session->in);
	buffer_clear(&session->out);
	arena_free(session->arena);
	*session = (struct played_postgresql_session){.socket = -1};
	played_postgresql.open--;
}

static bool accept_session(void)
{
	int socket =
		listening < 0 ? -1 : accept4(listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	size_t i = 0;

	if (socket < 0)
		return false;
	while (i < PLAYED_POSTGRESQL_SESSIONS && played_postgresql_sessions[i].socket >= 0)
		i++;
	assert_true(i < PLAYED_POSTGRESQL_SESSIONS);
	played_postgresql_sessions[i] =
		(struct played_postgresql_session){.socket = socket, .arena = arena_new()};
	played_postgresql.accepted++;
	played_postgresql.open++;
	return true;
}

static bool turn_session(struct played_postgresql_session *session)
{
	bool is_any = flush_session(session);
	ssize_t count = recv(session->socket, buffer_reserve(&session->in, 65536), 65536, 0);

	if (count > 0)
		buffer_commit(&session->in, (size_t)count);
	while (!session->is_closing && !played_postgresql.is_silent && !played_postgresql.is_deaf &&
	       take_one(session))
		is_any = true;
	if (session->is_mute)
		buffer_reset(&session->out);
	while (flush_session(session))
		is_any = true;
	if (count == 0 || (count < 0 && errno != EAGAIN) || session->is_closing) {
		close_session(session);
		return true;
	}
	return is_any;
}

bool played_postgresql_turn(void)
{
	bool was_any = false;

	if (played_postgresql.is_silent)
		return false;
	while (accept_session())
		was_any = true;
	for (size_t i = 0; i < PLAYED_POSTGRESQL_SESSIONS; i++)
		if (played_postgresql_sessions[i].socket >= 0 &&
		    turn_session(&played_postgresql_sessions[i]))
			was_any = true;
	return was_any;
}

void played_postgresql_lose_all(bool with_words)
{
	for (size_t i = 0; i < PLAYED_POSTGRESQL_SESSIONS; i++) {
		if (played_postgresql_sessions[i].socket < 0)
			continue;
		if (with_words)
			played_postgresql_send_words(&played_postgresql_sessions[i], 'E', "FATAL",
						     "57P01", "an administrator's command");
		(void)flush_session(&played_postgresql_sessions[i]);
		close_session(&played_postgresql_sessions[i]);
	}
}

void played_postgresql_listen_again(void)
{
	listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_true(listening >= 0);
	assert_int_equal(bind(listening, (struct sockaddr *)&address, sizeof address), 0);
	assert_int_equal(listen(listening, 16), 0);
}

void played_postgresql_stop_listening(void)
{
	close(listening);
	listening = -1;
	(void)unlink(address.sun_path);
}

void played_postgresql_begin(const char *folder)
{
	memset(&played_postgresql, 0, sizeof played_postgresql);
	for (size_t i = 0; i < PLAYED_POSTGRESQL_SESSIONS; i++)
		played_postgresql_sessions[i].socket = -1;
	address = (struct sockaddr_un){.sun_family = AF_UNIX};
	snprintf(address.sun_path, sizeof address.sun_path, "%s/.s.PGSQL.5432", folder);
	played_postgresql_listen_again();
}

void played_postgresql_end(void)
{
	played_postgresql_lose_all(false);
	played_postgresql_stop_listening();
	buffer_clear(&played_postgresql.startup);
	buffer_clear(&played_postgresql.last);
	buffer_clear(&played_postgresql.heard);
}

void played_postgresql_set_context(struct played_postgresql_session *session, void *context)
{
	session->context = context;
}

void *played_postgresql_context(const struct played_postgresql_session *session)
{
	return session->context;
}
