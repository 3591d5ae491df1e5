// SPDX-License-Identifier: ISC
#include "base/buffer.h"
#include "smtp/client/stuffing.h"
#include "smtp_client_script.h"
#include "test.h"

#define HELLO_PIPELINING                                                                       \
	"S: 220 mx\nC: EHLO us.example\nS: 250-mx\nS: 250-SIZE 1000\nS: 250-8BITMIME\nS: 250 " \
	"PIPELINING\n"
#define HELLO_PLAIN "S: 220 mx\nC: EHLO us.example\nS: 250 mx\n"
#define HELLO_SIZE  "S: 220 mx\nC: EHLO us.example\nS: 250-mx\nS: 250-PIPELINING\nS: 250 SIZE 1000\n"
#define BATCH_A     "C: MAIL FROM:<s@s.example> SIZE=4\nC: RCPT TO:<a@d.example>\nC: DATA\n"
#define BATCH_AB                                                                                  \
	"C: MAIL FROM:<s@s.example> SIZE=4\nC: RCPT TO:<a@d.example>\nC: RCPT TO:<b@d.example>\n" \
	"C: DATA\n"
#define SENT_A HELLO_PIPELINING BATCH_A "S: 250 ok\nS: 250 ok\nS: 354 go\nD\nC: hi\nC: .\n"

