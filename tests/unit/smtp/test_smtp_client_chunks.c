// SPDX-License-Identifier: ISC
/* BDAT by the client (RFC 3030), and the server's LIMITS (RFC 9422). */
#include "smtp_client_script.h"
#include "test.h"

#define GREETING     "S: 220 mx\nC: EHLO us.example\n"
#define CHUNKS       GREETING "S: 250-mx|250-PIPELINING|250 CHUNKING\n"
#define MAIL         "C: MAIL FROM:<s@s.example>\n"
#define TO_A         "C: RCPT TO:<a@d.example>\n"
#define TO_B         "C: RCPT TO:<b@d.example>\n"
#define BEGUN        CHUNKS MAIL TO_A "S: 250 ok|250 ok\nD\n"
#define BINARY       GREETING "S: 250-mx|250-PIPELINING|250-CHUNKING|250 BINARYMIME\n"
#define MAIL_BINARY  "C: MAIL FROM:<s@s.example> BODY=BINARYMIME\n"
#define BINARY_BEGUN BINARY MAIL_BINARY TO_A "S: 250 ok|250 ok\nD\n"
#define WHOLE        .gives_whole = true

static const struct smtp_client_script scripts[] = {
	{"one chunk", "a", "hi\r\n", BEGUN "C: BDAT 4 LAST\nC: hi\nS: 250 2.6.0 queued\n",
	 "ok 2.6.0", SMTP_CLIENT_READY, WHOLE},
	{"dots are no matter", "a", ".\r\n..x\r\n",
	 BEGUN "C: BDAT 8 LAST\nC: .\nC: ..x\nS: 250 2.6.0 queued\n", "ok 2.6.0", SMTP_CLIENT_READY,
	 WHOLE},
	{"a last line without an end gets one", "a", "hi",
	 BEGUN "C: BDAT 4 LAST\nC: hi\nS: 250 2.6.0 queued\n", "ok 2.6.0", SMTP_CLIENT_READY,
	 WHOLE},
	{"pieces are sent before their replies", "a", "one\r\n^two\r\n",
	 BEGUN "C: BDAT 5\nC: one\nC: BDAT 5 LAST\nC: two\nS: 250 5 bytes\nS: 250 2.6.0 queued\n",
	 "ok 2.6.0", SMTP_CLIENT_READY, WHOLE},
	{"both replies at once", "a", "one\r\n^two\r\n",
	 BEGUN "C: BDAT 5\nC: one\nC: BDAT 5 LAST\nC: two\nS: 250 5 bytes|250 2.6.0 queued\n",
	 "ok 2.6.0", SMTP_CLIENT_READY, WHOLE},
	{"refused in the middle", "a", "one\r\n^two\r\n",
	 BEGUN "C: BDAT 5\nC: one\nC: BDAT 5 LAST\nC: two\nS: 552 5.2.2 full\n", "fail 5.2.2",
	 SMTP_CLIENT_CLOSED, WHOLE},
	{"refused at the end, then reset", "a", "hi\r\n",
	 BEGUN
	 "C: BDAT 4 LAST\nC: hi\nS: 451 4.3.0 no\nN\nC: RSET\n" MAIL TO_A
	 "S: 250 ok|250 ok|250 ok\nD\nC: BDAT 4 LAST\nC: hi\nS: 250 2.6.0 queued\nN\n" MAIL TO_A,
	 "", SMTP_CLIENT_WAITING, WHOLE},
	{"nobody is left", "a", "hi\r\n", CHUNKS MAIL TO_A "S: 250 ok|550 5.1.1 no\n", "fail 5.1.1",
	 SMTP_CLIENT_READY, WHOLE},
	{"some are left", "ab", "hi\r\n",
	 CHUNKS MAIL TO_A TO_B "S: 250 ok|550 5.1.1 no|250 ok\nD\nC: BDAT 4 LAST\nC: hi\n"
			       "S: 250 2.6.0 queued\n",
	 "fail 5.1.1 ok 2.6.0", SMTP_CLIENT_READY, WHOLE},
	{"the sender is refused", "a", "hi\r\n", CHUNKS MAIL TO_A "S: 550 5.7.1 no|503 no\n",
	 "fail 5.7.1", SMTP_CLIENT_READY, WHOLE},
	{"LMTP answers for each", "ab", "hi\r\n",
	 "S: 220 mx\nC: LHLO us.example\nS: 250-mx|250-PIPELINING|250 CHUNKING\n" MAIL TO_A TO_B
	 "S: 250 ok|250 ok|250 ok\nD\nC: BDAT 4 LAST\nC: hi\nS: 250 2.0.0 a\nS: 452 4.2.2 b\n",
	 "ok 2.0.0 wait 4.2.2", SMTP_CLIENT_READY, .is_lmtp = true, WHOLE},
	{"a bare LF is not sent to its end", "a", "one\r\n^tw\no\r\n",
	 CHUNKS MAIL TO_A "S: 250 ok|250 ok\nD\n", "fail 5.6.11", SMTP_CLIENT_CLOSED, WHOLE},
	{"lost before the end", "a", "one\r\n^two\r\n",
	 BEGUN "C: BDAT 5\nC: one\nC: BDAT 5 LAST\nC: two\nS: 250 5 bytes\nX\n", "wait 4.4.2",
	 SMTP_CLIENT_CLOSED, WHOLE, .again = "l"},
	{"a reply too many", "a", "hi\r\n",
	 BEGUN "C: BDAT 4 LAST\nC: hi\nS: 250 2.6.0 queued|250 what\n", "ok 2.6.0",
	 SMTP_CLIENT_CLOSED, WHOLE},
	{"not without PIPELINING", "a", "hi\r\n",
	 GREETING "S: 250-mx|250 CHUNKING\n" MAIL "S: 250 ok\n" TO_A "S: 250 ok\nC: DATA\n", "",
	 SMTP_CLIENT_WAITING, WHOLE},
	{"not where it is not wanted", "a", "hi\r\n", CHUNKS MAIL TO_A "C: DATA\n", "",
	 SMTP_CLIENT_WAITING, WHOLE, .avoids_chunks = true},

	{"a binary message is sent as it is", "a", ".\r\n.\n\r",
	 BINARY_BEGUN "C: BDAT 6 LAST\nB: .\\r\\n.\\n\\r\nS: 250 2.6.0 queued\n", "ok 2.6.0",
	 SMTP_CLIENT_READY, WHOLE, .is_binary = true},
	{"in pieces that are not looked into", "a", "x\r^\ny\r",
	 BINARY_BEGUN
	 "C: BDAT 2\nB: x\\r\nC: BDAT 3 LAST\nB: \\ny\\r\nS: 250 ok|250 2.6.0 queued\n",
	 "ok 2.6.0", SMTP_CLIENT_READY, WHOLE, .is_binary = true},
	{"whatever its size", "a", "hi\r\n", BINARY MAIL_BINARY TO_A, "", SMTP_CLIENT_WAITING,
	 WHOLE, .is_binary = true, .size = SMTP_CLIENT_CHUNKED_MAX + 1},
	{"and its bytes", "a", "\xff\n",
	 BINARY_BEGUN "C: BDAT 2 LAST\nB: \xff\\n\nS: 250 2.6.0 queued\n", "ok 2.6.0",
	 SMTP_CLIENT_READY, WHOLE, .is_binary = true, .is_8bit = true},
	{"not to who cannot take it", "ab", "hi\r\n",
	 GREETING "S: 250-mx|250-PIPELINING|250-CHUNKING|250 8BITMIME\nR\n",
	 "fail 5.6.3 fail 5.6.3", SMTP_CLIENT_READY, WHOLE, .is_binary = true},
	{"nor without BDAT", "a", "hi\r\n", GREETING "S: 250-mx|250-PIPELINING|250 BINARYMIME\nR\n",
	 "fail 5.6.3", SMTP_CLIENT_READY, WHOLE, .is_binary = true},
	{"nor without PIPELINING", "a", "hi\r\n",
	 GREETING "S: 250-mx|250-CHUNKING|250 BINARYMIME\nR\n", "fail 5.6.3", SMTP_CLIENT_READY,
	 WHOLE, .is_binary = true},
	{"nor where BDAT is not wanted", "a", "hi\r\n", BINARY "R\n", "fail 5.6.3",
	 SMTP_CLIENT_READY, WHOLE, .is_binary = true, .avoids_chunks = true},
	{"who gets it as lines of 7 bits", "a", "hi\r\n",
	 GREETING "S: 250-mx|250-PIPELINING|250 8BITMIME\nF\n" MAIL TO_A
		  "C: DATA\nS: 250 ok|250 ok|354 go\nD\nC: hi\nC: .\nS: 250 2.6.0 queued\n",
	 "ok 2.6.0", SMTP_CLIENT_READY, WHOLE, .is_binary = true, .is_8bit = true},
	{"and never as it is", "a", ".\r\n\n",
	 GREETING "S: 250-mx|250-PIPELINING|250-CHUNKING|250 8BITMIME\nF\n" MAIL TO_A
		  "S: 250 ok|250 ok\nD\n",
	 "fail 5.6.11", SMTP_CLIENT_CLOSED, WHOLE, .is_binary = true},
	{"any other message is one of lines there, too", "a", "hi\n",
	 BINARY MAIL TO_A "S: 250 ok|250 ok\nD\n", "fail 5.6.11", SMTP_CLIENT_CLOSED, WHOLE},

	{"as large as a message in chunks may be", "a", "hi\r\n",
	 BEGUN "C: BDAT 4 LAST\nC: hi\nS: 250 2.6.0 queued\n", "ok 2.6.0", SMTP_CLIENT_READY, WHOLE,
	 .size = SMTP_CLIENT_CHUNKED_MAX},
	{"a large message goes by DATA", "a", "hi\r\n", CHUNKS MAIL TO_A "C: DATA\n", "",
	 SMTP_CLIENT_WAITING, WHOLE, .size = SMTP_CLIENT_CHUNKED_MAX + 1},
	{"RCPTMAX", "abc", "hi\r\n",
	 GREETING "S: 250-mx|250-PIPELINING|250 LIMITS X=1 RCPTMAX=2 MAILMAX=x\n" MAIL TO_A TO_B
		  "C: DATA\nS: 250 ok|250 ok|250 ok|354 go\nD\nC: hi\nC: .\nS: 250 2.6.0 queued\n",
	 "ok 2.6.0 ok 2.6.0 wait 4.5.3", SMTP_CLIENT_READY, WHOLE, .again = "llh"},
	{"RCPTMAX of nothing", "ab", "hi\r\n",
	 GREETING "S: 250-mx|250-PIPELINING|250 LIMITS RCPTMAX=0 RCPTMAX\n" MAIL TO_A TO_B
		  "C: DATA\n",
	 "", SMTP_CLIENT_WAITING, WHOLE},
	{"MAILMAX", "a", "hi\r\n",
	 GREETING "S: 250-mx|250-PIPELINING|250 limits mailmax=1\n" MAIL TO_A
		  "C: DATA\nS: 250 ok|250 ok|354 go\nD\nC: hi\nC: .\nS: 250 2.6.0 queued\n",
	 "ok 2.6.0", SMTP_CLIENT_READY, WHOLE, .is_used_up = true},
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
