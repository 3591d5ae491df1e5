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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recipients_count_for_what_is_in_flight),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
