// SPDX-License-Identifier: ISC
#include "header/loop.h"
#include "test.h"
#include <stdio.h>

static const struct hash_key KEY = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
static const struct hash_key OTHER_KEY = {0x0706050403020100, 0x0f0e0d0c0b0a0909};

#define ANN STR("ann@a.test")

/* The field of a mark, with CRLF; freed by the next call. */
static const char *field(enum header_loop_way way, const char *address)
{
	static struct buffer out;

	buffer_reset(&out);
	header_loop_append(KEY, way, str_from(address), "\r\n", &out);
	buffer_append_byte(&out, '\0');
	return buffer_data(&out);
}

static struct header_loop loop_of(const char *header)
{
	struct header_loop loop = {.count = 0};

	header_loop_read(&loop, str_from(header));
	return loop;
}

static bool has(const char *header, const char *address)
{
	struct header_loop loop = loop_of(header);

	return header_loop_has(&loop, KEY, str_from(address));
}

static bool closes(const char *header, const char *address, const char *via)
{
	struct header_loop loop = loop_of(header);

	return header_loop_closes(&loop, KEY, str_from(address), str_from(via));
}

/* Other nodes and later versions must make the same marks. */
static void a_mark_stays_as_it_is(void **state)
{
	(void)state;
	assert_string_equal(field(HEADER_LOOP_DELIVERED, "ann@a.test"),
			    "X-Stagepost-Loop: v1 3958ca682418e3f1\r\n");
	assert_string_equal(field(HEADER_LOOP_LED_ON, "ann@a.test"),
			    "X-Stagepost-Loop: v1 874403fea5dda98a\r\n");
}

