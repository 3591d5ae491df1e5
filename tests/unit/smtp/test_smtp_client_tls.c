// SPDX-License-Identifier: ISC
/* STARTTLS as the client sees it: when it begins, what is forgotten, and what ends the session. */
#include "smtp_client_script.h"
#include "test.h"
#include <string.h>

#define EHLO        "C: EHLO us.example\n"
#define OFFERS      "S: 220 mx\n" EHLO "S: 250-mx|250-STARTTLS|250-PIPELINING|250 SIZE 100000\n"
#define BEGINS      OFFERS "C: STARTTLS\nS: 220 2.0.0 go ahead\n"
#define SECURED     BEGINS "H\n" EHLO
#define NO_STARTTLS "S: 220 mx\n" EHLO "S: 250-mx|250 PIPELINING\n"
#define BATCH       "C: MAIL FROM:<s@s.example>\nC: RCPT TO:<a@d.example>\nC: DATA\n"
#define REQUIRING   "C: MAIL FROM:<s@s.example> REQUIRETLS\nC: RCPT TO:<a@d.example>\nC: DATA\n"
#define ACCEPTED    "S: 250 ok|250 ok|354 go\nD\nC: hi\nC: .\nS: 250 2.6.0 queued\n"
#define MAY         .tls = SMTP_CLIENT_TLS_MAY
#define MUST        .tls = SMTP_CLIENT_TLS_MUST
#define TRIED       .is_unserved = true, .again = "e"

