// SPDX-License-Identifier: ISC
#include "base/panic.h"
#include "header/addresses.h"
#include "header/name.h"
#include "queue/inject/envelope.h"
#include "queue/inject/header.h"
#include "queue/inject/reader.h"
#include "queue/inject/recipients.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define HOST STR("host.test")

static void assert_text(const struct buffer *buffer, const char *expected)
{
	struct str found = buffer_view(buffer);

	if (!str_equal(found, str_from(expected)))
		fail_msg("found \"" STR_FORMAT "\", expected \"%s\"", STR_ARGUMENTS(found),
			 expected);
}

/* --- the reader --- */

struct reader_case {
	const char *input;
	const char *output;
	bool dot_ends;
};

static const struct reader_case reader_cases[] = {
	{"", "", false},
	{"a", "a\r\n", false},
	{"a\n", "a\r\n", false},
	{"a\r\n", "a\r\n", false},
	{"a\nb\r\n\n\r\nc", "a\r\nb\r\n\r\n\r\nc\r\n", false},
	{"a\rb\n", "a b\r\n", false},
	{"a\r", "a\r\n", false},
	{"\r\r\n", "\r\n", false},
	{"\r", "\r\n", false},
	{"a\r\rb\r\r\n", "a b\r\n", false},
	{"a\n.\nb\n", "a\r\n.\r\nb\r\n", false},
	{".\n", "", true},
	{".", "", true},
	{".\r\n", "", true},
	{".\r", "", true},
	{".\r\r\n", "", true},
	{".\rx", ". x\r\n", true},
	{"\r.\n.\n", " .\r\n", true},
	{"a\n.\nb\n", "a\r\n", true},
	{"a\r\n.\r\nb\n", "a\r\n", true},
	{"..\n.x\n. \n.\n\rb", "..\r\n.x\r\n. \r\n", true},
	{"a.\n.\n", "a.\r\n", true},
};

/* Whole, and byte by byte. */
static void read_case(const struct reader_case *one, size_t step)
{
	struct inject_reader reader = {.descriptor = -1, .dot_ends = one->dot_ends};
	struct buffer output = {0};
	struct str rest = str_from(one->input);
	int error = 0;

	while (error == 0 && rest.length > 0) {
		struct str piece = rest;

		if (piece.length > step)
			piece.length = step;
		error = inject_reader_take(&reader, piece, &output);
		rest = str_skip(rest, piece.length);
	}
	if (error == 0 && reader.state != INJECT_READER_END)
		error = inject_reader_finish(&reader, &output);
	assert_int_equal(error, 0);
	assert_text(&output, one->output);
	buffer_clear(&output);
}

static void test_reader(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(reader_cases); i++) {
		read_case(&reader_cases[i], 1000);
		read_case(&reader_cases[i], 1);
	}
}

static void test_nul(void **state)
{
	static const char input[] = "\0a\0\0b\0\n.\0\n\0";
	struct inject_reader reader = {.descriptor = -1, .dot_ends = true};
	struct buffer output = {0};

	(void)state;
	assert_int_equal(inject_reader_take(&reader, str_slice(input, sizeof input - 1), &output),
			 -EILSEQ);
	reader = (struct inject_reader){.descriptor = -1, .dot_ends = true, .removes_nul = true};
	buffer_reset(&output);
	assert_int_equal(inject_reader_take(&reader, str_slice(input, sizeof input - 1), &output),
			 0);
	assert_int_equal(inject_reader_finish(&reader, &output), 0);
	assert_text(&output, "ab\r\n.\r\n\r\n");
	buffer_clear(&output);
}

/* --- address lists --- */

struct address_case {
	const char *list;
	const char *found; /* addresses, each followed by a space; of other elements their texts:
			    * {part of a name} [rest] !bad! */
	const char *rewritten; /* NULL: the same as the list */
};