static const struct smtp_client_script scenarios[] = {
	{"pipelined", "a", "hi\r\n", SENT_A "S: 250 2.6.0 queued\n", "ok 2.6.0", SMTP_CLIENT_READY},
	{"one command at a time", "a", "hi\r\n",
	 HELLO_PLAIN "C: MAIL FROM:<s@s.example>\nS: 250 ok\nC: RCPT TO:<a@d.example>\nS: 250 ok\n"
		     "C: DATA\nS: 354 go\nD\nC: hi\nC: .\nS: 250 queued\n",
	 "ok 2.0.0", SMTP_CLIENT_READY},
	{"HELO after a refused EHLO", "a", "hi\r\n",
	 "S: 220 mx\nC: EHLO us.example\nS: 502 what\nC: HELO us.example\nS: 250 mx\n"
	 "C: MAIL FROM:<s@s.example>\nS: 250 ok\n",
	 "", SMTP_CLIENT_WAITING},
	{"dots and a missing line end", "a", ".\r\n..\r\na.\r\n.b",
	 HELLO_PLAIN "C: MAIL FROM:<s@s.example>\nS: 250 ok\nC: RCPT TO:<a@d.example>\nS: 250 ok\n"
		     "C: DATA\nS: 354 go\nD\nC: ..\nC: ...\nC: a.\nC: ..b\nC: .\nS: 250 queued\n",
	 "ok 2.0.0", SMTP_CLIENT_READY},
	{"8-bit is announced", "a", "\xc3\xa9\r\n",
	 HELLO_PIPELINING "C: MAIL FROM:<s@s.example> SIZE=4 BODY=8BITMIME\n"
			  "C: RCPT TO:<a@d.example>\nC: DATA\n",
	 "", SMTP_CLIENT_WAITING, .is_8bit = true},
	{"8-bit has another form where it is not offered", "a", "\xc3\xa9\r\n",
	 HELLO_SIZE "F\nC: MAIL FROM:<s@s.example> SIZE=7\nC: RCPT TO:<a@d.example>\nC: DATA\n", "",
	 SMTP_CLIENT_WAITING, .is_8bit = true},
	{"it has one after HELO, and in the next transaction", "a", "hi\r\n",
	 "S: 220 mx\nC: EHLO us.example\nS: 502 what\nC: HELO us.example\nS: 250 mx\nF\n"
	 "C: MAIL FROM:<s@s.example>\nS: 550 no\nN\nF\nC: MAIL FROM:<s@s.example>\n",
	 "", SMTP_CLIENT_WAITING, .is_8bit = true},
	{"its form is too big for the server", "a", "\xc3\xa9\r\n",
	 "S: 220 mx\nC: EHLO us.example\nS: 250-mx\nS: 250 SIZE 6\nF\n", "fail 5.3.4",
	 SMTP_CLIENT_READY, .is_8bit = true},
	{"it has no form", "ab", "\xc3\xa9\r\n", HELLO_SIZE "R\n", "fail 5.6.3 fail 5.6.3",
	 SMTP_CLIENT_READY, .is_8bit = true, .again = "ll"},
	{"lost while the form is sought", "a", "\xc3\xa9\r\n", HELLO_SIZE "X\n", "wait 4.4.2",
	 SMTP_CLIENT_CLOSED, .is_8bit = true, .is_unserved = true, .again = "e"},
	{"a reply while the form is sought", "a", "\xc3\xa9\r\n", HELLO_SIZE "S: 250 ok\n",
	 "wait 4.5.0", SMTP_CLIENT_CLOSED, .is_8bit = true, .is_unserved = true, .again = "e"},
	{"a refusal while the form is sought", "a", "\xc3\xa9\r\n", HELLO_SIZE "S: 450 no\n",
	 "wait 4.5.0", SMTP_CLIENT_CLOSED, .is_8bit = true, .is_unserved = true, .again = "e"},
	{"421 while the form is sought", "a", "\xc3\xa9\r\n", HELLO_SIZE "S: 421 4.3.2 bye\n",
	 "wait 4.3.2", SMTP_CLIENT_CLOSED, .is_8bit = true, .is_unserved = true, .again = "e"},
	{"one recipient refused", "ab", "hi\r\n",
	 HELLO_PIPELINING BATCH_AB
	 "S: 250 ok\nS: 550 5.7.1 no\nS: 250 ok\nS: 354 go\nD\nC: hi\nC: .\n"
	 "S: 250 queued\n",
	 "fail 5.7.1 ok 2.0.0", SMTP_CLIENT_READY},
	{"all refused, DATA too; the next one resets", "ab", "hi\r\n",
	 HELLO_PIPELINING BATCH_AB
	 "S: 250 ok\nS: 550 no\nS: 450 no\nS: 503 no\nN\nC: RSET\n" BATCH_AB
	 "S: 250 ok\nS: 250 ok\nS: 553 no\nS: 452 no\nS: 554 5.5.0 none\n",
	 "fail 5.1.3 wait 4.3.1", SMTP_CLIENT_READY},
	{"all refused but DATA accepted", "ab", "hi\r\n",
	 HELLO_PIPELINING BATCH_AB
	 "S: 250 ok\nS: 550 no\nS: 450 no\nS: 354 go\nC: .\nS: 250 queued\nN\n" BATCH_AB,
	 "", SMTP_CLIENT_WAITING},
	{"MAIL refused", "ab", "hi\r\n",
	 HELLO_PIPELINING BATCH_AB "S: 552 5.3.4 big\nS: 503 what\nS: 503 what\nS: 503 what\n",
	 "fail 5.3.4 fail 5.3.4", SMTP_CLIENT_READY},
	{"MAIL refused, the rest accepted", "ab", "hi\r\n",
	 HELLO_PIPELINING BATCH_AB
	 "S: 451 later\nS: 250 ok\nS: 250 ok\nS: 354 go\nC: .\nS: 250 ok\n",
	 "wait 4.3.0 wait 4.3.0", SMTP_CLIENT_READY},
	{"DATA refused", "ab", "hi\r\n",
	 HELLO_PIPELINING BATCH_AB "S: 250 ok\nS: 250 ok\nS: 550 no\nS: 451 4.7.1 later\n",
	 "wait 4.7.1 fail 5.1.1", SMTP_CLIENT_READY},
	{"final reply refuses", "a", "hi\r\n", SENT_A "S: 554 5.7.1 spam\n", "fail 5.7.1",
	 SMTP_CLIENT_READY},
	{"a status of another class is not believed", "a", "hi\r\n", SENT_A "S: 554 2.0.0 haha\n",
	 "fail 5.0.0", SMTP_CLIENT_READY},
	{"550 without a status speaks of a mailbox only after RCPT", "a", "hi\r\n",
	 SENT_A "S: 550 spam\n", "fail 5.0.0", SMTP_CLIENT_READY},
	{"553 to MAIL does not speak of the recipient", "a", "hi\r\n",
	 HELLO_PIPELINING BATCH_A "S: 553 who\nS: 503 what\nS: 503 what\n", "fail 5.0.0",
	 SMTP_CLIENT_READY},
	{"450 to DATA does not speak of a mailbox", "a", "hi\r\n",
	 HELLO_PIPELINING BATCH_A "S: 250 ok\nS: 250 ok\nS: 450 later\n", "wait 4.0.0",
	 SMTP_CLIENT_READY},
	{"552 without a status is temporary", "a", "hi\r\n",
	 HELLO_PIPELINING BATCH_A "S: 250 ok\nS: 552 many\nS: 503 none\n", "wait 4.5.3",
	 SMTP_CLIENT_READY},
	{"a server that does not speak LMTP is an error of the configuration", "a", "hi\r\n",
	 "S: 220 mx\nC: LHLO us.example\nS: 500 5.5.1 what\n", "wait 4.5.1", SMTP_CLIENT_CLOSED,
	 .is_lmtp = true, .is_unserved = true, .again = "e"},
	{"so is a local server that takes no mail", "a", "hi\r\n", "S: 521 none\n", "wait 4.3.2",
	 SMTP_CLIENT_CLOSED, .is_lmtp = true, .is_unserved = true, .again = "e"},
	{"one recipient deferred, one too many, one for good", "abcd", "hi\r\n",
	 HELLO_PIPELINING
	 "C: MAIL FROM:<s@s.example> SIZE=4\nC: RCPT TO:<a@d.example>\nC: RCPT TO:<b@d.example>\n"
	 "C: RCPT TO:<c@d.example>\nC: RCPT TO:<d@d.example>\nC: DATA\n"
	 "S: 250 ok\nS: 450 grey\nS: 250 ok\nS: 452 many\nS: 550 no\nS: 354 go\nD\nC: hi\nC: .\n"
	 "S: 250 queued\n",
	 "wait 4.2.0 ok 2.0.0 wait 4.5.3 fail 5.1.1", SMTP_CLIENT_READY, .again = "elhl"},
	{"a full mailbox is not too many", "ab", "hi\r\n",
	 HELLO_PIPELINING BATCH_AB
	 "S: 250 ok\nS: 250 ok\nS: 452 4.2.2 full\nS: 354 go\nD\nC: hi\nC: .\nS: 250 ok\n",
	 "ok 2.0.0 wait 4.2.2", SMTP_CLIENT_READY, .again = "le"},
	{"too many is said with its status", "ab", "hi\r\n",
	 HELLO_PIPELINING BATCH_AB
	 "S: 250 ok\nS: 250 ok\nS: 451 4.5.3 many\nS: 354 go\nD\nC: hi\nC: .\nS: 250 ok\n",
	 "ok 2.0.0 wait 4.5.3", SMTP_CLIENT_READY, .again = "lh"},
	{"too many when none was taken is no reason to ask there again", "ab", "hi\r\n",
	 HELLO_PIPELINING BATCH_AB "S: 250 ok\nS: 452 4.5.3 many\nS: 452 4.5.3 many\nS: 503 none\n",
	 "wait 4.5.3 wait 4.5.3", SMTP_CLIENT_READY, .again = "ee"},
	{"a message deferred after its data was not taken", "a", "hi\r\n",
	 SENT_A "S: 451 4.3.0 later\n", "wait 4.3.0", SMTP_CLIENT_READY, .again = "e"},
	{"the end of the service instead of a verdict says that it was not taken", "a", "hi\r\n",
	 SENT_A "S: 421 4.3.2 bye\n", "wait 4.3.2", SMTP_CLIENT_CLOSED, .again = "e"},
	{"a message without a verdict may have been taken", "a", "hi\r\n", SENT_A "X\n",
	 "wait 4.4.2", SMTP_CLIENT_CLOSED, .again = "l"},
	{"so it may when the verdict takes too long", "a", "hi\r\n", SENT_A "T\n", "wait 4.4.2",
	 SMTP_CLIENT_CLOSED, .again = "l"},
	{"so it may when the verdict is none", "a", "hi\r\n", SENT_A "S: 354 go\n", "wait 4.5.0",
	 SMTP_CLIENT_CLOSED, .again = "l"},
	{"a connection lost before the data was sent took nothing", "ab", "hi\r\n",
	 HELLO_PIPELINING BATCH_AB "S: 250 ok\nS: 550 no\nX\n", "fail 5.1.1 wait 4.4.2",
	 SMTP_CLIENT_CLOSED, .again = "le"},
	{"lines of several replies", "a", "hi\r\n", SENT_A "S: 250-2.0.0 a\nS: 250-b\nS: 250 c\n",
	 "ok 2.0.0", SMTP_CLIENT_READY},
	{"too big for the server", "a", "hi\r\n", HELLO_PIPELINING, "fail 5.3.4", SMTP_CLIENT_READY,
	 .size = 1001},
	{"greeting refuses for now", "a", "hi\r\n", "S: 554 go away\n", "wait 4.0.0",
	 SMTP_CLIENT_CLOSED, .is_unserved = true},
	{"greeting refuses for good", "a", "hi\r\n", "S: 521 no mail here\n", "fail 5.3.2",
	 SMTP_CLIENT_CLOSED, .is_unserved = true},
	{"421 anywhere", "ab", "hi\r\n",
	 HELLO_PIPELINING BATCH_AB "S: 250 ok\nS: 550 no\nS: 421 4.3.2 bye\n",
	 "fail 5.1.1 wait 4.3.2", SMTP_CLIENT_CLOSED},
	{"early refusal during the data", "a", "hi\r\n",
	 HELLO_PIPELINING BATCH_A "S: 250 ok\nS: 250 ok\nS: 354 go\nS: 552 5.3.4 big\n",
	 "fail 5.3.4", SMTP_CLIENT_CLOSED},
	{"early acceptance during the data", "a", "hi\r\n",
	 HELLO_PIPELINING BATCH_A "S: 250 ok\nS: 250 ok\nS: 354 go\nS: 250 ok\n", "wait 4.5.0",
	 SMTP_CLIENT_CLOSED},
	{"reply before its command", "a", "hi\r\n", "S: 220 mx\nS: 250 mx\n", "wait 4.5.0",
	 SMTP_CLIENT_CLOSED, .is_unserved = true},
	{"2yz to DATA", "a", "hi\r\n", HELLO_PIPELINING BATCH_A "S: 250 ok\nS: 250 ok\nS: 250 ok\n",
	 "wait 4.5.0", SMTP_CLIENT_CLOSED, .is_unserved = true},
	{"3yz to the message", "a", "hi\r\n", SENT_A "S: 354 more\n", "wait 4.5.0",
	 SMTP_CLIENT_CLOSED},
	{"no code", "a", "hi\r\n", "S: hello\n", "wait 4.5.0", SMTP_CLIENT_CLOSED,
	 .is_unserved = true},
	{"codes that differ", "a", "hi\r\n", "S: 220-mx\nS: 221 mx\n", "wait 4.5.0",
	 SMTP_CLIENT_CLOSED, .is_unserved = true},
	{"1yz", "a", "hi\r\n", "S: 120 soon\n", "wait 4.5.0", SMTP_CLIENT_CLOSED,
	 .is_unserved = true},
	{"connection lost before the last reply", "a", "hi\r\n", SENT_A "X\n", "wait 4.4.2",
	 SMTP_CLIENT_CLOSED},
	{"timeout", "a", "hi\r\n", HELLO_PIPELINING BATCH_A "T\n", "wait 4.4.2", SMTP_CLIENT_CLOSED,
	 .is_unserved = true},
	{"stale: lost", "a", "hi\r\n", SENT_A "S: 250 ok\nN\n" BATCH_A "X\n", "wait 4.4.2",
	 SMTP_CLIENT_CLOSED, .is_stale = true, .is_unserved = true},
	{"stale: 421", "a", "hi\r\n", SENT_A "S: 250 ok\nN\n" BATCH_A "S: 421 idle\n", "wait 4.3.2",
	 SMTP_CLIENT_CLOSED, .is_stale = true, .is_unserved = true},
	{"stale: RSET refused", "a", "hi\r\n",
	 HELLO_PIPELINING BATCH_A "S: 250 ok\nS: 550 no\nS: 503 no\nN\nC: RSET\n" BATCH_A
				  "S: 500 what\n",
	 "wait 4.5.0", SMTP_CLIENT_CLOSED, .is_stale = true, .is_unserved = true},
	{"stale: lost after RSET", "a", "hi\r\n",
	 HELLO_PIPELINING BATCH_A "S: 250 ok\nS: 550 no\nS: 503 no\nN\nC: RSET\n" BATCH_A
				  "S: 250 ok\nX\n",
	 "wait 4.4.2", SMTP_CLIENT_CLOSED, .is_stale = true, .is_unserved = true},
	{"not stale: something was answered", "a", "hi\r\n",
	 SENT_A "S: 250 ok\nN\n" BATCH_A "S: 451 no\nX\n", "wait 4.3.0", SMTP_CLIENT_CLOSED},
	{"lost before the recipients were answered for", "ab", "hi\r\n",
	 HELLO_PIPELINING BATCH_AB "S: 250 ok\nS: 250 ok\nX\n", "wait 4.4.2 wait 4.4.2",
	 SMTP_CLIENT_CLOSED, .is_unserved = true},
	{"lost after one was refused", "ab", "hi\r\n",
	 HELLO_PIPELINING BATCH_AB "S: 250 ok\nS: 550 no\nX\n", "fail 5.1.1 wait 4.4.2",
	 SMTP_CLIENT_CLOSED},
	{"421 to DATA", "a", "hi\r\n", HELLO_PIPELINING BATCH_A "S: 250 ok\nS: 250 ok\nS: 421 no\n",
	 "wait 4.3.2", SMTP_CLIENT_CLOSED, .is_unserved = true},
	{"lost during the message", "a", "hi\r\n",
	 HELLO_PIPELINING BATCH_A "S: 250 ok\nS: 250 ok\nS: 354 go\nX\n", "wait 4.4.2",
	 SMTP_CLIENT_CLOSED},
	{"bare LF", "a", "a\nb\r\n",
	 HELLO_PIPELINING "C: MAIL FROM:<s@s.example> SIZE=5\nC: RCPT TO:<a@d.example>\nC: DATA\n"
			  "S: 250 ok\nS: 250 ok\nS: 354 go\nD\n",
	 "fail 5.6.11", SMTP_CLIENT_CLOSED},
	{"CR at the end", "a", "ab\r",
	 HELLO_PIPELINING "C: MAIL FROM:<s@s.example> SIZE=3\nC: RCPT TO:<a@d.example>\nC: DATA\n"
			  "S: 250 ok\nS: 250 ok\nS: 354 go\nD\n",
	 "fail 5.6.11", SMTP_CLIENT_CLOSED},
	{"a second reply to the message", "a", "hi\r\n", SENT_A "S: 250 ok\nS: 250 ok\n",
	 "ok 2.0.0", SMTP_CLIENT_CLOSED},
	{"421 after the reply to the message", "ab", "hi\r\n",
	 HELLO_PIPELINING BATCH_AB
	 "S: 250 ok\nS: 250 ok\nS: 550 no\nS: 354 go\nD\nC: hi\nC: .\nS: 250 ok\nS: 421 bye\n",
	 "ok 2.0.0 fail 5.1.1", SMTP_CLIENT_CLOSED},
	{"lost after the reply to the message", "a", "hi\r\n", SENT_A "S: 250 ok\nX\n", "ok 2.0.0",
	 SMTP_CLIENT_CLOSED},
	{"QUIT", "a", "hi\r\n", SENT_A "S: 250 ok\nQ\nC: QUIT\n", "ok 2.0.0", SMTP_CLIENT_CLOSED},
	{"LMTP answers for each", "abc", "hi\r\n",
	 "S: 220 mx\nC: LHLO us.example\nS: 250-mx\nS: 250 PIPELINING\nC: MAIL FROM:<s@s.example>\n"
	 "C: RCPT TO:<a@d.example>\nC: RCPT TO:<b@d.example>\nC: RCPT TO:<c@d.example>\nC: DATA\n"
	 "S: 250 ok\nS: 250 ok\nS: 550 no\nS: 250 ok\nS: 354 go\nD\nC: hi\nC: .\n"
	 "S: 452 4.2.2 full\nS: 250 2.1.5 ok\n",
	 "wait 4.2.2 fail 5.1.1 ok 2.1.5", SMTP_CLIENT_READY, .is_lmtp = true},
};

