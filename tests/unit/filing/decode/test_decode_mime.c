// SPDX-License-Identifier: ISC
#include "decode_text.h"
#include "filing/decode/mime.h"
#include "filing/decode/wire.h"
#include "test.h"
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const struct {
	const char *text;
	const char *expected;
} cases[] = {
	{"", "problem this is no message\n"},
	{"From: Lisa <lisa@Gmail.COM>\nTo: scuba@mail.test, \"Doug, D.\" <doug@mail.test>\n"
	 "Subject: Our next meeting\nDate: Thu, 1 Jan 1970 01:00:10 +0100\n\nHey guys!\n",
	 "subject Our next meeting\n"
	 "date 10\n"
	 "from <lisa@gmail.com> Lisa\n"
	 "to <scuba@mail.test> \n"
	 "to <doug@mail.test> Doug, D.\n"
	 "part 1 text/plain - - 11 -\n"},
	{"Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?= =?iso-8859-1?b?/A==?= x\n"
	 "From: =?koi8-r?B?8NLJ18XU?= <a@b.test>\nCc: undisclosed:;, team: x@b.test, y@b.test;\n"
	 "Content-Type: text/plain; charset=\"KOI8-R\"\nContent-Transfer-Encoding: "
	 "base64\n\naGk=\n",
	 "subject Gr\xc3\xbc\xc3\x9f"
	 "e\xc3\xbc x\n"
	 "from <a@b.test> \xd0\x9f\xd1\x80\xd0\xb8\xd0\xb2\xd0\xb5\xd1\x82\n"
	 "cc <x@b.test> \n"
	 "cc <y@b.test> \n"
	 "part 1 text/plain koi8-r - 2 -\n"},
	{"Subject: j\xc3\xb6rg \xff\x01 x\nFrom: J\xf6rg <j@b.test>\n\nx",
	 "subject j\xc3\xb6rg \xc3\xbf  x\n"
	 "from <j@b.test> J\xc3\xb6rg\n"
	 "part 1 text/plain - - 1 -\n"},
	{"Content-Type: multipart/mixed; boundary=x\n\nprologue\n--x\n\ntext\n--x\n"
	 "Content-Type: application/pdf; name*0*=utf-8''a%C3%A4; name*1*=%20b.pdf\n"
	 "Content-Disposition: ATTACHMENT; filename*=iso-8859-1''%e4.pdf\n"
	 "Content-Transfer-Encoding: base64\n\nAAECAw==\n--x\n"
	 "Content-Type: multipart/alternative; boundary=y\n\n--y\n\na\n--y\n"
	 "Content-Type: text/html\n\n<a>\n--y--\n--x\nContent-Type: message/rfc822\n\n"
	 "Subject: inner\nContent-Type: multipart/mixed; boundary=z\n\n--z\n\ninside\n--z--\n"
	 "--x\nContent-Type: message/rfc822\n\nSubject: plain\n\nbody\n--x--\n",
	 "part TEXT multipart/mixed - - 0 -\n"
	 "part 1 text/plain - - 4 -\n"
	 "part 2 application/pdf - attachment 4 \xc3\xa4.pdf\n"
	 "part 3 multipart/alternative - - 0 -\n"
	 "part 3.1 text/plain - - 1 -\n"
	 "part 3.2 text/html - - 3 -\n"
	 "part 4 message/rfc822 - - 83 -\n"
	 "part 4.TEXT multipart/mixed - - 0 -\n"
	 "part 4.1 text/plain - - 6 -\n"
	 "part 5 message/rfc822 - - 22 -\n"
	 "part 5.1 text/plain - - 4 -\n"},
	{"Content-Type: multipart/mixed; boundary=x\n\n--x\n\nno end\n",
	 "part TEXT multipart/mixed - - 0 -\n"
	 "part 1 text/plain - - 8 -\n"
	 "problem malformed boundaries of parts\n"},
	{"Content-Type: multipart/mixed\n\nno boundary\n",
	 "part TEXT multipart/mixed - - 0 -\n"
	 "problem malformed boundaries of parts\n"},
	{"Content-Type: garbage\n\nx\n", "part 1 application/octet-stream - - 3 -\n"
					 "problem malformed content type\n"},
	{"To: <a@\xc2\x85.b>, <c@d>\n\nx\n", "to <c@d> \n"
					     "part 1 text/plain - - 3 -\n"
					     "problem invalid addresses are ignored\n"},
	{"From: a@b, <<>>, \"unclosed <c@d>\nTo: no domain\n\nx\n",
	 "from <a@b> \n"
	 "from <c@d> unclosed\n"
	 "part 1 text/plain - - 3 -\n"
	 "problem invalid addresses are ignored\n"},
	{"Subject: =?no-such-charset?q?=ff?= =?utf-8?b?!!!?= =?utf-8?q?=ff?=\n\nx\n",
	 "subject \xc3\xbf?\n"
	 "part 1 text/plain - - 3 -\n"
	 "problem malformed encoded words, or an unknown charset, in the header\n"},
	{"Date: yesterday\n\nx\n", "part 1 text/plain - - 3 -\n"
				   "problem invalid date\n"},
	{"From x 1970\nSubject: mbox\n\nx\n", "subject mbox\n"
					      "part 1 text/plain - - 3 -\n"},
	{"Subject: a\r\n b\r\n\tc\r\n\r\nx\r\n", "subject a b c\n"
						 "part 1 text/plain - - 3 -\n"},
	{"garbage\nSubject: x\n\nx\n", "problem this is no message; malformed header\n"},
	{"Content-Type: text/plain; charset=\"a\x01\xff\"\nContent-Transfer-Encoding: bogus\n\nx\n",
	 "part 1 text/plain a \xc3\xbf - 3 -\n"
	 "problem a content that cannot be decoded\n"},
	{"Content-Transfer-Encoding: quoted-printable\n\n=41=\nB\n=zz\n",
	 "part 1 text/plain - - 9 -\n"},
	{"Content-Transfer-Encoding: base64\n\n!!!!\n", "part 1 text/plain - - 0 -\n"},
};