static const struct address_case address_cases[] = {
	{"", "", NULL},
	{" \r\n\t (nobody) ", "", NULL},
	{"a@b.c", "a@b.c ", NULL},
	{"a@b.c, d@e.f,g@h.i", "a@b.c d@e.f g@h.i ", NULL},
	{",a@b.c,,d@e.f,", "a@b.c d@e.f ", NULL},
	{"root", "root@host.test ", "root@host.test"},
	{"Root <root>, (x) joe (y)", "root@host.test joe@host.test ",
	 "Root <root@host.test>, (x) joe@host.test (y)"},
	{"Ann Lee <ann@b.c>", "ann@b.c ", NULL},
	{"\"Lee, Ann\" <ann@b.c>", "ann@b.c ", NULL},
	{"\"Lee \\\" > , Ann\" <ann@b.c>", "ann@b.c ", NULL},
	{"John Q. Public <john@b.c>", "john@b.c ", NULL},
	{"J\xc3\xb6rg <joerg@b.c>", "joerg@b.c ", NULL},
	{"=?UTF-8?Q?J=C3=B6rg?= <joerg@b.c>", "joerg@b.c ", NULL},
	{"a\r\n @\r\n b.c", "a@b.c ", NULL},
	{"a . b @ c . d", "a.b@c.d ", NULL},
	{"(one (two) \\) three) a@b.c (four)", "a@b.c ", NULL},
	{"\"a b\"@c.d", "\"a b\"@c.d ", NULL},
	{"\"a@x,b\"@c.d", "\"a@x,b\"@c.d ", NULL},
	{"\"a\"", "\"a\"@host.test ", "\"a\"@host.test"},
	{"\"Lee, Ann\", root", "!\"Lee, Ann\"!root@host.test ", "\"Lee, Ann\", root@host.test"},
	{"a@[192.0.2.1]", "a@[192.0.2.1] ", NULL},
	{"<@x.y,@z.w:a@b.c>", "a@b.c ", NULL},
	{"<>", "", NULL},
	{"team: a@b.c, d;, e@f.g", "a@b.c d@host.test e@f.g ", "team: a@b.c, d@host.test;, e@f.g"},
	{"undisclosed-recipients:;", "", NULL},
	{"one:;, two: ;", "", NULL},
	{"a..b.@c.d", "a..b.@c.d ", NULL},
	{"A Group(with a comment): \"Q, R\"\r\n <q@b.c>,\r\n\t(x) <@r.s,@t.u:v@w.x>, (y);",
	 "q@b.c v@w.x ", NULL},
	/* names that are none by the standard */
	{"ann@b.c <ann@b.c>", "{ann@b.c=ann@b.c}ann@b.c ", NULL},
	{"other@b.c <ann@b.c>", "{other@b.c=other@b.c}ann@b.c ", NULL},
	{"Scanner [2nd floor] <ann@b.c>", "ann@b.c ", NULL},
	{"Scanner: 2nd floor <ann@b.c>", "ann@b.c ", NULL},
	{"Scanner: 2nd floor <ann@b.c>, root", "ann@b.c root@host.test ",
	 "Scanner: 2nd floor <ann@b.c>, root@host.test"},
	{"Ann @ Home <ann@b.c>", "{Ann@Home=Ann @ Home}ann@b.c ", NULL},
	{"@ann <ann@b.c>", "ann@b.c ", NULL},
	{"A \\ B <ann@b.c>", "ann@b.c ", NULL},
	/* separators that are missing, or others */
	{"Ann <ann@b.c>;", "ann@b.c ", NULL},
	{"a@b.c;", "a@b.c ", NULL},
	{"a@b.c; d@e.f", "a@b.c d@e.f ", NULL},
	{"a@b.c; root; d@e.f", "a@b.c root@host.test d@e.f ", "a@b.c; root@host.test; d@e.f"},
	{"Ann <a@b.c> Bob <d@e.f>", "a@b.c d@e.f ", NULL},
	{"<a@b.c><d@e.f>", "a@b.c d@e.f ", NULL},
	{"<a@b.c> d@e.f", "a@b.c d@e.f ", NULL},
	{"a@b.c d@e.f", "a@b.c d@e.f ", NULL},
	{"<a@b.c, d@e.f>", "a@b.c d@e.f ", NULL},
	{"<a@b.c> Ann Lee, root", "a@b.c [Ann Lee]root@host.test ",
	 "<a@b.c> Ann Lee, root@host.test"},
	/* words before an address in brackets are no addresses */
	{"Last, First <ann@b.c>", "{Last}ann@b.c ", NULL},
	{"Last; First M. <ann@b.c>, Lee, Bob <bob@b.c>", "{Last}ann@b.c {Lee}bob@b.c ", NULL},
	{"Van Last, First <ann@b.c>", "{Van Last}ann@b.c ", NULL},
	{"root, a@b.c, Last, First <ann@b.c>", "root@host.test a@b.c {Last}ann@b.c ",
	 "root@host.test, a@b.c, Last, First <ann@b.c>"},
	{"root, team: Ann <ann@b.c>;", "root@host.test ann@b.c ",
	 "root@host.test, team: Ann <ann@b.c>;"},
	{"Ann <ann@b.c>, root", "ann@b.c root@host.test ", "Ann <ann@b.c>, root@host.test"},
	{"=?UTF-8?Q?Last?=, First <ann@b.c>", "{=?UTF-8?Q?Last?=}ann@b.c ", NULL},
	{"=?UTF-8?Q?Last,_First?= <ann@b.c>", "ann@b.c ", NULL},
	{"=?UTF-8?Q?Last?=", "!=?UTF-8?Q?Last?=!", NULL},
	/* what is bad does not harm the others */
	{"a@b.c, two words, d@e.f", "a@b.c !two words!d@e.f ", NULL},
	{"a b@c.d, e@f.g", "!a b@c.d!e@f.g ", NULL},
	{"Ann ann@b.c", "!Ann ann@b.c!", NULL},
	{"two words", "!two words!", NULL},
	{"a@", "!a@!", NULL},
	{"@b.c", "!@b.c!", NULL},
	{"a@b@c", "!a@b@c!", NULL},
	{"a@b..c, d@e.f", "!a@b..c!d@e.f ", NULL},
	{"Ann <a@b..c>, d@e.f", "!<a@b..c>!d@e.f ", NULL},
	{"Ann <a b@c.d>, e@f.g", "!<a b@c.d>!e@f.g ", NULL},
	{"<a b, c@d.e", "!<a b!c@d.e ", NULL},
	{"<a@b.c", "a@b.c ", NULL},
	{"a@b.c>", "a@b.c ", NULL},
	{"Ann <<a@b.c>>", "a@b.c ", NULL},
	{"<mailto:a@b.c>, mailto:d@e.f", "a@b.c d@e.f ", NULL},
	{"<undisclosed-recipients:;>, undisclosed-recipients:", "", NULL},
	{"group: a@b.c", "a@b.c ", NULL},
	{"group: joe", "!group: joe!", NULL},
	{"one: two: a@b.c;;", "a@b.c ", NULL},
	{":;", "", NULL},
	{"\"Ann <a@b.c>, Bob <d@e.f>", "a@b.c d@e.f ", NULL},
	{"O\"Neil <a@b.c>, \"Bob\" <d@e.f>", "a@b.c d@e.f ", NULL},
	{"Ann (home <a@b.c>, Bob (x) <d@e.f>", "a@b.c d@e.f ", NULL},
	{"\"open", "!\"open!", NULL},
	{"\"open\\", "!\"open\\!", NULL},
	{"(open", "!(open!", NULL},
	{"a@[open", "!a@[open!", NULL},
	{"a@b.c\x01", "!a@b.c\x01!", NULL},
	{"\"a\tb\"@c.d", "!\"a\tb\"@c.d!", NULL},
	{"j\xc3\xb6rg@b.c", "!j\xc3\xb6rg@b.c!", NULL},
};

