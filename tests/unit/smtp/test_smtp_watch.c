// SPDX-License-Identifier: ISC
/* What watchers see of a session, by either engine, however its bytes arrive. */
#include "base/buffer.h"
#include "smtp/client/client.h"
#include "smtp/server/server.h"
#include "test.h"
#include <string.h>

static bool is_on;
static struct buffer told;

static void tell(void *context, enum smtp_said by, struct str line)
{
	static const char sides[] = {[SMTP_SAID_BY_CLIENT] = 'C',
				     [SMTP_SAID_BY_SERVER] = 'S',
				     [SMTP_SAID_NOTHING] = '-'};

	assert_ptr_equal(context, &told);
	buffer_append_format(&told, "%c: " STR_FORMAT "\n", sides[by], STR_ARGUMENTS(line));
}

static void expect_told(const char *text)
{
	buffer_append_byte(&told, '\0');
	assert_string_equal(buffer_data(&told), text);
	buffer_clear(&told);
}

/* --- the server --- */

static struct str mechanisms(void *context)
{
	(void)context;
	return STR("LOGIN");
}

/* After two responses the user is accepted, with a last word. */
static void answer_auth(struct smtp_server *server, const struct smtp_question *question)
{
	bool is_last = str_equal(question->response, STR("secret"));

	smtp_server_answer_auth(server,
				&(struct smtp_auth_answer){.outcome = is_last ? SMTP_AUTH_ACCEPTED
									      : SMTP_AUTH_CHALLENGE,
							   .user = STR("lisa"),
							   .message = STR("word")});
}

static void answer(struct smtp_server *server)
{
	static const struct mail_verdict ok = {MAIL_OK, "2.0.0", "ok"};
	const struct smtp_question *question = smtp_server_question(server);

	if (question->type == SMTP_QUESTION_AUTH)
		answer_auth(server, question);
	else if (question->type == SMTP_QUESTION_OPEN)
		smtp_server_answer_open(server, (struct mail_id){7, 7});
	else
		smtp_server_answer(server, &ok);
}

static void play(const char *text, size_t piece, bool watched, enum smtp_auth_rule auth)
{
	const struct smtp_service service = {
		.auth = auth,
		.mechanisms = mechanisms,
		.protocol = SMTP_PROTOCOL_SMTP,
		.stage = MAIL_STAGE_ARRIVE,
		.hostname = "mx.example",
		.limits = {.message_size = 1000,
			   .recipients = 10,
			   .errors = 20,
			   .hops = 20,
			   .line = 100,
			   .command_timeout = 300,
			   .data_timeout = 300},
		.watch = {&is_on, tell},
	};
	struct smtp_server *server = smtp_server_new(
		&service, (struct smtp_peer){.address = "192.0.2.7", .name = "", .context = &told});
	size_t length = strlen(text);

	is_on = watched;
	smtp_server_start(server);
	for (size_t i = 0; i < length;) {
		size_t count = length - i < piece ? length - i : piece;

		i += smtp_server_input(server, text + i, count);
		while (smtp_server_question(server) != NULL)
			answer(server);
		buffer_reset(smtp_server_output(server));
	}
	smtp_server_free(server);
}

