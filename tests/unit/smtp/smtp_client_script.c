// SPDX-License-Identifier: ISC
#include "smtp_client_script.h"
#include "base/buffer.h"
#include "smtp_client_misfits.h"
#include "smtp_client_texts.h"
#include "test.h"
#include <stdio.h>
#include <string.h>

enum { RECIPIENTS = 4 };

struct run {
	const struct smtp_client_script *scenario;
	struct smtp_client *client;
	struct smtp_client_recipient recipients[RECIPIENTS];
	char addresses[RECIPIENTS][16];
	struct buffer expected;
	struct buffer watched;
	bool is_bytewise;
};

static void begin(struct run *run)
{
	const struct smtp_client_script *scenario = run->scenario;
	struct smtp_client_message message = {
		.sender = str_from(scenario->sender != NULL ? scenario->sender : "s@s.example"),
		.size = scenario->size > 0 ? scenario->size : strlen(scenario->message),
		.is_8bit = scenario->is_8bit,
		.is_binary = scenario->is_binary,
		.is_utf8 = scenario->is_utf8,
		.needs_utf8 = scenario->needs_utf8,
		.requires_tls = scenario->requires_tls,
		.priority = scenario->priority,
		.deadline = scenario->deadline,
		.deadline_left = scenario->deadline_left,
		.origin = scenario->origin,
		.ret = scenario->ret,
		.envid = str_from(scenario->envid != NULL ? scenario->envid : ""),
		.recipients = run->recipients,
		.recipient_count = strlen(scenario->recipients),
	};

	for (size_t i = 0; i < message.recipient_count; i++) {
		if (scenario->recipients[i] == '*')
			snprintf(run->addresses[i], sizeof run->addresses[i],
				 "u@b\xc3\xbc.example");
		else
			snprintf(run->addresses[i], sizeof run->addresses[i], "%s%c@d.example",
				 scenario->recipients[i] < 'a' ? "\xc3\xa9" : "",
				 scenario->recipients[i]);
		run->recipients[i].address = str_from(run->addresses[i]);
		run->recipients[i].notify = scenario->notify;
		run->recipients[i].original =
			str_from(scenario->original != NULL ? scenario->original : "");
	}
	smtp_client_begin(run->client, &message);
}

static void feed(struct run *run, struct str bytes)
{
	size_t step = run->is_bytewise ? 1 : bytes.length;

	for (size_t i = 0; i < bytes.length; i += step)
		smtp_client_input(run->client, str_slice(bytes.data + i, step));
}

static void give_message(struct run *run)
{
	struct str message = str_from(run->scenario->message);
	bool is_whole = !run->is_bytewise || run->scenario->gives_whole;
	size_t step = is_whole ? message.length : 1;
	const char *cut = strchr(run->scenario->message, '^'); /* between two pieces */

	assert_int_equal(smtp_client_status(run->client), SMTP_CLIENT_WANTS_DATA);
	if (cut != NULL) {
		size_t first = (size_t)(cut - run->scenario->message);

		smtp_client_data(run->client, str_slice(message.data, first), false);
		smtp_client_data(run->client, str_skip(message, first + 1), true);
		return;
	}
	for (size_t i = 0; i < message.length; i += step)
		smtp_client_data(run->client, str_slice(message.data + i, step),
				 i + step == message.length);
}

static void check_output(struct run *run)
{
	struct str output = smtp_client_output(run->client);

	if (run->expected.length == 0)
		return;
	if (!str_equal(output, buffer_view(&run->expected)))
		fail_msg("%s: sent \"" STR_FORMAT "\", not \"" STR_FORMAT "\"", run->scenario->name,
			 STR_ARGUMENTS(output), STR_ARGUMENTS(buffer_view(&run->expected)));
	smtp_client_sent(run->client, output.length);
	buffer_reset(&run->expected);
}

static void append_lines(struct buffer *out, struct str text, bool is_several)
{
	for (size_t i = 0; i < text.length; i++) {
		if (is_several && text.data[i] == '|')
			buffer_append_string(out, "\r\n");
		else
			buffer_append_byte(out, text.data[i]);
	}
}