static int collect(void *context, const struct header_element *element)
{
	static const char *const forms[] = {[HEADER_ELEMENT_NAME] = "{%.*s}",
					    [HEADER_ELEMENT_REST] = "[%.*s]",
					    [HEADER_ELEMENT_BAD] = "!%.*s!"};
	struct buffer text CLEANUP(buffer_clear) = {0};

	if (element->kind == HEADER_ELEMENT_ADDRESS) {
		buffer_append_str(context, element->address);
		buffer_append_byte(context, ' ');
		return 0;
	}
	if (element->address.length > 0)
		buffer_append_format(&text, STR_FORMAT "=", STR_ARGUMENTS(element->address));
	buffer_append_str(&text, element->text);
	buffer_append_format(context, forms[element->kind], STR_ARGUMENTS(buffer_view(&text)));
	return 0;
}

static void test_addresses(void **state)
{
	const struct header_addresses_rules rules = {HOST, 0};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(address_cases); i++) {
		const struct address_case *one = &address_cases[i];
		struct buffer found = {0};
		struct buffer rewritten = {0};
		int error = header_addresses_read(str_from(one->list), &rules, collect, &found,
						  &rewritten, NULL);

		if (error != 0 || !str_equal(buffer_view(&found), str_from(one->found)))
			fail_msg("\"%s\": %d " STR_FORMAT, one->list, error,
				 STR_ARGUMENTS(buffer_view(&found)));
		assert_text(&rewritten, one->rewritten != NULL ? one->rewritten : one->list);
		error = header_addresses_parse(str_from(one->list), HOST, 0, NULL, NULL, NULL);
		assert_int_equal(error, strchr(one->found, '!') != NULL ? -EBADMSG : 0);
		buffer_clear(&found);
		buffer_clear(&rewritten);
	}
}