static const struct {
	const char *input;
	const char *told;
} cases[] = {
	{"EHLO c.example\r\nMAIL FROM:<s@s.example>\nRCPT TO:<r@r.example>\r\nDATA\r\n"
	 "Subject: secret\r\n\r\n..a\r\n.\r\nQUIT\r\n",
	 "S: 220 mx.example ESMTP Stagepost\n"
	 "C: EHLO c.example\n"
	 "S: 250-mx.example\nS: 250-PIPELINING\nS: 250-8BITMIME\nS: 250-ENHANCEDSTATUSCODES\n"
	 "S: 250-CHUNKING\nS: 250-SMTPUTF8\nS: 250-DSN\nS: 250-LIMITS RCPTMAX=10\nS: 250 SIZE "
	 "1000\n"
	 "C: MAIL FROM:<s@s.example>\nS: 250 2.1.0 Sender ok\n"
	 "C: RCPT TO:<r@r.example>\nS: 250 2.1.5 Recipient ok\n"
	 "C: DATA\nS: 354 End data with <CR><LF>.<CR><LF>\n-: (a message of 23 bytes)\nS: 250 "
	 "2.0.0 ok\n"
	 "C: QUIT\nS: 221 2.0.0 Bye\n"},
	{"HELO c.example\r\nMAIL FROM:<>\r\nRCPT TO:<r@r.example>\r\nBDAT 8\r\nsecret\r\n"
	 "BDAT 0 LAST\r\n",
	 "S: 220 mx.example ESMTP Stagepost\n"
	 "C: HELO c.example\nS: 250 mx.example\n"
	 "C: MAIL FROM:<>\nS: 250 2.1.0 Sender ok\n"
	 "C: RCPT TO:<r@r.example>\nS: 250 2.1.5 Recipient ok\n"
	 "C: BDAT 8\nS: 250 2.0.0 Chunk ok\n"
	 "C: BDAT 0 LAST\nS: 250 2.0.0 ok\n"},
	{"AUTH PLAIN c2VjcmV0\r\nc2VjcmV0\r\nauth\tlogin c2VjcmV0\r\nNOOP\r\nXAUTH\r\n",
	 "S: 220 mx.example ESMTP Stagepost\n"
	 "C: (not shown)\nS: 500 5.5.1 Unknown command\n"
	 "C: (not shown)\nS: 500 5.5.1 Unknown command\n"
	 "C: (not shown)\nS: 500 5.5.2 Control characters, or a CR alone\n"
	 "C: NOOP\nS: 250 2.0.0 Ok\nC: (not shown)\nS: 500 5.5.1 Unknown command\n"},
	{"XAUTH\r\nATUH PLAIN c2VjcmV0\r\nc2VjcmV0\r\n",
	 "S: 220 mx.example ESMTP Stagepost\n"
	 "C: XAUTH\nS: 500 5.5.1 Unknown command\n"
	 "C: ATUH (not shown)\nS: 500 5.5.1 Unknown command\n"
	 "C: (not shown)\nS: 500 5.5.1 Unknown command\n"},
};

/* Whatever the lines look like. */
static const char exchange[] =
	"EHLO c.example\r\nAUTH LOGIN\r\nQUIT\r\nDATA\r\nc2VjcmV0\r\n\r\nNOOP x\r\n"
	"AUTH LOGIN\r\n*\r\n";

static void no_word_of_an_exchange_is_told(void **state)
{
	(void)state;
	for (size_t piece = 1; piece < 1000; piece *= 7) {
		play(exchange, piece, true, SMTP_AUTH_OFFERED);
		expect_told("S: 220 mx.example ESMTP Stagepost\n"
			    "C: EHLO c.example\n"
			    "S: 250-mx.example\nS: 250-AUTH LOGIN\nS: 250-PIPELINING\n"
			    "S: 250-8BITMIME\nS: 250-ENHANCEDSTATUSCODES\n"
			    "S: 250-CHUNKING\nS: 250-SMTPUTF8\nS: 250-DSN\nS: 250-LIMITS "
			    "RCPTMAX=10\nS: 250 SIZE 1000\n"
			    "C: (not shown)\nS: 334 (not shown)\n"
			    "C: (not shown)\nS: 334 (not shown)\n"
			    "C: (not shown)\nS: 334 (not shown)\n"
			    "C: (not shown)\nS: 334 (not shown)\n"
			    "C: (not shown)\nS: 235 2.7.0 Authentication succeeded\n"
			    "C: NOOP x\nS: 250 2.0.0 Ok\n"
			    "C: (not shown)\nS: 503 5.5.1 You are authenticated already\n"
			    "C: (not shown)\nS: 500 5.5.1 Unknown command\n");
	}
}

static void the_server_tells_both_sides(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		play(cases[i].input, 10000, true, SMTP_AUTH_NONE);
		expect_told(cases[i].told);
		play(cases[i].input, 1, true, SMTP_AUTH_NONE);
		expect_told(cases[i].told);
		play(cases[i].input, 10000, false, SMTP_AUTH_NONE);
		expect_told("");
	}
}

