// SPDX-License-Identifier: ISC
/* What GMime does not see of headers: each bound exactly, and one beyond it; whatever pieces it is
 * applied to. */
#include "base/buffer.h"
#include "filing/decode/mime/internal.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>

/* FIRST, then COUNT times EACH, then LAST. */
struct text {
	const char *first, *each;
	size_t count;
	const char *last;
};

struct seen {
	struct buffer text; /* as GMime sees it */
	size_t ranges;
	uint64_t end;
	unsigned problems;
	ptrdiff_t blank; /* the first byte that is; -1: none */
};

static struct buffer build(const struct text *text)
{
	struct buffer out = {0};

	buffer_append_string(&out, text->first);
	for (size_t i = 0; i < text->count; i++)
		buffer_append_string(&out, text->each);
	buffer_append_string(&out, text->last);
	return out;
}

static struct seen look(struct str text, size_t piece)
{
	struct ipc_content content = {.bytes = text, .file = -1, .size = text.length};
	struct decode_work work = {.content = &content, .end = text.length};
	struct decode_bound *bound = decode_bound_new(&work);
	struct seen seen = {.ranges = decode_bound_count(bound, 0, text.length), .blank = -1};

	buffer_append_str(&seen.text, text);
	for (size_t at = 0; at < text.length; at += piece)
		decode_bound_apply(bound, at, buffer_data(&seen.text) + at,
				   text.length - at < piece ? text.length - at : piece);
	seen.end = work.end;
	seen.problems = work.problems;
	for (size_t i = 0; seen.blank < 0 && i < text.length; i++)
		if (buffer_data(&seen.text)[i] != text.data[i])
			seen.blank = (ptrdiff_t)i;
	decode_bound_free(bound);
	return seen;
}

/* Lines stay where they are; what is blank are spaces and one NUL. */
static void check_form(struct str text, const struct seen *seen)
{
	size_t nuls = 0;

	for (size_t i = 0; i < text.length; i++) {
		char now = buffer_data(&seen->text)[i];

		assert_int_equal(now == '\n', text.data[i] == '\n');
		assert_true(now == text.data[i] || now == ' ' || now == '\0');
		nuls += now == '\0';
	}
	assert_true(nuls <= seen->ranges);
}

#define X10   "xxxxxxxxxx"
#define X100  X10 X10 X10 X10 X10 X10 X10 X10 X10 X10
#define X1000 X100 X100 X100 X100 X100 X100 X100 X100 X100 X100