static int stop_at_once(void *context, struct str address)
{
	(void)address;
	++*(int *)context;
	return -E2BIG;
}

static void test_addresses_stop(void **state)
{
	int calls = 0;

	(void)state;
	assert_int_equal(
		header_addresses_parse(STR("a@b.c, d@e.f"), HOST, 0, NULL, stop_at_once, &calls),
		-E2BIG);
	assert_int_equal(calls, 1);
}

static void test_recipients(void **state)
{
	struct mail_envelope *envelope = mail_envelope_new();
	struct inject_recipients *recipients =
		inject_recipients_new(envelope, 2, MAIL_NOTIFY_NEVER);

	(void)state;
	assert_int_equal(inject_recipients_add(recipients, STR("a@b.test")), 0);
	assert_int_equal(inject_recipients_add(recipients, STR("a@B.TEST")), 0);
	assert_int_equal(inject_recipients_add(recipients, STR("A@b.test")), 0);
	assert_int_equal(inject_recipients_add(recipients, STR("c@b.test")), -E2BIG);
	assert_int_equal(inject_recipients_add(recipients, STR("a@b.test")), 0);
	assert_int_equal(envelope->recipient_count, 2);
	assert_int_equal(envelope->recipients[1].notify, MAIL_NOTIFY_NEVER);
	assert_int_equal(envelope->recipients[1].number, 2);
	inject_recipients_free(recipients);
	mail_envelope_free(envelope);
}

/* --- the envelope --- */

#define LONG_64    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define LONG_LOCAL LONG_64 LONG_64 LONG_64 LONG_64

struct envelope_case {
	struct str text;
	int error;
	size_t recipients;
};

