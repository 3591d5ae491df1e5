// SPDX-License-Identifier: ISC
#include "header/edit.h"
#include "header/field.h"
#include "test.h"
#include <stdio.h>
#include <string.h>

enum { COMPLETES = 1, REPAIRS = 2, UTF8 = 4, AUTHORS = 8 };

static struct arena *arena;

static struct header_edit *begin(unsigned flags, const char *from)
{
	const struct header_edit_settings settings = {
		.completes = (flags & COMPLETES) != 0,
		.repairs = (flags & REPAIRS) != 0,
		.allows_utf8 = (flags & UTF8) != 0,
		.has_authors = (flags & AUTHORS) != 0,
		.domain = STR("d.test"),
		.hostname = STR("h.test"),
		.from = str_from(from),
		.id = {457, 1795163591482913},
	};

	return header_edit_new(&settings, arena);
}

/* In pieces of STEP bytes. */
static struct buffer edited(unsigned flags, struct str text, size_t step)
{
	struct header_edit *edit = begin(flags, "lisa@d.test");
	struct buffer out = {0};

	for (struct str rest = text; rest.length > 0; rest = str_skip(rest, step))
		header_edit_take(
			edit, str_slice(rest.data, rest.length < step ? rest.length : step), &out);
	header_edit_end(edit, &out);
	header_edit_free(edit);
	return out;
}

#define DATE "Date: Fri, 20 Nov 2026 08:33:11 +0000\r\n"
#define FROM "From: lisa@d.test\r\n"
#define ID   "Message-ID: <457-660b1182f1e21@h.test>\r\n"

