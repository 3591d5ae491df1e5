// SPDX-License-Identifier: ISC
/* What dialogues cannot show: questions, timeouts, memory, refusals told. */
#include "smtp/server/server.h"
#include "smtp/text.h"
#include "test.h"
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

struct told {
	unsigned count;
	unsigned code;
	bool is_message;
	char command[100];
	char from[100]; /* "-" outside of a transaction */
	char message_id[100];
};

static void keep_text(char kept[100], struct str text)
{
	assert_true(text.length < 100);
	memset(kept, 0, 100);
	if (text.length > 0)
		memcpy(kept, text.data, text.length);
}

static void tell(void *context, const struct smtp_refusal *refusal)
{
	struct told *told = context;

	told->count++;
	told->code = refusal->code;
	told->is_message = refusal->is_message;
	keep_text(told->command, refusal->command);
	keep_text(told->from, refusal->envelope != NULL ? refusal->envelope->sender : STR("-"));
	keep_text(told->message_id, refusal->message_id);
}

static const struct smtp_service service = {
	.protocol = SMTP_PROTOCOL_SMTP,
	.stage = MAIL_STAGE_ARRIVE,
	.hostname = "mx.example.org",
	.limits = {.message_size = 100000,
		   .recipients = 10,
		   .errors = 10,
		   .hops = 10,
		   .line = 1000,
		   .command_timeout = 300,
		   .data_timeout = 600},
	.on_refusal = tell,
};

static struct told told;

static struct smtp_server *greeted_server(void)
{
	struct smtp_server *server =
		smtp_server_new(&service, (struct smtp_peer){"192.0.2.7", "", 25, &told});

	told = (struct told){0};
	smtp_server_start(server);
	assert_int_equal(smtp_server_input(server, "EHLO x\r\n", 8), 8);
	return server;
}

/* The bytes are gone when the question is read, as a driver's may be. */
static void feed(struct smtp_server *server, const char *text)
{
	char *bytes = strdup(text);

	assert_non_null(bytes);
	assert_int_equal(smtp_server_input(server, bytes, strlen(bytes)), strlen(bytes));
	memset(bytes, 'x', strlen(text));
	free(bytes);
}

static const struct smtp_question *expect(struct smtp_server *server, enum smtp_question_type type)
{
	const struct smtp_question *question = smtp_server_question(server);

	assert_non_null(question);
	assert_int_equal(question->type, type);
	return question;
}

static void answer(struct smtp_server *server, const char *status)
{
	struct mail_verdict verdict;

	mail_verdict_set(&verdict, status, "so it is");
	smtp_server_answer(server, &verdict);
	assert_null(smtp_server_question(server));
}

static void questions_carry_what_they_ask(void **state)
{
	struct smtp_server *server = greeted_server();
	const struct smtp_question *question;

	(void)state;
	feed(server, "MAIL FROM:<Lisa@example.com>\r\n");
	feed(server, "RCPT TO:<\"a b\"@example.net>\r\n");
	question = expect(server, SMTP_QUESTION_RECIPIENT);
	assert_true(str_equal(question->address.local, STR("\"a b\"")));
	assert_true(str_equal(question->address.domain, STR("example.net")));
	assert_true(str_equal(question->envelope->sender, STR("Lisa@example.com")));
	answer(server, "2.1.5");
	feed(server, "RCPT TO:<Postmaster>\r\n");
	question = expect(server, SMTP_QUESTION_RECIPIENT);
	assert_true(str_equal(question->address.text, STR("postmaster@mx.example.org")));
	answer(server, "2.1.5");
	feed(server, "DATA\r\n");
	question = expect(server, SMTP_QUESTION_OPEN);
	assert_int_equal(question->envelope->recipient_count, 2);
	assert_false(smtp_server_message_is_open(server));
	smtp_server_answer_open(server, (struct mail_id){7, 1});
	feed(server, "a\r\n.\r\n");
	question = expect(server, SMTP_QUESTION_COMMIT);
	assert_int_equal(question->envelope->id.number, 7);
	assert_int_equal(question->envelope->size, smtp_server_body(server)->length);
	assert_true(smtp_server_message_is_open(server));
	smtp_server_free(server);
}

