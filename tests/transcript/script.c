// SPDX-License-Identifier: ISC
#include "script.h"
#include "base/panic.h"
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

static void append_unescaped(struct buffer *out, struct str text)
{
	for (size_t i = 0; i < text.length; i++) {
		uint64_t byte;

		if (text.data[i] != '\\' || i + 1 == text.length) {
			buffer_append_byte(out, text.data[i]);
			continue;
		}
		switch (text.data[++i]) {
		case 'r':
			buffer_append_byte(out, '\r');
			break;
		case 'n':
			buffer_append_byte(out, '\n');
			break;
		case '0':
			buffer_append_byte(out, '\0');
			break;
		case 'x':
			if (i + 2 >= text.length ||
			    !str_to_u64_hex(str_slice(text.data + i + 1, 2), &byte))
				panic("bad escape in " STR_FORMAT, STR_ARGUMENTS(text));
			buffer_append_byte(out, (char)byte);
			i += 2;
			break;
		default:
			buffer_append_byte(out, text.data[i]);
		}
	}
}

static struct script_event *add_event(struct script *script, enum script_event_type type)
{
	struct script_event *event = &script->events[script->event_count++];

	if (script->event_count == SCRIPT_EVENTS_MAX)
		panic("too many events");
	event->type = type;
	event->output_length = script->output.length;
	return event;
}

static struct str take_word(struct str *text)
{
	struct str word = STR("");

	(void)str_split(text, ' ', &word);
	return word;
}

static void parse_verdict(struct str text, struct mail_verdict *verdict)
{
	struct str status = take_word(&text);
	char buffer[MAIL_STATUS_SIZE];

	if (status.length >= sizeof buffer || !mail_status_is_valid(status))
		panic("bad status " STR_FORMAT, STR_ARGUMENTS(status));
	for (size_t i = 0; i < status.length; i++)
		buffer[i] = status.data[i];
	buffer[status.length] = '\0';
	if (text.data == NULL)
		text = STR("");
	mail_verdict_set(verdict, buffer, STR_FORMAT, STR_ARGUMENTS(text));
}

static struct str unescaped(struct script *script, struct str text)
{
	struct buffer bytes = {0};
	struct str copy;

	append_unescaped(&bytes, text);
	copy = arena_copy_str(script->arena, buffer_view(&bytes));
	buffer_clear(&bytes);
	return copy;
}

static void parse_auth(struct script *script, struct str text, struct session_answer *answer)
{
	static const struct {
		struct str word;
		enum smtp_auth_outcome outcome;
	} outcomes[] = {
		{STR("challenge"), SMTP_AUTH_CHALLENGE}, {STR("accept"), SMTP_AUTH_ACCEPTED},
		{STR("failed"), SMTP_AUTH_FAILED},       {STR("temporary"), SMTP_AUTH_TEMPORARY},
		{STR("malformed"), SMTP_AUTH_MALFORMED}, {STR("unknown"), SMTP_AUTH_UNKNOWN},
		{STR("insecure"), SMTP_AUTH_INSECURE},   {STR("weak"), SMTP_AUTH_TOO_WEAK},
	};
	struct str word = take_word(&text);
	size_t i = 0;

	while (i < COUNT_OF(outcomes) && !str_equal(word, outcomes[i].word))
		i++;
	if (i == COUNT_OF(outcomes))
		panic("unknown outcome " STR_FORMAT, STR_ARGUMENTS(word));
	answer->outcome = outcomes[i].outcome;
	if (answer->outcome == SMTP_AUTH_ACCEPTED)
		answer->user = arena_copy(script->arena, take_word(&text));
	answer->message = text.data != NULL ? unescaped(script, text) : STR("");
}

static void parse_answer(struct script *script, struct str text)
{
	struct session_answer *answer = &script->answers[script->answer_count++];
	struct str type = take_word(&text);

	if (script->answer_count == SCRIPT_ANSWERS_MAX)
		panic("too many answers");
	if (str_equal(type, STR("recipient")))
		answer->type = SMTP_QUESTION_RECIPIENT;
	else if (str_equal(type, STR("open")))
		answer->type = SMTP_QUESTION_OPEN;
	else if (str_equal(type, STR("commit")))
		answer->type = SMTP_QUESTION_COMMIT;
	else if (str_equal(type, STR("client")))
		answer->type = SMTP_QUESTION_CLIENT;
	else if (str_equal(type, STR("release")))
		answer->type = SMTP_QUESTION_RELEASE;
	else if (str_equal(type, STR("senders")))
		answer->type = SMTP_QUESTION_SENDERS;
	else if (str_equal(type, STR("auth")))
		answer->type = SMTP_QUESTION_AUTH;
	else
		panic("unknown question " STR_FORMAT, STR_ARGUMENTS(type));
	answer->is_shutdown = str_equal(text, STR("shutdown"));
	if (answer->is_shutdown)
		return;
	if (answer->type == SMTP_QUESTION_AUTH) {
		parse_auth(script, text, answer);
		return;
	}
	if (str_equal(text, STR("ok")))
		text = STR("ok 2.0.0 queued");
	take_word(&text);
	parse_verdict(text, &answer->verdict);
}