static void scenarios_end_as_they_should(void **state)
{
	(void)state;
	smtp_client_scripts_run(scenarios, COUNT_OF(scenarios));
}

/* The plain way to say it: each line with its CRLF, a dot before a dot. */
static bool stuff_plainly(struct str data, struct buffer *out)
{
	bool is_start = true;

	for (size_t i = 0; i < data.length; i++) {
		char c = data.data[i];

		if (c == '\n' || (c == '\r' && (i + 1 == data.length || data.data[i + 1] != '\n')))
			return false;
		if (c == '.' && is_start)
			buffer_append_byte(out, '.');
		buffer_append_byte(out, c);
		is_start = c == '\r';
		if (is_start)
			buffer_append_byte(out, data.data[++i]);
	}
	buffer_append_string(out, is_start ? ".\r\n" : "\r\n.\r\n");
	return true;
}

static bool stuff_in_two(struct str data, size_t cut, struct buffer *out)
{
	struct smtp_stuffing stuffing = {0};

	return smtp_stuffing_append(&stuffing, str_slice(data.data, cut), out) &&
	       smtp_stuffing_append(&stuffing, str_skip(data, cut), out) &&
	       smtp_stuffing_end(&stuffing, out);
}

static void check_stuffing(struct str data)
{
	struct buffer expected = {0};
	bool expected_ok = stuff_plainly(data, &expected);

	for (size_t cut = 0; cut <= data.length; cut++) {
		struct buffer out = {0};
		bool ok = stuff_in_two(data, cut, &out);

		assert_int_equal(ok, expected_ok);
		if (ok)
			assert_true(str_equal(buffer_view(&out), buffer_view(&expected)));
		buffer_clear(&out);
	}
	buffer_clear(&expected);
}