/* --- the client --- */

static struct smtp_client *client_new(enum smtp_client_protocol protocol)
{
	const struct smtp_client_settings settings = {.protocol = protocol,
						      .hostname = "us.example",
						      .peer = "mx.example",
						      .timeout_us = 1,
						      .watch = {&is_on, tell},
						      .watch_context = &told};

	is_on = true;
	return smtp_client_new(&settings);
}

/* Line by line, or byte by byte: what is answered has been sent. */
static void hear(struct smtp_client *client, const char *text, bool is_by_byte)
{
	for (size_t i = 0; text[i] != '\0';) {
		size_t count = is_by_byte ? 1 : (size_t)(strchr(text + i, '\n') - (text + i)) + 1;

		smtp_client_input(client, str_slice(text + i, count));
		i += count;
		smtp_client_sent(client, smtp_client_output(client).length);
	}
}

static void the_client_tells_both_sides(void **state)
{
	static const char *const greetings[] = {
		"220-mx\r\n220 ready\r\n250-mx\r\n250 PIPELINING\r\n",
		"220-mx\r\n220 ready\r\n250 mx\r\n"};
	static const char *const dialogues[] = {
		"S: 220-mx\nS: 220 ready\nC: EHLO us.example\nS: 250-mx\nS: 250 PIPELINING\n"
		"C: MAIL FROM:<s@s.example>\nC: RCPT TO:<r@r.example>\nC: DATA\n"
		"S: 250 ok\nS: 550-no\nS: 550 never\nS: 554 none\nC: QUIT\n",
		"S: 220-mx\nS: 220 ready\nC: EHLO us.example\nS: 250 mx\n"
		"C: MAIL FROM:<s@s.example>\nS: 250 ok\nC: RCPT TO:<r@r.example>\n"
		"S: 550-no\nS: 550 never\nC: QUIT\n"};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct smtp_client *client = client_new(SMTP_CLIENT_SMTP);
		struct smtp_client_recipient to = {.address = STR("r@r.example")};
		const struct smtp_client_message message = {.sender = STR("s@s.example"),
							    .size = 6,
							    .recipients = &to,
							    .recipient_count = 1};
		bool is_by_byte = i >= 2;

		smtp_client_begin(client, &message);
		hear(client, greetings[i % 2], is_by_byte);
		hear(client, "250 ok\r\n550-no\r\n550 never\r\n", is_by_byte);
		if (i % 2 == 0)
			hear(client, "554 none\r\n", is_by_byte);
		assert_int_equal(smtp_client_status(client), SMTP_CLIENT_READY);
		smtp_client_quit(client);
		expect_told(dialogues[i % 2]);
		smtp_client_free(client);
	}
}

/* Of the data their size, and why a session breaks off. */
static void the_client_tells_of_the_message(void **state)
{
	struct smtp_client *client = client_new(SMTP_CLIENT_LMTP);
	struct smtp_client_recipient to = {.address = STR("r@r.example")};
	const struct smtp_client_message message = {
		.sender = STR(""), .size = 8, .recipients = &to, .recipient_count = 1};

	(void)state;
	smtp_client_begin(client, &message);
	hear(client, "220 x\r\n250 x\r\n250 x\r\n250 x\r\n354 x\r\n", false);
	buffer_reset(&told);
	smtp_client_data(client, STR("secret\r\n"), true);
	smtp_client_sent(client, smtp_client_output(client).length);
	smtp_client_lost(client, "it is gone");
	expect_told(
		"-: (a message of 8 bytes)\n"
		"-: (connection with mx.example lost while waiting for the reply to the message: "
		"it is gone)\n");
	smtp_client_free(client);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_server_tells_both_sides),
		cmocka_unit_test(no_word_of_an_exchange_is_told),
		cmocka_unit_test(the_client_tells_both_sides),
		cmocka_unit_test(the_client_tells_of_the_message),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