static void decode(struct str text, struct arena *arena, struct decode_message *message)
{
	struct ipc_content content = {.bytes = text, .file = -1, .size = text.length};

	decode_mime(&content, arena, message);
}

static void messages_are_decoded(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct arena *arena = arena_new();
		struct decode_message message;
		struct buffer out = {0};

		decode(str_from(cases[i].text), arena, &message);
		decode_text_append(&out, &message);
		buffer_append_byte(&out, '\0');
		assert_string_equal(buffer_data(&out), cases[i].expected);
		buffer_clear(&out);
		arena_free(arena);
	}
}

/* --- hostile ones --- */

struct hostile {
	struct arena *arena;
	struct buffer text;
	struct decode_message message;
};

static void hostile_decode(struct hostile *hostile)
{
	hostile->arena = arena_new();
	decode(buffer_view(&hostile->text), hostile->arena, &hostile->message);
}

static bool has_problem(const struct hostile *hostile, const char *words)
{
	struct str problem = hostile->message.problem;

	return memmem(problem.data, problem.length, words, strlen(words)) != NULL;
}

static void hostile_end(struct hostile *hostile)
{
	arena_free(hostile->arena);
	buffer_clear(&hostile->text);
}

/* What a reader of the wire demands is what the decoder gives. */
static void assert_is_within_limits(const struct hostile *hostile)
{
	struct buffer wire = {0};
	struct arena *arena = arena_new();
	struct decode_message again;

	decode_wire_append(&wire, &hostile->message);
	assert_true(wire.length <= DECODE_WIRE_MAX);
	assert_true(decode_wire_read(buffer_view(&wire), arena, &again));
	arena_free(arena);
	buffer_clear(&wire);
}

/* COUNT parts beside each other. */
static void decode_wide(struct hostile *hostile, size_t count)
{
	*hostile = (struct hostile){0};
	buffer_append_string(&hostile->text, "Content-Type: multipart/mixed; boundary=x\n\n");
	for (size_t i = 0; i < count; i++)
		buffer_append_string(&hostile->text, "--x\n\na\n");
	buffer_append_string(&hostile->text, "--x--\n");
	hostile_decode(hostile);
	assert_is_within_limits(hostile);
}

