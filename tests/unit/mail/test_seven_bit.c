// SPDX-License-Identifier: ISC
#include "mail/seven_bit/seven_bit.h"
#include "test.h"
#include <string.h>

#define E                         "\xc3\xa9"
#define MULTIPART(type, boundary) "Content-Type: multipart/" type "; boundary=" boundary "\n"
#define PLAIN8                    "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\n"
#define PLAIN7                    "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 7bit\n"
#define PLAINQ \
	"Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: quoted-printable\n"
#define V    "MIME-Version: 1.0\n"
#define HIGH "\x80\x81\x82\x83\x84\x85\x86\x87\x88"
#define A10  "aaaaaaaaaa"
#define A70  A10 A10 A10 A10 A10 A10 A10
#define A60  A10 A10 A10 A10 A10 A10

/* LF stands for CRLF, '$' for an LF alone. */
static const struct {
	const char *name;
	const char *in;
	const char *out; /* NULL: cannot be converted; "": needs nothing */
	enum mail_seven_bit_need need;
} cases[] = {
	{"7-bit", "A: b\n\nc\n", "", MAIL_SEVEN_BIT_NONE},
	{"a quoted pair in a comment",
	 V "Content-Type: multipart/mixed (x\\)y); boundary=b\n\n--b\n" PLAIN8 "\n" E "\n--b--\n",
	 V "Content-Type: multipart/mixed (x\\)y); boundary=b\n\n--b\n" PLAINQ "\n=C3=A9\n--b--\n",
	 MAIL_SEVEN_BIT_CONVERT},
	{"a quoted pair in a string",
	 V "Content-Type: multipart/mixed; x=\"\\\";\"; boundary=b\n\n--b\n" PLAIN8 "\n" E
	   "\n--b--\n",
	 V "Content-Type: multipart/mixed; x=\"\\\";\"; boundary=b\n\n--b\n" PLAINQ
	   "\n=C3=A9\n--b--\n",
	 MAIL_SEVEN_BIT_CONVERT},
	{"the boundary of an earlier part",
	 V MULTIPART("mixed", "b") "\n--b\n" MULTIPART(
		 "mixed", "s") "\n--s\n\nx\n--s--\n--b\n"
			       "Content-Type: message/rfc822\n\n" PLAIN8 "\n--s\n" PLAIN8 "\n" E
			       "\n--b--\n",
	 V MULTIPART("mixed", "b") "\n--b\n" MULTIPART(
		 "mixed",
		 "s") "\n--s\n\nx\n--s--\n--b\n"
		      "Content-Type: message/rfc822\n\nContent-Type: text/plain; charset=utf-8\n" V
		      "Content-Transfer-Encoding: quoted-printable\n\n--s\nContent-Type: "
		      "text/plain; "
		      "charset=3Dutf-8\nContent-Transfer-Encoding: 8bit\n\n=C3=A9\n--b--\n",
	 MAIL_SEVEN_BIT_CONVERT},
	{"a sixth is escaped", V "Content-Type: application/x\n\n" E "\x7f\x7f" A10 A10,
	 V "Content-Type: application/x\nContent-Transfer-Encoding: base64\n\n"
	   "w6l/f2FhYWFhYWFhYWFhYWFhYWFhYWFh\n",
	 MAIL_SEVEN_BIT_CONVERT},
	{"less than a sixth is", V "Content-Type: application/x\n\n" E "\x7f~" A10 A10,
	 V "Content-Type: application/x\nContent-Transfer-Encoding: quoted-printable\n\n"
	   "=C3=A9=7F~" A10 A10,
	 MAIL_SEVEN_BIT_CONVERT},
	{"nothing", "", "", MAIL_SEVEN_BIT_NONE},
	{"a header alone", "A: " E "\n", "", MAIL_SEVEN_BIT_NONE},
	{"8-bit in a field alone", "A: " E "\n\nc\n", "", MAIL_SEVEN_BIT_NONE},
	{"one text", V PLAIN8 "A: b\n\n" E "\n",
	 V "Content-Type: text/plain; charset=utf-8\nA: b\n"
	   "Content-Transfer-Encoding: quoted-printable\n\n=C3=A9\n",
	 MAIL_SEVEN_BIT_CONVERT},
	{"no MIME", "A: b\n\n" E " =\t\n.\n",
	 "A: b\n" V "Content-Type: text/plain; charset=unknown-8bit\n"
	 "Content-Transfer-Encoding: quoted-printable\n\n=C3=A9 =3D=09\n.\n",
	 MAIL_SEVEN_BIT_CONVERT},
	{"no field at all", "\n" E,
	 V "Content-Type: text/plain; charset=unknown-8bit\n"
	   "Content-Transfer-Encoding: quoted-printable\n\n=C3=A9",
	 MAIL_SEVEN_BIT_CONVERT},
	{"no empty line", "A: b\n" E " c\n",
	 "A: b\n" V "Content-Type: text/plain; charset=unknown-8bit\n"
	 "Content-Transfer-Encoding: quoted-printable\n\n=C3=A9 c\n",
	 MAIL_SEVEN_BIT_CONVERT},
	{"long lines are broken", V PLAIN8 "\n" E A70 "\n" A70 "aaaaa\n" A70 "aaaaaa\n",
	 V PLAINQ "\n=C3=A9" A60 "aaaaaaaaa=\na\n" A70 "aaaaa\n" A70 "aaaaa=\na\n",
	 MAIL_SEVEN_BIT_CONVERT},
	{"no boundary is made",
	 V MULTIPART("mixed", "b?") "\n--b" E "\n--b?\n" PLAIN8 "\n" E A60 "aaaaaaaaa--b?\n--b?\n"
				    "Content-Transfer-Encoding: base64\nContent-Type: a/b\n\n" E
				    "--b?\nYWJj\n--b?--\n",
	 V MULTIPART(
		 "mixed",
		 "b?") "\n?-b??\n--b?\n" PLAINQ "\n=C3=A9" A60 "aaaaaaaaa=\n=2D-b?\n--b?\n"
		       "Content-Type: a/b\nContent-Transfer-Encoding: base64\n\nb?\nYWJj\n--b?--\n",
	 MAIL_SEVEN_BIT_CONVERT},
	{"no escape is torn", V PLAIN8 "\n" A70 "aaa" E "\n", V PLAINQ "\n" A70 "aaa=\n=C3=A9\n",
	 MAIL_SEVEN_BIT_CONVERT},
	{"what is 8bit by name only, in what becomes 7bit",
	 V MULTIPART(
		 "report",
		 "r") "Content-Transfer-Encoding: 8bit\n\n--r\n" PLAIN8 "\n" E
		      "\n--r\nContent-Type: message/global-delivery-status\n"
		      "Content-Transfer-Encoding: 8bit\n\nAction: failed\n--r\n" MULTIPART(
			      "mixed",
			      "s") "Content-Transfer-Encoding: binary\n\n--s\n\nx\n--s--\n--r--\n",
	 V MULTIPART(
		 "report",
		 "r") "Content-Transfer-Encoding: 7bit\n\n--r\n" PLAINQ
		      "\n=C3=A9\n--r\nContent-Type: message/global-delivery-status\n"
		      "Content-Transfer-Encoding: 7bit\n\nAction: failed\n--r\n" MULTIPART(
			      "mixed",
			      "s") "Content-Transfer-Encoding: 7bit\n\n--s\n\nx\n--s--\n--r--\n",
	 MAIL_SEVEN_BIT_CONVERT},
	{"nothing is 8bit but by name", V PLAIN8 "\nx\n", "", MAIL_SEVEN_BIT_NONE},
	{"CR and LF alone", V PLAIN8 "\n" E "\ra$b\n", V PLAINQ "\n=C3=A9=0Da=0Ab\n",
	 MAIL_SEVEN_BIT_CONVERT},
	{"data with few 8-bit bytes", V "Content-Type: application/x\n\n" E A10 A10 A10 "\n",
	 V "Content-Type: application/x\nContent-Transfer-Encoding: quoted-printable\n\n"
	   "=C3=A9" A10 A10 A10 "\n",
	 MAIL_SEVEN_BIT_CONVERT},
	{"data with many", V "Content-Type: application/x\n\n" HIGH "\n",
	 V "Content-Type: application/x\nContent-Transfer-Encoding: base64\n\n"
	   "gIGCg4SFhoeIDQo=\n",
	 MAIL_SEVEN_BIT_CONVERT},
	{"a line end at the end of data is a boundary's",
	 V MULTIPART("mixed", "b") "\n--b\nContent-Type: application/x\n\n" HIGH "\n\n" HIGH
				   "\n--b--\n",
	 V MULTIPART("mixed", "b") "\n--b\nContent-Type: application/x\n"
				   "Content-Transfer-Encoding: base64\n\n"
				   "gIGCg4SFhoeIDQoNCoCBgoOEhYaHiA==\n--b--\n",
	 MAIL_SEVEN_BIT_CONVERT},
	{"a full line of base64",
	 V MULTIPART("mixed",
		     "b") "\n--b\nContent-Type: application/x\n\n" HIGH HIGH HIGH HIGH HIGH HIGH
			  "\x80\x81\x82\n--b--\n",
	 V MULTIPART("mixed", "b") "\n--b\nContent-Type: application/x\n"
				   "Content-Transfer-Encoding: base64\n\n"
				   "gIGCg4SFhoeIgIGCg4SFhoeIgIGCg4SFhoeIgIGCg4SFhoeIgIGCg4SFhoeIg"
				   "IGCg4SFhoeIgIGC\n--b--\n",
	 MAIL_SEVEN_BIT_CONVERT},
	{"other parts stay",
	 V "Content-Transfer-Encoding: 8bit\n" MULTIPART(
		 "mixed", "\"b c\"") "\npre\n--b c\n\nplain =\t\n--b c \n" PLAIN8 "\n" E
				     "\n--b c--\nend\n",
	 V MULTIPART("mixed", "\"b c\"") "Content-Transfer-Encoding: 7bit\n"
					 "\npre\n--b c\n\nplain =\t\n--b c \n" PLAINQ
					 "\n=C3=A9\n--b c--\nend\n",
	 MAIL_SEVEN_BIT_CONVERT},
	{"nested",
	 V MULTIPART("mixed", "a") "\n--a\n" MULTIPART(
		 "alternative", "ab") "\n--ab\n" PLAIN8 "\n" E "\n--ab\n" PLAIN8
				      "\nx\n--ab--\n--a\n" PLAIN8 "\n" E "\n--a--\n",
	 V MULTIPART("mixed", "a") "\n--a\n" MULTIPART(
		 "alternative", "ab") "\n--ab\n" PLAINQ "\n=C3=A9\n--ab\n" PLAIN7
				      "\nx\n--ab--\n--a\n" PLAINQ "\n=C3=A9\n--a--\n",
	 MAIL_SEVEN_BIT_CONVERT},
	{"an outer boundary ends inner parts",
	 V MULTIPART("mixed", "a") "\n--a\n" MULTIPART("mixed", "b") "\n--b\n\n" E
								     "\n--a\n\n--b\n--a--\n",
	 V MULTIPART("mixed", "a") "\n--a\n" MULTIPART(
		 "mixed",
		 "b") "\n--b\n"
		      "Content-Type: text/plain; charset=unknown-8bit\n"
		      "Content-Transfer-Encoding: quoted-printable\n\n=C3=A9\n--a\n\n--b\n--a--\n",
	 MAIL_SEVEN_BIT_CONVERT},
	{"a message in it",
	 V MULTIPART("mixed", "a") "\n--a\nContent-Type: message/rfc822\n"
				   "Content-Transfer-Encoding: 8bit\n\nSubject: x\n\n" E
				   "\n--a--\n",
	 V MULTIPART("mixed", "a") "\n--a\nContent-Type: message/rfc822\n"
				   "Content-Transfer-Encoding: 7bit\n\nSubject: x\n" V
				   "Content-Type: text/plain; charset=unknown-8bit\n"
				   "Content-Transfer-Encoding: quoted-printable\n\n=C3=A9\n--a--\n",
	 MAIL_SEVEN_BIT_CONVERT},
	{"a digest", V MULTIPART("digest", "a") "\n--a\n\nSubject: x\n\n" E "\n--a--\n",
	 V MULTIPART("digest",
		     "a") "\n--a\n\nSubject: x\n" V
			  "Content-Type: text/plain; charset=unknown-8bit\n"
			  "Content-Transfer-Encoding: quoted-printable\n\n=C3=A9\n--a--\n",
	 MAIL_SEVEN_BIT_CONVERT},
	{"before and after the parts", V MULTIPART("mixed", "a") "\n" E "\n--a\n\nx\n--a--\n" E,
	 V MULTIPART("mixed", "a") "\n?"
				   "?\n--a\n\nx\n--a--\n?"
				   "?",
	 MAIL_SEVEN_BIT_CONVERT},
	{"a boundary on several lines, with comments",
	 V
	 "content-type: multipart/mixed (x;\\); (n)); y=\";\";\n\tBOUNDARY = a (b)\n\n--a\n" PLAIN8
	 "\n" E,
	 V
	 "content-type: multipart/mixed (x;\\); (n)); y=\";\";\n\tBOUNDARY = a (b)\n\n--a\n" PLAINQ
	 "\n=C3=A9",
	 MAIL_SEVEN_BIT_CONVERT},
	{"the encoding on two lines, twice",
	 V "Content-Transfer-Encoding:\n 8bit\n"
	   "Content-Type: text/x\nContent-Transfer-Encoding: base64\n\n" E,
	 V "Content-Type: text/x\nContent-Transfer-Encoding: quoted-printable\n\n=C3=A9",
	 MAIL_SEVEN_BIT_CONVERT},
	{"an encoding that nobody knows",
	 V "Content-Transfer-Encoding: 8-bit\n"
	   "Content-Type: text/x\n\n" E,
	 V "Content-Type: text/x\nContent-Transfer-Encoding: quoted-printable\n\n=C3=A9",
	 MAIL_SEVEN_BIT_CONVERT},
	{"quoted-printable with 8-bit", V PLAINQ "\n" A70 "=3D" E " \n" A70 "aaa=3D=\nb\n",
	 V PLAINQ "\n" A70 "=3D=\n=C3=A9 \n" A70 "aaa=\n=3D=\nb\n", MAIL_SEVEN_BIT_CONVERT},
	{"base64 with 8-bit",
	 V "Content-Type: a/b\nContent-Transfer-Encoding: base64\n\nYW" E "Jj\n",
	 V "Content-Type: a/b\nContent-Transfer-Encoding: base64\n\nYWJj\n",
	 MAIL_SEVEN_BIT_CONVERT},
	{"a message that is encoded is data",
	 V "Content-Type: message/rfc822\n"
	   "Content-Transfer-Encoding: base64\n\nYW" E "Jj\n",
	 V "Content-Type: message/rfc822\n"
	   "Content-Transfer-Encoding: base64\n\nYWJj\n",
	 MAIL_SEVEN_BIT_CONVERT},
	{"a line of a mailbox file", "From x  " A10 "\n" PLAIN8 "\n" E "\n",
	 "From x  " A10 "\nContent-Type: text/plain; charset=utf-8\n" V
	 "Content-Transfer-Encoding: quoted-printable\n\n=C3=A9\n",
	 MAIL_SEVEN_BIT_CONVERT},
	{"S/MIME data", V "Content-Type: application/pkcs7-mime\n\n" HIGH,
	 V "Content-Type: application/pkcs7-mime\nContent-Transfer-Encoding: base64\n\n"
	   "gIGCg4SFhoeI\n",
	 MAIL_SEVEN_BIT_CONVERT},
	{"signed", V MULTIPART("signed", "a") "\n--a\n" PLAIN8 "\n" E "\n--a--\n", NULL,
	 MAIL_SEVEN_BIT_SIGNED},
	{"encrypted, in another",
	 V MULTIPART("mixed", "b") "\n--b\n" MULTIPART("Encrypted", "a") "\n--a\n\n" E
									 "\n--a--\n--b--\n",
	 NULL, MAIL_SEVEN_BIT_SIGNED},
	{"beside a signed part",
	 V MULTIPART("mixed", "b") "\n--b\n" MULTIPART(
		 "signed", "a") "\n--a\n\nx=\n--a--\n--b\n" PLAIN8 "\n" E "\n--b--\n",
	 V MULTIPART("mixed", "b") "\n--b\n" MULTIPART(
		 "signed", "a") "\n--a\n\nx=\n--a--\n--b\n" PLAINQ "\n=C3=A9\n--b--\n",
	 MAIL_SEVEN_BIT_CONVERT},
	{"a piece of a message", V "Content-Type: message/partial; id=x\n\n" E, NULL,
	 MAIL_SEVEN_BIT_UNPARSED},
	{"no boundary", V "Content-Type: multipart/mixed\n\n--a\n\n" E, NULL,
	 MAIL_SEVEN_BIT_UNPARSED},
	{"no boundary, nothing to do", V "Content-Type: multipart/mixed\n\n--a\n\nx", "",
	 MAIL_SEVEN_BIT_NONE},
	{"too long a boundary",
	 V MULTIPART("mixed", A70 A70 A70 A70) "\n--" A70 A70 A70 A70 "\n\n" E, NULL,
	 MAIL_SEVEN_BIT_UNPARSED},
	{"an 8-bit boundary", V MULTIPART("mixed", "\"" E "\"") "\n--" E "\n\nx", NULL,
	 MAIL_SEVEN_BIT_UNPARSED},
};

