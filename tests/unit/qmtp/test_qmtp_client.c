// SPDX-License-Identifier: ISC
#include "qmtp/client.h"
#include "qmtp/netstring.h"
#include "test.h"
#include <string.h>

enum { RECIPIENTS = 3, TIMEOUT_US = 1000000 };

static const char BODY[] = "a\r\n";
/* What the server gets, if every recipient is asked. */
static const char PACKAGE[] = "4:\ra\r\n,8:lisa@a.b,34:5:x@y.z,10:bob@away.t,9:r@s.t.u.v,,";

static struct smtp_client_recipient recipients[RECIPIENTS];
static struct buffer sent;

static struct smtp_client_message message_of(void)
{
	static const char *const addresses[] = {"x@y.z", "bob@away.t", "r@s.t.u.v"};

	for (size_t i = 0; i < RECIPIENTS; i++)
		recipients[i] = (struct smtp_client_recipient){.address = str_from(addresses[i])};
	return (struct smtp_client_message){.sender = STR("lisa@a.b"),
					    .size = sizeof BODY - 1,
					    .recipients = recipients,
					    .recipient_count = RECIPIENTS};
}

static struct qmtp_client *client_of(enum smtp_client_tls tls)
{
	const struct smtp_client_settings settings = {.hostname = "us",
						      .peer = "peer",
						      .timeout_us = TIMEOUT_US,
						      .tls = tls,
						      .tls_timeout_us = 7,
						      .protocol = SMTP_CLIENT_QMTP};

	buffer_clear(&sent);
	return qmtp_client_new(&settings);
}

/* Sends at most COUNT bytes. */
static void send_some(struct qmtp_client *client, size_t count)
{
	struct str output = qmtp_client_output(client);

	if (output.length < count)
		count = output.length;
	buffer_append(&sent, output.data, count);
	qmtp_client_sent(client, count);
}

static void begin(struct qmtp_client *client, const struct smtp_client_message *message)
{
	qmtp_client_begin(client, message);
	if (qmtp_client_status(client) == SMTP_CLIENT_WANTS_DATA)
		qmtp_client_data(client, str_from(BODY), true);
}

static void hear(struct qmtp_client *client, const char *answers, size_t step)
{
	struct str rest = str_from(answers);

	while (rest.length > 0) {
		size_t count = rest.length < step ? rest.length : step;

		qmtp_client_input(client, str_slice(rest.data, count));
		rest = str_skip(rest, count);
	}
}

static void check_verdict(size_t i, enum mail_verdict_class class, const char *status,
			  const char *text)
{
	assert_non_null(recipients[i].verdict);
	assert_int_equal(recipients[i].verdict->class, class);
	assert_string_equal(recipients[i].verdict->status, status);
	assert_string_equal(recipients[i].verdict->text, text);
}

/* In whatever pieces the answers come; twice in a session. */
static void each_recipient_has_its_answer(void **state)
{
	static const char answers[] = "3:Kok,22:Dno such user (#5.1.1),15:Zlater (#4.2.1),";
	struct qmtp_client *client = client_of(SMTP_CLIENT_TLS_NEVER);

	(void)state;
	assert_int_equal(qmtp_client_status(client), SMTP_CLIENT_READY);
	for (size_t step = 1; step <= sizeof answers; step++) {
		struct smtp_client_message message = message_of();

		buffer_reset(&sent);
		begin(client, &message);
		assert_int_equal(qmtp_client_status(client), SMTP_CLIENT_WAITING);
		assert_false(qmtp_client_is_deciding(client));
		send_some(client, SIZE_MAX);
		assert_true(qmtp_client_is_deciding(client));
		assert_true(str_equal(buffer_view(&sent), str_from(PACKAGE)));
		hear(client, answers, step);
		assert_int_equal(qmtp_client_status(client), SMTP_CLIENT_READY);
		check_verdict(0, MAIL_OK, "2.0.0", "peer said: Kok");
		check_verdict(1, MAIL_FAIL, "5.1.1", "peer said: Dno such user (#5.1.1)");
		check_verdict(2, MAIL_WAIT, "4.2.1", "peer said: Zlater (#4.2.1)");
		assert_int_equal(recipients[2].again, SMTP_CLIENT_ELSEWHERE);
		assert_false(recipients[0].is_passed_on);
	}
	qmtp_client_free(client);
}