/* '_' alone is nothing, '|' a NUL. */
static struct str message_of(struct str text, char *copy)
{
	if (str_equal(text, STR("_")))
		return STR("");
	for (size_t i = 0; i < text.length; i++)
		copy[i] = (char)(text.data[i] == '|' ? '\0' : text.data[i]);
	return str_slice(copy, text.length);
}

static void log_in(struct run *run, struct str rest)
{
	char copy[1000];
	char mechanism[40];
	struct str word;
	struct str text;
	struct str message;
	bool is_begin = smtp_client_login(run->client, &text) == SMTP_CLIENT_LOGIN_BEGIN;

	assert_int_equal(smtp_client_status(run->client), SMTP_CLIENT_WANTS_LOGIN);
	assert_true(str_split(&rest, ' ', &word));
	message = message_of(rest, copy);
	if (is_begin) {
		snprintf(mechanism, sizeof mechanism, STR_FORMAT, STR_ARGUMENTS(word));
		assert_non_null(memmem(text.data, text.length, mechanism, strlen(mechanism)));
		smtp_client_login_begin(run->client, mechanism,
					rest.data != NULL ? &message : NULL);
		return;
	}
	assert_int_equal(smtp_client_login(run->client, &text), SMTP_CLIENT_LOGIN_CHALLENGE);
	if (!str_equal(text, str_equal(word, STR("_")) ? STR("") : word))
		fail_msg("%s: challenge \"" STR_FORMAT "\"", run->scenario->name,
			 STR_ARGUMENTS(text));
	smtp_client_login_respond(run->client, message);
}

static void take_login_step(struct run *run, struct str step)
{
	struct str text;

	if (step.data[0] == 'L' || step.data[0] == 'M')
		log_in(run, str_skip(step, 3));
	if (step.data[0] == 'A') {
		assert_int_equal(smtp_client_status(run->client), SMTP_CLIENT_WANTS_LOGIN);
		assert_int_equal(smtp_client_login(run->client, &text), SMTP_CLIENT_LOGIN_SUCCESS);
		smtp_client_login_accept(run->client);
	}
	if (step.data[0] == 'K')
		smtp_client_login_cancel(run->client, "no password is known");
}

/* \r and \n stand for bytes. */
static void expect_bytes(struct run *run, struct str text)
{
	for (size_t i = 0; i < text.length; i++) {
		char c = text.data[i];

		if (c == '\\')
			c = text.data[++i] == 'r' ? '\r' : '\n';
		buffer_append_byte(&run->expected, c);
	}
}

static void call_in_vain(const struct run *run)
{
	const struct smtp_client_misfits misfits = {
		run->scenario->name, run->client, run->recipients,
		strlen(run->scenario->recipients), &run->watched};

	smtp_client_misfits_try(&misfits);
}

static void take_step(struct run *run, struct str step)
{
	struct buffer line = {0};

	call_in_vain(run);
	if (step.data[0] == 'B') {
		expect_bytes(run, str_skip(step, 3));
		return;
	}

	append_lines(&line, str_skip(step, 3), step.data[0] == 'S');
	buffer_append_string(&line, "\r\n");
	if (step.data[0] == 'C')
		buffer_append_str(&run->expected, buffer_view(&line));
	else
		check_output(run);
	if (step.data[0] == 'S')
		feed(run, buffer_view(&line));
	if (step.data[0] == 'D')
		give_message(run);
	if (step.data[0] == 'N')
		begin(run);
	if (step.data[0] == 'F') {
		assert_int_equal(smtp_client_status(run->client), SMTP_CLIENT_WANTS_FORM);
		smtp_client_form(run->client, 7);
	}
	if (step.data[0] == 'R')
		smtp_client_refuse_form(run->client, "5.6.3", "it is sealed");
	if (step.data[0] == 'H' || step.data[0] == 'h')
		assert_int_equal(smtp_client_status(run->client), SMTP_CLIENT_WANTS_TLS);
	if (step.data[0] == 'H')
		smtp_client_secured(run->client);
	if (step.data[0] == 'h')
		smtp_client_insecure(run->client, "certificate has expired");
	if (step.data[0] == 'X')
		smtp_client_lost(run->client, "reset");
	if (step.data[0] == 'T')
		smtp_client_timed_out(run->client);
	if (step.data[0] == 'Q')
		smtp_client_quit(run->client);
	take_login_step(run, step);
	buffer_clear(&line);
}