static void messages_become_what_they_should(void **state)
{
	static const struct {
		unsigned flags;
		const char *text, *wanted;
	} cases[] = {
		{0, "", ""},
		{COMPLETES,
		 DATE FROM ID "Return-Path: <a@b>\r\nSubject: x\r\n\r\nReturn-Path: b\r\n",
		 DATE FROM ID "Subject: x\r\n\r\nReturn-Path: b\r\n"},
		{0, "Return-Path: <a@b>\r\n\r\n", "Return-Path: <a@b>\r\n\r\n"},
		/* the separator of a mailbox file stays in a message of others */
		{0, "From x@y Fri\r\nA: b\r\n\r\n", "From x@y Fri\r\nA: b\r\n\r\n"},
		{REPAIRS, ">From x@y Fri\r\nA: b\r\n\r\n", ">From x@y Fri\r\nA: b\r\n\r\n"},
		{COMPLETES, DATE FROM ID "return-PATH :\r\n <a@b>\r\n\tmore\r\nB: 2\r\n",
		 DATE FROM ID "B: 2\r\n"},
		{0, "Return-Path\r\nReturn-Path: x\r\n", "Return-Path\r\nReturn-Path: x\r\n"},
		{0, "Bcc: a\r\nFrom: x\r\n\r\n", "Bcc: a\r\nFrom: x\r\n\r\n"},
		{0, "\r\n x\r\n", "\r\n x\r\n"},
		{0, "no header\r\nReturn-Path: a\r\n", "no header\r\nReturn-Path: a\r\n"},
		/* who reads on as if it were a header must not find an author whom nobody judged */
		{AUTHORS, "A: 1\r\nno field\r\nFrom: eve@x.test\r\n\r\n",
		 "A: 1\r\n\r\nno field\r\nFrom: eve@x.test\r\n\r\n"},
		{COMPLETES, "", DATE FROM ID},
		{COMPLETES, "\r\nx\r\n", DATE FROM ID "\r\nx\r\n"},
		{COMPLETES, "x\r\n", DATE FROM ID "\r\nx\r\n"},
		{COMPLETES, "From lisa Fri Nov 20\r\nDate: 1\r\n\r\n",
		 "Date: 1\r\n" FROM ID "\r\n"},
		{COMPLETES, ">From lisa Fri Nov 20\r\n>From x y\r\nDate: 1\r\n\r\n",
		 "Date: 1\r\n" FROM ID "\r\n"},
		{COMPLETES, "From: a\r\nMessage-Id: <1>\r\ndate: 1\r\nTo: b, c@x.test (d)\r\n\r\n",
		 "From: a@d.test\r\nMessage-Id: <1>\r\ndate: 1\r\nTo: b@d.test, c@x.test "
		 "(d)\r\n\r\n"},
		{COMPLETES,
		 DATE FROM ID "Bcc: a,\r\n b\r\nRESENT-BCC: c\r\nReturn-Path: <>\r\n\r\n",
		 DATE FROM ID "\r\n"},
		/* what is no address list stays */
		{COMPLETES, DATE ID "From: a b c\r\n\r\n", DATE ID "From: a b c\r\n\r\n"},
		{REPAIRS, "Subject: caf\xc3\xa9 au  l\xc3\xa1it \xc3\xa9\r\n\r\n\xc3\xa9\r\n",
		 "Subject: =?UTF-8?Q?caf=C3=A9?= au  =?UTF-8?Q?l=C3=A1it_=C3=A9?=\r\n\r\n"
		 "\xc3\xa9\r\n"},
		{REPAIRS | UTF8, "Subject: \xc3\xa9\r\n\r\n", "Subject: \xc3\xa9\r\n\r\n"},
		{REPAIRS, "Subject: \xe9t\xe9\r\n", "Subject: =?unknown-8bit?Q?=E9t=E9?=\r\n"},
		{REPAIRS,
		 "From: J\xc3\xb6rg M\xc3\xbcller <j@x.test>, \"L, \xc3\x84\" <l@x.test>\r\n",
		 "From: =?UTF-8?Q?J=C3=B6rg_M=C3=BCller?= <j@x.test>, "
		 "=?UTF-8?Q?L=2C_=C3=84?= <l@x.test>\r\n"},
		{REPAIRS, "To: a@x.test (caf\xc3\xa9), \xc3\xa9@x.test, <\xc3\xa9@x.test>\r\n",
		 "To: a@x.test (=?UTF-8?Q?caf=C3=A9?=), \xc3\xa9@x.test, <\xc3\xa9@x.test>\r\n"},
		/* what is encoded already stays, and so does the space beside it */
		{REPAIRS, "Subject: K\xc3\xb6ln =?UTF-8?B?R3LDvMOfZQ==?=\r\n",
		 "Subject: =?UTF-8?Q?K=C3=B6ln_?= =?UTF-8?B?R3LDvMOfZQ==?=\r\n"},
		{REPAIRS,
		 "Subject: =?UTF-8?Q?a?=\r\n  \xc3\xb6 \xc3\xb6 x \xc3\xb6  =?UTF-8?Q?b?= "
		 "c\r\n",
		 "Subject: =?UTF-8?Q?a?=\r\n  =?UTF-8?Q?__=C3=B6_=C3=B6?= x "
		 "=?UTF-8?Q?=C3=B6__?=  =?UTF-8?Q?b?= c\r\n"},
		{REPAIRS, "From: =?UTF-8?Q?J=C3=B6rg?= M\xc3\xbcller <ann@a.test>\r\n",
		 "From: =?UTF-8?Q?J=C3=B6rg?= =?UTF-8?Q?_M=C3=BCller?= <ann@a.test>\r\n"},
		{REPAIRS,
		 "To: \"=?UTF-8?Q?J=C3=B6rg?= M\xc3\xbcller\" <j@x.test>, Lee M\xc3\xbcller "
		 "\"(x)\" =?UTF-8?Q?K?= \"L.\", Ann <a@x.test>\r\n",
		 "To: =?UTF-8?Q?J=C3=B6rg?= =?UTF-8?Q?_M=C3=BCller?= <j@x.test>, "
		 "=?UTF-8?Q?Lee_M=C3=BCller_=28x=29_?= =?UTF-8?Q?K?= \"L.\", Ann <a@x.test>\r\n"},
		{REPAIRS, "To: a@x.test (=?UTF-8?Q?J=C3=B6rg?= M\xc3\xbcller)\r\n",
		 "To: a@x.test (=?UTF-8?Q?J=C3=B6rg?= =?UTF-8?Q?_M=C3=BCller?=)\r\n"},
		{REPAIRS, "Cc: a@x.test (a (\xc3\xa9 \\) b) \\(c)\r\n",
		 "Cc: a@x.test (a (=?UTF-8?Q?=C3=A9?= ) b) \\(c)\r\n"},
		{REPAIRS, "Cc: \"J @ K\xc3\xb6ln\" <a@x.test>\r\n",
		 "Cc: =?UTF-8?Q?J_=40_K=C3=B6ln?= <a@x.test>\r\n"},
		/* parameters */
		{REPAIRS, "Content-Type: text/plain; name=\xc3\xa9\r\n",
		 "Content-Type: text/plain; name*=UTF-8''%C3%A9\r\n"},
		{REPAIRS,
		 "Content-Disposition: attachment;\r\n\tfilename=\"Gr\xc3\xb6\xc3\x9f"
		 "e; a \\\"b.pdf\"; "
		 "size=3\r\n",
		 "Content-Disposition: "
		 "attachment;\r\n\tfilename*=UTF-8''Gr%C3%B6%C3%9Fe%3B%20a%20%22b"
		 ".pdf; size=3\r\n"},
		{REPAIRS,
		 "Content-Disposition: attachment; "
		 "filename=\"\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3"
		 "\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9.pdf\"\r\n",
		 "Content-Disposition: attachment; "
		 "filename*0*=UTF-8''%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9;\r\n "
		 "filename*1*=%C3%A9%C3%A9%C3%A9.pdf\r\n"},
		{REPAIRS, "Content-Type: a/b; name=\"\xe9\"\r\n",
		 "Content-Type: a/b; name*=unknown-8bit''%E9\r\n"},
		{REPAIRS, "Content-Type: a/b; name*=utf-8''\xc3\xa9; x\xc3\xa9=1; y\r\n",
		 "Content-Type: a/b; name*=utf-8''%C3%A9; x\xc3\xa9=1; y\r\n"},
		{REPAIRS, "X:\r\n \xc3\xa9\r\n\r\n", "X:\r\n =?UTF-8?Q?=C3=A9?=\r\n\r\n"},
		{COMPLETES | REPAIRS, DATE ID "From: \xc3\x84 <a>\r\n",
		 DATE ID "From: =?UTF-8?Q?=C3=84?= <a@d.test>\r\n"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		for (size_t step = 1; step < 200; step = step * 3 + 1) {
			struct buffer out = edited(cases[i].flags, str_from(cases[i].text), step);

			if (!str_equal(buffer_view(&out), str_from(cases[i].wanted)))
				fail_msg("case %zu in pieces of %zu:\n" STR_FORMAT, i, step,
					 STR_ARGUMENTS(buffer_view(&out)));
			buffer_clear(&out);
		}
	}
}

/* The lengths of the lines that a line of so many bytes becomes, with BYTE everywhere but for a
 * space at SPACE. */
static void check_line(size_t length, size_t space, char byte, size_t first, size_t second)
{
	struct buffer text = {0};
	struct buffer out;
	struct str rest;
	struct str line;

	for (size_t i = 0; i < length; i++)
		buffer_append_byte(&text, i == space ? ' ' : byte);
	buffer_append_string(&text, "\r\n");
	for (size_t step = 7; step < 2500; step *= 6) {
		struct str body = buffer_view(&text);
		struct buffer whole = {0};

		buffer_append_string(&whole, "\r\n");
		buffer_append_str(&whole, body);
		out = edited(REPAIRS, buffer_view(&whole), step);
		rest = str_skip(buffer_view(&out), 2);
		assert_true(str_split(&rest, '\n', &line));
		assert_int_equal(line.length, first + 1);
		if (second > 0) {
			assert_true(str_split(&rest, '\n', &line));
			assert_int_equal(line.length, second + 1);
			assert_int_equal(line.data[0], ' ');
		}
		assert_int_equal(rest.length, 0);
		buffer_clear(&out);
		buffer_clear(&whole);
	}
	buffer_clear(&text);
}

static void long_lines_are_broken(void **state)
{
	(void)state;
	check_line(998, 5000, 'x', 998, 0);
	check_line(999, 5000, 'x', 998, 2);
	check_line(1000, 5000, 'x', 998, 3);
	check_line(1500, 998, 'x', 998, 502);
	check_line(1500, 999, 'x', 998, 503);
	check_line(1500, 700, 'x', 700, 800);
	check_line(1500, 0, 'x', 998, 503); /* the space begins the line */
	check_line(1995, 5000, 'x', 998, 998);
	check_line(999, 5000, '\x80', 995, 5); /* not amid a character */
}

struct seen {
	enum header_edit_fault fault;
	char text[400]; /* addresses; or the field, and what is bad */
	struct buffer out;
};

static struct seen authors_of(struct str text, size_t step)
{
	struct header_edit *edit = begin(AUTHORS, "");
	struct header_authors found;
	struct seen seen = {0};
	size_t length = 0;

	for (struct str rest = text; rest.length > 0; rest = str_skip(rest, step))
		header_edit_take(edit,
				 str_slice(rest.data, rest.length < step ? rest.length : step),
				 &seen.out);
	header_edit_end(edit, &seen.out);
	found = header_edit_authors(edit);
	seen.fault = found.fault;
	for (size_t i = 0; found.fault == 0 && i < found.count && length < sizeof seen.text; i++)
		length += (size_t)snprintf(seen.text + length, sizeof seen.text - length,
					   STR_FORMAT " ", STR_ARGUMENTS(found.addresses[i]));
	if (found.fault != 0)
		snprintf(seen.text, sizeof seen.text, STR_FORMAT ":" STR_FORMAT,
			 STR_ARGUMENTS(found.field), STR_ARGUMENTS(found.text));
	header_edit_free(edit);
	return seen;
}

static enum header_edit_fault fault_of(struct str text)
{
	struct seen seen = authors_of(text, 1000);

	buffer_clear(&seen.out);
	return seen.fault;
}

/* Whatever is before the colon, it stays in its line. */
static void no_line_is_broken_before_a_colon(void **state)
{
	static const char *const names[] = {"Subject :", "Subject  :", "Subject\t: ", "Subject:"};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		struct buffer text = {0};
		struct buffer out;

		buffer_append_string(&text, names[i]);
		while (text.length < 1500)
			buffer_append_byte(&text, 'x');
		buffer_append_string(&text, "\r\n\r\n");
		out = edited(REPAIRS, buffer_view(&text), 100);
		assert_true(str_find(buffer_view(&out), ':') < str_find(buffer_view(&out), '\r'));
		buffer_clear(&out);
		buffer_clear(&text);
	}
}

