// SPDX-License-Identifier: ISC
#include "client_play.h"
#include "base/panic.h"
#include "input.h"
#include <string.h>

enum {
	CHOICE_RECIPIENTS = 3 << 1,
	CHOICE_MESSAGE = 3 << 3,
	CHOICE_UTF8 = 1 << 5,
	CHOICE_OWN_MESSAGE = 1 << 6, /* the replies' last line is the message, too */
	CHOICE_TLS = 1 << 7,         /* demanded if there is one recipient, else welcome */
};

#define PASSWORD "sesame-31"

static const char *const messages[] = {"a\r\n", ".\r\n.b", "", "a\n.\r\nRSET\r\n"};

struct play {
	struct smtp_client *client;
	struct smtp_client_recipient recipients[4];
	struct smtp_client_message message;
	struct str text;
	bool is_bytewise;
	bool must_be_secured;
	bool is_secured;
	bool fails_handshake;
	bool has_told; /* the server knows the password, and the login is not over */
	bool gives_whole;
	struct buffer log; /* what was sent and decided */
};

static void log_verdicts(struct play *play)
{
	for (size_t i = 0; i < play->message.recipient_count; i++) {
		const struct mail_verdict *verdict = play->recipients[i].verdict;

		if (verdict == NULL)
			panic("a recipient without a verdict");
		if (verdict->class != mail_verdict_class_of(verdict->status))
			panic("class and status differ: %s", verdict->status);
		if (!mail_status_is_valid(str_from(verdict->status)))
			panic("no status: %s", verdict->status);
		for (const char *c = verdict->text; *c != '\0'; c++)
			if ((unsigned char)*c < ' ' || *c == 0x7f)
				panic("a verdict with a control character");
		if (play->has_told && strstr(verdict->text, PASSWORD) != NULL)
			panic("a verdict with the password");
		buffer_append_format(&play->log, "%s %s;", verdict->status, verdict->text);
	}
}

static void give_message(struct play *play)
{
	size_t step = play->is_bytewise && !play->gives_whole ? 1 : play->text.length;

	for (size_t i = 0; i < play->text.length; i += step)
		smtp_client_data(play->client, str_slice(play->text.data + i, step), false);
	smtp_client_data(play->client, STR(""), true);
}

static void shake_hands(struct play *play)
{
	if (play->fails_handshake) {
		smtp_client_insecure(play->client, "no common version");
		return;
	}
	play->is_secured = true;
	smtp_client_secured(play->client);
}

static void log_in(struct play *play)
{
	static const struct str message = {"\0ann\0" PASSWORD, sizeof "\0ann\0" PASSWORD - 1};
	struct str text;

	switch (smtp_client_login(play->client, &text)) {
	case SMTP_CLIENT_LOGIN_BEGIN:
		play->has_told = str_starts_with(text, STR("PLAIN"));
		if (play->has_told)
			smtp_client_login_begin(play->client, "PLAIN", &message);
		else if (text.length > 0)
			smtp_client_login_begin(play->client, "LOGIN", NULL);
		else
			smtp_client_login_cancel(play->client, "nothing is known");
		break;
	case SMTP_CLIENT_LOGIN_CHALLENGE:
		play->has_told = true;
		smtp_client_login_respond(play->client, str_from(PASSWORD));
		break;
	case SMTP_CLIENT_LOGIN_SUCCESS:
		play->has_told = false;
		smtp_client_login_accept(play->client);
		break;
	}
}

/* No mail is in plain text where TLS is demanded. */
static void check_plain_text(const struct play *play, struct str output)
{
	struct str line;

	while (play->must_be_secured && !play->is_secured && output.length > 0) {
		(void)str_split(&output, '\n', &line);
		if (!str_starts_with(line, STR("EHLO ")) && !str_starts_with(line, STR("LHLO ")) &&
		    !str_starts_with(line, STR("HELO ")) && !str_equal(line, STR("STARTTLS\r")))
			panic("in plain text: " STR_FORMAT, STR_ARGUMENTS(line));
	}
}

