// SPDX-License-Identifier: ISC
#include "smtp_client_script.h"
#include "base/buffer.h"
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
	bool is_bytewise;
};

static void begin(struct run *run)
{
	const struct smtp_client_script *scenario = run->scenario;
	struct smtp_client_message message = {
		.sender = str_from(scenario->sender != NULL ? scenario->sender : "s@s.example"),
		.size = scenario->size > 0 ? scenario->size : strlen(scenario->message),
		.is_8bit = scenario->is_8bit,
		.is_utf8 = scenario->is_utf8,
		.needs_utf8 = scenario->needs_utf8,
		.requires_tls = scenario->requires_tls,
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
	size_t step = run->is_bytewise ? 1 : message.length;

	assert_int_equal(smtp_client_status(run->client), SMTP_CLIENT_WANTS_DATA);
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

static void take_step(struct run *run, struct str step)
{
	struct buffer line = {0};

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
	buffer_clear(&line);
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

static void run_scenario(const struct smtp_client_script *scenario, bool is_bytewise)
{
	struct smtp_client_settings settings = {
		.protocol = scenario->is_lmtp ? SMTP_CLIENT_LMTP : SMTP_CLIENT_SMTP,
		.hostname = "us.example",
		.peer = "mx.example",
		.timeout_us = 1,
		.tls = scenario->tls,
	};
	struct run run = {
		.scenario = scenario,
		.client = smtp_client_new(&settings),
		.is_bytewise = is_bytewise,
	};
	struct str script = str_from(scenario->script);
	struct str step;

	begin(&run);
	while (script.length > 0 && str_split(&script, '\n', &step))
		take_step(&run, step);
	check_output(&run);
	check_verdicts(&run);
	if (smtp_client_status(run.client) != scenario->status)
		fail_msg("%s: status %d", scenario->name, (int)smtp_client_status(run.client));
	assert_int_equal(smtp_client_is_stale(run.client), scenario->is_stale);
	if (smtp_client_is_unserved(run.client) != scenario->is_unserved)
		fail_msg("%s: unserved %d", scenario->name, !scenario->is_unserved);
	if (smtp_client_is_insecure(run.client) != scenario->is_insecure)
		fail_msg("%s: insecure %d", scenario->name, !scenario->is_insecure);
	assert_int_equal(smtp_client_is_tls_refused(run.client), scenario->is_tls_refused);
	if (smtp_client_is_injected(run.client) != scenario->is_injected)
		fail_msg("%s: injected %d", scenario->name, !scenario->is_injected);
	for (size_t i = 0; scenario->again != NULL && i < strlen(scenario->again); i++)
		if ("leh"[run.recipients[i].again] != scenario->again[i])
			fail_msg("%s: recipient %zu again %d", scenario->name, i,
				 (int)run.recipients[i].again);
	assert_int_equal(run.recipients[0].is_passed_on, scenario->is_passed_on);
	if (scenario->status != SMTP_CLIENT_WAITING)
		assert_int_equal(smtp_client_output(run.client).length, 0);
	buffer_clear(&run.expected);
	smtp_client_free(run.client);
}

void smtp_client_scripts_run(const struct smtp_client_script *scripts, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		run_scenario(&scripts[i], false);
		run_scenario(&scripts[i], true);
	}
}