static void authors_are_known_or_not(void **state)
{
	static const struct {
		const char *text;
		enum header_edit_fault fault;
		const char *authors;
	} cases[] = {
		{"Subject: x\r\n\r\nFrom: a@x.test\r\n", HEADER_EDIT_GOOD, ""},
		{"FROM: A <a@x.test>,\r\n b\r\nSender: c@x.test\r\n", HEADER_EDIT_GOOD,
		 "a@x.test b@d.test c@x.test "},
		{"From: g: a@x.test, b@x.test;\r\n", HEADER_EDIT_GOOD, "a@x.test b@x.test "},
		{"From: \xc3\xa9@x.test\r\n", HEADER_EDIT_GOOD, "\xc3\xa9@x.test "},
		{"From: a@x.test\r\nFrom: a@x.test\r\n", HEADER_EDIT_SEVERAL, "From:"},
		{"From : a@x.test\r\nfrom\t: b@x.test\r\n", HEADER_EDIT_SEVERAL, "from:"},
		{"From: a@x.test\r\nSender: a@x.test\r\nSender: a@x.test\r\n", HEADER_EDIT_SEVERAL,
		 "Sender:"},
		{"Resent-From: r@x.test\r\nResent-Sender: s@x.test\r\nResent-From: t@x.test\r\n"
		 "From: a@x.test\r\n",
		 HEADER_EDIT_GOOD, "r@x.test s@x.test t@x.test a@x.test "},
		{"Resent-From: a b\r\nFrom: a@x.test\r\n", HEADER_EDIT_BAD, "Resent-From:a b"},
		{"Resent-To: a@x.test\r\nResent-Reply-To: a@x.test\r\n", HEADER_EDIT_GOOD, ""},
		{"From: a b\r\n", HEADER_EDIT_BAD, "From:a b"},
		{"From: a@x.test, Ann Lee\r\n", HEADER_EDIT_BAD, "From:Ann Lee"},
		{"From: a@x.test, Ann b@x.test, c@x.test\r\n", HEADER_EDIT_BAD,
		 "From:Ann b@x.test"},
		{"From: <a@x.test> Ann\r\n", HEADER_EDIT_BAD, "From:Ann"},
		{"From: g:;\r\n", HEADER_EDIT_NONE, "From:"},
		{"From: <>\r\n", HEADER_EDIT_NONE, "From:"},
		{"From:\r\n", HEADER_EDIT_NONE, "From:"},
		{"Sender: a@x.test, \r\n (\r\nFrom: a@x.test\r\n", HEADER_EDIT_BAD, "Sender:("},
		{"From: a@x.test\r\nSender: A <a@x.test>\r\n", HEADER_EDIT_GOOD, "a@x.test "},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		for (size_t step = 1; step < 100; step *= 3) {
			struct seen seen = authors_of(str_from(cases[i].text), step);

			if (seen.fault != cases[i].fault)
				fail_msg("case %zu: fault %u", i, (unsigned)seen.fault);
			assert_string_equal(seen.text, cases[i].authors);
			buffer_clear(&seen.out);
		}
	}
}

