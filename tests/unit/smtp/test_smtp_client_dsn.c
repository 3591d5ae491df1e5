// SPDX-License-Identifier: ISC
/* What a server's DSN (RFC 3461), SMTPUTF8 (RFC 6531), MT-PRIORITY (RFC 6710) and DELIVERBY (RFC
 * 2852) change for the client. */
#include "smtp_client_script.h"
#include "test.h"

#define HELLO(last) "S: 220 mx\nC: EHLO us.example\nS: 250-mx\nS: 250-PIPELINING\nS: 250 " last "\n"
#define HELLO_BOTH                                                                         \
	"S: 220 mx\nC: EHLO us.example\nS: 250-mx\nS: 250-PIPELINING\nS: 250-DSN\nS: 250 " \
	"SMTPUTF8\n"
#define BATCH(mail, rcpt) \
	"C: MAIL FROM:<s@s.example>" mail "\nC: RCPT TO:<a@d.example>" rcpt "\nC: DATA\n"
#define ACCEPTED "S: 250 ok\nS: 250 ok\nS: 354 go\nD\nC: hi\nC: .\nS: 250 2.6.0 queued\n"
#define TEN      "0123456789"
#define HUNDRED  TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
#define LONGEST_ORIGINAL \
	"rfc822;123" HUNDRED HUNDRED HUNDRED HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN
#define E_ACUTE "\xc3\xa9"

_Static_assert(sizeof HUNDRED - 1 == MAIL_ENVID_MAX, "as long as allowed");
_Static_assert(sizeof LONGEST_ORIGINAL - 1 == MAIL_ORCPT_MAX, "as long as allowed");