static void append_text(struct buffer *out, const char *text)
{
	for (; *text != '\0'; text++) {
		if (*text == '\n')
			buffer_append_byte(out, '\r');
		buffer_append_byte(out, *text == '$' ? '\n' : *text);
	}
}

static enum mail_seven_bit_need convert(struct str in, bool is_binary, size_t step,
					struct buffer *out)
{
	struct mail_seven_bit *message = mail_seven_bit_new();
	enum mail_seven_bit_need need;

	if (is_binary)
		mail_seven_bit_set_binary(message);
	for (size_t i = 0; i < in.length; i += step)
		mail_seven_bit_scan(
			message,
			str_slice(in.data + i, step < in.length - i ? step : in.length - i));
	need = mail_seven_bit_scanned(message);
	for (unsigned pass = 0; pass < 2 && need == MAIL_SEVEN_BIT_CONVERT; pass++) {
		buffer_reset(out);
		for (size_t i = 0; i < in.length; i += step)
			mail_seven_bit_convert(
				message,
				str_slice(in.data + i, step < in.length - i ? step : in.length - i),
				out);
		mail_seven_bit_converted(message, out);
	}
	mail_seven_bit_free(message);
	return need;
}

static void check(const char *name, struct str in, bool is_binary, struct str expected,
		  enum mail_seven_bit_need need)
{
	for (size_t step = 1; step <= 1001; step += 100) {
		struct buffer out = {0};
		enum mail_seven_bit_need found = convert(in, is_binary, step, &out);

		if (found != need)
			fail_msg("%s, by %zu: need %d", name, step, (int)found);
		if (!str_equal(buffer_view(&out), expected))
			fail_msg("%s, by %zu: \"" STR_FORMAT "\", not \"" STR_FORMAT "\"", name,
				 step, STR_ARGUMENTS(buffer_view(&out)), STR_ARGUMENTS(expected));
		buffer_clear(&out);
	}
}