/* Each address counts that anybody might find, and then there is only one to find. */
static void a_field_with_readings_is_left_with_one(void **state)
{
	static const struct {
		const char *list, *authors, *left;
	} cases[] = {
		/* one already */
		{"ann@a.test", "ann@a.test ", "ann@a.test"},
		{"\"ann@b.test\" <ann@a.test> (bob@b.test)", "ann@a.test ",
		 "\"ann@b.test\" <ann@a.test> (bob@b.test)"},
		{"ann@a.test,\r\n  J. Lee <lee@a.test>", "ann@a.test lee@a.test ",
		 "ann@a.test,\r\n  J. Lee <lee@a.test>"},
		/* names that others take for addresses */
		{"ann@a.test <ann@a.test>", "ann@a.test ", "\"ann@a.test\" <ann@a.test>"},
		{"bob@b.test <ann@a.test>", "bob@b.test ann@a.test ",
		 "\"bob@b.test\" <ann@a.test>"},
		{"bob @ b.test <ann@a.test>", "bob@b.test ann@a.test ",
		 "\"bob @ b.test\" <ann@a.test>"},
		{"Last, bob(@c.test)@b.test <ann@a.test>", "bob@b.test ann@a.test ",
		 "\"Last, bob(@c.test)@b.test\" <ann@a.test>"},
		{"Last, (bob@b.test) <ann@a.test>", "ann@a.test bob@b.test ",
		 "\"Last, (bob@b.test)\" <ann@a.test>"},
		{"\"\\\" <bob@b.test>, \\\"\" <ann@a.test>", "ann@a.test bob@b.test ",
		 "\"<bob@b.test>,\" <ann@a.test>"},
		{"(\\) bob@b.test \\() ann@a.test", "ann@a.test bob@b.test ", "ann@a.test"},
		{"=?utf-8?q?bob@b.test,?= <ann@a.test>", "ann@a.test =?utf-8?q?bob@b.test ",
		 "=?utf-8?q?bob=40b=2Etest=2C?= <ann@a.test>"},
		{"\"bob@b.test <ann@a.test>", "bob@b.test ann@a.test ",
		 "\"bob@b.test\" <ann@a.test>"},
		/* names that are none by the standard */
		{"Scanner [2nd floor] <ann@a.test>", "ann@a.test ",
		 "\"Scanner [2nd floor]\" <ann@a.test>"},
		{"Scanner: 2nd floor <ann@a.test>", "ann@a.test ",
		 "\"Scanner: 2nd floor\" <ann@a.test>"},
		{"Scanner @ HQ <ann@a.test>", "Scanner@HQ ann@a.test ",
		 "\"Scanner @ HQ\" <ann@a.test>"},
		{"Last, First <ann@a.test>", "ann@a.test ", "\"Last, First\" <ann@a.test>"},
		{"M\xc3\xbcller, J\xc3\xb6rg <ann@a.test>", "ann@a.test ",
		 "=?UTF-8?Q?M=C3=BCller=2C_J=C3=B6rg?= <ann@a.test>"},
		{"=?utf-8?q?M?=, J\xc3\xb6 =?utf-8?q?r?= <ann@a.test>", "ann@a.test ",
		 "=?utf-8?q?M?= =?UTF-8?Q?_=2C_J=C3=B6_?= =?utf-8?q?r?= <ann@a.test>"},
		{"=?utf-8?b?TQ==?=, Ann <ann@a.test>", "ann@a.test ",
		 "=?utf-8?b?TQ==?= \", Ann\" <ann@a.test>"},
		/* separators */
		{"Ann <ann@a.test>;", "ann@a.test ", "Ann <ann@a.test>"},
		{"Ann <ann@a.test> Lee <lee@a.test>", "ann@a.test lee@a.test ",
		 "Ann <ann@a.test>, Lee <lee@a.test>"},
		{"ann@a.test; lee", "ann@a.test lee@d.test ", "ann@a.test, lee@d.test"},
		{"Ann <ann@a.test", "ann@a.test ", "Ann <ann@a.test>"},
		/* routes, and spaces and comments within */
		{"<@b.test:ann@a.test>", "ann@a.test ", "ann@a.test"},
		{"Ann <@b.test,@c.test:ann@a.test>", "ann@a.test ", "Ann <ann@a.test>"},
		{"ann (x) @ a.test", "ann@a.test ", "ann@a.test"},
		{"ann(bob@b.test)@a.test", "ann@a.test bob@b.test ", "ann@a.test"},
		{"ann@a . test", "ann@a.test ann@a ", "ann@a.test"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct buffer text = {0};
		struct buffer left = {0};
		struct seen seen;

		buffer_append_format(&text, "From: %s\r\nX: y\r\n", cases[i].list);
		buffer_append_format(&left, "From: %s\r\nX: y\r\n", cases[i].left);
		seen = authors_of(buffer_view(&text), 7);
		if (seen.fault != HEADER_EDIT_GOOD || strcmp(seen.text, cases[i].authors) != 0)
			fail_msg("%s: %u %s", cases[i].list, (unsigned)seen.fault, seen.text);
		if (!str_equal(buffer_view(&seen.out), buffer_view(&left)))
			fail_msg("%s:\n" STR_FORMAT, cases[i].list,
				 STR_ARGUMENTS(buffer_view(&seen.out)));
		buffer_clear(&seen.out);
		seen = authors_of(buffer_view(&left), 7);
		if (!str_equal(buffer_view(&seen.out), buffer_view(&left)))
			fail_msg("%s again:\n" STR_FORMAT, cases[i].list,
				 STR_ARGUMENTS(buffer_view(&seen.out)));
		buffer_clear(&seen.out);
		buffer_clear(&text);
		buffer_clear(&left);
	}
}

/* Whoever has signed it does not know. */
static void a_repair_breaks_a_signature(void **state)
{
	static const struct {
		const char *header;
		bool is_long;
		unsigned flags;
		bool is_broken;
	} cases[] = {
		{"DKIM-Signature: v=1\r\n", true, REPAIRS, true},
		{"dkim-signature: v=1\r\n", false, REPAIRS, false},
		{"DKIM-Signature: v=1\r\n", true, COMPLETES, false},
		{"Content-Type: multipart/signed; x=y\r\n", true, REPAIRS, true},
		{"Content-Type:\r\n Multipart/Signed\r\n", true, REPAIRS, true},
		{"Content-Type: multipart/mixed\r\n", true, REPAIRS, false},
		{"Subject: \xc3\xa9\r\nDKIM-Signature: v=1\r\n", false, REPAIRS, true},
		{"Subject: \xc3\xa9\r\nDKIM-Signature: v=1\r\n", false, REPAIRS | UTF8, false},
		{"Subject: x\r\n", true, REPAIRS, false},
	};
	static char line[2000];

	(void)state;
	memset(line, 'x', sizeof line - 1);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct header_edit *edit = begin(cases[i].flags, "lisa@d.test");
		struct buffer out = {0};

		header_edit_take(edit, str_from(cases[i].header), &out);
		header_edit_take(edit, STR("\r\n"), &out);
		header_edit_take(edit, cases[i].is_long ? str_from(line) : STR("x"), &out);
		header_edit_take(edit, STR("\r\n"), &out);
		header_edit_end(edit, &out);
		if (header_edit_has_broken_signature(edit) != cases[i].is_broken)
			fail_msg("case %zu", i);
		header_edit_free(edit);
		buffer_clear(&out);
	}
}