static const struct smtp_client_script scripts[] = {
	{"everything is passed on", "a", "hi\r\n",
	 HELLO("DSN") BATCH(" RET=HDRS ENVID=QQ+3D1",
			    " NOTIFY=SUCCESS,FAILURE,DELAY ORCPT=rfc822;x+2By@o.example") ACCEPTED,
	 "ok 2.6.0", SMTP_CLIENT_READY, .ret = MAIL_RET_HEADERS, .envid = "QQ+3D1",
	 .original = "rfc822;x+2By@o.example",
	 .notify = MAIL_NOTIFY_SUCCESS | MAIL_NOTIFY_FAILURE | MAIL_NOTIFY_DELAY,
	 .is_passed_on = true},
	{"NEVER, and the whole", "a", "hi\r\n", HELLO("DSN") BATCH(" RET=FULL", " NOTIFY=NEVER"),
	 "", SMTP_CLIENT_WAITING, .ret = MAIL_RET_FULL, .notify = MAIL_NOTIFY_NEVER,
	 .is_passed_on = true},
	{"NEVER stands alone", "a", "hi\r\n", HELLO("DSN") BATCH("", " NOTIFY=NEVER"), "",
	 SMTP_CLIENT_WAITING, .notify = MAIL_NOTIFY_NEVER | MAIL_NOTIFY_SUCCESS,
	 .is_passed_on = true},
	{"nothing was asked for", "a", "hi\r\n", HELLO("DSN") BATCH("", ""), "",
	 SMTP_CLIENT_WAITING, .is_passed_on = true},
	{"one command at a time", "a", "hi\r\n",
	 "S: 220 mx\nC: EHLO us.example\nS: 250-mx\nS: 250 DSN\n"
	 "C: MAIL FROM:<s@s.example> ENVID=Q\nS: 250 ok\nC: RCPT TO:<a@d.example> NOTIFY=DELAY\n"
	 "S: 550 5.1.1 no\n",
	 "fail 5.1.1", SMTP_CLIENT_READY, .envid = "Q", .notify = MAIL_NOTIFY_DELAY,
	 .is_passed_on = true},
	{"a server without it hears nothing", "a", "hi\r\n",
	 HELLO("SMTPUTF8") BATCH("", "") ACCEPTED, "ok 2.6.0", SMTP_CLIENT_READY,
	 .ret = MAIL_RET_FULL, .envid = "Q", .original = "rfc822;x@o.example",
	 .notify = MAIL_NOTIFY_SUCCESS},
	{"what is no value is left out", "a", "hi\r\n", HELLO("DSN") BATCH("", ""), "",
	 SMTP_CLIENT_WAITING, .envid = "a b", .original = "rfc822;x\r\nDATA", .is_passed_on = true},
	{"a value as long as allowed", "a", "hi\r\n", HELLO("DSN") BATCH(" ENVID=" HUNDRED, ""), "",
	 SMTP_CLIENT_WAITING, .envid = HUNDRED, .is_passed_on = true},
	{"a value that is too long is left out", "a", "hi\r\n", HELLO("DSN") BATCH("", ""), "",
	 SMTP_CLIENT_WAITING, .envid = HUNDRED "x", .is_passed_on = true},
	{"so is a recipient's", "a", "hi\r\n", HELLO("DSN") BATCH("", " ORCPT=" LONGEST_ORIGINAL),
	 "", SMTP_CLIENT_WAITING, .original = LONGEST_ORIGINAL, .is_passed_on = true},
	{"or it is left out", "a", "hi\r\n", HELLO("DSN") BATCH("", ""), "", SMTP_CLIENT_WAITING,
	 .original = LONGEST_ORIGINAL "x", .is_passed_on = true},
	{"a value with a sign of equality", "a", "hi\r\n", HELLO("DSN") BATCH("", ""), "",
	 SMTP_CLIENT_WAITING, .envid = "a=b", .original = "rfc822;x=y", .is_passed_on = true},

	{"a priority is passed on", "a", "hi\r\n",
	 HELLO("MT-PRIORITY MIXER") BATCH(" MT-PRIORITY=-4", "") ACCEPTED, "ok 2.6.0",
	 SMTP_CLIENT_READY, .priority = -4},
	{"but not where it is not known", "a", "hi\r\n", HELLO("DSN") BATCH("", "") ACCEPTED,
	 "ok 2.6.0", SMTP_CLIENT_READY, .priority = 9, .is_passed_on = true},
	{"and that of ordinary mail need not be", "a", "hi\r\n",
	 HELLO("MT-PRIORITY") BATCH("", "") ACCEPTED, "ok 2.6.0", SMTP_CLIENT_READY},

	{"a deadline is passed on", "a", "hi\r\n",
	 HELLO("DELIVERBY") BATCH(" BY=60;R", "") ACCEPTED, "ok 2.6.0", SMTP_CLIENT_READY,
	 .deadline = {MAIL_DEADLINE_RETURN}, .deadline_left = 60, .is_timed = true},
	{"with its trace", "a", "hi\r\n", HELLO("DELIVERBY 60") BATCH(" BY=60;RT", "") ACCEPTED,
	 "ok 2.6.0", SMTP_CLIENT_READY, .deadline = {MAIL_DEADLINE_RETURN, .is_traced = true},
	 .deadline_left = 60, .is_timed = true},
	{"a server that needs longer", "a", "hi\r\n", HELLO("DELIVERBY 61"), "fail 5.4.7",
	 SMTP_CLIENT_CLOSED, .deadline = {MAIL_DEADLINE_RETURN}, .deadline_left = 60,
	 .is_unserved = true},
	{"which is no matter where only the delay is reported", "a", "hi\r\n",
	 HELLO("DELIVERBY 61") BATCH(" BY=60;N", "") ACCEPTED, "ok 2.6.0", SMTP_CLIENT_READY,
	 .deadline = {MAIL_DEADLINE_NOTIFY}, .deadline_left = 60, .is_timed = true},
	{"a deadline that has passed", "a", "hi\r\n",
	 HELLO("DELIVERBY") BATCH(" BY=-5;NT", "") ACCEPTED, "ok 2.6.0", SMTP_CLIENT_READY,
	 .deadline = {MAIL_DEADLINE_NOTIFY, .is_traced = true, .is_told = true},
	 .deadline_left = -5, .is_timed = true},
	{"after which nothing is sent", "a", "hi\r\n", HELLO("DELIVERBY"), "fail 5.4.7",
	 SMTP_CLIENT_CLOSED, .deadline = {MAIL_DEADLINE_RETURN}, .is_unserved = true},
	{"who does not know of deadlines gets no such message", "a", "hi\r\n", HELLO("DSN"),
	 "fail 5.4.7", SMTP_CLIENT_CLOSED, .deadline = {MAIL_DEADLINE_RETURN}, .deadline_left = 60,
	 .is_unserved = true},
	{"but one whose delay is reported", "a", "hi\r\n",
	 HELLO("SIZE") BATCH(" SIZE=4", "") ACCEPTED, "ok 2.6.0", SMTP_CLIENT_READY,
	 .deadline = {MAIL_DEADLINE_NOTIFY}, .deadline_left = 60},
	{"a server for mailboxes delivers at once", "a", "hi\r\n",
	 "S: 220 mx\nC: LHLO us.example\nS: 250-mx\nS: 250 PIPELINING\n" BATCH("", "") ACCEPTED,
	 "ok 2.6.0", SMTP_CLIENT_READY, .is_lmtp = true, .deadline = {MAIL_DEADLINE_RETURN},
	 .deadline_left = 60},
	{"unless it is too late", "a", "hi\r\n",
	 "S: 220 mx\nC: LHLO us.example\nS: 250-mx\nS: 250 PIPELINING\n", "fail 5.4.7",
	 SMTP_CLIENT_CLOSED, .is_lmtp = true, .deadline = {MAIL_DEADLINE_RETURN},
	 .is_unserved = true},

	{"SMTPUTF8 is said where it was asked for", "a", "hi\r\n",
	 HELLO_BOTH BATCH(" SMTPUTF8", " ORCPT=utf-8;" E_ACUTE "@o.example") ACCEPTED, "ok 2.6.0",
	 SMTP_CLIENT_READY, .is_utf8 = true, .original = "utf-8;" E_ACUTE "@o.example",
	 .is_passed_on = true},
	{"it was asked for, and is not needed", "a", "hi\r\n",
	 HELLO("DSN") BATCH("", " ORCPT=utf-8;\\x{E9}x\\x{1F600}@o.example") ACCEPTED, "ok 2.6.0",
	 SMTP_CLIENT_READY, .is_utf8 = true,
	 .original = "utf-8;" E_ACUTE "x\xf0\x9f\x98\x80@o.example", .is_passed_on = true},
	{"an address needs it", "A", "hi\r\n",
	 HELLO("SMTPUTF8") "C: MAIL FROM:<s@s.example> SMTPUTF8\nC: RCPT TO:<" E_ACUTE
			   "A@d.example>\nC: DATA\n" ACCEPTED,
	 "ok 2.6.0", SMTP_CLIENT_READY},
	{"the sender needs it", "a", "hi\r\n",
	 HELLO("SMTPUTF8") "C: MAIL FROM:<" E_ACUTE "@s.example> SMTPUTF8\n"
			   "C: RCPT TO:<a@d.example>\nC: DATA\n" ACCEPTED,
	 "ok 2.6.0", SMTP_CLIENT_READY, .sender = E_ACUTE "@s.example"},
	{"the header is encoded", "a", "hi\r\n",
	 HELLO("8BITMIME") "F: \nC: MAIL FROM:<s@s.example>\nC: RCPT TO:<a@d.example>\nC: "
			   "DATA\n" ACCEPTED,
	 "ok 2.6.0", SMTP_CLIENT_READY, .is_utf8 = true, .needs_utf8 = true},
	{"the header cannot be encoded", "ab", "hi\r\n", HELLO("8BITMIME") "R: ",
	 "fail 5.6.3 fail 5.6.3", SMTP_CLIENT_READY, .is_utf8 = true, .needs_utf8 = true},
	{"the header goes as it is", "a", "hi\r\n",
	 HELLO("SMTPUTF8") BATCH(" SMTPUTF8", "") ACCEPTED, "ok 2.6.0", SMTP_CLIENT_READY,
	 .is_utf8 = true, .needs_utf8 = true},
	{"the sender cannot go", "a", "hi\r\n", HELLO("DSN"), "fail 5.6.7", SMTP_CLIENT_READY,
	 .sender = E_ACUTE "@s.example"},
	{"one recipient cannot go, others can", "Aa", "hi\r\n",
	 HELLO("HELP") BATCH("", "") ACCEPTED, "fail 5.6.7 ok 2.6.0", SMTP_CLIENT_READY,
	 .is_utf8 = true},
	{"a domain in U-labels goes in A-labels to who cannot take it", "*A", "hi\r\n",
	 HELLO("HELP") "C: MAIL FROM:<s@xn--b-eha.example>\nC: RCPT TO:<u@xn--b-eha.example>\n"
		       "C: DATA\n" ACCEPTED,
	 "ok 2.6.0 fail 5.6.7", SMTP_CLIENT_READY, .sender = "s@b\xc3\xbc.example"},
	{"and as it is to who can", "*", "hi\r\n",
	 HELLO("SMTPUTF8") "C: MAIL FROM:<s@s.example> SMTPUTF8\n"
			   "C: RCPT TO:<u@b\xc3\xbc.example>\nC: DATA\n" ACCEPTED,
	 "ok 2.6.0", SMTP_CLIENT_READY},
	{"a domain that has no A-labels", "a", "hi\r\n", HELLO("HELP"), "fail 5.6.7",
	 SMTP_CLIENT_READY, .sender = "s@\xe2\x82\xac.example"},
	{"an address that is no UTF-8", "a", "hi\r\n", HELLO("SMTPUTF8"), "fail 5.1.7",
	 SMTP_CLIENT_READY, .sender = "\xc3@s.example"},
};

static void notices_and_utf8_are_passed_on(void **state)
{
	(void)state;
	smtp_client_scripts_run(scripts, COUNT_OF(scripts));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(notices_and_utf8_are_passed_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