static void check_secret(struct run *run)
{
	const char *secret = run->scenario->secret;

	if (secret == NULL)
		return;
	for (size_t i = 0; i < strlen(run->scenario->recipients); i++)
		if (run->recipients[i].verdict != NULL)
			assert_null(strstr(run->recipients[i].verdict->text, secret));
	assert_true(run->watched.length > 0);
	assert_null(
		memmem(buffer_data(&run->watched), run->watched.length, secret, strlen(secret)));
}

static void watch_line(void *context, enum smtp_said by, struct str line)
{
	struct run *run = context;

	(void)by;
	buffer_append_str(&run->watched, line);
	buffer_append_byte(&run->watched, '\n');
}

static void check_verdicts(struct run *run)
{
	struct buffer found = {0};

	for (size_t i = 0; i < strlen(run->scenario->recipients); i++) {
		const struct mail_verdict *verdict = run->recipients[i].verdict;

		if (verdict != NULL)
			buffer_append_format(&found, "%s%s %s", found.length > 0 ? " " : "",
					     mail_verdict_class_name(verdict->class),
					     verdict->status);
	}
	if (!str_equal(buffer_view(&found), str_from(run->scenario->verdicts)))
		fail_msg("%s: \"" STR_FORMAT "\", not \"%s\"", run->scenario->name,
			 STR_ARGUMENTS(buffer_view(&found)), run->scenario->verdicts);
	buffer_clear(&found);
}

static void check_texts(const struct run *run)
{
	for (size_t i = 0; i < strlen(run->scenario->recipients); i++) {
		const struct mail_verdict *verdict = run->recipients[i].verdict;
		const char *wanted = smtp_client_text(run->scenario->name, i);

		if (wanted != NULL && (verdict == NULL || strcmp(verdict->text, wanted) != 0))
			fail_msg("%s: recipient %zu: \"%s\", not \"%s\"", run->scenario->name, i,
				 verdict != NULL ? verdict->text : "", wanted);
	}
}

static void play_script(struct run *run, struct str script)
{
	struct str step;

	while (script.length > 0 && str_split(&script, '\n', &step))
		take_step(run, step);
	call_in_vain(run);
	check_output(run);
}

/* What becomes of the last transaction. A session that HAS_SERVED another may be said to have
 * served enough. */
static void check_transaction(struct run *run, bool has_served)
{
	const struct smtp_client_script *scenario = run->scenario;

	check_verdicts(run);
	check_texts(run);
	if (smtp_client_status(run->client) != scenario->status)
		fail_msg("%s: status %d", scenario->name, (int)smtp_client_status(run->client));
	check_secret(run);
	for (size_t i = 0; scenario->again != NULL && i < strlen(scenario->again); i++) {
		char again = "lehn"[run->recipients[i].again];

		if (again != scenario->again[i] && !(has_served && again == 'n'))
			fail_msg("%s: recipient %zu again %c", scenario->name, i, again);
	}
	assert_int_equal(run->recipients[0].is_passed_on, scenario->is_passed_on);
	assert_int_equal(run->recipients[0].is_timed, scenario->is_timed);
	if (scenario->status != SMTP_CLIENT_WAITING)
		assert_int_equal(smtp_client_output(run->client).length, 0);
}

static void check_session(struct run *run)
{
	const struct smtp_client_script *scenario = run->scenario;

	assert_int_equal(smtp_client_is_stale(run->client), scenario->is_stale);
	if (smtp_client_is_unserved(run->client) != scenario->is_unserved)
		fail_msg("%s: unserved %d", scenario->name, !scenario->is_unserved);
	if (smtp_client_is_insecure(run->client) != scenario->is_insecure)
		fail_msg("%s: insecure %d", scenario->name, !scenario->is_insecure);
	assert_int_equal(smtp_client_is_tls_refused(run->client), scenario->is_tls_refused);
	if (smtp_client_is_injected(run->client) != scenario->is_injected)
		fail_msg("%s: injected %d", scenario->name, !scenario->is_injected);
	assert_int_equal(smtp_client_is_login_refused(run->client), scenario->is_login_refused);
	assert_int_equal(smtp_client_is_used_up(run->client), scenario->is_used_up);
}

