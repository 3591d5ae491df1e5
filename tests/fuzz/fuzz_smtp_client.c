// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/fuzz_smtp_client.c - the whole SMTP client engine.
 *
 * The first byte chooses protocol, recipients, message and SMTPUTF8; the others
 * come from the server. A zero byte is where the client's output is sent and its
 * message given. Replies whole and byte by byte must come to the same.
 */
#include "base/buffer.h"
#include "base/panic.h"
#include "smtp/client.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	CHOICE_LMTP = 1 << 0,
	CHOICE_RECIPIENTS = 3 << 1,
	CHOICE_MESSAGE = 3 << 3,
	CHOICE_UTF8 = 1 << 5
};

static const char *const messages[] = {"a\r\n", ".\r\n.b", "", "a\n.\r\nRSET\r\n"};

struct play {
	struct smtp_client *client;
	struct smtp_client_recipient recipients[4];
	struct smtp_client_message message;
	struct str text;
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
		buffer_append_format(&play->log, "%s %s;", verdict->status, verdict->text);
	}
}

static void check_line_ends(struct str output)
{
	for (size_t i = 0; i < output.length; i++) {
		bool is_pair = output.data[i] == '\r' && i + 1 < output.length &&
			       output.data[i + 1] == '\n';

		if (is_pair)
			i++;
		else if (output.data[i] == '\r' || output.data[i] == '\n')
			panic("a bare line end was sent");
	}
}

static void settle(struct play *play)
{
	struct str output;

	if (smtp_client_status(play->client) == SMTP_CLIENT_WANTS_DATA)
		smtp_client_data(play->client, play->text, true);
	output = smtp_client_output(play->client);
	check_line_ends(output);
	buffer_append_str(&play->log, output);
	smtp_client_sent(play->client, output.length);
	if (smtp_client_status(play->client) != SMTP_CLIENT_READY)
		return;
	log_verdicts(play);
	smtp_client_begin(play->client, &play->message);
}

static void begin(struct play *play, unsigned choice)
{
	struct smtp_client_settings settings = {
		.protocol = choice & CHOICE_LMTP ? SMTP_CLIENT_LMTP : SMTP_CLIENT_SMTP,
		.hostname = "us.example",
		.peer = "mx.example",
		.timeout_us = 1,
	};

	*play = (struct play){.client = smtp_client_new(&settings)};
	play->text = str_from(messages[(choice & CHOICE_MESSAGE) >> 3]);
	play->message = (struct smtp_client_message){
		.sender = STR("s@s.example"),
		.size = play->text.length,
		.is_8bit = true,
		.is_utf8 = (choice & CHOICE_UTF8) != 0,
		.needs_utf8 = choice & CHOICE_UTF8 && choice & CHOICE_LMTP,
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
	smtp_client_begin(play->client, &play->message);
}

static struct buffer run(unsigned choice, struct str input, bool is_bytewise)
{
	struct play play;
	struct str turn;

	begin(&play, choice);
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str input = {(const char *)data, size};
	struct buffer whole;
	struct buffer bytewise;

	if (size == 0)
		return 0;
	whole = run(data[0], str_skip(input, 1), false);
	bytewise = run(data[0], str_skip(input, 1), true);
	if (!str_equal(buffer_view(&whole), buffer_view(&bytewise)))
		panic("whole and byte by byte differ");
	buffer_clear(&whole);
	buffer_clear(&bytewise);
	return 0;
}
