// SPDX-License-Identifier: ISC
/* AUTH as the client sees it: what is sent when, what ends the session, and that secrets stay here.
 */
#include "smtp_client_script.h"
#include "test.h"

#define EHLO     "C: EHLO us.example\n"
#define SECURED  "S: 220 mx\n" EHLO "S: 250-mx|250 STARTTLS\nC: STARTTLS\nS: 220 go\nH\n" EHLO
#define OFFERED  SECURED "S: 250-mx|250-AUTH PLAIN LOGIN|250-PIPELINING|250 AUTH SCRAM-SHA-256\n"
#define BATCH    "C: MAIL FROM:<s@s.example>\nC: RCPT TO:<a@d.example>\nC: DATA\n"
#define ACCEPTED BATCH "S: 250 ok|250 ok|354 go\nD\nC: hi\nC: .\nS: 250 2.6.0 queued\n"
#define PLAIN    OFFERED "L: PLAIN |ann|sesame\nC: AUTH PLAIN AGFubgBzZXNhbWU=\n"
#define NEEDS    .tls = SMTP_CLIENT_TLS_MUST, .wants_login = true
#define MUST     NEEDS, .secret = "sesame"
#define REFUSED  .is_unserved = true, .again = "e", .is_login_refused = true
#define TRIED    .is_unserved = true, .again = "e"
#define X50      "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define X400     X50 X50 X50 X50 X50 X50 X50 X50
/* 48 of them in base64, and all */
#define X48_CODED "eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4"
#define X400_CODED                                                                      \
	X48_CODED X48_CODED X48_CODED X48_CODED X48_CODED X48_CODED X48_CODED X48_CODED \
		"eHh4eHh4eHh4eHh4eHh4eA=="