/* 192.0.2.25 */
static bool is_own_address(void *context, const struct in6_addr *address)
{
	static const struct in6_addr own = {{{[10] = 0xff, [11] = 0xff, 192, 0, 2, 25}}};

	(void)context;
	return memcmp(address, &own, sizeof own) == 0;
}

static int64_t parse_seconds(struct str text)
{
	uint64_t seconds = 0;

	if (!str_to_u64(text, &seconds))
		panic("bad number " STR_FORMAT, STR_ARGUMENTS(text));
	return (int64_t)seconds;
}

/* About users and their messages; false: it is another one. */
static bool parse_user_setting(struct script *script, struct str name, struct str text)
{
	struct smtp_service *service = &script->settings.service;

	if (str_equal(name, STR("sender")))
		service->sender_rule =
			str_equal(text, STR("strict")) ? SMTP_SENDER_STRICT : SMTP_SENDER_ENVELOPE;
	else if (str_equal(text, STR("binary")))
		service->offers_binary = true;
	else if (str_equal(text, STR("completes")))
		service->completes = true;
	else if (str_equal(text, STR("repairs")))
		service->repairs = true;
	else if (str_equal(name, STR("auth")))
		service->auth =
			str_equal(text, STR("required")) ? SMTP_AUTH_REQUIRED : SMTP_AUTH_OFFERED;
	else if (str_equal(name, STR("release_max")))
		service->release_max_us = parse_seconds(text) * SECOND_US;
	else if (str_equal(name, STR("deliver_by_min")))
		service->deliver_by_min = parse_seconds(text);
	else if (str_equal(name, STR("mechanisms")))
		script->settings.mechanisms_clear = arena_copy(script->arena, text);
	else if (str_equal(text, STR("no_mechanisms")))
		script->settings.mechanisms = "";
	else if (str_equal(text, STR("shows_user")))
		service->shows_user = true;
	else
		return false;
	return true;
}

static void parse_setting(struct script *script, struct str text)
{
	struct session *settings = &script->settings;
	struct smtp_server_limits *limits = &settings->service.limits;
	struct smtp_server_rules *rules = &settings->service.rules;
	struct str name = take_word(&text);
	uint64_t value = 0;

	(void)str_to_u64(text, &value);
	if (parse_user_setting(script, name, text))
		return;
	if (str_equal(text, STR("qmtp")))
		settings->service.protocol = SMTP_PROTOCOL_QMTP;
	else if (str_equal(text, STR("qmqp")))
		settings->service.protocol = SMTP_PROTOCOL_QMQP;
	else if (str_equal(text, STR("lmtp")))
		settings->service.protocol = SMTP_PROTOCOL_LMTP;
	else if (str_equal(text, STR("submission")))
		settings->service.protocol = SMTP_PROTOCOL_SUBMISSION;
	else if (str_equal(text, STR("ipv6")))
		settings->peer = (struct smtp_peer){
			.address = "2001:db8::7", .name = "mail.example.com", .port = 53112};
	else if (str_equal(text, STR("local")))
		settings->peer.address = "";
	else if (str_equal(text, STR("ours")))
		settings->peer.is_ours = true;
	else if (str_equal(name, STR("own"))) {
		settings->service.is_our_address = is_own_address;
		settings->service.local_domain = "example.org";
	} else if (str_equal(text, STR("step")))
		rules->ends_early = true;
	else if (str_equal(name, STR("proxy")))
		settings->peer.may_xclient = settings->peer.may_xforward = true;
	else if (str_equal(name, STR("etrn"))) {
		settings->service.has_etrn = true;
		settings->peer.may_etrn = str_equal(text, STR("yes"));
	} else if (str_equal(text, STR("strict")))
		rules->strict_addresses = true;
	else if (str_equal(text, STR("normalize")))
		rules->bare_newline = SMTP_BARE_NEWLINE_NORMALIZE;
	else if (str_equal(text, STR("reject")))
		rules->bare_newline = SMTP_BARE_NEWLINE_REJECT;
	else if (str_equal(name, STR("tls"))) {
		settings->service.tls =
			str_equal(text, STR("required")) ? SMTP_TLS_REQUIRED : SMTP_TLS_OFFERED;
		settings->peer.may_tls = !str_equal(text, STR("away"));
	} else if (str_equal(name, STR("nul")))
		rules->removes_nul = str_equal(text, STR("remove"));
	else if (str_equal(name, STR("message_size")))
		limits->message_size = value;
	else if (str_equal(name, STR("recipients")))
		limits->recipients = (uint32_t)value;
	else if (str_equal(name, STR("errors")))
		limits->errors = (uint32_t)value;
	else if (str_equal(name, STR("commands")))
		limits->commands = (uint32_t)value;
	else if (str_equal(name, STR("hops")))
		limits->hops = (uint32_t)value;
	else if (str_equal(name, STR("line")))
		limits->line = (uint32_t)value;
	else
		panic("unknown setting " STR_FORMAT, STR_ARGUMENTS(name));
}