static const struct envelope_case envelope_cases[] = {
	{STR("Fa@b.c\0Td@e.f\0\0"), 0, 1},
	{STR("F\0Td@e.f\0Tg@h.i\0\0"), 0, 2},
	{STR("F#@[]\0Td@e.f\0\0"), 0, 1},
	{STR(""), -ENOMSG, 0},
	{STR("\0"), -ENOMSG, 0},
	{STR("\0\0"), -ENOMSG, 0},
	{STR("F\0\0"), -ENOMSG, 0},
	{STR("Fa@b.c\0Td@e.f\0"), -ENOMSG, 0},
	{STR("Fa@b.c\0Td@e.f"), -ENOMSG, 0},
	{STR("Td@e.f\0Fa@b.c\0\0"), -ENOMSG, 0},
	{STR("Fa@b.c\0Fd@e.f\0\0"), -ENOMSG, 0},
	{STR("Fa@b.c\0T\0\0"), -EBADMSG, 0},
	{STR("Fa@b.c\0T@d\0\0"), -EBADMSG, 0},
	{STR("Fa@b.c\0Td@e.f\nx\0\0"), -EBADMSG, 0},
	{STR("Fa b\0Td@e.f\0\0"), -EBADMSG, 0},
	{STR("F\0T" LONG_LOCAL "@b.c\0\0"), -ENAMETOOLONG, 0},
	{STR("F" LONG_LOCAL "@b.c\0Ta@b.c\0\0"), -ENAMETOOLONG, 0},
	{STR("F\0Ta@b.c\0Tb@b.c\0Tc@b.c\0\0"), -E2BIG, 0},
};

static const struct inject_envelope_settings envelope_settings = {.recipients = 2,
								  .domain = STR("own.test")};

static void test_envelope(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(envelope_cases); i++) {
		const struct envelope_case *one = &envelope_cases[i];
		struct mail_envelope *envelope = mail_envelope_new();
		struct buffer reason = {0};
		int error = inject_envelope_parse(one->text, &envelope_settings, envelope, &reason);

		if (error != one->error)
			fail_msg("case %zu: %d", i, error);
		assert_int_equal(reason.length > 0, error != 0);
		if (error == 0)
			assert_int_equal(envelope->recipient_count, one->recipients);
		buffer_clear(&reason);
		mail_envelope_free(envelope);
	}
}

/* What programs write, and what the queue has. */
static const struct {
	struct str text, sender, recipient;
	bool utf8;
} envelope_forms[] = {
	{STR("Froot\0Tann\0\0"), STR("root@own.test"), STR("ann@own.test"), false},
	{STR("Fr@x.test.\0Ta@y.test.\0\0"), STR("r@x.test"), STR("a@y.test"), false},
	{STR("F\0Tann@b\xc3\xbc"
	     "cher.test\0\0"),
	 STR(""), STR("ann@xn--bcher-kva.test"), false},
	{STR("Fann@b\xc3\xbc"
	     "cher.test\0Ta@b\0\0"),
	 STR("ann@xn--bcher-kva.test"), STR("a@b"), false},
	{STR("F\0Tj\xc3\xb6rg@B\xc3\xbc"
	     "cher.test.\0\0"),
	 STR(""), STR("j\xc3\xb6rg@xn--bcher-kva.test"), true},
	{STR("Fj\xc3\xb6rg@a.test\0Ta@b\0\0"), STR("j\xc3\xb6rg@a.test"), STR("a@b"), true},
	{STR("F#@[]\0Ta@b\0\0"), STR("#@[]"), STR("a@b"), false},
	{STR("Fowner-@host-@[]\0T\"a b\"@b\0\0"), STR("owner-@host-@[]"), STR("\"a b\"@b"), false},
};

static void test_envelope_forms(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(envelope_forms); i++) {
		struct mail_envelope *envelope = mail_envelope_new();
		struct buffer reason = {0};

		if (inject_envelope_parse(envelope_forms[i].text, &envelope_settings, envelope,
					  &reason) < 0 ||
		    !str_equal(envelope->sender, envelope_forms[i].sender) ||
		    !str_equal(envelope->recipients[0].address, envelope_forms[i].recipient) ||
		    envelope->utf8 != envelope_forms[i].utf8)
			fail_msg("form %zu: " STR_FORMAT, i, STR_ARGUMENTS(envelope->sender));
		mail_envelope_free(envelope);
	}
}