static void test_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct buffer in = {0};
		struct buffer expected = {0};

		append_text(&in, cases[i].in);
		append_text(&expected, cases[i].out != NULL ? cases[i].out : "");
		check(cases[i].name, buffer_view(&in), false, buffer_view(&expected),
		      cases[i].need);
		buffer_clear(&in);
		buffer_clear(&expected);
	}
}

/* DEPTH multiparts in one another, around BODY. */
static void append_nest(struct buffer *out, unsigned depth, const char *body)
{
	for (unsigned i = 0; i < depth; i++)
		buffer_append_format(
			out, "Content-Type: multipart/mixed; boundary=b%u\r\n\r\n--b%u\r\n", i, i);
	buffer_append_format(out, "\r\n%s\r\n", body);
}

static void test_depth(void **state)
{
	static const struct {
		unsigned depth;
		const char *body;
		enum mail_seven_bit_need need;
	} nests[] = {
		{32, E, MAIL_SEVEN_BIT_CONVERT},
		{33, E, MAIL_SEVEN_BIT_UNPARSED},
		{1000, "e", MAIL_SEVEN_BIT_NONE},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(nests); i++) {
		struct buffer in = {0};
		struct buffer out = {0};

		append_nest(&in, nests[i].depth, nests[i].body);
		assert_int_equal(convert(buffer_view(&in), false, 1000, &out), nests[i].need);
		buffer_clear(&in);
		buffer_clear(&out);
	}
}