/* A line of LENGTH bytes between others, given in two pieces, comes as lines of at most 998. */
static void check_breaks(size_t length, size_t cut)
{
	struct smtp_stuffing stuffing = {.breaks_lines = true};
	struct buffer in = {0};
	struct buffer expected = {0};
	struct buffer out = {0};

	buffer_append_string(&in, "x\r\n.");
	buffer_append_string(&expected, "x\r\n..");
	for (size_t i = 1; i < length; i++) {
		char c = (char)('a' + i % 26);

		if (i >= 998 && (i - 998) % 997 == 0)
			buffer_append_string(&expected, "\r\n ");
		buffer_append_byte(&in, c);
		buffer_append_byte(&expected, c);
	}
	buffer_append_string(&in, "\r\ny\r\n");
	buffer_append_string(&expected, "\r\ny\r\n");
	assert_true(smtp_stuffing_append(&stuffing, str_slice(in.memory, cut % in.length), &out));
	assert_true(
		smtp_stuffing_append(&stuffing, str_skip(buffer_view(&in), cut % in.length), &out));
	assert_true(str_equal(buffer_view(&out), buffer_view(&expected)));
	assert_int_equal(out.length, in.length + 1 + 3 * smtp_stuffing_breaks(length));
	smtp_stuffing_clear(&stuffing);
	buffer_clear(&in);
	buffer_clear(&expected);
	buffer_clear(&out);
}