static const struct smtp_client_script scripts[] = {
	{"what was offered in plain text is forgotten", "a", "hi\r\n",
	 SECURED "S: 250 mx\nC: MAIL FROM:<s@s.example>\nS: 250 ok\nC: RCPT TO:<a@d.example>\n"
		 "S: 250 ok\nC: DATA\nS: 354 go\nD\nC: hi\nC: .\nS: 250 2.6.0 queued\n",
	 "ok 2.6.0", SMTP_CLIENT_READY, MUST},
	{"what is offered by TLS counts", "a", "hi\r\n",
	 SECURED "S: 250-mx|250 PIPELINING\n" BATCH ACCEPTED, "ok 2.6.0", SMTP_CLIENT_READY, MAY},
	{"STARTTLS in TLS means nothing", "a", "hi\r\n",
	 SECURED "S: 250-mx|250-STARTTLS|250 PIPELINING\n" BATCH ACCEPTED, "ok 2.6.0",
	 SMTP_CLIENT_READY, MUST},
	{"the next transaction needs no other one", "a", "hi\r\n",
	 SECURED "S: 250-mx|250 PIPELINING\n" BATCH ACCEPTED "N\n" BATCH ACCEPTED, "ok 2.6.0",
	 SMTP_CLIENT_READY, MUST},
	{"LMTP", "a", "hi\r\n",
	 "S: 220 mx\nC: LHLO us.example\nS: 250-mx|250 STARTTLS\nC: STARTTLS\nS: 220 go\nH\n"
	 "C: LHLO us.example\nS: 250-mx|250 PIPELINING\n" BATCH ACCEPTED,
	 "ok 2.6.0", SMTP_CLIENT_READY, .is_lmtp = true, MUST},
	{"not wanted", "a", "hi\r\n",
	 "S: 220 mx\n" EHLO "S: 250-mx|250-STARTTLS|250 PIPELINING\n" BATCH ACCEPTED, "ok 2.6.0",
	 SMTP_CLIENT_READY},
	{"EHLO refused by TLS", "a", "hi\r\n",
	 SECURED "S: 502 what\nC: HELO us.example\nS: 250 mx\nC: MAIL FROM:<s@s.example>\n", "",
	 SMTP_CLIENT_WAITING, MUST},

	{"may, not offered", "a", "hi\r\n", NO_STARTTLS BATCH ACCEPTED, "ok 2.6.0",
	 SMTP_CLIENT_READY, MAY},
	{"must, not offered", "a", "hi\r\n", NO_STARTTLS, "wait 4.7.4", SMTP_CLIENT_CLOSED, MUST,
	 TRIED, .is_insecure = true},
	{"may, refused", "a", "hi\r\n",
	 OFFERS "C: STARTTLS\nS: 454 4.7.0 not now\nC: MAIL FROM:<s@s.example> SIZE=4\n"
		"C: RCPT TO:<a@d.example>\nC: DATA\n" ACCEPTED,
	 "ok 2.6.0", SMTP_CLIENT_READY, MAY, .is_tls_refused = true},
	{"must, refused", "a", "hi\r\n", OFFERS "C: STARTTLS\nS: 454 4.7.0 not now\n", "wait 4.7.4",
	 SMTP_CLIENT_CLOSED, MUST, TRIED, .is_insecure = true, .is_tls_refused = true},
	{"must, refused for good", "a", "hi\r\n", OFFERS "C: STARTTLS\nS: 554 5.7.1 never\n",
	 "wait 4.7.4", SMTP_CLIENT_CLOSED, MUST, TRIED, .is_insecure = true,
	 .is_tls_refused = true},
	{"may, only HELO", "a", "hi\r\n",
	 "S: 220 mx\n" EHLO "S: 502 what\nC: HELO us.example\nS: 250 mx\n"
	 "C: MAIL FROM:<s@s.example>\n",
	 "", SMTP_CLIENT_WAITING, MAY},
	{"must, only HELO", "a", "hi\r\n",
	 "S: 220 mx\n" EHLO "S: 502 what\nC: HELO us.example\nS: 250 mx\n", "wait 4.7.4",
	 SMTP_CLIENT_CLOSED, MUST, TRIED, .is_insecure = true},
	{"an answer to STARTTLS that is none", "a", "hi\r\n",
	 OFFERS "C: STARTTLS\nS: 354 go ahead\n", "wait 4.5.0", SMTP_CLIENT_CLOSED, MUST, TRIED},
	{"421 to STARTTLS", "a", "hi\r\n", OFFERS "C: STARTTLS\nS: 421 4.3.2 bye\n", "wait 4.3.2",
	 SMTP_CLIENT_CLOSED, MAY, TRIED, .is_insecure = true},

	{"the handshake fails", "a", "hi\r\n", BEGINS "h\n", "wait 4.7.5", SMTP_CLIENT_CLOSED, MUST,
	 TRIED, .is_insecure = true},
	{"the handshake fails where it may", "a", "hi\r\n", BEGINS "h\n", "wait 4.7.5",
	 SMTP_CLIENT_CLOSED, MAY, TRIED, .is_insecure = true},
	{"no answer to STARTTLS", "a", "hi\r\n", OFFERS "C: STARTTLS\nT\n", "wait 4.4.2",
	 SMTP_CLIENT_CLOSED, MAY, TRIED, .is_insecure = true},
	{"the end in place of an answer to STARTTLS", "a", "hi\r\n", OFFERS "C: STARTTLS\nX\n",
	 "wait 4.4.2", SMTP_CLIENT_CLOSED, MAY, TRIED, .is_insecure = true},
	{"the end in the handshake", "a", "hi\r\n", BEGINS "X\n", "wait 4.4.2", SMTP_CLIENT_CLOSED,
	 MAY, TRIED, .is_insecure = true},
	{"rejected when the handshake is done here", "a", "hi\r\n", SECURED "X\n", "wait 4.4.2",
	 SMTP_CLIENT_CLOSED, MAY, TRIED, .is_insecure = true},
	{"silence after the handshake", "a", "hi\r\n", SECURED "T\n", "wait 4.4.2",
	 SMTP_CLIENT_CLOSED, MAY, TRIED, .is_insecure = true},
	{"lost when TLS has worked", "a", "hi\r\n",
	 SECURED "S: 250-mx|250 PIPELINING\n" BATCH "X\n", "wait 4.4.2", SMTP_CLIENT_CLOSED, MAY,
	 TRIED},
	{"lost before the greeting is no fault of TLS", "a", "hi\r\n", "X\n", "wait 4.4.2",
	 SMTP_CLIENT_CLOSED, MAY, TRIED},

	{"REQUIRETLS goes on", "a", "hi\r\n",
	 SECURED "S: 250-mx|250-PIPELINING|250-8BITMIME|250 REQUIRETLS\n" REQUIRING ACCEPTED,
	 "ok 2.6.0", SMTP_CLIENT_READY, MUST, .requires_tls = true},
	{"in each transaction", "a", "hi\r\n",
	 SECURED "S: 250-mx|250-PIPELINING|250 requiretls\n" REQUIRING ACCEPTED
		 "N\n" REQUIRING ACCEPTED,
	 "ok 2.6.0", SMTP_CLIENT_READY, MUST, .requires_tls = true},
	{"who does not require it says nothing", "a", "hi\r\n",
	 SECURED "S: 250-mx|250-PIPELINING|250 REQUIRETLS\n" BATCH ACCEPTED, "ok 2.6.0",
	 SMTP_CLIENT_READY, MUST},
	{"to a server that knows no REQUIRETLS nothing is said", "a", "hi\r\n",
	 SECURED "S: 250-mx|250 PIPELINING\n", "fail 5.7.30", SMTP_CLIENT_CLOSED, MUST,
	 .is_unserved = true, .requires_tls = true},
	{"nor to one that offered it in plain text only", "ab", "hi\r\n",
	 "S: 220 mx\n" EHLO
	 "S: 250-mx|250-STARTTLS|250 REQUIRETLS\nC: STARTTLS\nS: 220 go\nH\n" EHLO "S: 250 mx\n",
	 "fail 5.7.30 fail 5.7.30", SMTP_CLIENT_CLOSED, MUST, .is_unserved = true,
	 .requires_tls = true},
	{"nor in plain text, whatever is offered", "a", "hi\r\n",
	 "S: 220 mx\n" EHLO "S: 250-mx|250 REQUIRETLS\n", "fail 5.7.30", SMTP_CLIENT_CLOSED, MAY,
	 .is_unserved = true, .requires_tls = true},

	{"a reply injected behind that to STARTTLS", "a", "hi\r\n",
	 OFFERS "C: STARTTLS\nS: 220 go|250-mx|250 PIPELINING\n", "wait 4.5.0", SMTP_CLIENT_CLOSED,
	 MUST, TRIED, .is_injected = true},
	{"one that may be followed by plain text is not, then", "a", "hi\r\n",
	 OFFERS "C: STARTTLS\nS: 220 go|250 mx\n", "wait 4.5.0", SMTP_CLIENT_CLOSED, MAY, TRIED,
	 .is_injected = true},
	{"part of a reply injected", "a", "hi\r\n", OFFERS "C: STARTTLS\nS: 220 go|2\n",
	 "wait 4.5.0", SMTP_CLIENT_CLOSED, MUST, TRIED, .is_injected = true},
	{"a reply while the handshake is asked for", "a", "hi\r\n", BEGINS "S: 250 mx\n",
	 "wait 4.5.0", SMTP_CLIENT_CLOSED, MUST, TRIED, .is_injected = true},
	{"the reply to STARTTLS before it was sent", "a", "hi\r\n",
	 "S: 220 mx\n" EHLO "S: 250-mx|250 STARTTLS|220 go\n", "wait 4.5.0", SMTP_CLIENT_CLOSED,
	 MUST, TRIED, .is_injected = true},
	{"all of it at once", "a", "hi\r\n",
	 "S: 220 mx|250-mx|250 STARTTLS|220 go|250 mx|250 ok|250 ok|354 go|250 queued\n",
	 "wait 4.5.0", SMTP_CLIENT_CLOSED, MUST, TRIED},
	{"421 injected", "a", "hi\r\n", OFFERS "C: STARTTLS\nS: 220 go|421 4.3.2 bye\n",
	 "wait 4.5.0", SMTP_CLIENT_CLOSED, MUST, TRIED, .is_injected = true},
};