static void test_parts(void **state)
{
	(void)state;
	for (unsigned parts = 9999; parts <= 10000; parts++) {
		struct buffer in = {0};
		struct buffer out = {0};

		buffer_append_string(&in, "Content-Type: multipart/mixed; boundary=b\r\n\r\n");
		for (unsigned i = 0; i < parts; i++)
			buffer_append_format(&in, "--b\r\n\r\n%s\r\n", i + 1 == parts ? E : "e");
		assert_int_equal(convert(buffer_view(&in), false, 1000, &out),
				 parts == 9999 ? MAIL_SEVEN_BIT_CONVERT : MAIL_SEVEN_BIT_UNPARSED);
		buffer_clear(&in);
		buffer_clear(&out);
	}
}

static void append_times(struct buffer *out, const char *text, size_t count)
{
	for (size_t i = 0; i < count; i++)
		buffer_append_string(out, text);
}

/* Longer than what is kept of a line or a field. */
static void test_long(void **state)
{
	struct buffer in = {0};
	struct buffer expected = {0};

	(void)state;
	append_times(&in, "A: ", 5000);
	buffer_append_string(&in, "\r\nContent-Type: text/plain; x=");
	append_times(&in, "x", 5000);
	buffer_append_str(&expected, buffer_view(&in));
	buffer_append_string(&in, "\r\nContent-Transfer-Encoding: ");
	append_times(&in, "8", 5000);
	buffer_append_string(&in, "\r\nMIME-Version: 1.0\r\n\r\n" E "\r\n");
	buffer_append_string(&expected, "\r\nMIME-Version: 1.0\r\nContent-Transfer-Encoding: "
					"quoted-printable\r\n\r\n=C3=A9\r\n");
	append_times(&in, "\xe9", 5000);
	for (size_t i = 0; i < 5000; i++)
		buffer_append_string(&expected, i % 25 == 0 && i > 0 ? "=\r\n=E9" : "=E9");
	check("long", buffer_view(&in), false, buffer_view(&expected), MAIL_SEVEN_BIT_CONVERT);
	buffer_clear(&in);
	buffer_clear(&expected);
}

