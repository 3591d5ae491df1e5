// SPDX-License-Identifier: ISC
/* What QMTP's client does in no state: what a driver says that is late, and what it sends of no
 * address. */
#include "qmtp/client.h"
#include "test.h"

enum { RECIPIENTS = 3, TIMEOUT_US = 1000000 };

static const char BODY[] = "a\r\n";

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

static void note_client(const struct qmtp_client *client, struct buffer *out)
{
	const struct mail_verdict *failure = qmtp_client_failure(client);

	buffer_append_format(
		out, "%d %lld %u %d%d%d%d %s \"" STR_FORMAT "\"\n", (int)qmtp_client_status(client),
		(long long)qmtp_client_timeout_us(client), qmtp_client_reply_count(client),
		qmtp_client_is_deciding(client), qmtp_client_is_unserved(client),
		qmtp_client_is_stale(client), qmtp_client_is_insecure(client),
		failure != NULL ? failure->text : "", STR_ARGUMENTS(qmtp_client_output(client)));
	for (size_t i = 0; i < RECIPIENTS; i++)
		if (recipients[i].verdict != NULL)
			buffer_append_format(out, "%s\n", recipients[i].verdict->text);
}

/* Each call that belongs to another state changes nothing. */
static void call_in_vain(struct qmtp_client *client)
{
	enum smtp_client_status status = qmtp_client_status(client);
	struct buffer before CLEANUP(buffer_clear) = {0};
	struct buffer after CLEANUP(buffer_clear) = {0};

	note_client(client, &before);
	if (status != SMTP_CLIENT_READY)
		qmtp_client_quit(client);
	if (status != SMTP_CLIENT_WANTS_TLS)
		qmtp_client_secured(client);
	if (status != SMTP_CLIENT_WANTS_DATA)
		qmtp_client_data(client, STR("x"), true);
	if (status == SMTP_CLIENT_CLOSED) {
		qmtp_client_lost(client, "again");
		qmtp_client_timed_out(client);
	}
	if (status == SMTP_CLIENT_CLOSED || status == SMTP_CLIENT_WANTS_TLS)
		qmtp_client_input(client, STR("3:Kok,"));
	note_client(client, &after);
	if (!str_equal(buffer_view(&before), buffer_view(&after)))
		fail_msg("\n--- before\n" STR_FORMAT "--- after\n" STR_FORMAT,
			 STR_ARGUMENTS(buffer_view(&before)), STR_ARGUMENTS(buffer_view(&after)));
}

static void what_does_not_fit_changes_nothing(void **state)
{
	static const char *const ends[] = {"lost", "timeout", "wrong", "quit"};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(ends); i++) {
		struct smtp_client_message message = message_of();
		struct qmtp_client *client = client_of(SMTP_CLIENT_TLS_MUST);

		call_in_vain(client);
		qmtp_client_secured(client);
		call_in_vain(client);
		qmtp_client_begin(client, &message);
		call_in_vain(client);
		qmtp_client_data(client, str_from(BODY), true);
		call_in_vain(client);
		send_some(client, 5);
		call_in_vain(client);
		send_some(client, SIZE_MAX);
		hear(client, "3:Kok,", 6);
		call_in_vain(client);
		if (i == 0)
			qmtp_client_lost(client, "it is gone");
		else if (i == 1)
			qmtp_client_timed_out(client);
		else
			hear(client, i == 2 ? "x" : "3:Kok,3:Kok,", 12);
		call_in_vain(client);
		if (i == 3)
			qmtp_client_quit(client);
		assert_int_equal(qmtp_client_status(client), SMTP_CLIENT_CLOSED);
		call_in_vain(client);
		qmtp_client_free(client);
	}
}

/* --- bytes --- */

/* What no netstring of an address may have: controls; all others go as they are. */
static void each_byte_of_an_address(void **state)
{
	(void)state;
	for (unsigned c = 0; c < 256; c++) {
		struct smtp_client_message message = message_of();
		struct qmtp_client *client = client_of(SMTP_CLIENT_TLS_NEVER);
		char address[] = "x?@y.z";
		bool is_control = c < 0x20 || c == 0x7f;

		address[1] = (char)c;
		recipients[0].address = str_slice(address, 6);
		begin(client, &message);
		if ((recipients[0].verdict != NULL) != is_control)
			fail_msg("byte %u", c);
		qmtp_client_free(client);
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
		cmocka_unit_test(what_does_not_fit_changes_nothing),
		cmocka_unit_test(each_byte_of_an_address),
	};

	return cmocka_run_group_tests(tests, NULL, tear_down);
}