/* A field that is too long is never half a field. */
static void long_fields_pass_or_go(void **state)
{
	static const struct {
		const char *name;
		unsigned flags;
		bool goes;
		enum header_edit_fault fault;
	} cases[] = {
		{"Subject", COMPLETES, false, HEADER_EDIT_GOOD},
		{"Bcc", COMPLETES, true, HEADER_EDIT_GOOD},
		{"Return-Path", COMPLETES, true, HEADER_EDIT_GOOD},
		{"Bcc", 0, false, HEADER_EDIT_GOOD},
		{"From", AUTHORS, false, HEADER_EDIT_LARGE},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct buffer text = {0};
		struct buffer out;

		buffer_append_format(&text, DATE ID "%s%s: a@x.test", i < 4 ? FROM : "",
				     cases[i].name);
		while (text.length < 3 * HEADER_FIELD_MAX)
			buffer_append_string(&text, ",\r\n a@x.test");
		buffer_append_string(&text, "\r\nX: last\r\n\r\nbody\r\n");
		out = edited(cases[i].flags, buffer_view(&text), 1000);
		if (cases[i].goes)
			assert_true(out.length < 200);
		else
			assert_true(str_equal(buffer_view(&out), buffer_view(&text)));
		assert_non_null(
			memmem(buffer_data(&out), out.length, "X: last\r\n\r\nbody\r\n", 17));
		assert_int_equal(fault_of(buffer_view(&text)), cases[i].fault);
		buffer_clear(&out);
		buffer_clear(&text);
	}
}