static void parts_are_limited(void **state)
{
	struct hostile hostile;

	(void)state;
	decode_wide(&hostile, DECODE_PART_MAX - 1);
	assert_int_equal(hostile.message.part_count, DECODE_PART_MAX);
	assert_int_equal(hostile.message.problem.length, 0);
	hostile_end(&hostile);

	decode_wide(&hostile, DECODE_PART_MAX);
	assert_int_equal(hostile.message.part_count, DECODE_PART_MAX);
	assert_true(has_problem(&hostile, "too many parts"));
	hostile_end(&hostile);

	decode_wide(&hostile, 100000);
	assert_int_equal(hostile.message.part_count, DECODE_PART_MAX);
	assert_true(has_problem(&hostile, "too many parts"));
	assert_true(has_problem(&hostile, "too many lines that may delimit"));
	hostile_end(&hostile);
}

/* COUNT multiparts within each other. */
static void decode_deep(struct hostile *hostile, size_t count)
{
	*hostile = (struct hostile){0};
	for (size_t i = 0; i < count; i++)
		buffer_append_format(&hostile->text,
				     "Content-Type: multipart/mixed; boundary=x%zu\n\n--x%zu\n", i,
				     i);
	buffer_append_string(&hostile->text, "\ninnermost\n");
	hostile_decode(hostile);
	assert_is_within_limits(hostile);
}

static void depth_is_limited(void **state)
{
	static const size_t counts[] = {DECODE_DEPTH_MAX - 1, DECODE_DEPTH_MAX, 1000, 20000};
	struct hostile hostile;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(counts); i++) {
		decode_deep(&hostile, counts[i]);
		assert_int_equal(hostile.message.part_count, DECODE_DEPTH_MAX);
		assert_int_equal(has_problem(&hostile, "too deep"), counts[i] >= DECODE_DEPTH_MAX);
		hostile_end(&hostile);
	}
}

/* A megabyte within messages within messages: each is digested, but not without end. */
static void messages_within_messages_are_limited(void **state)
{
	struct hostile hostile = {0};

	(void)state;
	for (size_t i = 0; i < 40; i++)
		buffer_append_string(&hostile.text, "Content-Type: message/rfc822\n\n");
	buffer_append_string(&hostile.text, "Subject: innermost\n\n");
	for (size_t i = 0; i < 20000; i++)
		buffer_append_string(&hostile.text, "0123456789012345678901234567890123456789\n");
	hostile_decode(&hostile);
	assert_int_equal(hostile.message.part_count, 41);
	assert_true(has_problem(&hostile, "nested so deeply"));
	assert_int_not_equal(hostile.message.parts[0].size, 0);
	assert_is_within_limits(&hostile);
	hostile_end(&hostile);
}

static void participants_are_limited(void **state)
{
	static const size_t counts[] = {DECODE_PARTICIPANT_MAX, DECODE_PARTICIPANT_MAX + 1, 30000};
	struct hostile hostile;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(counts); i++) {
		hostile = (struct hostile){0};
		buffer_append_string(&hostile.text, "To: a0@b.test");
		for (size_t j = 1; j < counts[i]; j++)
			buffer_append_format(&hostile.text, ",\n a%zu@b.test", j);
		buffer_append_string(&hostile.text, "\n\nx\n");
		hostile_decode(&hostile);
		assert_int_equal(hostile.message.participant_count, DECODE_PARTICIPANT_MAX);
		assert_int_equal(has_problem(&hostile, "too many addresses"), i > 0);
		assert_is_within_limits(&hostile);
		hostile_end(&hostile);
	}
}

/* Fields of nearly what they may have: what is kept is cut at a character. */
static void long_texts_are_cut(void **state)
{
	struct hostile hostile = {0};

	(void)state;
	buffer_append_string(&hostile.text, "From: \"");
	for (size_t i = 0; i < 80000; i++)
		buffer_append_string(&hostile.text, "\xe2\x82\xac");
	buffer_append_string(&hostile.text, "\" <a@b.test>\nContent-Type: text/plain; name=");
	for (size_t i = 0; i < 60000; i++)
		buffer_append_string(&hostile.text, "n");
	buffer_append_string(&hostile.text, "\nSubject: ");
	for (size_t i = 0; i < 15000; i++)
		buffer_append_string(&hostile.text, "\xf0\x9f\x98\x80");
	buffer_append_string(&hostile.text, "\n\nx\n");
	hostile_decode(&hostile);
	assert_int_equal(hostile.message.participants[0].name.length, 996);
	assert_int_equal(hostile.message.subject.length, 996);
	assert_int_equal(hostile.message.parts[0].filename.length, DECODE_TEXT_MAX);
	assert_is_within_limits(&hostile);
	hostile_end(&hostile);
}