static void timeouts_follow_the_state(void **state)
{
	struct smtp_server *server = greeted_server();

	(void)state;
	assert_int_equal(smtp_server_timeout_seconds(server), 300);
	feed(server, "MAIL FROM:<>\r\nRCPT TO:<a@b>\r\n");
	assert_int_equal(smtp_server_timeout_seconds(server), 0);
	answer(server, "2.1.5");
	assert_int_equal(smtp_server_timeout_seconds(server), 300);
	feed(server, "DATA\r\n");
	smtp_server_answer_open(server, (struct mail_id){7, 1});
	assert_int_equal(smtp_server_timeout_seconds(server), 600);
	assert_true(smtp_server_is_receiving(server));
	feed(server, "x\r\n.\r\n");
	assert_int_equal(smtp_server_timeout_seconds(server), 0);
	answer(server, "2.0.0");
	assert_int_equal(smtp_server_timeout_seconds(server), 300);
	assert_false(smtp_server_is_receiving(server));
	feed(server, "BDAT 3\r\n");
	assert_int_equal(smtp_server_timeout_seconds(server), 600);
	assert_true(smtp_server_is_receiving(server));
	feed(server, "x\r\n");
	assert_int_equal(smtp_server_timeout_seconds(server), 300);
	assert_false(smtp_server_is_receiving(server));
	smtp_server_free(server);
}

static void every_refusal_is_told_once(void **state)
{
	struct smtp_server *server = greeted_server();

	(void)state;
	feed(server, "NOOP\r\n");
	assert_int_equal(told.count, 0);
	feed(server, "FOO bar\r\n");
	assert_int_equal(told.count, 1);
	assert_int_equal(told.code, 500);
	assert_string_equal(told.command, "FOO (not shown)");
	assert_string_equal(told.from, "-");
	feed(server, "MAIL FROM:<l@x>\r\nRCPT TO:<a@b>\r\n");
	answer(server, "4.3.0");
	assert_string_equal(told.from, "l@x");
	assert_int_equal(told.count, 2);
	assert_int_equal(told.code, 451);
	assert_string_equal(told.command, "RCPT TO:<a@b>");
	feed(server, "RCPT TO:<a@b>\r\n");
	answer(server, "2.1.5");
	feed(server, "DATA\r\n");
	smtp_server_answer_open(server, (struct mail_id){7, 1});
	feed(server, "Message-ID: <1@x>\r\n\r\na\nb\r\n.\r\n");
	assert_int_equal(told.count, 3);
	assert_string_equal(told.from, "l@x");
	assert_string_equal(told.message_id, "<1@x>");
	assert_int_equal(told.code, 550);
	assert_true(told.is_message);
	assert_string_equal(told.command, "");
	smtp_server_timeout(server);
	assert_int_equal(told.count, 4);
	assert_int_equal(told.code, 421);
	assert_false(told.is_message);
	smtp_server_free(server);
}

/* Whole, and a byte at a time. */
static void assert_message_id(const char *message, const char *expected)
{
	for (size_t piece = strlen(message); piece > 0; piece = piece > 1 ? 1 : 0) {
		struct smtp_server *server = greeted_server();
		struct str found;

		feed(server, "MAIL FROM:<>\r\nRCPT TO:<a@b>\r\n");
		answer(server, "2.1.5");
		feed(server, "DATA\r\n");
		smtp_server_answer_open(server, (struct mail_id){7, 1});
		for (size_t i = 0; i < strlen(message); i += piece)
			assert_int_equal(smtp_server_input(server, message + i, piece), piece);
		found = expect(server, SMTP_QUESTION_COMMIT)->message_id;
		if (!str_equal(found, str_from(expected)))
			fail_msg("of \"%s\": \"" STR_FORMAT "\", not \"%s\"", message,
				 STR_ARGUMENTS(found), expected);
		smtp_server_free(server);
	}
}