/* No part of it is taken for a field, or for the body. */
static void a_long_separator_goes(void **state)
{
	struct buffer text = {0};
	struct buffer out;

	(void)state;
	buffer_append_string(&text, "From ");
	while (text.length < 3 * HEADER_FIELD_MAX)
		buffer_append_string(&text, "x ");
	buffer_append_string(&text, "\r\n" DATE FROM ID "\r\n");
	out = edited(COMPLETES, buffer_view(&text), 1000);
	assert_true(str_equal(buffer_view(&out), STR(DATE FROM ID "\r\n")));
	buffer_clear(&out);
	buffer_clear(&text);
}

/* In any pieces; and no line is broken within it, so that what follows would be no header. */
static void a_field_with_an_endless_name_is_none(void **state)
{
	static const size_t lengths[] = {1000, HEADER_FIELD_MAX - 1, HEADER_FIELD_MAX + 100};
	static const size_t steps[] = {1, 1000, 100000};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(lengths); i++) {
		struct buffer text = {0};

		while (text.length < lengths[i])
			buffer_append_byte(&text, 'x');
		buffer_append_string(&text, ": y\r\nX: z\r\n\r\nbody\r\n");
		for (size_t j = 0; j < COUNT_OF(steps); j++) {
			struct buffer out =
				edited(COMPLETES | REPAIRS, buffer_view(&text), steps[j]);

			assert_true(str_starts_with(buffer_view(&out), STR("Date: ")));
			assert_non_null(memmem(buffer_data(&out), out.length, "\r\n\r\nxxx", 7));
			buffer_clear(&out);
			out = edited(0, buffer_view(&text), steps[j]);
			assert_true(str_equal(buffer_view(&out), buffer_view(&text)));
			buffer_clear(&out);
		}
		buffer_clear(&text);
	}
}