#define BINARY "MIME-Version: 1.0\r\nContent-Type: application/x\r\n"
#define MIXED  "MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n"

/* What is no line of text is encoded so that decoding gives the same bytes, and no others. */
static void a_binary_message_becomes_lines(void **state)
{
	static const struct {
		struct str in;
		struct str out;
		enum mail_seven_bit_need need;
	} binaries[] = {
		{STR(BINARY "Content-Transfer-Encoding: binary\r\n\r\n\0\n\r"),
		 STR(BINARY "Content-Transfer-Encoding: base64\r\n\r\nAAoN\r\n"),
		 MAIL_SEVEN_BIT_CONVERT},
		{STR(BINARY "\r\n\r\n.\r\n\n\r\r\n"),
		 STR(BINARY "Content-Transfer-Encoding: base64\r\n\r\nDQouDQoKDQ0K\r\n"),
		 MAIL_SEVEN_BIT_CONVERT},
		{STR("MIME-Version: 1.0\r\nContent-Type: text/plain\r\n\r\na\nb\r\nno end"),
		 STR("MIME-Version: 1.0\r\nContent-Type: text/plain\r\n"
		     "Content-Transfer-Encoding: quoted-printable\r\n\r\na=0Ab\r\nno end=\r\n"),
		 MAIL_SEVEN_BIT_CONVERT},
		{STR(MIXED "Content-Transfer-Encoding: binary\r\n\r\n\0\n\r\n--b\r\n"
			   "Content-Type: application/x\r\n\r\n\n\r\n--b\r\n\r\nplain\r\n--b--"),
		 STR(MIXED
		     "Content-Transfer-Encoding: 7bit\r\n\r\n??\r\n--b\r\n"
		     "Content-Type: application/x\r\nContent-Transfer-Encoding: base64\r\n\r\n"
		     "Cg==\r\n--b\r\n\r\nplain\r\n--b--"),
		 MAIL_SEVEN_BIT_CONVERT},
		{STR("MIME-Version: 1.0\r\nContent-Type: message/rfc822\r\n\r\n" BINARY "\r\n\0"),
		 STR("MIME-Version: 1.0\r\nContent-Type: message/rfc822\r\n\r\n" BINARY
		     "Content-Transfer-Encoding: base64\r\n\r\nAA==\r\n"),
		 MAIL_SEVEN_BIT_CONVERT},
		{STR(BINARY "Content-Transfer-Encoding: quoted-printable\r\n\r\na=3Db\n\0"),
		 STR(BINARY "Content-Transfer-Encoding: quoted-printable\r\n\r\na=3Db=0A=00=\r\n"),
		 MAIL_SEVEN_BIT_CONVERT},
		{STR(BINARY "Content-Transfer-Encoding: base64\r\n\r\nAAo\0N\n\r\n"),
		 STR(BINARY "Content-Transfer-Encoding: base64\r\n\r\nAAoN\r\n"),
		 MAIL_SEVEN_BIT_CONVERT},
		{STR(BINARY "\r\nplain\r\n"), STR(""), MAIL_SEVEN_BIT_NONE},
		{STR("Content-Type: multipart/signed; "
		     "boundary=b\r\n\r\n--b\r\n\r\n\n\r\n--b--\r\n"),
		 STR(""), MAIL_SEVEN_BIT_SIGNED},
		{STR("Content-Type: message/partial\r\n\r\n\0\r\n"), STR(""),
		 MAIL_SEVEN_BIT_UNPARSED},
		{STR(MIXED "\r\n--b\r\nA: \n.\r\n\r\nx\r\n--b--\r\n"), STR(""),
		 MAIL_SEVEN_BIT_UNPARSED},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(binaries); i++)
		check("binary", binaries[i].in, true, binaries[i].out, binaries[i].need);
}

