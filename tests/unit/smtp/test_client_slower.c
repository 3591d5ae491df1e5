// SPDX-License-Identifier: ISC
/* Which replies say that too much comes: what servers are known to say, in our words for theirs. */
#include "base/attributes.h"
#include "base/timestamp.h"
#include "smtp/client/client.h"
#include "smtp/client/slower.h"
#include "test.h"

enum { LONGEST_WAIT = SMTP_CLIENT_SLOWER_MAX_US / SECOND_US };

static const struct {
	unsigned code;
	const char *text;
	bool is_slower;
	int64_t seconds;
} cases[] = {
	/* Google */
	{421, "4.7.0 Try again later, closing connection. x1si123.4 - gsmtp", true, 0},
	{421, "4.7.28 Gmail has detected an unusual rate of unsolicited mail", true, 0},
	{450, "4.7.28 Our system has detected an unusual rate of mail", true, 0},
	{421, "4.7.0 This message is suspicious\n4.7.0 due to the nature of its content", true, 0},
	{450, "4.2.1 The user is receiving mail at a rate that prevents more (rate limit)", false,
	 0},
	{452, "4.2.2 The recipient's inbox is out of storage space", false, 0},
	/* Microsoft */
	{421, "RP-001 (x) The mail server IP has exceeded the rate limit allowed.", true, 0},
	{421, "RP-003 (x) has exceeded the connection limit allowed on this server.", true, 0},
	{451, "4.7.650 The mail server [192.0.2.1] has been temporarily rate limited", true, 0},
	{451, "4.7.500 Server busy. Please try again later from [192.0.2.1]. (S77719)", true, 0},
	{421, "4.3.2 The maximum number of concurrent connections has exceeded a limit", true, 0},
	{451, "4.4.1 Connection timed out to the mailbox server", false, 0},
	/* Yahoo */
	{421, "4.7.0 [TSS04] Messages from 192.0.2.1 temporarily deferred due to unexpected volume",
	 true, 0},
	{421, "[TS01] Messages temporarily deferred due to unexpected volume or complaints", true,
	 0},
	/* Apple, Comcast, Orange */
	{421, "4.7.0 ip: too many connections", true, 0},
	{421, "4.1.0 192.0.2.1 Throttled - try again later.", true, 0},
	{421, "mwinf5c03 ME Too many connections, slow down. OFR004_104", true, 0},
	/* Postfix, Exim, Sendmail, Rspamd */
	{421, "4.7.0 mx.example Error: too many connections from 192.0.2.1", true, 0},
	{450, "4.7.1 Error: too much mail from 192.0.2.1", true, 0},
	{450, "4.7.1 Error: too many recipients from 192.0.2.1", true, 0},
	{452, "4.5.3 Error: too many recipients", false, 0},
	{421, "Too many concurrent SMTP connections; please try again later.", true, 0},
	{421, "4.3.2 Connection rate limit exceeded.", true, 0},
	{451, "Ratelimit \"to_ip\" exceeded", true, 0},
	{421, "4.4.2 mx.example Error: timeout exceeded", false, 0},
	{451, "4.3.0 Temporary lookup failure", false, 0},
	{452, "4.3.1 Insufficient system storage", false, 0},
	/* first attempts are refused: no matter how many */
	{450, "4.2.0 Greylisted, see http://postgrey.example/help/x.html", false, 0},
	{451, "4.7.1 Greylisting in action, please come back in 00:04:59", false, 0},
	{421, "4.7.0 You are graylisted, try again later", false, 0},
	{451, "4.7.1 Try again later", false, 0},
	/* not for now, or not at all */
	{550, "5.7.1 rate limit", false, 0},
	{250, "2.0.0 rate limit", false, 0},
	{421, "", false, 0},
	{421, "4.7", false, 0},
	/* for how long */
	{421, "4.7.0 Too much mail, try again in 120 seconds", true, 120},
	{450, "4.7.1 Rate limit exceeded, retry in 5 minutes.", true, 300},
	{451, "throttled: wait 30s", true, 30},
	{451, "rate limited, Try Again After 1 Hour please", true, 3600},
	{451, "rate limited, try again in 2 days", true, 0},
	{451, "rate limited, try again in 99999999999999999999 seconds", true, 0},
	{451, "rate limited, try again in 3599 seconds", true, 3599},
	{451, "rate limited, try again in 3600 seconds", true, 3600},
	{451, "rate limited, try again in 3601 seconds", true, LONGEST_WAIT},
	{451, "rate limited, try again in 999999 seconds", true, LONGEST_WAIT},
	{451, "rate limited, try again in 0 seconds", true, 0},
	{451, "rate limited, try again in ", true, 0},
	{451, "rate limited, try again in 5", true, 0},
};

static void replies_are_told_apart(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		int64_t wait_us = 0;
		bool is_slower =
			smtp_client_is_slower(cases[i].code, str_from(cases[i].text), &wait_us);

		if (is_slower != cases[i].is_slower || wait_us != cases[i].seconds * SECOND_US)
			fail_msg("%u %s: %d, %lld s", cases[i].code, cases[i].text, is_slower,
				 (long long)(wait_us / SECOND_US));
	}
}

/* What a server has said after GREETING and, if it greets, at MAIL. */
static struct smtp_client_slower said_by(const char *replies)
{
	const struct smtp_client_settings settings = {
		.hostname = "us.example", .peer = "mx.example[192.0.2.1]", .timeout_us = SECOND_US};
	struct smtp_client_recipient recipient = {.address = STR("r@mx.example")};
	const struct smtp_client_message message = {
		.sender = STR("s@us.example"), .recipients = &recipient, .recipient_count = 1};
	struct smtp_client *client = smtp_client_new(&settings);
	struct smtp_client_slower slower = {0};

	smtp_client_begin(client, &message);
	for (struct str rest = str_from(replies), line; str_split(&rest, '\n', &line);) {
		smtp_client_sent(client, smtp_client_output(client).length);
		smtp_client_input(client, line);
		smtp_client_input(client, STR("\r\n"));
	}
	assert_true(smtp_client_take_slower(client, &slower));
	assert_false(smtp_client_take_slower(client, &slower)); /* said once */
	slower.verdict = NULL;
	smtp_client_free(client);
	return slower;
}

static void a_refused_connection_is_told_apart(void **state)
{
	struct smtp_client_slower slower = said_by("421 4.7.0 Too many connections\n");

	(void)state;
	assert_int_equal(slower.refusal.phase, SMTP_CLIENT_AT_OPENING);
	assert_int_equal(slower.wait_us, 0);
	slower = said_by("220 mx\n421 4.7.0 Try again in 5 minutes\n");
	assert_int_equal(slower.refusal.phase, SMTP_CLIENT_AT_OPENING);
	assert_int_equal(slower.wait_us, 5 * MINUTE_US);
	slower = said_by("220 mx\n250 mx\n421 4.7.0 Too many connections\n");
	assert_int_equal(slower.refusal.phase, SMTP_CLIENT_AT_MAIL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(replies_are_told_apart),
		cmocka_unit_test(a_refused_connection_is_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