/* A header that is BEGIN, as many PIECES as fill SIZE bytes, "%zu" in them the number, and END. */
static void hostile_repeat(struct hostile *hostile, const char *begin, const char *piece,
			   const char *end, size_t size)
{
	const char *number = strstr(piece, "%zu");
	size_t before = number != NULL ? (size_t)(number - piece) : strlen(piece);

	*hostile = (struct hostile){0};
	buffer_append_string(&hostile->text, begin);
	for (size_t i = 0; hostile->text.length < size; i++) {
		buffer_append(&hostile->text, piece, before);
		if (number != NULL) {
			buffer_append_format(&hostile->text, "%zu", i);
			buffer_append_string(&hostile->text, number + 3);
		}
	}
	buffer_append_string(&hostile->text, end);
}

static int64_t used_us(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* What GMime gets has bounds, in every place where it may find a header. Without them most of these
 * take it many seconds, or its stack. */
/* What takes a second as it is built for use takes longer with sanitizers. */
#ifdef __SANITIZE_ADDRESS__
enum { SANITIZED = 8 };
#else
enum { SANITIZED = 1 };
#endif

static void what_takes_long_is_bounded(void **state)
{
	enum { SIZE = 600000 / SANITIZED, MOST_US = 7000000 };
	static const struct {
		const char *begin, *piece, *end;
	} headers[] = {
		{"Content-Type: text/plain", "; p%zu=x", ""},
		{"Content-Type : text/plain", "; p%zu=x", ""},
		{"Content-Disposition: attachment", "; p*%zu*=utf-8''x", ""},
		{"Content-Type: text/plain", ";\n p*0*=utf-8''x", ""},
		{"Subject: ", "=?utf-8?q?a ", ""},
		{"Subject: ", "=?utf-8?q?=a ", ""},
		{"From: ", "=?utf-8?q?a ", " <a@b.test>"},
		{"", "Subject: =?utf-8?q?a =?utf-8?q?a\n", "X: x"},
		{"To: ", "g:", ""},
		{"tO\t: ", "g:", ""},
		{"To: ", "a <b@c.test>, g: ", ";"},
		{"Resent-Cc: ", "\"a:\"b:", ""},
		{"", "X%zu: x\n", "Y: y"},
		{"", "To: a%zu@b.test\n", "Y: y"},
		{"To: ", "(", ""},
		{"To: ", "a%zu@b.test, ", ""},
		{"To: ", "ri,", ""},
		{"Reply-To: [\"", ",\"@\"", ""},
		{"From: <@,\"x:", ",\"@\"", ""},
		{"From: \"\\\",", "\"a,\"@,", ""},
		{"Subject: ", "=?iso-2022-jp?B?a", ""},
		{"Date: ", "1 ", ""},
	};
	static const char *const before[] = {
		"",
		"Content-Type: multipart/mixed; boundary=b\n\n--b\n",
		"Content-Type: MESSAGE (c) / rfc822\n\nContent-Type: message/rfc822\n\n",
		"Content-Type: multipart/digest; boundary=b\n\n--b\n\n",
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(headers); i++) {
		for (size_t j = 0; j < COUNT_OF(before); j++) {
			struct hostile hostile;
			struct buffer begin = {0};
			int64_t begun_us;

			buffer_append_string(&begin, before[j]);
			buffer_append_string(&begin, headers[i].begin);
			buffer_append_byte(&begin, '\0');
			hostile_repeat(&hostile, buffer_data(&begin), headers[i].piece,
				       headers[i].end, SIZE);
			buffer_append_string(&hostile.text, "\n\nbody\n");
			begun_us = used_us();
			hostile_decode(&hostile);
			if (used_us() - begun_us > MOST_US)
				fail_msg("%s%s took %lld ms", before[j], headers[i].piece,
					 (long long)(used_us() - begun_us) / 1000);
			assert_is_within_limits(&hostile);
			hostile_end(&hostile);
			buffer_clear(&begin);
		}
	}
}

/* What is blank is not looked through at each of the addresses before it. */
static void what_is_blank_costs_nothing(void **state)
{
	enum { ADDRESSES = 15000 / SANITIZED, SIZE = 6000000 / SANITIZED, MOST_US = 7000000 };
	static const char *const fields[] = {
		"x", "\nX: 0123456789012345678901234567890123456789012345678901234567890123456789"};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(fields); i++) {
		struct hostile hostile;
		int64_t begun_us;

		hostile_repeat(&hostile, "To: ", "ri,", "", ADDRESSES);
		while (hostile.text.length < SIZE)
			buffer_append_string(&hostile.text, fields[i]);
		buffer_append_string(&hostile.text, "\n\nbody\n");
		begun_us = used_us();
		hostile_decode(&hostile);
		assert_in_range(used_us() - begun_us, 0, MOST_US);
		assert_int_equal(hostile.message.parts[0].size, 6);
		assert_true(has_problem(&hostile, "too much of something"));
		hostile_end(&hostile);
	}
}