static void tls_begins_and_nothing_before_it_counts(void **state)
{
	(void)state;
	smtp_client_scripts_run(scripts, COUNT_OF(scripts));
}

static void a_server_has_the_name_that_it_says_last(void **state)
{
	static const struct {
		const char *input;
		const char *name;
	} cases[] = {
		{"", ""},
		{"220 mx.example ESMTP\r\n", "mx.example"},
		{"220-mx.example\r\n220 more\r\n", "mx.example"},
		{"220 \r\n", ""},
		{"220 mx.example\r\n250-other.example hello\r\n250 SIZE 1\r\n", "other.example"},
		{"220 mx.example\r\n250 \r\n", "mx.example"},
		{"220 mx.example\r\n502 no\r\n250 old.example\r\n", "old.example"},
		{"220 mx\x01z\xff\r\n", "mx"},
		{"554 mx.example no service\r\n", ""},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct smtp_client *client = smtp_client_new(&(struct smtp_client_settings){
			.hostname = "us.example", .peer = "mx", .tls = SMTP_CLIENT_TLS_MAY});
		struct str input = str_from(cases[i].input);

		/* a reply at a time, as the client demands */
		while (input.length > 0) {
			size_t length = (size_t)str_find(input, '\n') + 1;

			smtp_client_input(client, str_slice(input.data, length));
			smtp_client_sent(client, smtp_client_output(client).length);
			input = str_skip(input, length);
		}
		assert_string_equal(smtp_client_server_name(client), cases[i].name);
		smtp_client_free(client);
	}
}

static void a_long_name_is_cut(void **state)
{
	struct smtp_client *client =
		smtp_client_new(&(struct smtp_client_settings){.hostname = "us", .peer = "mx"});
	char greeting[1000];

	(void)state;
	memset(greeting, 'a', sizeof greeting);
	memcpy(greeting, "220 ", 4);
	memcpy(greeting + sizeof greeting - 2, "\r\n", 2);
	smtp_client_input(client, str_slice(greeting, sizeof greeting));
	assert_int_equal(strlen(smtp_client_server_name(client)), SMTP_CLIENT_NAME_SIZE - 1);
	smtp_client_free(client);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tls_begins_and_nothing_before_it_counts),
		cmocka_unit_test(a_server_has_the_name_that_it_says_last),
		cmocka_unit_test(a_long_name_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