static void what_it_has_no_word_for(void **state)
{
	struct qmtp_client *client = client_of(SMTP_CLIENT_TLS_NEVER);
	struct smtp_client_message message = message_of();

	(void)state;
	message.deadline.mode = MAIL_DEADLINE_RETURN;
	message.deadline_left = 60;
	begin(client, &message);
	assert_int_equal(qmtp_client_status(client), SMTP_CLIENT_READY);
	check_verdict(2, MAIL_FAIL, "5.4.7",
		      "the sender wants it delivered within 60 seconds or returned, and QMTP, by "
		      "which peer is reached, cannot say so");
	message = message_of();
	message.is_binary = true;
	begin(client, &message);
	check_verdict(0, MAIL_FAIL, "5.6.3",
		      "the message is binary, and QMTP, by which peer is reached, is for text");
	message = message_of();
	message.deadline.mode = MAIL_DEADLINE_NOTIFY;
	begin(client, &message);
	send_some(client, SIZE_MAX);
	assert_true(qmtp_client_is_deciding(client));
	assert_false(recipients[0].is_timed);
	qmtp_client_free(client);
}

/* The last one of the answer's class. */
static void a_status_may_be_in_the_text(void **state)
{
	static const struct {
		const char *answer;
		const char *status;
	} cases[] = {
		{"Dx (#5.2.2) (#4.1.1)", "5.2.2"},
		{"Dx (#5.2.2) y (#5.1.1) z", "5.1.1"},
		{"Zx (#5.2.2)", "4.0.0"},
		{"Dx #5.2.2", "5.0.0"},
		{"Dx (#5.2)", "5.0.0"},
		{"Dx (#5.2.2", "5.0.0"},
		{"D(#)", "5.0.0"},
		{"Kx (#5.2.2)", "2.0.0"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct qmtp_client *client = client_of(SMTP_CLIENT_TLS_NEVER);
		struct smtp_client_message message = message_of();
		struct buffer answer = {0};

		message.recipient_count = 1;
		begin(client, &message);
		send_some(client, SIZE_MAX);
		qmtp_netstring_append(&answer, str_from(cases[i].answer));
		qmtp_client_input(client, buffer_view(&answer));
		assert_string_equal(recipients[0].verdict->status, cases[i].status);
		buffer_clear(&answer);
		qmtp_client_free(client);
	}
}

/* Wherever the connection ends before the last byte was sent, nothing was accepted. */
static void before_the_last_byte_nothing_is_decided(void **state)
{
	(void)state;
	for (size_t count = 0; count < sizeof PACKAGE; count++) {
		struct qmtp_client *client = client_of(SMTP_CLIENT_TLS_NEVER);
		struct smtp_client_message message = message_of();
		bool is_all = count == sizeof PACKAGE - 1;

		begin(client, &message);
		send_some(client, count);
		assert_int_equal(qmtp_client_is_deciding(client), is_all);
		qmtp_client_lost(client, "reset");
		assert_int_equal(qmtp_client_status(client), SMTP_CLIENT_CLOSED);
		assert_int_equal(qmtp_client_output(client).length, 0);
		assert_int_equal(qmtp_client_is_unserved(client), !is_all);
		assert_false(qmtp_client_is_stale(client));
		for (size_t i = 0; i < RECIPIENTS; i++) {
			check_verdict(
				i, MAIL_WAIT, "4.4.2",
				"connection with peer lost while waiting for the answer: reset");
			assert_int_equal(recipients[i].again,
					 is_all ? SMTP_CLIENT_LATER : SMTP_CLIENT_ELSEWHERE);
		}
		qmtp_client_free(client);
	}
}

/* What is left of a package that was given up would complete it: the server would accept what is
 * tried again elsewhere. */
static void after_an_early_answer_nothing_more_is_sent(void **state)
{
	struct qmtp_client *client = client_of(SMTP_CLIENT_TLS_NEVER);
	struct smtp_client_message message = message_of();

	(void)state;
	begin(client, &message);
	send_some(client, sizeof PACKAGE - 2);
	hear(client, "1:Z,", 100);
	assert_int_equal(qmtp_client_status(client), SMTP_CLIENT_CLOSED);
	assert_int_equal(recipients[0].again, SMTP_CLIENT_ELSEWHERE);
	assert_int_equal(qmtp_client_output(client).length, 0);
	qmtp_client_free(client);
}

/* Those who were answered keep their answers. */
static void lost_amid_the_answers(void **state)
{
	struct qmtp_client *client = client_of(SMTP_CLIENT_TLS_NEVER);
	struct smtp_client_message message = message_of();

	(void)state;
	begin(client, &message);
	send_some(client, SIZE_MAX);
	hear(client, "3:Kok,3:D", 100);
	qmtp_client_timed_out(client);
	check_verdict(0, MAIL_OK, "2.0.0", "peer said: Kok");
	check_verdict(1, MAIL_WAIT, "4.4.2", "peer took too long: the answer");
	assert_int_equal(recipients[1].again, SMTP_CLIENT_LATER);
	assert_false(qmtp_client_is_unserved(client));
	qmtp_client_free(client);
}

static void an_old_connection_may_be_stale(void **state)
{
	struct qmtp_client *client = client_of(SMTP_CLIENT_TLS_NEVER);
	struct smtp_client_message message = message_of();

	(void)state;
	begin(client, &message);
	send_some(client, SIZE_MAX);
	hear(client, "1:K,1:K,1:K,", 1);
	message = message_of();
	begin(client, &message);
	send_some(client, 10);
	qmtp_client_lost(client, "reset");
	assert_true(qmtp_client_is_stale(client));
	qmtp_client_free(client);
}

static void wrong_answers_break_the_session(void **state)
{
	static const char *const wrong[] = {"0:,", "01:K,", "K",      "1:X,",  "1:k,",   "1:K;",
					    ":K,", "4097:", "99999:", "-1:K,", "2:K,,5:"};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		struct qmtp_client *client = client_of(SMTP_CLIENT_TLS_NEVER);
		struct smtp_client_message message = message_of();

		begin(client, &message);
		send_some(client, SIZE_MAX);
		hear(client, wrong[i], 1);
		if (i + 1 == COUNT_OF(wrong)) {
			assert_int_equal(qmtp_client_status(client), SMTP_CLIENT_WAITING);
		} else {
			assert_int_equal(qmtp_client_status(client), SMTP_CLIENT_CLOSED);
			check_verdict(0, MAIL_WAIT, "4.5.0",
				      "peer: a malformed answer while waiting for the answer");
			assert_int_equal(recipients[0].again, SMTP_CLIENT_LATER);
		}
		qmtp_client_free(client);
	}
}