static void begin_session(struct run *run)
{
	static const bool is_watched = true;
	const struct smtp_client_script *scenario = run->scenario;
	struct smtp_client_settings settings = {
		.protocol = scenario->is_lmtp ? SMTP_CLIENT_LMTP : SMTP_CLIENT_SMTP,
		.hostname = "us.example",
		.peer = "mx.example",
		.timeout_us = 1,
		.tls = scenario->tls,
		.avoids_chunks = scenario->avoids_chunks,
		.wants_login = scenario->wants_login,
		.may_login_plainly = scenario->may_login_plainly,
		.watch = {&is_watched, watch_line},
		.watch_context = run,
	};

	run->client = smtp_client_new(&settings);
	begin(run);
}

static void end_session(struct run *run)
{
	buffer_clear(&run->expected);
	buffer_clear(&run->watched);
	smtp_client_free(run->client);
}

static void run_scenario(const struct smtp_client_script *scenario, bool is_bytewise)
{
	struct run run = {.scenario = scenario, .is_bytewise = is_bytewise};

	begin_session(&run);
	play_script(&run, str_from(scenario->script));
	check_transaction(&run, false);
	check_session(&run);
	end_session(&run);
}

/* --- each after each other one, in the same session --- */

/* How much of the script is about the session, before its first transaction. */
static size_t session_part(const struct smtp_client_script *scenario)
{
	static const char *const greetings[] = {"C: EHLO", "C: HELO", "C: LHLO", "C: STARTTLS",
						"C: AUTH", "S: ",     "H"};
	struct str script = str_from(scenario->script);
	struct str step;

	while (script.length > 0 && str_split(&script, '\n', &step)) {
		bool is_greeting = false;

		for (size_t i = 0; i < COUNT_OF(greetings); i++)
			is_greeting = is_greeting || str_starts_with(step, str_from(greetings[i]));
		if (!is_greeting)
			return (size_t)(step.data - scenario->script);
	}
	return 0;
}

/* The session is the same, and goes on after the first. What the server allows for a session is a
 * matter of its own (LIMITS). */
static bool may_follow(const struct smtp_client_script *first,
		       const struct smtp_client_script *second)
{
	size_t length = session_part(first);

	return length > 0 && length == session_part(second) &&
	       memcmp(first->script, second->script, length) == 0 &&
	       first->status == SMTP_CLIENT_READY && !first->is_used_up &&
	       strstr(first->script, "LIMITS") == NULL && first->is_lmtp == second->is_lmtp &&
	       first->tls == second->tls && !first->wants_login && !second->wants_login &&
	       first->avoids_chunks == second->avoids_chunks;
}

/* A transaction that did not end with its message is given up before the next one. */
static void skip_rset(struct run *run)
{
	if (!str_starts_with(smtp_client_output(run->client), STR("RSET\r\n")))
		return;
	smtp_client_sent(run->client, 6);
	feed(run, STR("250 2.0.0 ok\r\n"));
}

static void run_after(const struct smtp_client_script *first,
		      const struct smtp_client_script *second, bool is_bytewise)
{
	struct run run = {.scenario = first, .is_bytewise = is_bytewise};

	begin_session(&run);
	play_script(&run, str_from(first->script));
	run.scenario = second;
	buffer_reset(&run.watched);
	begin(&run);
	skip_rset(&run);
	play_script(&run, str_skip(str_from(second->script), session_part(second)));
	check_transaction(&run, true);
	end_session(&run);
}

void smtp_client_scripts_run(const struct smtp_client_script *scripts, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		run_scenario(&scripts[i], false);
		run_scenario(&scripts[i], true);
	}
	for (size_t i = 0; i < count * count; i++) {
		const struct smtp_client_script *first = &scripts[i / count];
		const struct smtp_client_script *second = &scripts[i % count];

		if (!may_follow(first, second))
			continue;
		print_message("%s; then %s\n", first->name, second->name);
		run_after(first, second, false);
		run_after(first, second, true);
	}
}