static void a_message_tells_its_id(void **state)
{
	static const char *const cases[][2] = {
		{"Message-ID: <1@x>\r\n\r\n.\r\n", "<1@x>"},
		{"a: b\r\nmessage-id:<1@x>  \r\nc: d\r\n\r\n.\r\n", "<1@x>"},
		{"Message-ID:\r\n <1@x>\r\nSubject: y\r\n\r\n.\r\n", "<1@x>"},
		{"Message-ID:\r\n\t<1@x>\r\n\r\nz\r\n.\r\n", "<1@x>"},
		{"Message-ID: <1@x>\r\nMessage-ID: <2@x>\r\n\r\n.\r\n", "<1@x>"},
		{"Message-ID: <1@x>\r\na: b\r\n c\r\nMessage-ID: <2@x>\r\n d\r\n.\r\n", "<1@x>"},
		{"a: b\r\n Message-ID: <1@x>\r\n\r\n.\r\n", ""},
		{"a: b\r\n\r\nMessage-ID: <1@x>\r\n.\r\n", ""},
		{"X-Message-ID: <1@x>\r\nMessage-IDs: <2@x>\r\nMessage-I\r\n\r\n.\r\n", ""},
		{"Message-ID:\r\n\r\n.\r\n", ""},
	};
	char long_id[1000];
	char kept[SMTP_MESSAGE_ID_MAX + 1];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_message_id(cases[i][0], cases[i][1]);
	snprintf(long_id, sizeof long_id, "Message-ID:%0800d\r\n\r\n.\r\n", 0);
	snprintf(kept, sizeof kept, "%0*d", SMTP_MESSAGE_ID_MAX, 0);
	assert_message_id(long_id, kept);
	for (int length = SMTP_MESSAGE_ID_MAX - 1; length <= SMTP_MESSAGE_ID_MAX + 1; length++) {
		snprintf(long_id, sizeof long_id, "Message-ID:%0*d\r\n\r\n.\r\n", length, 0);
		snprintf(kept, sizeof kept, "%0*d",
			 length < SMTP_MESSAGE_ID_MAX ? length : SMTP_MESSAGE_ID_MAX, 0);
		assert_message_id(long_id, kept);
	}
}

static void assert_output(struct smtp_server *server, const char *expected)
{
	struct buffer *output = smtp_server_output(server);

	assert_int_equal(output->length, strlen(expected));
	assert_memory_equal(buffer_data(output), expected, output->length);
}

static void a_client_is_turned_away(void **state)
{
	struct smtp_server *server =
		smtp_server_new(&service, (struct smtp_peer){"192.0.2.7", "", 25, &told});

	(void)state;
	told = (struct told){0};
	smtp_server_refuse_session(server, "Enough");
	assert_output(server, "421 mx.example.org Enough\r\n");
	assert_true(smtp_server_is_closed(server) && !smtp_server_head(server)->has_quit);
	assert_int_equal(told.code, 421);
	smtp_server_free(server);

	server = greeted_server();
	buffer_reset(smtp_server_output(server));
	smtp_server_refuse_session(server, "Enough");
	smtp_server_refuse_session(server, "It is closed already");
	assert_output(server, "421 4.3.2 Enough\r\n");
	smtp_server_free(server);

	server = greeted_server();
	feed(server, "QUIT\r\n");
	assert_true(smtp_server_is_closed(server) && smtp_server_head(server)->has_quit);
	smtp_server_free(server);
}

static void a_drain_lets_a_transaction_end(void **state)
{
	static const char refusal[] = "421 4.3.2 Down for maintenance, try again later\r\n";
	struct smtp_server *server = greeted_server();

	(void)state;
	feed(server, "MAIL FROM:<a@b>\r\n");
	buffer_reset(smtp_server_output(server));
	smtp_server_drain(server);
	feed(server, "NOOP\r\n");
	assert_output(server, "250 2.0.0 Ok\r\n");
	buffer_reset(smtp_server_output(server));
	feed(server, "RSET\r\n");
	assert_false(smtp_server_is_closed(server));
	buffer_reset(smtp_server_output(server));
	feed(server, "MAIL FROM:<a@b>\r\n");
	assert_output(server, refusal);
	assert_true(smtp_server_is_closed(server));
	smtp_server_free(server);
}