/* Before the end of the package nobody was asked anything, and after the answers neither. */
static void answers_that_nobody_asked_for(void **state)
{
	struct qmtp_client *client = client_of(SMTP_CLIENT_TLS_NEVER);
	struct smtp_client_message message = message_of();

	(void)state;
	begin(client, &message);
	send_some(client, sizeof PACKAGE - 2);
	hear(client, "1:K,", 4);
	assert_int_equal(qmtp_client_status(client), SMTP_CLIENT_CLOSED);
	assert_true(qmtp_client_is_unserved(client));
	qmtp_client_free(client);

	client = client_of(SMTP_CLIENT_TLS_NEVER);
	message = message_of();
	begin(client, &message);
	send_some(client, SIZE_MAX);
	hear(client, "1:K,1:K,1:K,1:K,", 100);
	assert_int_equal(qmtp_client_status(client), SMTP_CLIENT_CLOSED);
	check_verdict(2, MAIL_OK, "2.0.0", "peer said: K");
	qmtp_client_free(client);
}

static void what_cannot_be_sent_is_not_asked(void **state)
{
	struct qmtp_client *client = client_of(SMTP_CLIENT_TLS_NEVER);
	struct smtp_client_message message = message_of();

	(void)state;
	recipients[0].address = STR("a\nb@c.d");
	recipients[2].address = STR("");
	begin(client, &message);
	send_some(client, SIZE_MAX);
	assert_true(str_equal(buffer_view(&sent), STR("4:\ra\r\n,8:lisa@a.b,14:10:bob@away.t,,")));
	hear(client, "1:K,", 1);
	check_verdict(0, MAIL_FAIL, "5.1.3", "the address cannot be sent");
	check_verdict(1, MAIL_OK, "2.0.0", "peer said: K");
	check_verdict(2, MAIL_FAIL, "5.1.3", "the address cannot be sent");
	message = message_of();
	message.requires_tls = true;
	begin(client, &message);
	assert_int_equal(qmtp_client_status(client), SMTP_CLIENT_READY);
	assert_int_equal(qmtp_client_output(client).length, 0);
	assert_string_equal(recipients[0].verdict->status, "5.7.30");
	qmtp_client_free(client);
}