static void a_long_line_of_a_binary_message_is_encoded(void **state)
{
	static char line[1000];

	(void)state;
	memset(line, 'x', sizeof line);
	for (size_t length = 997; length < 1000; length++) {
		struct mail_seven_bit *message = mail_seven_bit_new();

		mail_seven_bit_set_binary(message);
		mail_seven_bit_scan(message, STR(BINARY "\r\n"));
		mail_seven_bit_scan(message, str_slice(line, length));
		mail_seven_bit_scan(message, STR("\r\n"));
		assert_int_equal(mail_seven_bit_scanned(message),
				 length > 998 ? MAIL_SEVEN_BIT_CONVERT : MAIL_SEVEN_BIT_NONE);
		mail_seven_bit_free(message);
	}
}

/* --- header fields --- */

/* Shows which fields it got; one with an address cannot be encoded. */
static bool show(struct str field, struct buffer *out)
{
	buffer_append_byte(out, '[');
	for (size_t i = 0; i < field.length; i++)
		buffer_append_byte(out, (unsigned char)field.data[i] > 0x7f ? '*' : field.data[i]);
	buffer_append_byte(out, ']');
	return !str_starts_with(field, STR("To:"));
}

static const struct {
	const char *in, *out; /* NULL: cannot be encoded; "": needs nothing */
	bool keeps_bodies;
} field_cases[] = {
	{"A: b\n\n" E "\n", "", true},
	{"A: " E "\nB: c\n d\n\n" E "\n", "[A: **\n]B: c\n d\n\n" E "\n", true},
	{"A: b\nC:\n " E "\n\td\nE: f\n", "A: b\n[C:\n **\n\td\n]E: f\n", true},
	{"A: " E, "[A: **]", true},
	{"To: " E "\n\n", NULL, true},
	{MULTIPART("mixed", "m") "\n" E "\n--m\nA: " E "\n\n" E "\n--m\nB: " E
				 "\n--m\nContent-Type: message/rfc822\n\nC: " E "\n\n" E
				 "\n--m--\n",
	 MULTIPART("mixed",
		   "m") "\n" E "\n--m\n[A: **\n]\n" E
			"\n--m\n[B: **\n]--m\nContent-Type: message/rfc822\n\n[C: **\n]\n" E
			"\n--m--\n",
	 true},
	{MULTIPART("signed", "m") "\n--m\nA: " E "\n\n" E "\n--m--\n", "", true},
	{"A: " E "\n" V PLAIN8 "\n" E "\n", "[A: **\n]" V PLAINQ "\n=C3=A9\n", false},
	{"A: " E "\n" V PLAIN8 "\nx\n",
	 "[A: **\n]" V
	 "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 7bit\n\nx\n",
	 false},
};

