// SPDX-License-Identifier: ISC
/* XFORWARD by the client: which client a message came from. */
#include "smtp_client_script.h"
#include "test.h"
#include <stdio.h>
#include <string.h>

#define GREETING "S: 220 mx\nC: EHLO us.example\n"
#define MAIL     "C: MAIL FROM:<s@s.example>\n"
#define TO_A     "C: RCPT TO:<a@d.example>\n"
#define DATA     "C: DATA\n"
#define SENT     "D\nC: hi\nC: .\nS: 250 2.6.0 queued\n"
#define ALL                                                                       \
	"C: XFORWARD ADDR=IPV6:2001:db8::7 PORT=53112 PROTO=ESMTP SOURCE=REMOTE " \
	"IDENT=457-63f1 NAME=mail.example HELO=mail+2Bx+3D\n"
#define SOME "C: XFORWARD ADDR=IPV6:2001:db8::7 NAME=mail.example\n"

static const struct smtp_client_origin origin = {
	.name = STR("mail.example"),
	.address = STR("2001:db8::7"),
	.port = STR("53112"),
	.protocol = STR("ESMTP"),
	.helo = STR("mail+x="),
	.ident = STR("457-63f1"),
};

/* Its owner has made it resolve. */
static const struct smtp_client_origin odd_origin = {.name = STR("-x.example"),
						     .address = STR("192.0.2.7")};

static char long_text[256]; /* four labels */

static const struct smtp_client_origin long_origin = {
	.name = {long_text, 255}, .address = STR("192.0.2.7"), .helo = {long_text, 255}};

static const struct smtp_client_script scripts[] = {
	{"all attributes, one after the other", "a", "hi\r\n",
	 GREETING "S: 250-mx|250 XFORWARD NAME ADDR PROTO HELO PORT IDENT SOURCE\n" ALL
		  "S: 250 ok\n" MAIL "S: 250 ok\n" TO_A "S: 250 ok\n" DATA "S: 354 go\n" SENT,
	 "ok 2.6.0", SMTP_CLIENT_READY, .origin = &origin},
	{"those that are offered, sent together", "a", "hi\r\n",
	 GREETING "S: 250-mx|250-PIPELINING|250 XFORWARD name addr OTHER\n" SOME MAIL TO_A DATA
		  "S: 250 ok|250 ok|250 ok|354 go\n" SENT,
	 "ok 2.6.0", SMTP_CLIENT_READY, .origin = &origin},
	{"again for the next message, and behind RSET", "a", "hi\r\n",
	 GREETING "S: 250-mx|250-PIPELINING|250 XFORWARD NAME ADDR\n" SOME MAIL TO_A DATA
		  "S: 250 ok|250 ok|550 5.1.1 no|503 no\nN\nC: RSET\n" SOME MAIL TO_A DATA,
	 "", SMTP_CLIENT_WAITING, .origin = &origin},
	{"refused: the message goes all the same", "a", "hi\r\n",
	 GREETING "S: 250-mx|250-PIPELINING|250 XFORWARD NAME ADDR\n" SOME MAIL TO_A DATA
		  "S: 501 5.5.4 bad|250 ok|250 ok|354 go\n" SENT,
	 "ok 2.6.0", SMTP_CLIENT_READY, .origin = &origin},
	{"refused for now", "a", "hi\r\n",
	 GREETING "S: 250-mx|250 XFORWARD NAME ADDR\n" SOME "S: 450 4.3.0 no\n" MAIL, "",
	 SMTP_CLIENT_WAITING, .origin = &origin},
	{"the end of the session", "a", "hi\r\n",
	 GREETING "S: 250-mx|250 XFORWARD NAME ADDR\n" SOME "S: 421 4.3.0 bye\n", "wait 4.3.0",
	 SMTP_CLIENT_CLOSED, .origin = &origin, .is_unserved = true},
	{"a name that is not one of a host, and none", "a", "hi\r\n",
	 GREETING "S: 250-mx|250 XFORWARD NAME ADDR HELO\n"
		  "C: XFORWARD ADDR=192.0.2.7 NAME=[UNAVAILABLE] HELO=[UNAVAILABLE]\n"
		  "S: 250 ok\n" MAIL,
	 "", SMTP_CLIENT_WAITING, .origin = &odd_origin},
	{"not offered", "a", "hi\r\n", GREETING "S: 250 mx\n" MAIL, "", SMTP_CLIENT_WAITING,
	 .origin = &origin},
	{"not wanted", "a", "hi\r\n", GREETING "S: 250-mx|250 XFORWARD NAME ADDR\n" MAIL, "",
	 SMTP_CLIENT_WAITING},
	{"nothing that is known", "a", "hi\r\n", GREETING "S: 250-mx|250 XFORWARD OTHER\n" MAIL, "",
	 SMTP_CLIENT_WAITING, .origin = &origin},
};

static void dialogues(void **state)
{
	(void)state;
	smtp_client_scripts_run(scripts, COUNT_OF(scripts));
}

/* What does not fit into a line of 512 bytes is unknown: a server that was told of another client
 * would take the last one's for this one's. */
static void lines_are_not_too_long(void **state)
{
	static struct smtp_client_script script = {
		"long names", "a", "hi\r\n", NULL, "", SMTP_CLIENT_WAITING, .origin = &long_origin};
	static char text[1024];

	(void)state;
	memset(long_text, 'x', sizeof long_text - 1);
	for (size_t i = 63; i < sizeof long_text - 1; i += 64)
		long_text[i] = '.';
	snprintf(text, sizeof text,
		 GREETING "S: 250-mx|250 XFORWARD NAME ADDR HELO\n"
			  "C: XFORWARD ADDR=192.0.2.7 NAME=%.255s HELO=[UNAVAILABLE]\n",
		 long_text);
	script.script = text;
	smtp_client_scripts_run(&script, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dialogues),
		cmocka_unit_test(lines_are_not_too_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
