// SPDX-License-Identifier: ISC
/*
 * tests/transcript/lives.c - plays each dialogue after each other one in the same session.
 *
 * What the first life left must not change the second: it is played again as by a session that had
 * no first one, to the same replies, messages, envelopes and trace headers. Between the two of an
 * SMTP session is RSET, only the greeting of the second, or STARTTLS; between two packages of QMTP
 * is nothing. Both have the same settings, and the second greets. A first life in which the client
 * has logged in, changed who it is or begun TLS is none: that lasts.
 */
#include "base/panic.h"
#include "script.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum turn { TURN_RSET, TURN_GREETING, TURN_TLS, TURN_COUNT };

enum { LIVES_MAX = 400, TOLD_MAX = 10 };

static const char *const turn_names[TURN_COUNT] = {"RSET", "its greeting", "STARTTLS"};

struct life {
	const char *path;
	struct script *script;
	struct buffer settings; /* the lines "set" */
	bool is_first;          /* it may be one */
	bool is_second;
};

/* What came of the second life. */
struct result {
	struct buffer output, messages, traces, envelopes, exchanges;
	size_t answers_used;
	bool is_closed;
};

static struct life lives[LIVES_MAX];
static size_t life_count;
static unsigned long played;
static unsigned told;
static bool is_qmtp;

static void clear_result(struct result *result)
{
	buffer_clear(&result->output);
	buffer_clear(&result->messages);
	buffer_clear(&result->traces);
	buffer_clear(&result->envelopes);
	buffer_clear(&result->exchanges);
}

static bool play_event(struct session *session, const struct script_event *event)
{
	static const enum session_event events[] = {
		[EVENT_TIMEOUT] = SESSION_TIMEOUT, [EVENT_SHUTDOWN] = SESSION_SHUTDOWN,
		[EVENT_EARLY] = SESSION_EARLY,     [EVENT_FAULT] = SESSION_FAULT,
		[EVENT_NO_FILE] = SESSION_NO_FILE, [EVENT_TLS] = SESSION_TLS,
	};
	struct str bytes = buffer_view(&event->bytes);

	if (event->type != EVENT_CLIENT)
		return session_happen(session, events[event->type], &event->verdict);
	session_feed(session, bytes.data, bytes.length);
	return true;
}

static bool is_client(const struct script_event *event, const char *beginning)
{
	struct str bytes = buffer_view(&event->bytes);
	size_t length = strlen(beginning);

	return event->type == EVENT_CLIENT && bytes.length >= length &&
	       strncasecmp(bytes.data, beginning, length) == 0;
}

/* As far as it goes without an end of the session. */
static void play_script(struct session *session, const struct script *script)
{
	session->answers = script->answers;
	session->answer_count = script->answer_count;
	session->answers_used = 0;
	for (size_t i = 0; i < script->event_count && !session_is_closed(session); i++)
		if (!play_event(session, &script->events[i]))
			return;
}

/* The settings with an extent that two lives do not reach, unless they are about it. */
static void begin_session(struct session *session, const struct life *life, enum turn turn,
			  bool is_delayed)
{
	*session = life->script->settings;
	session->is_delayed = is_delayed;
	if (session->service.limits.errors == 20)
		session->service.limits.errors = 1000;
	if (turn == TURN_TLS && session->service.tls == SMTP_TLS_NONE) {
		session->service.tls = SMTP_TLS_OFFERED;
		session->peer.may_tls = true;
	}
	session_start(session);
	is_qmtp = session->server == NULL;
	(void)session_happen(session, SESSION_START, NULL);
}

static bool has_event(const struct script *script, enum script_event_type type)
{
	for (size_t i = 0; i < script->event_count; i++)
		if (script->events[i].type == type)
			return true;
	return false;
}

/* At the beginning of a line. */
static bool has_command(const struct script *script, const char *verb)
{
	char line[16];

	snprintf(line, sizeof line, "\n%s", verb);
	for (size_t i = 0; i < script->event_count; i++) {
		struct str bytes = buffer_view(&script->events[i].bytes);

		if (is_client(&script->events[i], verb) ||
		    memmem(bytes.data, bytes.length, line, strlen(line)) != NULL)
			return true;
	}
	return false;
}

/* Whether the session goes on after it, as that of a client that may begin anew. */
static bool may_be_first(struct life *life)
{
	struct script *script = life->script;
	struct session session;
	bool may;

	if (script->event_count == 0 || has_event(script, EVENT_IMPLICIT_TLS) ||
	    has_event(script, EVENT_EARLY) || has_event(script, EVENT_TLS) ||
	    has_command(script, "AUTH") || has_command(script, "XCLIENT"))
		return false;
	if (is_client(&script->events[script->event_count - 1], "QUIT"))
		buffer_clear(&script->events[--script->event_count].bytes);
	begin_session(&session, life, TURN_RSET, false);
	play_script(&session, script);
	may = !session_is_closed(&session) && !session.has_file && session.kept.length == 0;
	if (may && !is_qmtp) {
		size_t before = session.output.length;

		session_feed(&session, "NOOP\r\n", 6);
		may = str_starts_with(str_skip(buffer_view(&session.output), before),
				      STR("250 2."));
	}
	session_clear(&session);
	return may;
}

static bool may_be_second(const struct life *life)
{
	const struct script *script = life->script;

	return script->event_count > 0 && !has_event(script, EVENT_IMPLICIT_TLS) &&
	       !has_event(script, EVENT_EARLY);
}

/* After STARTTLS every client begins anew, also one that then does not greet. */
static bool begins_anew(const struct life *life)
{
	const struct script_event *event = &life->script->events[0];

	if (life->script->settings.service.protocol == SMTP_PROTOCOL_LMTP)
		return is_client(event, "LHLO");
	return is_qmtp || is_client(event, "EHLO") || is_client(event, "HELO");
}