static void fields_of_all_parts_are_encoded(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof field_cases / sizeof *field_cases; i++) {
		const char *out = field_cases[i].out;
		struct buffer in = {0};
		struct buffer wanted = {0};

		append_text(&in, field_cases[i].in);
		append_text(&wanted, out != NULL ? out : "");
		for (size_t step = 1; step < 100; step = 3 * step + 1) {
			struct mail_seven_bit *message = mail_seven_bit_new();
			struct str text = buffer_view(&in);
			struct buffer got = {0};
			enum mail_seven_bit_need need;

			mail_seven_bit_set_encoder(message, show);
			if (field_cases[i].keeps_bodies)
				mail_seven_bit_keep_bodies(message);
			mail_seven_bit_scan(message, text);
			need = mail_seven_bit_scanned(message);
			assert_int_equal(need, out == NULL          ? MAIL_SEVEN_BIT_ADDRESS
					       : wanted.length == 0 ? MAIL_SEVEN_BIT_NONE
								    : MAIL_SEVEN_BIT_CONVERT);
			for (; text.length > 0; text = str_skip(text, step))
				mail_seven_bit_convert(message,
						       str_slice(text.data, text.length < step
										    ? text.length
										    : step),
						       &got);
			mail_seven_bit_converted(message, &got);
			if (wanted.length > 0 &&
			    !str_equal(buffer_view(&got), buffer_view(&wanted)))
				fail_msg("case %zu:\n" STR_FORMAT, i,
					 STR_ARGUMENTS(buffer_view(&got)));
			mail_seven_bit_free(message);
			buffer_clear(&got);
		}
		buffer_clear(&in);
		buffer_clear(&wanted);
	}
}

