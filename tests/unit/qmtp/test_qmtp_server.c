// SPDX-License-Identifier: ISC
/* What the packages of a session by QMTP may take of our memory while they wait for their commits.
 */
#include "qmtp/netstring.h"
#include "qmtp/server.h"
#include "test.h"
#include <string.h>

enum { RECIPIENTS = 100, LOCAL_MAX = 64 };

static const struct smtp_service service = {
	.hostname = "server.test",
	.protocol = SMTP_PROTOCOL_QMTP,
	.limits = {.recipients = RECIPIENTS, .hops = 30, .errors = 100 * 1000},
};

/* To recipients of whom no two are the same, with addresses that are as long as they may be. */
static void append_package(struct buffer *out)
{
	struct buffer list CLEANUP(buffer_clear) = {0};

	for (unsigned i = 0; i < RECIPIENTS; i++) {
		struct buffer address CLEANUP(buffer_clear) = {0};

		buffer_append_format(&address, "%064u@", i);
		for (unsigned j = 0; j < 60; j++)
			buffer_append_string(&address, "a.");
		buffer_append_string(&address, "test");
		qmtp_netstring_append(&list, buffer_view(&address));
	}
	qmtp_netstring_append(out, STR("\nx\n"));
	qmtp_netstring_append(out, STR("s@client.test"));
	qmtp_netstring_append(out, buffer_view(&list));
}

/* Takes all it can, and takes commits without an answer. Returns the packages that are complete. */
static unsigned feed(struct qmtp_server *server)
{
	const struct mail_verdict ok = {MAIL_OK, "2.1.5", "Recipient ok"};
	struct buffer package CLEANUP(buffer_clear) = {0};
	struct qmtp_commit commit;
	unsigned count = 0;
	size_t done = 0;

	append_package(&package);
	while (qmtp_server_is_ready(server) || qmtp_server_question(server) != NULL) {
		const struct qmtp_question *question = qmtp_server_question(server);

		if (question != NULL && question->type == SMTP_QUESTION_OPEN)
			qmtp_server_answer_open(server, (struct mail_id){1, 1});
		else if (question != NULL)
			qmtp_server_answer(server, &ok);
		else
			done += qmtp_server_input(server, buffer_data(&package) + done,
						  package.length - done);
		while (qmtp_server_take_commit(server, &commit))
			continue;
		count += done == package.length && qmtp_server_question(server) == NULL;
		done = done == package.length ? 0 : done;
	}
	return count;
}

static void recipients_count_for_what_is_in_flight(void **state)
{
	struct qmtp_server *server =
		qmtp_server_new(&service, (struct smtp_peer){.name = "", .address = "192.0.2.7"});
	unsigned count;

	(void)state;
	qmtp_server_start(server);
	count = feed(server);
	assert_in_range(count, 2, QMTP_SERVER_FLIGHT_MAX / (RECIPIENTS * LOCAL_MAX));
	assert_true(count < QMTP_SERVER_SLOTS);
	qmtp_server_free(server);
}

/* What is answered to a package from a sender of so many bytes, to one recipient of so many; "":
 * nothing, and the session is over. */
static const char *answer_of(size_t sender, size_t recipient)
{
	static char answer[200];
	struct qmtp_server *server =
		qmtp_server_new(&service, (struct smtp_peer){.name = "", .address = "192.0.2.7"});
	struct buffer package CLEANUP(buffer_clear) = {0};
	struct buffer list CLEANUP(buffer_clear) = {0};
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct str rest;
	size_t length;

	while (text.length < sender || text.length < recipient)
		buffer_append_byte(&text, 'x');
	qmtp_netstring_append(&list, str_slice(buffer_data(&text), recipient));
	qmtp_netstring_append(&package, STR("\nx\n"));
	qmtp_netstring_append(&package, str_slice(buffer_data(&text), sender));
	qmtp_netstring_append(&package, buffer_view(&list));
	rest = buffer_view(&package);
	qmtp_server_start(server);
	while (rest.length > 0 && !qmtp_server_is_closed(server)) {
		if (qmtp_server_question(server) != NULL)
			qmtp_server_answer_open(server, (struct mail_id){1, 1});
		else
			rest = str_skip(rest, qmtp_server_input(server, rest.data, rest.length));
	}
	length = qmtp_server_output(server)->length;
	assert_true(length < sizeof answer);
	if (length > 0)
		memcpy(answer, buffer_data(qmtp_server_output(server)), length);
	answer[length] = '\0';
	assert_int_equal(qmtp_server_is_closed(server), length == 0);
	qmtp_server_free(server);
	return answer;
}

/* Of what is too long as much is skipped as may be. */
static void an_address_is_so_long(void **state)
{
	static const size_t lengths[] = {QMTP_SERVER_ADDRESS_MAX, QMTP_SERVER_ADDRESS_MAX + 1,
					 QMTP_SERVER_SKIPPED_MAX};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(lengths); i++) {
		assert_non_null(strstr(answer_of(lengths[i], 5), ":D"));
		assert_non_null(strstr(answer_of(5, lengths[i]), ":D"));
	}
	assert_string_equal(answer_of(QMTP_SERVER_SKIPPED_MAX + 1, 5), "");
	assert_string_equal(answer_of(5, QMTP_SERVER_SKIPPED_MAX + 1), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recipients_count_for_what_is_in_flight),
		cmocka_unit_test(an_address_is_so_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