static void long_lines_are_broken(void **state)
{
	(void)state;
	for (size_t length = 990; length < 5000; length++)
		check_breaks(length, 17 * length);
	for (size_t cut = 0; cut < 2010; cut++)
		for (size_t length = 1993; length < 1998; length++)
			check_breaks(length, cut);
}

/* A line of 4 KB is folded between words; a word that is too long is not broken amid a character.
 */
static void a_header_is_folded_between_words(void **state)
{
	struct smtp_stuffing stuffing = {.breaks_lines = true};
	struct buffer in = {0};
	struct buffer out = {0};
	struct str rest;
	struct str line;
	size_t lines = 0;

	(void)state;
	buffer_append_string(&in, "Subject: ");
	while (in.length < 4096)
		buffer_append_string(&in, "K\xc3\xb6ln ");
	buffer_append_string(&in, "\r\nX: ");
	for (int i = 0; i < 600; i++)
		buffer_append_string(&in, "\xc3\xb6");
	buffer_append_string(&in, "\r\n\r\n");
	for (size_t i = 0; i < in.length; i += 7)
		assert_true(smtp_stuffing_append(
			&stuffing,
			str_slice(buffer_data(&in) + i, in.length - i < 7 ? in.length - i : 7),
			&out));
	assert_true(smtp_stuffing_end(&stuffing, &out));
	rest = buffer_view(&out);
	while (str_split(&rest, '\n', &line) && line.length > 1) {
		assert_true(line.length <= 999);
		assert_true(lines == 0 || lines == 5 || line.data[0] == ' ');
		assert_true((unsigned char)line.data[1] < 0x80 ||
			    (unsigned char)line.data[1] >= 0xc0);
		if (lines > 0 && lines < 4)
			assert_true(str_starts_with(line, STR(" K\xc3\xb6ln ")) &&
				    line.data[line.length - 2] == 'n');
		lines++;
	}
	assert_int_equal(lines, 7);
	smtp_stuffing_clear(&stuffing);
	buffer_clear(&in);
	buffer_clear(&out);
}