/* What is within the bounds is as it was, and so is the content of parts, whatever it looks like.
 */
static void what_is_usual_is_not_bounded(void **state)
{
	static const struct {
		const char *begin, *piece, *end;
		size_t size;
		const char *problem; /* "": none */
	} texts[] = {
		{"Subject: x\n\n", "To: g:g:g:g:g:g:g:g:g:g:g:g:g:\n ", "\n", 1000000, ""},
		{"Content-Type: multipart/mixed; boundary=b\n\n--b\n\n--- a\n",
		 "+To: x; x; x; x:\n", "\n--b--\n", 3000000, ""},
		{"Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain\n\n",
		 "-- x\n x:x:x:x:x;x;x;x;x;x;x;x;x=?x=?x=?x=?\n", "\n--b--\n", 900000, ""},
		{"To: ", "=?utf-8?q?=C3=A4?= <a%zu@[IPv6:::1]>,\n ", "a@b\n\nx\n", 1500, ""},
		{"To: ",
		 "=?utf-8?q?J=C3=B6rg=2C_Ann?= =?utf-8?q?a?= <a%zu@b.test>, \"b, c\" "
		 "<c@d.test>,\n ",
		 "a@b\n\nx\n", 38000, ""},
		{"To: ", "\"b, c\" <c%zu@d.test>, =?utf-8?q?=C3=A4?= <a@b.test>,\n e@f.test, ",
		 "a@b\nCc: a@b\n\nx\n", 24000, ""},
		{"To: ", "a@b.test (Joe), ", "a@b\n\nx\n", 9000, ""},
		{"To: ", "bob, ", "joe\n\nx\n", 5000, ""},
		{"Received: ", "a:b (c) ", "\n\nx\n", 60000, ""},
		{"DKIM-Signature: a", "; b=c", "\n\nx\n", 500, ""},
		{"To: ", "g:", "\n\nx\n", 5000, "too much of something"},
		{"Content-Type: text/plain", "; p%zu=x", "\n\nx\n", 5000, "too much of something"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		struct hostile hostile;

		hostile_repeat(&hostile, texts[i].begin, texts[i].piece, texts[i].end,
			       texts[i].size);
		hostile_decode(&hostile);
		assert_true(hostile.message.part_count > 0);
		if (has_problem(&hostile, "too much of something") == (*texts[i].problem == '\0'))
			fail_msg("%zu: " STR_FORMAT, i, STR_ARGUMENTS(hostile.message.problem));
		assert_is_within_limits(&hostile);
		hostile_end(&hostile);
	}
}

/* Like a header with too much of something, in the body of a part. */
static void contents_are_not_bounded(void **state)
{
	static const char begin[] = "Content-Type: multipart/mixed; boundary=b\n\n--b\n\n";
	unsigned char digest[DECODE_DIGEST_SIZE];
	struct hostile hostile;

	(void)state;
	hostile_repeat(&hostile, begin, "To: g:g:g:", "\n--b--\n", 20000);
	hostile_decode(&hostile);
	assert_int_equal(hostile.message.part_count, 2);
	assert_int_equal(hostile.message.problem.length, 0);
	assert_int_equal(EVP_Digest(buffer_data(&hostile.text) + strlen(begin),
				    hostile.text.length - strlen(begin) - strlen("\n--b--\n"),
				    digest, NULL, EVP_sha256(), NULL),
			 1);
	assert_memory_equal(hostile.message.parts[1].digest, digest, sizeof digest);
	hostile_end(&hostile);
}

/* Every byte in every place of a header, and as a charset. */
static void any_byte_makes_valid_text(void **state)
{
	(void)state;
	for (unsigned byte = 0; byte < 256; byte++) {
		struct hostile hostile = {0};
		char text[] = {(char)byte, 'x', (char)byte, (char)byte};
		struct str word = str_slice(text, sizeof text);

		buffer_append_string(&hostile.text, "Subject: ");
		buffer_append_str(&hostile.text, word);
		buffer_append_string(&hostile.text, " =?utf-8?q?a");
		buffer_append_format(&hostile.text, "=%02X=%02Xb?= =?", byte, byte);
		buffer_append_str(&hostile.text, word);
		buffer_append_string(&hostile.text, "?q?c?=\nFrom: ");
		buffer_append_str(&hostile.text, word);
		buffer_append_string(&hostile.text, " <");
		buffer_append_str(&hostile.text, word);
		buffer_append_string(&hostile.text, "@b.test>\nContent-Type: text/plain; charset=");
		buffer_append_str(&hostile.text, word);
		buffer_append_string(&hostile.text, "; name*=");
		buffer_append_str(&hostile.text, word);
		buffer_append_format(&hostile.text, "''a%%%02Xb\nContent-Disposition: ", byte);
		buffer_append_str(&hostile.text, word);
		buffer_append_string(&hostile.text, "\n\nx\n");
		hostile_decode(&hostile);
		assert_is_within_limits(&hostile);
		hostile_end(&hostile);
	}
}

/* That a digest is of the decoded content, whatever the line ends. */
static void contents_are_digested(void **state)
{
	static const struct {
		const char *text;
		struct str content;
	} digests[] = {
		{"Subject: x\n\na\nb\n", STR("a\r\nb\r\n")},
		{"Subject: x\r\n\r\na\r\nb\r\n", STR("a\r\nb\r\n")},
		{"Content-Transfer-Encoding: base64\n\nYQpi\nCg==\n", STR("a\nb\n")},
		{"Content-Transfer-Encoding: base64\r\n\r\nYQpi\r\nCg==\r\n", STR("a\nb\n")},
		{"Content-Transfer-Encoding: quoted-printable\n\na=0D=0Ab=\n\n", STR("a\r\nb\r\n")},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(digests); i++) {
		struct arena *arena = arena_new();
		unsigned char digest[DECODE_DIGEST_SIZE];
		struct decode_message message;

		decode(str_from(digests[i].text), arena, &message);
		assert_int_equal(message.part_count, 1);
		assert_int_equal(message.parts[0].size, digests[i].content.length);
		assert_int_equal(EVP_Digest(digests[i].content.data, digests[i].content.length,
					    digest, NULL, EVP_sha256(), NULL),
				 1);
		assert_memory_equal(message.parts[0].digest, digest, sizeof digest);
		arena_free(arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_are_decoded),
		cmocka_unit_test(contents_are_digested),
		cmocka_unit_test(parts_are_limited),
		cmocka_unit_test(depth_is_limited),
		cmocka_unit_test(messages_within_messages_are_limited),
		cmocka_unit_test(participants_are_limited),
		cmocka_unit_test(long_texts_are_cut),
		cmocka_unit_test(what_takes_long_is_bounded),
		cmocka_unit_test(what_is_blank_costs_nothing),
		cmocka_unit_test(what_is_usual_is_not_bounded),
		cmocka_unit_test(contents_are_not_bounded),
		cmocka_unit_test(any_byte_makes_valid_text),
	};

	decode_mime_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
