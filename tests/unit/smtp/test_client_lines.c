// SPDX-License-Identifier: ISC
/* What the SMTP client keeps of a transaction, and how long its lines are. */
#include "smtp/client/client.h"
#include "smtp/client/slower.h"
#include "test.h"
#include <string.h>

enum { LINE_MAX_BYTES = 512 }; /* RFC 5321 section 4.5.3.1.4, with its end */

static struct smtp_client_recipient recipient;

static struct smtp_client *client_of(bool wants_login)
{
	const struct smtp_client_settings settings = {.protocol = SMTP_CLIENT_SMTP,
						      .hostname = "us.example",
						      .peer = "mx.example",
						      .timeout_us = 1,
						      .wants_login = wants_login,
						      .may_login_plainly = wants_login};

	return smtp_client_new(&settings);
}

static void begin(struct smtp_client *client)
{
	const struct smtp_client_message message = {.sender = STR("s@s.example"),
						    .size = 4,
						    .recipients = &recipient,
						    .recipient_count = 1};

	recipient = (struct smtp_client_recipient){.address = STR("a@d.example")};
	smtp_client_begin(client, &message);
}

/* REPLY comes when all that was said is sent: what was said. */
static void hear(struct smtp_client *client, const char *reply)
{
	smtp_client_sent(client, smtp_client_output(client).length);
	smtp_client_input(client, str_from(reply));
}

/* How long the line of AUTH is, with a first message of so many BYTES. */
static size_t length_of_auth(const char *mechanism, size_t bytes)
{
	static const char message[600];
	struct smtp_client *client = client_of(true);
	struct str initial = str_slice(message, bytes);
	size_t length;

	begin(client);
	hear(client, "220 mx\r\n");
	hear(client, "250-mx\r\n250 AUTH PLAIN\r\n");
	assert_int_equal(smtp_client_status(client), SMTP_CLIENT_WANTS_LOGIN);
	smtp_client_login_begin(client, mechanism, &initial);
	length = smtp_client_output(client).length;
	smtp_client_free(client);
	return length;
}

/* The first message of a login is in the line of AUTH if that is no longer than it may be. */
static void a_first_message_fits_into_a_line(void **state)
{
	static const char *const mechanisms[] = {"PLAIN", "X-PLAI", "X-PLAIN", "XY-PLAIN"};
	unsigned longest = 0, longer = 0;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(mechanisms); i++)
		for (size_t bytes = 340; bytes < 400; bytes++) {
			size_t without = strlen("AUTH ") + strlen(mechanisms[i]) + 2;
			size_t whole = without + 1 + (bytes + 2) / 3 * 4;
			size_t length = length_of_auth(mechanisms[i], bytes);

			if (length != (whole <= LINE_MAX_BYTES ? whole : without))
				fail_msg("%s, %zu bytes: %zu", mechanisms[i], bytes, length);
			longest += whole == LINE_MAX_BYTES;
			longer += whole == LINE_MAX_BYTES + 1;
		}
	assert_true(longest > 0 && longer > 0);
}

/* What nobody has asked for is not told of the next transaction. */
static void that_it_is_too_much_is_said_of_one_transaction(void **state)
{
	struct smtp_client_slower slower;
	struct smtp_client *client = client_of(false);

	(void)state;
	begin(client);
	hear(client, "220 mx\r\n");
	hear(client, "250 mx\r\n");
	hear(client, "450 4.7.1 rate limit, try again in 7 seconds\r\n");
	assert_int_equal(smtp_client_status(client), SMTP_CLIENT_READY);
	begin(client);
	assert_false(smtp_client_take_slower(client, &slower));
	hear(client, "250 ok\r\n");
	hear(client, "450 4.7.1 rate limit, try again in 7 seconds\r\n");
	assert_true(smtp_client_take_slower(client, &slower));
	assert_int_equal(slower.wait_us, 7000000);
	assert_int_equal(slower.code, 450);
	assert_false(smtp_client_take_slower(client, &slower)); /* once */
	smtp_client_free(client);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_first_message_fits_into_a_line),
		cmocka_unit_test(that_it_is_too_much_is_said_of_one_transaction),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
