// SPDX-License-Identifier: ISC
/*
 * tests/transcript/run.c - plays dialogue files with a server engine.
 *
 * Each is played line by line, where every reply must come at its place, then
 * all at once and byte by byte; each of these with instant and with delayed
 * answers. All must come to the same.
 */
#include "script.h"
#include <stdio.h>
#include <stdlib.h>

enum pace { PACE_LINES, PACE_WHOLE, PACE_BYTES, PACE_COUNT };

static const char *const pace_names[PACE_COUNT] = {"line by line", "all at once", "byte by byte"};

static bool compare(const char *what, const struct buffer *expected, const struct buffer *found)
{
	if (str_equal(buffer_view(expected), buffer_view(found)))
		return true;
	printf("--- %s expected\n", what);
	printf(STR_FORMAT "--- %s found\n" STR_FORMAT "---\n", STR_ARGUMENTS(buffer_view(expected)),
	       what, STR_ARGUMENTS(buffer_view(found)));
	return false;
}

static bool happen(struct session *session, const struct script_event *event)
{
	static const enum session_event events[] = {
		[EVENT_TIMEOUT] = SESSION_TIMEOUT, [EVENT_SHUTDOWN] = SESSION_SHUTDOWN,
		[EVENT_EARLY] = SESSION_EARLY,     [EVENT_FAULT] = SESSION_FAULT,
		[EVENT_NO_FILE] = SESSION_NO_FILE, [EVENT_TLS] = SESSION_TLS,
	};
	struct str bytes = buffer_view(&event->bytes);

	if (event->type == EVENT_IMPLICIT_TLS) /* begin() */
		return false;
	if (event->type != EVENT_CLIENT)
		return session_happen(session, events[event->type], &event->verdict);
	session_feed(session, bytes.data, bytes.length);
	return true;
}

/* Successive lines of the client as one. */
static size_t gather(const struct script *script, size_t first, struct buffer *bytes)
{
	size_t i = first;

	while (i < script->event_count && script->events[i].type == EVENT_CLIENT)
		buffer_append_str(bytes, buffer_view(&script->events[i++].bytes));
	return i;
}

static bool play_events(const struct script *script, struct session *session, enum pace pace)
{
	size_t first = script->event_count > 0 && script->events[0].type == EVENT_IMPLICIT_TLS;

	for (size_t i = first; i < script->event_count;) {
		const struct script_event *event = &script->events[i];
		struct buffer bytes = {0};

		if (pace == PACE_LINES && session->output.length != event->output_length) {
			printf("before event %zu: %zu bytes of replies, not %zu\n", i + 1,
			       session->output.length, event->output_length);
			return false;
		}
		if (pace == PACE_WHOLE && event->type == EVENT_CLIENT) {
			i = gather(script, i, &bytes);
			session_feed(session, buffer_data(&bytes), bytes.length);
			buffer_clear(&bytes);
			continue;
		}
		if (!happen(session, event)) {
			printf("event %zu cannot happen\n", i + 1);
			return false;
		}
		i++;
	}
	return true;
}

static bool judge(const struct script *script, const struct session *session)
{
	bool is_closed = session_is_closed(session);
	bool good = compare("output", &script->output, &session->output);

	good = compare("messages", &script->messages, &session->messages) && good;
	if (script->traces.length > 0)
		good = compare("traces", &script->traces, &session->traces) && good;
	if (script->envelopes.length > 0)
		good = compare("envelopes", &script->envelopes, &session->envelopes) && good;
	if (script->exchanges.length > 0)
		good = compare("exchanges", &script->exchanges, &session->exchanges) && good;
	if (is_closed != script->is_closed)
		printf("the server %s\n", is_closed ? "closed" : "did not close");
	if (session->fault != NULL)
		printf("contract: %s\n", session->fault);
	if (session->answers_used != script->answer_count)
		printf("%zu of %zu answers were asked for\n", session->answers_used,
		       script->answer_count);
	return good && is_closed == script->is_closed && session->fault == NULL &&
	       session->answers_used == script->answer_count;
}

static void begin(const struct script *script, struct session *session)
{
	enum script_event_type first =
		script->event_count > 0 ? script->events[0].type : EVENT_CLIENT;

	session->has_tls = first == EVENT_IMPLICIT_TLS;
	if (first == EVENT_IMPLICIT_TLS)
		(void)session_happen(session, SESSION_IMPLICIT_TLS, NULL);
	if (first != EVENT_EARLY)
		(void)session_happen(session, SESSION_START, NULL);
}

static bool play(const struct script *script, enum pace pace, bool is_delayed)
{
	struct session session = script->settings;
	bool good;

	session.answers = script->answers;
	session.answer_count = script->answer_count;
	session.is_delayed = is_delayed;
	session.chunk = pace == PACE_BYTES ? 1 : 0;
	session_start(&session);
	begin(script, &session);
	good = play_events(script, &session, pace);
	good = judge(script, &session) && good;
	session_clear(&session);
	return good;
}

static bool read_file(const char *path, struct buffer *text)
{
	FILE *file = fopen(path, "r");
	size_t count;

	if (file == NULL)
		return false;
	do {
		count = fread(buffer_reserve(text, 4096), 1, 4096, file);
		buffer_commit(text, count);
	} while (count > 0);
	fclose(file);
	return true;
}

static bool run(const char *path)
{
	struct script *script = calloc(1, sizeof *script);
	struct buffer text = {0};
	bool good = script != NULL && read_file(path, &text);

	if (good)
		script_parse(script, buffer_view(&text));
	for (unsigned i = 0; good && i < 2 * PACE_COUNT; i++) {
		enum pace pace = i / 2;

		/* what comes together matters there */
		if (pace != PACE_LINES && script->settings.service.rules.ends_early)
			continue;
		good = play(script, pace, i % 2 == 1);
		if (!good)
			printf("FAILED %s, %s, %s answers\n", path, pace_names[pace],
			       i % 2 == 1 ? "delayed" : "instant");
	}
	buffer_clear(&text);
	if (script != NULL)
		script_clear(script);
	free(script);
	return good;
}

int main(int argc, char **argv)
{
	int failed = 0;

	for (int i = 1; i < argc; i++)
		failed += run(argv[i]) ? 0 : 1;
	printf("%d of %d dialogues as they should be\n", argc - 1 - failed, argc - 1);
	return failed > 0 || argc < 2 ? EXIT_FAILURE : EXIT_SUCCESS;
}