static void too_many_authors_are_unknown(void **state)
{
	struct buffer text = {0};

	(void)state;
	buffer_append_string(&text, "From: a@x.test");
	for (int i = 1; i < HEADER_AUTHORS_MAX; i++)
		buffer_append_format(&text, ",a%d@x.test", i);
	buffer_append_string(&text, ",a@x.test\r\n");
	assert_int_equal(fault_of(buffer_view(&text)), HEADER_EDIT_GOOD);
	buffer_append_string(&text, " ,b@x.test\r\n");
	assert_int_equal(fault_of(buffer_view(&text)), HEADER_EDIT_LARGE);
	buffer_clear(&text);
}

static void repeat(struct buffer *out, const char *piece, size_t size)
{
	size_t until = out->length + size;

	while (out->length < until)
		buffer_append_string(out, piece);
}

/* Each section of a value has the name again. */
static void a_long_name_does_not_make_a_field_grow_without_bound(void **state)
{
	(void)state;
	for (size_t length = 1; length < 20000; length += length / 4 + 1) {
		struct header_field field;
		struct buffer text = {0};
		struct buffer out = {0};

		buffer_append_string(&text, "Content-Type: a/b; ");
		repeat(&text, "x", length);
		buffer_append_byte(&text, '=');
		repeat(&text, "\xe9", 20000);
		buffer_append_string(&text, "\r\n");
		assert_true(header_field_parse(buffer_view(&text), &field));
		header_field_encode(&field, &out);
		assert_in_range(out.length, 3 * text.length / 2, 7 * text.length);
		buffer_clear(&text);
		buffer_clear(&out);
	}
}

static void append_fields(struct buffer *out, int count, const char *name, const char *piece)
{
	for (int i = 0; i < count; i++) {
		buffer_append_string(out, name);
		repeat(out, piece, 16000);
		buffer_append_string(out, "a\r\n");
	}
}

/* A field of 16 KB that is completed has 72 KB. */
static void all_fields_grow_up_to_a_limit(void **state)
{
	static const char first[] = DATE FROM ID "To: a@d.test,a@d.test,";
	struct buffer text = {0};
	struct buffer out;

	(void)state;
	buffer_append_string(&text, DATE FROM ID);
	append_fields(&text, 100, "To: ", "a,");
	out = edited(COMPLETES, buffer_view(&text), 1000);
	assert_true(str_starts_with(buffer_view(&out), STR(first)));
	assert_in_range(out.length - text.length, HEADER_ADDED_MAX / 2, HEADER_ADDED_MAX);
	assert_memory_equal(buffer_data(&out) + out.length - 16000,
			    buffer_data(&text) + text.length - 16000, 16000);
	buffer_clear(&out);
	buffer_clear(&text);
}