static const struct smtp_client_script scripts[] = {
	{"at once", "a", "hi\r\n", PLAIN "S: 235 2.7.0 ok\nA\n" ACCEPTED, "ok 2.6.0",
	 SMTP_CLIENT_READY, MUST},
	{"once for all transactions", "a", "hi\r\n",
	 PLAIN "S: 235 2.7.0 ok\nA\n" ACCEPTED "N\n" ACCEPTED, "ok 2.6.0", SMTP_CLIENT_READY, MUST},
	{"the server begins", "a", "hi\r\n",
	 OFFERED "L: LOGIN\nC: AUTH LOGIN\nS: 334 VXNlcm5hbWU6\nM: Username: ann\nC: YW5u\n"
		 "S: 334 UGFzc3dvcmQ6\nM: Password: sesame\nC: c2VzYW1l\nS: 235 ok\nA\n" ACCEPTED,
	 "ok 2.6.0", SMTP_CLIENT_READY, MUST},
	{"an empty first message, an empty challenge and an empty response", "a", "hi\r\n",
	 OFFERED "L: SCRAM-SHA-256 _\nC: AUTH SCRAM-SHA-256 =\nS: 334 \nM: _ _\nC: \nS: 235 ok\nA\n"
		 "C: MAIL FROM:<s@s.example>\nC: RCPT TO:<a@d.example>\nC: DATA\n",
	 "", SMTP_CLIENT_WAITING, MUST},
	{"a first message that is too long for the line", "a", "hi\r\n",
	 OFFERED "L: PLAIN " X400 "\nC: AUTH PLAIN\nS: 334\nC: " X400_CODED
		 "\nS: 235 ok\nA\n" ACCEPTED,
	 "ok 2.6.0", SMTP_CLIENT_READY, MUST},

	{"refused", "a", "hi\r\n", PLAIN "S: 535 5.7.8 bad credentials\n", "wait 4.7.8",
	 SMTP_CLIENT_CLOSED, MUST, REFUSED},
	{"refused without a status", "a", "hi\r\n", PLAIN "S: 535 no\n", "wait 4.7.8",
	 SMTP_CLIENT_CLOSED, MUST, REFUSED},
	{"refused for now", "a", "hi\r\n", PLAIN "S: 454 4.7.0 later\n", "wait 4.7.0",
	 SMTP_CLIENT_CLOSED, MUST, REFUSED},
	{"refused in the middle", "a", "hi\r\n",
	 OFFERED "L: LOGIN\nC: AUTH LOGIN\nS: 334 VXNlcm5hbWU6\nM: Username: ann\nC: YW5u\n"
		 "S: 500 what\n",
	 "wait 4.5.2", SMTP_CLIENT_CLOSED, MUST, REFUSED},
	{"a reply that repeats the password", "a", "hi\r\n",
	 PLAIN "S: 535 5.7.8 no user ann sesame\n", "wait 4.7.8", SMTP_CLIENT_CLOSED, MUST,
	 REFUSED},
	{"a reply that repeats the message", "a", "hi\r\n",
	 PLAIN "S: 501 5.5.4 AUTH PLAIN AGFubgBzZXNhbWU=\n", "wait 4.5.4", SMTP_CLIENT_CLOSED,
	 NEEDS, REFUSED, .secret = "AGFub"},
	{"a farewell that repeats the message", "a", "hi\r\n",
	 PLAIN "S: 421 4.7.0 AUTH PLAIN AGFubgBzZXNhbWU= is not for us\n", "wait 4.3.2",
	 SMTP_CLIENT_CLOSED, NEEDS, TRIED, .secret = "AGFub"},

	{"not offered", "a", "hi\r\n", SECURED "S: 250-mx|250 PIPELINING\n", "wait 4.7.0",
	 SMTP_CLIENT_CLOSED, MUST, REFUSED},
	{"only HELO", "a", "hi\r\n", SECURED "S: 502 what\nC: HELO us.example\nS: 250 mx\n",
	 "wait 4.7.0", SMTP_CLIENT_CLOSED, MUST, REFUSED},
	{"what was offered in plain text does not count", "a", "hi\r\n",
	 "S: 220 mx\n" EHLO
	 "S: 250-mx|250-AUTH PLAIN|250 STARTTLS\nC: STARTTLS\nS: 220 go\nH\n" EHLO
	 "S: 250-mx|250 PIPELINING\n",
	 "wait 4.7.0", SMTP_CLIENT_CLOSED, MUST, REFUSED},
	{"no TLS", "a", "hi\r\n", "S: 220 mx\n" EHLO "S: 250-mx|250 AUTH PLAIN\n", "wait 4.7.11",
	 SMTP_CLIENT_CLOSED, .wants_login = true, REFUSED},
	{"no TLS where it may be", "a", "hi\r\n", "S: 220 mx\n" EHLO "S: 250-mx|250 AUTH PLAIN\n",
	 "wait 4.7.11", SMTP_CLIENT_CLOSED, .tls = SMTP_CLIENT_TLS_MAY, .wants_login = true,
	 REFUSED},
	{"no TLS, and allowed", "a", "hi\r\n",
	 "S: 220 mx\n" EHLO "S: 250-mx|250-PIPELINING|250 AUTH PLAIN\n"
	 "L: PLAIN |ann|sesame\nC: AUTH PLAIN AGFubgBzZXNhbWU=\nS: 235 ok\nA\n" ACCEPTED,
	 "ok 2.6.0", SMTP_CLIENT_READY, .wants_login = true, .may_login_plainly = true,
	 .secret = "sesame"},
	{"given up at the beginning", "a", "hi\r\n", OFFERED "K\n", "wait 4.7.0",
	 SMTP_CLIENT_CLOSED, MUST, REFUSED},
	{"given up after success", "a", "hi\r\n", PLAIN "S: 235 ok\nK\n", "wait 4.7.0",
	 SMTP_CLIENT_CLOSED, MUST, REFUSED},

	{"a challenge that is not base64", "a", "hi\r\n",
	 OFFERED "L: LOGIN\nC: AUTH LOGIN\nS: 334 what?\n", "wait 4.5.0", SMTP_CLIENT_CLOSED, MUST,
	 TRIED},
	{"a challenge in two lines", "a", "hi\r\n",
	 OFFERED "L: LOGIN\nC: AUTH LOGIN\nS: 334-VXNl|334 VXNl\n", "wait 4.5.0",
	 SMTP_CLIENT_CLOSED, MUST, TRIED},
	{"another 3yz", "a", "hi\r\n", PLAIN "S: 354 go\n", "wait 4.5.0", SMTP_CLIENT_CLOSED, MUST,
	 TRIED},
	{"two replies", "a", "hi\r\n", PLAIN "S: 235 ok|235 ok\n", "wait 4.5.0", SMTP_CLIENT_CLOSED,
	 MUST, TRIED},
	{"lost in the login", "a", "hi\r\n", PLAIN "X\n", "wait 4.4.2", SMTP_CLIENT_CLOSED, MUST,
	 TRIED},
	{"silence in the login", "a", "hi\r\n", PLAIN "T\n", "wait 4.4.2", SMTP_CLIENT_CLOSED, MUST,
	 TRIED},
};

static void dialogues(void **state)
{
	(void)state;
	smtp_client_scripts_run(scripts, COUNT_OF(scripts));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(dialogues)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