/* --- the header --- */

/* INPUT through a pipe. */
static struct inject_header read_header(const char *input)
{
	struct inject_header header = {0};
	struct inject_reader reader = {0};
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], input, strlen(input)), strlen(input));
	close(ends[1]);
	reader.descriptor = ends[0];
	assert_int_equal(inject_header_read(&reader, &header), 0);
	close(ends[0]);
	return header;
}

struct header_case {
	const char *input;
	const char *header;
	const char *body;
};

static const struct header_case header_cases[] = {
	{"A: b\n\nbody\n", "A: b\r\n", "\r\nbody\r\n"},
	{"A: b\n c\n\td\nE : f\n\n", "A: b\r\n c\r\n\td\r\nE : f\r\n", "\r\n"},
	{"A: b", "A: b\r\n", "\r\n"},
	{"", "", "\r\n"},
	{"\nbody\n", "", "\r\nbody\r\n"},
	{"no header\n", "", "\r\nno header\r\n"},
	{" indented: x\n", "", "\r\n indented: x\r\n"},
	{"A: b\nno field\nC: d\n", "A: b\r\n", "\r\nno field\r\nC: d\r\n"},
	{": b\n", "", "\r\n: b\r\n"},
	{"From me Fri Nov 20\nA: b\n\nx\n", "A: b\r\n", "\r\nx\r\n"},
	{">From me Fri Nov 20\nA: b\n\nx\n", "A: b\r\n", "\r\nx\r\n"},
	{"From me Fri Nov 20\n>From him Fri Nov 20\nA: b\n\nx\n", "A: b\r\n", "\r\nx\r\n"},
	{">From: a@b.c\n\nx\n", ">From: a@b.c\r\n", "\r\nx\r\n"},
	{"From : a@b.c\n\nx\n", "From : a@b.c\r\n", "\r\nx\r\n"},
	{"From: a@b.c\n\nFrom me\n", "From: a@b.c\r\n", "\r\nFrom me\r\n"},
};

static void test_header_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(header_cases); i++) {
		struct inject_header header = read_header(header_cases[i].input);

		assert_text(&header.text, header_cases[i].header);
		assert_text(&header.body, header_cases[i].body);
		inject_header_clear(&header);
	}
}

static int collect_with_field(void *context, struct str field, const struct header_element *element)
{
	buffer_append_format(context, STR_FORMAT ":", STR_ARGUMENTS(field));
	return collect(context, element);
}

static void assert_recipients(const char *input, const char *expected)
{
	const struct header_addresses_rules rules = {HOST, 0};
	struct inject_header header = read_header(input);
	struct buffer found = {0};

	assert_int_equal(inject_header_recipients(&header, &rules, collect_with_field, &found), 0);
	assert_text(&found, expected);
	buffer_clear(&found);
	inject_header_clear(&header);
}

static void test_header_recipients(void **state)
{
	(void)state;
	assert_recipients(
		"To: a@b.c,\n d@e.f\nSubject: to: x@y.z\nbcc:g@h.i\nCC : j\n\nTo: no@b.c\n",
		"To:a@b.c To:d@e.f bcc:g@h.i CC:j@host.test ");
	assert_recipients("To: a@b.c\nResent-To: d@e.f\nResent-Bcc: g@h.i\n\n",
			  "Resent-To:d@e.f Resent-Bcc:g@h.i ");
	assert_recipients("Received: x\nResent-To: d@e.f\nResent-Cc: g@h.i\nReceived: y\n"
			  "Resent-To: old@b.c\nReceived: z\nTo: a@b.c\n\n",
			  "Resent-To:d@e.f Resent-Cc:g@h.i ");
	assert_recipients("Subject: x\n\n", "");
	assert_recipients("To: a@b.c\nCc: what now, d@e.f\n\n", "To:a@b.c Cc:!what now!Cc:d@e.f ");
}