static void all_spellings_are_one_address(void **state)
{
	static const struct {
		const char *written;
		const char *asked;
		bool is_same;
	} cases[] = {
		{"ann@a.test", "ANN@A.TEST", true},
		{"\"ann\"@a.test", "ann@a.test", true},
		{"j\xc3\xb6rg@b\xc3\xbc"
		 "cher.test",
		 "J\xc3\x96RG@xn--bcher-kva.test", true},
		{"ann+x@a.test", "ann@a.test", false},
		{"ann@a.test", "ann@a.test.net", false},
		{"ann@a.test", "bob@a.test", false},
		{"ann", "ann@", true},
		{"\"@a.test", "\"@a.test", true}, /* what has no form is compared as it is */
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_int_equal(
			has(field(HEADER_LOOP_DELIVERED, cases[i].written), cases[i].asked),
			cases[i].is_same);
}

static void only_the_key_makes_marks(void **state)
{
	static const struct hash_key none = {0, 0};
	struct header_loop loop = loop_of(field(HEADER_LOOP_DELIVERED, "ann@a.test"));
	struct buffer out = {0};

	(void)state;
	assert_true(header_loop_has(&loop, KEY, ANN));
	assert_false(header_loop_has(&loop, OTHER_KEY, ANN));
	assert_false(header_loop_has(&loop, none, ANN));
	assert_false(header_loop_closes(&loop, none, ANN, STR("bob@a.test")));
	header_loop_append(none, HEADER_LOOP_DELIVERED, ANN, "\n", &out);
	assert_int_equal(out.length, 0);
	assert_false(has("Delivered-To: ann@a.test\r\n\r\n", "ann@a.test"));
}

static void what_is_a_mark(void **state)
{
	static const struct {
		const char *line;
		enum header_loop_line kind;
	} cases[] = {
		{"X-Stagepost-Loop: v1 0123456789abcdef", HEADER_LOOP_MARK},
		{"X-Stagepost-Loop: v1 0123456789abcdef\r", HEADER_LOOP_MARK},
		{"x-stagepost-LOOP:v1 0123456789abcdef ", HEADER_LOOP_MARK},
		{"X-Stagepost-Loop: v2 0123456789abcdef", HEADER_LOOP_NONE},
		{"X-Stagepost-Loop: v1 0123456789abcde", HEADER_LOOP_NONE},
		{"X-Stagepost-Loop: v1 0123456789abcdef0", HEADER_LOOP_NONE},
		{"X-Stagepost-Loop: v1 0123456789abcdeg", HEADER_LOOP_NONE},
		{"X-Stagepost-Loop:", HEADER_LOOP_NONE},
		{"X-Stagepost-Loop", HEADER_LOOP_NONE},
		{"X-Stagepost-Loops: v1 0123456789abcdef", HEADER_LOOP_NONE},
		{" X-Stagepost-Loop: v1 0123456789abcdef", HEADER_LOOP_NONE},
		{"Resent-From: ann@a.test", HEADER_LOOP_RESENT},
		{"RESENT-x", HEADER_LOOP_RESENT},
		{"Resent", HEADER_LOOP_NONE},
		{"", HEADER_LOOP_NONE},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		uint64_t mark = 0;

		assert_int_equal(header_loop_parse(str_from(cases[i].line), &mark), cases[i].kind);
		if (cases[i].kind == HEADER_LOOP_MARK)
			assert_int_equal(mark, 0x0123456789abcdef);
	}
}

/* The marks of a header without its body. */
static void marks_are_in_the_header(void **state)
{
	char text[300];

	(void)state;
	snprintf(text, sizeof text, "Received: x\r\n by y\r\n%s\r\nbody\r\n",
		 field(HEADER_LOOP_DELIVERED, "ann@a.test"));
	assert_true(has(text, "ann@a.test"));
	snprintf(text, sizeof text, "Received: x\r\n\r\n%s",
		 field(HEADER_LOOP_DELIVERED, "ann@a.test"));
	assert_false(has(text, "ann@a.test"));
	snprintf(text, sizeof text, "Received: x\n\n%s",
		 field(HEADER_LOOP_DELIVERED, "ann@a.test"));
	assert_false(has(text, "ann@a.test"));
	assert_false(has("", "ann@a.test"));
}

static void a_way_closes(void **state)
{
	char text[100];

	(void)state;
	snprintf(text, sizeof text, "%s", field(HEADER_LOOP_LED_ON, "ann@a.test"));
	assert_true(closes(text, "ann@a.test", ""));
	assert_true(closes(text, "ann@b.test", "ann@a.test"));
	/* led on, and back to the same mailbox by another address */
	assert_false(closes(text, "ann@a.test", "ann@b.test"));
	assert_false(closes(text, "bob@a.test", ""));
	snprintf(text, sizeof text, "%s", field(HEADER_LOOP_DELIVERED, "ann@a.test"));
	assert_true(closes(text, "ann@a.test", ""));
	assert_true(closes(text, "ann@a.test", "info@a.test"));
	assert_true(closes(text, "bob@a.test", "ann@a.test"));
	assert_false(closes(text, "bob@a.test", "info@a.test"));
}

/* A header with fields Resent- above so many marks, and below so many others. */
static struct header_loop resent(unsigned marks_above, unsigned marks_below)
{
	struct buffer text = {0};
	struct header_loop loop = {.count = 0};

	for (unsigned i = 0; i < marks_above; i++)
		buffer_append_string(&text, field(HEADER_LOOP_DELIVERED, "ann@a.test"));
	buffer_append_string(&text, "Resent-From: ann@a.test\r\nResent-To: ann@a.test\r\n");
	for (unsigned i = 0; i < marks_below; i++)
		buffer_append_string(&text,
				     field(i % 2 == 0 ? HEADER_LOOP_DELIVERED : HEADER_LOOP_LED_ON,
					   "ann@a.test"));
	header_loop_read(&loop, buffer_view(&text));
	buffer_clear(&text);
	return loop;
}

static void who_sends_again_begins_anew(void **state)
{
	struct header_loop loop = resent(0, 1);

	(void)state;
	assert_false(header_loop_has(&loop, KEY, ANN));
	assert_false(header_loop_closes(&loop, KEY, ANN, STR("x@a.test")));
	loop = resent(1, 1);
	assert_true(header_loop_has(&loop, KEY, ANN));
	loop = resent(0, HEADER_LOOP_RESENT_MAX - 1);
	assert_false(header_loop_has(&loop, KEY, ANN));
	loop = resent(0, HEADER_LOOP_RESENT_MAX); /* so does a program that sends mail on */
	assert_true(header_loop_has(&loop, KEY, ANN));
}

static void so_many_are_kept(void **state)
{
	struct header_loop loop = {.count = 0};

	(void)state;
	for (uint64_t i = 0; i < HEADER_LOOP_MAX; i++)
		assert_true(header_loop_add(&loop, i));
	assert_false(header_loop_add(&loop, 1));
	assert_int_equal(loop.count, HEADER_LOOP_MAX);
	assert_int_equal(loop.above_resent, HEADER_LOOP_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mark_stays_as_it_is),
		cmocka_unit_test(all_spellings_are_one_address),
		cmocka_unit_test(only_the_key_makes_marks),
		cmocka_unit_test(what_is_a_mark),
		cmocka_unit_test(marks_are_in_the_header),
		cmocka_unit_test(a_way_closes),
		cmocka_unit_test(who_sends_again_begins_anew),
		cmocka_unit_test(so_many_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
