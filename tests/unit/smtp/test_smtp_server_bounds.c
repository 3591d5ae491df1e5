// SPDX-License-Identifier: ISC
/* Parameters of a client's commands as long as they may be, and one byte longer. */
#include "mail/envelope.h"
#include "smtp/server/internal.h"
#include "smtp/server/server.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>

static struct str offer_mechanism(void *context)
{
	(void)context;
	return STR("PLAIN");
}

static const struct smtp_service bounds_service = {
	.protocol = SMTP_PROTOCOL_SMTP,
	.stage = MAIL_STAGE_SUBMIT,
	.hostname = "mx.example.org",
	.auth = SMTP_AUTH_OFFERED,
	.mechanisms = offer_mechanism,
	.limits = {.message_size = 100000,
		   .recipients = 10,
		   .errors = 100,
		   .hops = 10,
		   .line = 2000,
		   .command_timeout = 300,
		   .data_timeout = 600},
};

/* The code of the reply to the command that consists of BEFORE, COUNT times 'A' and a line end. 0:
 * the command is a question. */
static int code_of_command(const char *session, const char *before, size_t count)
{
	struct smtp_server *server = smtp_server_new(
		&bounds_service, (struct smtp_peer){.address = "192.0.2.7", .name = ""});
	struct buffer text CLEANUP(buffer_clear) = {0};
	char code[] = "000";

	smtp_server_start(server);
	assert_int_equal(smtp_server_input(server, session, strlen(session)), strlen(session));
	buffer_reset(smtp_server_output(server));
	buffer_append_string(&text, before);
	for (size_t i = 0; i < count; i++)
		buffer_append_byte(&text, 'A');
	buffer_append_string(&text, "\r\n");
	assert_int_equal(smtp_server_input(server, buffer_data(&text), text.length), text.length);
	if (smtp_server_question(server) == NULL) {
		assert_true(smtp_server_output(server)->length > sizeof code);
		memcpy(code, buffer_data(smtp_server_output(server)), sizeof code - 1);
	}
	smtp_server_free(server);
	return atoi(code);
}

static void a_parameter_is_as_long_as_it_may_be(void **state)
{
	static const struct {
		const char *session, *before;
		size_t most; /* times 'A' */
		int taken, refused;
	} cases[] = {
		{"EHLO x\r\n", "MAIL FROM:<a@b> ENVID=", MAIL_ENVID_MAX, 250, 501},
		{"EHLO x\r\nMAIL FROM:<a@b>\r\n", "RCPT TO:<c@d> ORCPT=rfc822;",
		 MAIL_ORCPT_MAX - sizeof "rfc822;" + 1, 0, 501},
		{"EHLO x\r\nMAIL FROM:<a@b> SMTPUTF8\r\n", "RCPT TO:<c@d> ORCPT=utf-8;",
		 MAIL_ORCPT_MAX - sizeof "utf-8;" + 1, 0, 501},
		{"EHLO x\r\n", "AUTH ", SMTP_MECHANISM_MAX, 0, 501},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		assert_int_equal(code_of_command(cases[i].session, cases[i].before, cases[i].most),
				 cases[i].taken);
		assert_int_equal(
			code_of_command(cases[i].session, cases[i].before, cases[i].most + 1),
			cases[i].refused);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_parameter_is_as_long_as_it_may_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