static void take_from(struct buffer *out, const struct buffer *whole, size_t before)
{
	buffer_append_str(out, str_skip(buffer_view(whole), before));
}

static void begin_tls(struct session *session)
{
	bool is_lmtp = session->service.protocol == SMTP_PROTOCOL_LMTP;
	const char *words = is_lmtp ? "LHLO x\r\nSTARTTLS\r\n" : "EHLO x\r\nSTARTTLS\r\n";

	session_feed(session, words, strlen(words));
	(void)session_happen(session, SESSION_TLS, NULL);
}

/* FIRST may be NULL. False: the two cannot be told apart there. */
static void play_lives(const struct life *first, const struct life *second, enum turn turn,
		       bool is_delayed, struct result *result)
{
	size_t output, messages, traces, envelopes, exchanges;
	struct session session;

	begin_session(&session, second, turn, is_delayed);
	if (first != NULL)
		play_script(&session, first->script);
	if (first != NULL && turn == TURN_RSET && !is_qmtp)
		session_feed(&session, "RSET\r\n", 6);
	if (turn == TURN_TLS)
		begin_tls(&session);
	output = session.output.length;
	messages = session.messages.length;
	traces = session.traces.length;
	envelopes = session.envelopes.length;
	exchanges = session.exchanges.length;
	play_script(&session, second->script);
	take_from(&result->output, &session.output, output);
	take_from(&result->messages, &session.messages, messages);
	take_from(&result->traces, &session.traces, traces);
	take_from(&result->envelopes, &session.envelopes, envelopes);
	take_from(&result->exchanges, &session.exchanges, exchanges);
	result->answers_used = session.answers_used;
	result->is_closed = session_is_closed(&session);
	session_clear(&session);
	played++;
}

static bool is_same(const struct buffer *one, const struct buffer *other)
{
	return str_equal(buffer_view(one), buffer_view(other));
}

static bool results_agree(const struct result *alone, const struct result *after)
{
	return is_same(&alone->output, &after->output) &&
	       is_same(&alone->messages, &after->messages) &&
	       is_same(&alone->traces, &after->traces) &&
	       is_same(&alone->envelopes, &after->envelopes) &&
	       is_same(&alone->exchanges, &after->exchanges) &&
	       alone->answers_used == after->answers_used && alone->is_closed == after->is_closed;
}

static void tell_difference(const char *what, const struct buffer *alone,
			    const struct buffer *after)
{
	if (!is_same(alone, after))
		printf("--- %s alone\n" STR_FORMAT "--- after the other\n" STR_FORMAT, what,
		       STR_ARGUMENTS(buffer_view(alone)), STR_ARGUMENTS(buffer_view(after)));
}

static void tell(const struct life *first, const struct life *second, enum turn turn,
		 const struct result *alone, const struct result *after)
{
	if (told++ >= TOLD_MAX)
		return;
	printf("FAILED %s after %s, between them %s\n", second->path, first->path,
	       turn_names[turn]);
	tell_difference("output", &alone->output, &after->output);
	tell_difference("messages", &alone->messages, &after->messages);
	tell_difference("traces", &alone->traces, &after->traces);
	tell_difference("envelopes", &alone->envelopes, &after->envelopes);
	tell_difference("exchanges", &alone->exchanges, &after->exchanges);
}

/* The SECOND after each that may be the first. */
static void play_second(const struct life *second, enum turn turn, bool is_delayed)
{
	struct result alone = {0};

	play_lives(NULL, second, turn, is_delayed, &alone);
	for (size_t i = 0; i < life_count; i++) {
		const struct life *first = &lives[i];
		struct result after = {0};

		if (!first->is_first || !is_same(&first->settings, &second->settings) ||
		    (turn == TURN_TLS && has_command(first->script, "STARTTLS")))
			continue;
		play_lives(first, second, turn, is_delayed, &after);
		if (!results_agree(&alone, &after))
			tell(first, second, turn, &alone, &after);
		clear_result(&after);
	}
	clear_result(&alone);
}

static void read_life(const char *path)
{
	struct life *life = &lives[life_count++];
	struct buffer text = {0};
	char line[4096];
	FILE *file = fopen(path, "r");

	if (file == NULL || life_count == LIVES_MAX)
		panic("%s cannot be read, or is one too many", path);
	while (fgets(line, sizeof line, file) != NULL) {
		buffer_append_string(&text, line);
		if (strncmp(line, "set ", 4) == 0)
			buffer_append_string(&life->settings, line);
	}
	fclose(file);
	life->path = path;
	life->script = memory_alloc_zero(1, sizeof *life->script);
	script_parse(life->script, buffer_view(&text));
	buffer_clear(&text);
	life->is_first = may_be_first(life);
	life->is_second = may_be_second(life);
}

int main(int argc, char **argv)
{
	unsigned firsts = 0;
	unsigned turns;

	for (int i = 1; i < argc; i++)
		read_life(argv[i]);
	turns = is_qmtp ? 1 : TURN_COUNT;
	for (size_t i = 0; i < life_count; i++) {
		firsts += lives[i].is_first;
		for (unsigned way = 0; lives[i].is_second && way < 2 * turns; way++)
			if (way / 2 == TURN_TLS || begins_anew(&lives[i]))
				play_second(&lives[i], way / 2, way % 2 == 1);
	}
	for (size_t i = 0; i < life_count; i++) {
		script_clear(lives[i].script);
		free(lives[i].script);
		buffer_clear(&lives[i].settings);
	}
	printf("%lu lives, %u dialogues may be the first; %u differ\n", played, firsts, told);
	return told > 0 || firsts < 2 ? EXIT_FAILURE : EXIT_SUCCESS;
}