static void bounds_are_where_they_are(void **state)
{
	static const struct {
		struct text within, beyond;
	} rows[] = {
		/* fields of all headers; one is counted before the first */
		{{"", "a:b\n", 9999, "\nbody\n"}, {"", "a:b\n", 10000, "\nbody\n"}},
		/* bytes of a field, with its name */
		{{"x:", "y", 65534, "\n\n"}, {"x:", "y", 65535, "\n\n"}},
		/* parameters */
		{{"Content-Type: a/b", ";", 200, "\n\n"}, {"Content-Type: a/b", ";", 201, "\n\n"}},
		/* encoded words */
		{{"x:", "=?a?=", 2000, "\n\n"}, {"x:", "=?a?=", 2001, "\n\n"}},
		{{"x:=?a?=\n", "y:=?a?=\n", 1999, "\n"}, {"x:=?a?=\n", "y:=?a?=\n", 2000, "\n"}},
		/* groups of addresses */
		{{"To:", ":", 1000, "\n\n"}, {"To:", ":", 1001, "\n\n"}},
		{{"To:", ":;", 5000, "\n\n"}, {"To:", ":::;", 501, "\n\n"}},
		/* bytes of all headers: of 1049 lines the last has too many */
		{{"", "x:" X1000 "\n", 1046, "\n"}, {"", "x:" X1000 "\n", 1047, "\n"}},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		for (int is_beyond = 0; is_beyond < 2; is_beyond++) {
			struct buffer text = build(is_beyond ? &rows[i].beyond : &rows[i].within);
			struct seen whole = look(buffer_view(&text), text.length);

			if ((whole.ranges > 0) != is_beyond || (whole.blank >= 0) != is_beyond)
				fail_msg("%zu %d: %zu ranges from %td", i, is_beyond, whole.ranges,
					 whole.blank);
			assert_int_equal(whole.problems, 0);
			assert_int_equal(whole.end, text.length);
			check_form(buffer_view(&text), &whole);
			for (size_t piece = 1; is_beyond && piece < 70000; piece = piece * 7 + 1) {
				struct seen parts = look(buffer_view(&text), piece);

				assert_true(str_equal(buffer_view(&whole.text),
						      buffer_view(&parts.text)));
				buffer_clear(&parts.text);
			}
			buffer_clear(&whole.text);
			buffer_clear(&text);
		}
}

/* What comes after a field that has too much of something is seen, but for the bounds of all
 * headers. */
static void only_what_is_too_much_is_blank(void **state)
{
	const struct text text = {"Content-Type: a/b", ";", 205,
				  "zzz\nSubject: s\n\nbody; body\n--b\nX: y\n\n"};
	struct buffer built = build(&text);
	struct seen seen = look(buffer_view(&built), built.length);
	size_t from = strlen(text.first) + 200;

	(void)state;
	assert_int_equal(seen.blank, from);
	assert_int_equal(seen.ranges, 1);
	assert_int_equal(buffer_data(&seen.text)[from], '\0');
	for (size_t i = from + 1; i < from + 8; i++)
		assert_int_equal(buffer_data(&seen.text)[i], ' ');
	assert_string_equal(memchr(buffer_data(&built), '\n', built.length) == NULL ? "" : "x",
			    "x");
	assert_memory_equal(buffer_data(&seen.text) + from + 8, buffer_data(&built) + from + 8,
			    built.length - from - 8);
	buffer_clear(&seen.text);
	buffer_clear(&built);
}

/* Headers begin after delimiters, and after the header of a part that may be a message; nowhere
 * else. */
static void headers_are_where_they_may_be(void **state)
{
#define MUCH "X: a"
	static const struct {
		const char *before;
		bool is_header;
	} rows[] = {
		{"", true},
		{"A: b\n", true},
		{"A: b\n\n", false},
		{"A: b\n\nbody\n", false},
		{"A: b\n\n--b\n", true},
		{"A: b\n\n-b\n", false},
		{"A: b\n\n --b\n", false},
		{"A: b\n\n--b\n\n", true}, /* of no type: perhaps a message */
		{"A: b\n\n--b\nContent-Type: text/plain\n\n", false},
		{"A: b\n\n--b\nContent-Type: message/rfc822\n\n", true},
		{"A: b\n\n--b\nContent-Type: MESSAGE/rfc822\n\n", true},
		{"A: b\n\n--b\nContent-Type: mmessage/x\n\n", true},
		{"A: b\n\n--b\nContent-Type: mess-age/x\n\n", false},
		{"A: b\n\n--b\nContent-Type : message/rfc822\n\n", true},
		{"A: b\n\n--b\nX-Content-Type: message/rfc822\n\n", true},
		{"Content-Type: message/rfc822\n\n", true},
		{"Content-Type: message/rfc822\n\nA: b\n\n", false},
		{"A: b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\n", false},
		{"A: b\n\r\n--b\n\r\n", true},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct text text = {rows[i].before, ";", 0, ""};
		struct buffer built = build(&text);
		struct seen seen;

		buffer_append_string(&built, MUCH);
		for (unsigned k = 0; k < 201; k++)
			buffer_append_byte(&built, ';');
		buffer_append_byte(&built, '\n');
		seen = look(buffer_view(&built), built.length);
		if ((seen.ranges > 0) != rows[i].is_header)
			fail_msg("%zu: %s", i, rows[i].before);
		buffer_clear(&seen.text);
		buffer_clear(&built);
	}
}

static void delimiters_have_a_bound(void **state)
{
	(void)state;
	for (size_t beyond = 0; beyond <= 1; beyond++) {
		const struct text text = {"A: b\n\n", "--\n", 50000 + beyond, ""};
		struct buffer built = build(&text);
		struct seen seen = look(buffer_view(&built), built.length);

		assert_int_equal(seen.problems, beyond > 0 ? DECODE_PROBLEM_DELIMITERS : 0);
		assert_int_equal(seen.end, beyond > 0 ? built.length - 3 : built.length);
		buffer_clear(&seen.text);
		buffer_clear(&built);
	}
}

/* Ranges are counted where they are. */
static void ranges_are_counted(void **state)
{
	struct text text = {"", "", 0, ""};
	struct buffer built = build(&text);
	struct ipc_content content = {.file = -1};
	struct decode_work work = {.content = &content};
	struct decode_bound *bound;
	size_t begins[3], ends[3];

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		buffer_append_string(&built, "A: b");
		for (unsigned k = 0; k < 210; k++)
			buffer_append_byte(&built, ';');
		begins[i] = built.length - 10;
		ends[i] = built.length + 1; /* with the line's end */
		buffer_append_string(&built, "\nB: c\n");
	}
	content.bytes = buffer_view(&built);
	content.size = work.end = built.length;
	bound = decode_bound_new(&work);
	for (size_t from = 0; from < built.length; from += 7)
		for (size_t to = from; to <= built.length; to += 5) {
			size_t count = 0;

			for (size_t i = 0; i < 3; i++)
				count += begins[i] < to && ends[i] > from;
			if (decode_bound_count(bound, from, to) != count && to > from)
				fail_msg("%zu to %zu: %zu, not %zu", from, to,
					 decode_bound_count(bound, from, to), count);
		}
	decode_bound_free(bound);
	buffer_clear(&built);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bounds_are_where_they_are),
		cmocka_unit_test(only_what_is_too_much_is_blank),
		cmocka_unit_test(headers_are_where_they_may_be),
		cmocka_unit_test(delimiters_have_a_bound),
		cmocka_unit_test(ranges_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