static void tls_comes_first(void **state)
{
	struct qmtp_client *client = client_of(SMTP_CLIENT_TLS_MUST);
	struct smtp_client_message message = message_of();

	(void)state;
	qmtp_client_begin(client, &message);
	assert_int_equal(qmtp_client_status(client), SMTP_CLIENT_WANTS_TLS);
	assert_int_equal(qmtp_client_timeout_us(client), 7);
	assert_int_equal(qmtp_client_output(client).length, 0);
	qmtp_client_secured(client);
	assert_int_equal(qmtp_client_status(client), SMTP_CLIENT_WANTS_DATA);
	qmtp_client_data(client, str_from(BODY), true);
	/* a server may reject a handshake last */
	qmtp_client_lost(client, "reset");
	assert_true(qmtp_client_is_insecure(client));
	qmtp_client_free(client);

	client = client_of(SMTP_CLIENT_TLS_MUST);
	message = message_of();
	qmtp_client_begin(client, &message);
	qmtp_client_insecure(client, "expired");
	assert_true(qmtp_client_is_insecure(client));
	check_verdict(0, MAIL_WAIT, "4.7.5", "TLS with peer failed: expired");
	qmtp_client_free(client);
}

/* The server would take what follows for the message's end. */
static void a_message_of_another_size_is_given_up(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct qmtp_client *client = client_of(SMTP_CLIENT_TLS_NEVER);
		struct smtp_client_message message = message_of();

		qmtp_client_begin(client, &message);
		qmtp_client_data(client, i == 0 ? STR("a\r") : STR("ab\r\n"), true);
		assert_int_equal(qmtp_client_status(client), SMTP_CLIENT_CLOSED);
		assert_string_equal(recipients[0].verdict->status, "4.3.0");
		assert_int_equal(recipients[0].again, SMTP_CLIENT_LATER);
		assert_false(qmtp_client_is_unserved(client));
		qmtp_client_free(client);
	}
}

static void lengths_are_decimal_without_leading_zeros(void **state)
{
	static const struct {
		const char *text;
		enum qmtp_length_state state;
		uint64_t value;
	} cases[] = {
		{"0:", QMTP_LENGTH_DONE, 0},
		{"10:", QMTP_LENGTH_DONE, 10},
		{"999999999999999999:", QMTP_LENGTH_DONE, UINT64_C(999999999999999999)},
		{"1000000000000000000", QMTP_LENGTH_WRONG, 0},
		{"00", QMTP_LENGTH_WRONG, 0},
		{"01", QMTP_LENGTH_WRONG, 0},
		{":", QMTP_LENGTH_WRONG, 0},
		{"1x", QMTP_LENGTH_WRONG, 0},
		{"+", QMTP_LENGTH_WRONG, 0},
		{" ", QMTP_LENGTH_WRONG, 0},
		{"12", QMTP_LENGTH_MORE, 12},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct qmtp_length length = {0};
		enum qmtp_length_state found = QMTP_LENGTH_MORE;

		for (const char *c = cases[i].text; *c != '\0'; c++) {
			assert_int_equal(found, QMTP_LENGTH_MORE);
			found = qmtp_length_take(&length, *c);
		}
		assert_int_equal(found, cases[i].state);
		if (found != QMTP_LENGTH_WRONG)
			assert_true(length.value == cases[i].value);
	}
}

static int tear_down(void **state)
{
	(void)state;
	buffer_clear(&sent);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_recipient_has_its_answer),
		cmocka_unit_test(what_it_has_no_word_for),
		cmocka_unit_test(a_status_may_be_in_the_text),
		cmocka_unit_test(before_the_last_byte_nothing_is_decided),
		cmocka_unit_test(after_an_early_answer_nothing_more_is_sent),
		cmocka_unit_test(lost_amid_the_answers),
		cmocka_unit_test(an_old_connection_may_be_stale),
		cmocka_unit_test(wrong_answers_break_the_session),
		cmocka_unit_test(answers_that_nobody_asked_for),
		cmocka_unit_test(what_cannot_be_sent_is_not_asked),
		cmocka_unit_test(tls_comes_first),
		cmocka_unit_test(a_message_of_another_size_is_given_up),
		cmocka_unit_test(lengths_are_decimal_without_leading_zeros),
	};

	return cmocka_run_group_tests(tests, NULL, tear_down);
}