/* All 3,906 strings of up to five bytes of an alphabet of five. */
static void every_short_message_is_stuffed_or_refused(void **state)
{
	static const char alphabet[] = {'\r', '\n', '.', '\0', 'a'};

	(void)state;
	for (size_t length = 0, count = 1; length <= 5; length++, count *= 5)
		for (size_t n = 0; n < count; n++) {
			char text[5] = {0};

			for (size_t i = 0, rest = n; i < length; i++, rest /= 5)
				text[i] = alphabet[rest % 5];
			check_stuffing(str_slice(text, length));
		}
}

static void check_session_breaks_on(struct str input)
{
	struct smtp_client_settings settings = {.hostname = "us", .peer = "mx"};
	struct smtp_client *client = smtp_client_new(&settings);

	smtp_client_input(client, input);
	assert_int_equal(smtp_client_status(client), SMTP_CLIENT_CLOSED);
	smtp_client_free(client);
}

static void replies_are_bounded(void **state)
{
	struct buffer input = {0};

	(void)state;
	for (int i = 0; i < 5000; i++)
		buffer_append_byte(&input, '2');
	check_session_breaks_on(buffer_view(&input));
	buffer_reset(&input);
	for (int i = 0; i < 101; i++)
		buffer_append_string(&input, "220-a\r\n");
	check_session_breaks_on(buffer_view(&input));
	buffer_reset(&input);
	for (int i = 0; i < 20; i++)
		buffer_append_format(&input, "220-%01500d\r\n", 0);
	check_session_breaks_on(buffer_view(&input));
	buffer_clear(&input);
}