static void a_waiting_session_takes_little_memory(void **state)
{
	enum { COUNT = 100 };
	static const char dialogue[] = "MAIL FROM:<a@b>\r\nRSET\r\nNOOP\r\n";
	struct smtp_server *servers[COUNT];
	size_t before = mallinfo2().uordblks;
	size_t after;

	(void)state;
	for (size_t i = 0; i < COUNT; i++) {
		servers[i] = greeted_server();
		feed(servers[i], dialogue);
		buffer_clear(smtp_server_output(servers[i]));
	}
	after = mallinfo2().uordblks; /* the sanitizer's allocator says 0 */
	assert_true(after - before < (size_t)COUNT * 512);
	for (size_t i = 0; i < COUNT; i++)
		smtp_server_free(servers[i]);
}

static bool is_ours(void *context, const struct in6_addr *address)
{
	(void)context;
	(void)address;
	return true;
}

/* Those that are not accepted may be as many as the client likes: nothing is kept of them. */
static void refused_recipients_take_no_memory(void **state)
{
	enum { COUNT = 10000 };
	struct smtp_service own = service;
	struct smtp_server *server;
	size_t before;
	size_t after;

	(void)state;
	own.is_our_address = is_ours;
	own.local_domain = "example.org";
	server = smtp_server_new(&own, (struct smtp_peer){"192.0.2.7", "", 25, &told});
	smtp_server_start(server);
	feed(server, "EHLO x\r\nMAIL FROM:<a@b>\r\n");
	for (size_t i = 0; i < own.limits.recipients; i++) {
		feed(server, "RCPT TO:<postmaster>\r\n");
		answer(server, "2.1.5");
	}
	before = mallinfo2().uordblks;
	for (size_t i = 0; i < COUNT; i++) {
		feed(server, "RCPT TO:<x@[192.0.2.1]>\r\n");
		assert_null(smtp_server_question(server)); /* there are too many */
		buffer_reset(smtp_server_output(server));
	}
	after = mallinfo2().uordblks; /* the sanitizer's allocator says 0 */
	assert_true(after < before + 4096);
	smtp_server_free(server);
}

static void what_was_forwarded_is_of_one_client(void **state)
{
	struct smtp_peer proxy = {.address = "192.0.2.7",
				  .name = "",
				  .context = &told,
				  .may_xclient = true,
				  .may_xforward = true};
	struct smtp_server *server = smtp_server_new(&service, proxy);

	(void)state;
	smtp_server_start(server);
	feed(server, "EHLO x\r\nXFORWARD ADDR=192.0.2.1 IDENT=1\r\n");
	assert_non_null(smtp_server_head(server)->forwarded);
	feed(server, "XCLIENT ADDR=192.0.2.2\r\n");
	expect(server, SMTP_QUESTION_CLIENT);
	answer(server, "2.0.0");
	assert_null(smtp_server_head(server)->forwarded);
	smtp_server_free(server);
}

static void no_password_is_told(void **state)
{
	static const char *const lines[] = {
		"AUTH PLAIN AGxpc2EAc2VjcmV0\r\n", "c2VjcmV0\r\n",
		"  auth LOGIN c2VjcmV0\r\n",       "PASS secret\r\n",
		"AUTH\tPLAIN c2VjcmV0\r\n",        "Proxy-Authorization: Basic c2Vj\r\n",
	};
	struct smtp_server *server = greeted_server();

	(void)state;
	for (size_t i = 0; i < COUNT_OF(lines); i++) {
		feed(server, lines[i]);
		assert_int_equal(told.count, i + 1);
		assert_string_equal(told.command, "(not shown)");
	}
	feed(server, "NOOP\r\nXYZ 1\r\n"); /* also after one: a client may send EHLO between */
	assert_string_equal(told.command, "(not shown)");
	smtp_server_free(server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_password_is_told),
		cmocka_unit_test(questions_carry_what_they_ask),
		cmocka_unit_test(timeouts_follow_the_state),
		cmocka_unit_test(every_refusal_is_told_once),
		cmocka_unit_test(a_message_tells_its_id),
		cmocka_unit_test(a_client_is_turned_away),
		cmocka_unit_test(a_drain_lets_a_transaction_end),
		cmocka_unit_test(a_waiting_session_takes_little_memory),
		cmocka_unit_test(refused_recipients_take_no_memory),
		cmocka_unit_test(what_was_forwarded_is_of_one_client),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