static int stop_at_second(void *context, struct str field, const struct header_element *element)
{
	(void)field;
	(void)element;
	return ++*(int *)context == 2 ? -E2BIG : 0;
}

/* In the same field, or in the next one: nothing is taken after it. */
static void test_header_recipients_stop(void **state)
{
	static const char *const texts[] = {"To: a@b.c, d@e.f, g@h.i\nCc: j@k.l\n\n",
					    "To: a@b.c\nCc: d@e.f\nBcc: g@h.i\n\n"};
	const struct header_addresses_rules rules = {HOST, 0};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		struct inject_header header = read_header(texts[i]);
		int calls = 0;

		assert_int_equal(inject_header_recipients(&header, &rules, stop_at_second, &calls),
				 -E2BIG);
		assert_int_equal(calls, 2);
		inject_header_clear(&header);
	}
}

static void assert_completed(const char *input, const char *full_name, const char *expected)
{
	struct inject_header header = read_header(input);
	const struct inject_completion completion = {
		.hostname = HOST,
		.domain = HOST,
		.from = STR("me@host.test"),
		.full_name = str_from(full_name),
		.id = {7, 0x10},
	};
	struct buffer out = {0};

	inject_header_complete(&header, &completion, &out);
	assert_text(&out, expected);
	buffer_clear(&out);
	inject_header_clear(&header);
}

static void test_header_complete(void **state)
{
	(void)state;
	assert_completed("Subject: x\n\n", "",
			 "Subject: x\r\nDate: Thu, 01 Jan 1970 00:00:00 +0000\r\n"
			 "From: me@host.test\r\nMessage-ID: <7-10@host.test>\r\n");
	assert_completed(
		"DATE: d\nmessage-ID: i\nfrom: root\n (me)\nBcc: a@b.c,\n d@e.f\n"
		"Return-Path: <x@y.z>\nTo: what now\n\n",
		"Name",
		"DATE: d\r\nmessage-ID: i\r\nfrom: root@host.test\r\n (me)\r\nTo: what now\r\n");
	assert_completed("Date: d\nMessage-ID: i\n\n", "Ann Lee",
			 "Date: d\r\nMessage-ID: i\r\nFrom: Ann Lee <me@host.test>\r\n");
}

static void assert_name(const char *name, const char *expected)
{
	struct buffer out = {0};

	header_name_append(&out, str_from(name));
	assert_text(&out, expected);
	buffer_clear(&out);
}

static void test_name(void **state)
{
	(void)state;
	assert_name("Ann Lee", "Ann Lee");
	assert_name("Ann B. Lee", "\"Ann B. Lee\"");
	assert_name("a\"b\\c", "\"a\\\"b\\\\c\"");
	assert_name("J\xc3\xb6rg X", "=?UTF-8?Q?J=C3=B6rg_X?=");
	assert_name("a\r\nTo: b", "=?UTF-8?Q?a=0D=0ATo=3A_b?=");
	assert_name("\xff", "=?unknown-8bit?Q?=FF?=");
	assert_name(
		"\xc3\xb6\xc3\xb6\xc3\xb6\xc3\xb6\xc3\xb6\xc3\xb6\xc3\xb6\xc3\xb6\xc3\xb6\xc3\xb6"
		"\xc3\xb6",
		"=?UTF-8?Q?=C3=B6=C3=B6=C3=B6=C3=B6=C3=B6=C3=B6=C3=B6=C3=B6=C3=B6=C3=B6?=\r\n "
		"=?UTF-8?Q?=C3=B6?=");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reader),
		cmocka_unit_test(test_nul),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_addresses_stop),
		cmocka_unit_test(test_recipients),
		cmocka_unit_test(test_envelope),
		cmocka_unit_test(test_envelope_forms),
		cmocka_unit_test(test_header_read),
		cmocka_unit_test(test_header_recipients),
		cmocka_unit_test(test_header_recipients_stop),
		cmocka_unit_test(test_header_complete),
		cmocka_unit_test(test_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