static void unsafe_addresses_stay_here(void **state)
{
	static const char *const addresses[] = {
		"", "a@b\r\nDATA", "a@b> X=<", "a b@c", "a\"b@c", "a@\x7f", "\xc3@b", "\"a\nb\"@c",
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(addresses); i++) {
		struct smtp_client_settings settings = {.hostname = "us", .peer = "mx"};
		struct smtp_client *client = smtp_client_new(&settings);
		struct smtp_client_recipient to = {.address = str_from(addresses[i])};
		struct smtp_client_message message = {.recipients = &to, .recipient_count = 1};

		smtp_client_input(client, STR("220 mx\r\n"));
		smtp_client_sent(client, smtp_client_output(client).length);
		smtp_client_input(client, STR("250 mx\r\n"));
		smtp_client_begin(client, &message);
		assert_int_equal(smtp_client_status(client), SMTP_CLIENT_READY);
		assert_string_equal(to.verdict->status, "5.1.3");
		assert_int_equal(smtp_client_output(client).length, 0);
		smtp_client_free(client);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scenarios_end_as_they_should),
		cmocka_unit_test(every_short_message_is_stuffed_or_refused),
		cmocka_unit_test(long_lines_are_broken),
		cmocka_unit_test(a_header_is_folded_between_words),
		cmocka_unit_test(replies_are_bounded),
		cmocka_unit_test(unsafe_addresses_stay_here),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