/* A field that cannot be left with one reading is not accepted. */
static void authors_that_grow_beyond_the_limit_are_unknown(void **state)
{
	struct buffer text = {0};

	(void)state;
	buffer_append_string(&text, DATE FROM ID);
	append_fields(&text, 10, "Resent-From: ", "x,\xe9 <a>,");
	assert_int_equal(fault_of(buffer_view(&text)), HEADER_EDIT_GOOD);
	append_fields(&text, 10, "Resent-From: ", "x,\xe9 <a>,");
	assert_int_equal(fault_of(buffer_view(&text)), HEADER_EDIT_LARGE);
	buffer_clear(&text);
}

/* For a host without SMTPUTF8. */
static void a_field_becomes_ascii_unless_an_address_needs_more(void **state)
{
	static const struct {
		const char *field, *wanted; /* NULL: an address needs UTF-8 */
	} cases[] = {
		{"Subject: K\xc3\xb6ln\r\n", "Subject: =?UTF-8?Q?K=C3=B6ln?=\r\n"},
		{"To: J\xc3\xb6rg <j@b\xc3\xbc"
		 "cher.test>, k@B\xc3\x9c"
		 "CHER.test\r\n",
		 "To: =?UTF-8?Q?J=C3=B6rg?= <j@xn--bcher-kva.test>, k@xn--bcher-kva.test\r\n"},
		{"Resent-To: a@x.test, j\xc3\xb6rg@x.test\r\n", NULL},
		{"Reply-To: J <j\xc3\xb6rg@b\xc3\xbc"
		 "cher.test>\r\n",
		 NULL},
		{"Received: from x\r\n\tfor <j\xc3\xb6rg@x.test>; now\r\n",
		 "Received: from x\r\n\tfor <j=C3=B6rg@x.test>; now\r\n"},
		{"References: <\xc3\xb6@x> <b@x>\r\n", "References: <=C3=B6@x> <b@x>\r\n"},
		{"Content-Type: text/plain; x\xc3\xa9=1; name=\xc3\xa9\r\n",
		 "Content-Type: text/plain; x=C3=A9=1; name*=UTF-8''%C3%A9\r\n"},
		{"Delivered-To: j\xc3\xb6rg@b\xc3\xbc"
		 "cher.test\r\n",
		 "Delivered-To: j\\x{F6}rg@xn--bcher-kva.test\r\n"},
		{"DKIM-Signature: i=\xc3\xb6@x.test\r\n", "DKIM-Signature: i==C3=B6@x.test\r\n"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct header_field field;
		struct buffer out = {0};
		bool is_ascii;

		assert_true(header_field_parse(str_from(cases[i].field), &field));
		is_ascii = header_field_to_ascii(&field, &out);
		if (is_ascii != (cases[i].wanted != NULL) ||
		    (is_ascii && !str_equal(buffer_view(&out), str_from(cases[i].wanted))))
			fail_msg("%s" STR_FORMAT, cases[i].field, STR_ARGUMENTS(buffer_view(&out)));
		buffer_clear(&out);
	}
}

static int set_up(void **state)
{
	(void)state;
	arena = arena_new();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	arena_free(arena);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_become_what_they_should),
		cmocka_unit_test(long_lines_are_broken),
		cmocka_unit_test(a_repair_breaks_a_signature),
		cmocka_unit_test(a_field_becomes_ascii_unless_an_address_needs_more),
		cmocka_unit_test(authors_are_known_or_not),
		cmocka_unit_test(a_field_with_readings_is_left_with_one),
		cmocka_unit_test(long_fields_pass_or_go),
		cmocka_unit_test(a_long_separator_goes),
		cmocka_unit_test(a_field_with_an_endless_name_is_none),
		cmocka_unit_test(no_line_is_broken_before_a_colon),
		cmocka_unit_test(too_many_authors_are_unknown),
		cmocka_unit_test(a_long_name_does_not_make_a_field_grow_without_bound),
		cmocka_unit_test(all_fields_grow_up_to_a_limit),
		cmocka_unit_test(authors_that_grow_beyond_the_limit_are_unknown),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