static void settle(struct play *play)
{
	struct str output;

	check_plain_text(play, smtp_client_output(play->client));
	if (smtp_client_status(play->client) == SMTP_CLIENT_WANTS_TLS)
		shake_hands(play);
	if (smtp_client_status(play->client) == SMTP_CLIENT_WANTS_LOGIN)
		log_in(play);
	if (smtp_client_status(play->client) == SMTP_CLIENT_WANTS_FORM)
		smtp_client_form(play->client, play->text.length);
	if (smtp_client_status(play->client) == SMTP_CLIENT_WANTS_DATA)
		give_message(play);
	output = smtp_client_output(play->client);
	check_line_ends(output);
	buffer_append_str(&play->log, output);
	smtp_client_sent(play->client, output.length);
	if (smtp_client_status(play->client) != SMTP_CLIENT_READY)
		return;
	log_verdicts(play);
	smtp_client_begin(play->client, &play->message);
}

static void set_message(struct play *play, enum smtp_client_protocol protocol, unsigned choice)
{
	play->message = (struct smtp_client_message){
		.sender = STR("s@s.example"),
		.size = play->text.length,
		.is_8bit = true,
		.is_utf8 = (choice & CHOICE_UTF8) != 0,
		.needs_utf8 = choice & CHOICE_UTF8 && protocol == SMTP_CLIENT_LMTP,
		.deadline.mode = (choice & CHOICE_RECIPIENTS) == CHOICE_RECIPIENTS
					 ? MAIL_DEADLINE_RETURN
					 : MAIL_DEADLINE_NOTIFY,
		.deadline_left = 60,
		.ret = MAIL_RET_HEADERS,
		.envid = STR("Q+3D1"),
		.recipients = play->recipients,
		.recipient_count = ((choice & CHOICE_RECIPIENTS) >> 1) + 1,
	};
	for (size_t i = 0; i < COUNT_OF(play->recipients); i++)
		play->recipients[i] = (struct smtp_client_recipient){
			.address = i == 2 ? STR("not>safe") : STR("a@d.example"),
			.notify = (unsigned)i * 4 + 1,
			.original = STR("utf-8;\xc3\xa9@o.example"),
		};
	if (choice & CHOICE_UTF8)
		play->recipients[1].address = STR("\xc3\xa9@d.example");
}

static void begin(struct play *play, enum smtp_client_protocol protocol, unsigned choice,
		  struct str replies)
{
	enum smtp_client_tls tls =
		choice & CHOICE_RECIPIENTS ? SMTP_CLIENT_TLS_MAY : SMTP_CLIENT_TLS_MUST;
	struct smtp_client_settings settings = {
		.protocol = protocol,
		.hostname = "us.example",
		.peer = "mx.example",
		.timeout_us = 1,
		.tls = choice & CHOICE_TLS ? tls : SMTP_CLIENT_TLS_NEVER,
		.wants_login = (choice & CLIENT_PLAY_LOGIN) != 0,
		.avoids_chunks = !(choice & CLIENT_PLAY_CHUNKS),
		.may_login_plainly = !(choice & CHOICE_UTF8),
	};

	play->client = smtp_client_new(&settings);
	play->gives_whole = !settings.avoids_chunks;
	play->must_be_secured = settings.tls == SMTP_CLIENT_TLS_MUST;
	play->fails_handshake = (choice & CHOICE_UTF8) != 0;
	play->text = str_from(messages[(choice & CHOICE_MESSAGE) >> 3]);
	if (choice & CHOICE_OWN_MESSAGE)
		play->text = str_skip(replies, (size_t)(str_find_last(replies, '\0') + 1));
	set_message(play, protocol, choice);
	smtp_client_begin(play->client, &play->message);
}

static struct buffer run(enum smtp_client_protocol protocol, unsigned choice, struct str input,
			 bool is_bytewise)
{
	struct play play = {.is_bytewise = is_bytewise};
	struct str turn;

	begin(&play, protocol, choice, input);
	while (input.length > 0 && str_split(&input, '\0', &turn)) {
		size_t step = is_bytewise ? 1 : turn.length;

		for (size_t i = 0; i < turn.length; i += step)
			smtp_client_input(play.client, str_slice(turn.data + i, step));
		settle(&play);
	}
	smtp_client_lost(play.client, "end");
	if (smtp_client_status(play.client) != SMTP_CLIENT_CLOSED)
		panic("open after it was lost");
	log_verdicts(&play);
	smtp_client_free(play.client);
	return play.log;
}

void client_play_twice(enum smtp_client_protocol protocol, unsigned choice, struct str replies)
{
	struct buffer whole = run(protocol, choice, replies, false);
	struct buffer bytewise = run(protocol, choice, replies, true);

	check_equal(buffer_view(&whole), buffer_view(&bytewise), "whole and byte by byte");
	buffer_clear(&whole);
	buffer_clear(&bytewise);
}