static void parse_event(struct script *script, struct str text)
{
	if (str_equal(text, STR("timeout")))
		add_event(script, EVENT_TIMEOUT);
	else if (str_equal(text, STR("shutdown")))
		add_event(script, EVENT_SHUTDOWN);
	else if (str_equal(text, STR("early")))
		add_event(script, EVENT_EARLY);
	else if (str_equal(text, STR("no file")))
		add_event(script, EVENT_NO_FILE);
	else if (str_equal(text, STR("tls")))
		add_event(script, EVENT_TLS);
	else if (str_equal(text, STR("implicit tls")))
		add_event(script, EVENT_IMPLICIT_TLS);
	else
		panic("unknown event " STR_FORMAT, STR_ARGUMENTS(text));
}

static struct buffer *place_of(struct script *script, char mark)
{
	switch (mark) {
	case 'C':
		if (script->netstring != NULL)
			return &script->netstring->bytes;
		return &add_event(script, EVENT_CLIENT)->bytes;
	case 'S':
		return &script->output;
	case 'M':
		return &script->messages;
	case 'H':
		return &script->traces;
	case 'E':
		return &script->envelopes;
	case 'Q':
		return &script->exchanges;
	default:
		panic("unknown mark %c", mark);
	}
}

/* LINE is "C: text", "C| text" or "C*COUNT: text". */
static void parse_text(struct script *script, struct str line)
{
	struct buffer *place = place_of(script, line.data[0]);
	struct str text = line;
	struct str mark = take_word(&text);
	uint64_t count = 1;

	if (mark.length > 3 && mark.data[1] == '*' &&
	    !str_to_u64(str_slice(mark.data + 2, mark.length - 3), &count))
		panic("bad count in " STR_FORMAT, STR_ARGUMENTS(line));
	if (text.data == NULL)
		text = STR("");
	for (uint64_t i = 0; i < count; i++) {
		append_unescaped(place, text);
		if (mark.data[mark.length - 1] == ':')
			buffer_append_string(place, "\r\n");
	}
}

static void append_netstring(struct buffer *out, struct str text)
{
	buffer_append_number(out, text.length);
	buffer_append_byte(out, ':');
	buffer_append_str(out, text);
	buffer_append_byte(out, ',');
}

static void append_netstrings(struct buffer *out, struct str words)
{
	struct buffer all CLEANUP(buffer_clear) = {0};
	struct str word;

	while (str_split(&words, ' ', &word)) {
		struct buffer bytes CLEANUP(buffer_clear) = {0};

		append_unescaped(&bytes, word);
		append_netstring(&all, buffer_view(&bytes));
	}
	append_netstring(out, buffer_view(&all));
}

/* LINE is "C, text" or "C,, words". */
static void parse_netstring(struct script *script, struct str line)
{
	struct buffer *place = place_of(script, line.data[0]);
	struct buffer bytes CLEANUP(buffer_clear) = {0};
	struct str text = line;
	struct str mark = take_word(&text);

	if (text.data == NULL)
		text = STR("");
	if (mark.length == 3) {
		append_netstrings(place, text);
		return;
	}
	append_unescaped(&bytes, text);
	append_netstring(place, buffer_view(&bytes));
}

static void end_netstring(struct script *script)
{
	struct buffer inner = script->netstring->bytes;

	script->netstring->bytes = (struct buffer){0};
	append_netstring(&script->netstring->bytes, buffer_view(&inner));
	buffer_clear(&inner);
	script->netstring = NULL;
}

static void parse_line(struct script *script, struct str line)
{
	if (line.length == 0 || line.data[0] == '#')
		return;
	if (str_equal(line, STR("S.")))
		script->is_closed = true;
	else if (str_equal(line, STR("C{")))
		script->netstring = add_event(script, EVENT_CLIENT);
	else if (str_equal(line, STR("C}")))
		end_netstring(script);
	else if (line.length > 1 && line.data[1] == ',')
		parse_netstring(script, line);
	else if (str_starts_with(line, STR("set ")))
		parse_setting(script, str_skip(line, 4));
	else if (str_starts_with(line, STR("A: ")))
		parse_answer(script, str_skip(line, 3));
	else if (str_starts_with(line, STR("T: ")))
		parse_event(script, str_skip(line, 3));
	else if (str_starts_with(line, STR("F: ")))
		parse_verdict(str_skip(line, 3), &add_event(script, EVENT_FAULT)->verdict);
	else
		parse_text(script, line);
}

void script_parse(struct script *script, struct str text)
{
	struct str line;

	session_init(&script->settings);
	script->arena = arena_new();
	while (str_split(&text, '\n', &line))
		parse_line(script, line);
}

void script_clear(struct script *script)
{
	for (size_t i = 0; i < script->event_count; i++)
		buffer_clear(&script->events[i].bytes);
	buffer_clear(&script->output);
	buffer_clear(&script->messages);
	buffer_clear(&script->traces);
	buffer_clear(&script->envelopes);
	buffer_clear(&script->exchanges);
	arena_free(script->arena);
}