/* One that is too long for that passes in pieces. */
static void a_field_without_end_is_not_encoded(void **state)
{
	struct mail_seven_bit *message = mail_seven_bit_new();
	struct buffer in = {0};
	struct buffer got = {0};

	(void)state;
	buffer_append_string(&in, "A: ");
	while (in.length < 2 * MAIL_SEVEN_BIT_FIELD_MAX)
		buffer_append_string(&in, E "\r\n ");
	buffer_append_string(&in, "x\r\nB: " E "\r\n\r\n");
	mail_seven_bit_set_encoder(message, show);
	mail_seven_bit_scan(message, buffer_view(&in));
	assert_int_equal(mail_seven_bit_scanned(message), MAIL_SEVEN_BIT_ADDRESS);
	mail_seven_bit_convert(message, buffer_view(&in), &got);
	mail_seven_bit_converted(message, &got);
	assert_int_equal(got.length, in.length + 2);
	assert_non_null(memmem(buffer_data(&got), got.length, "x\r\n[B: **\r\n]\r\n", 14));
	buffer_clear(&in);
	buffer_clear(&got);
	mail_seven_bit_free(message);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_long),
		cmocka_unit_test(a_binary_message_becomes_lines),
		cmocka_unit_test(a_long_line_of_a_binary_message_is_encoded),
		cmocka_unit_test(fields_of_all_parts_are_encoded),
		cmocka_unit_test(a_field_without_end_is_not_encoded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
