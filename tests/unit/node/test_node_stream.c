// SPDX-License-Identifier: ISC
/* The bytes between two nodes: frames, texts and data, in pieces of any size. */
#include "node/stream.h"
#include "test.h"
#include <errno.h>
#include <string.h>

enum { WORDS_MAX = 2 * NODE_NAMES_MAX + 8 };

/* What a handler was told, and at which of its calls it says false. */
struct told {
	struct buffer text;
	bool is_in_data;
	const char *refusal; /* "frame", "text", "data", "end"; NULL: none */
	size_t words;        /* of the last frame */
	uint64_t text_length;
};

static bool goes_on(const struct told *told, const char *call)
{
	return told->refusal == NULL || strcmp(told->refusal, call) != 0;
}

static bool on_frame(void *context, const struct str *words, size_t count, bool *has_payload_out)
{
	struct told *told = context;

	*has_payload_out = str_equal(words[0], STR("take"));
	told->words = count;
	if (count < 10) {
		for (size_t i = 0; i < count; i++)
			buffer_append_format(&told->text, "%s" STR_FORMAT, i > 0 ? " " : "",
					     STR_ARGUMENTS(words[i]));
		buffer_append_string(&told->text, ";");
	}
	return goes_on(told, "frame");
}

static bool on_text(void *context, struct str text, uint64_t size)
{
	struct told *told = context;

	told->text_length = text.length;
	if (text.length < 100)
		buffer_append_format(&told->text, "(" STR_FORMAT ",%llu)", STR_ARGUMENTS(text),
				     (unsigned long long)size);
	return goes_on(told, "text");
}

static bool on_data(void *context, struct str part)
{
	struct told *told = context;

	assert_true(part.length > 0);
	buffer_append_str(&told->text, part);
	return goes_on(told, "data");
}

static bool on_end(void *context)
{
	struct told *told = context;

	buffer_append_string(&told->text, ".");
	return goes_on(told, "end");
}

static const struct node_stream_handler handler = {on_frame, on_text, on_data, on_end};

static void clear_told(struct told *told)
{
	buffer_clear(&told->text);
}

/* Reads INPUT in three pieces, the first two of which end at FIRST and SECOND. */
static int read_pieces(struct told *told, struct str input, size_t first, size_t second)
{
	const struct str pieces[] = {str_slice(input.data, first),
				     str_slice(input.data + first, second - first),
				     str_skip(input, second)};
	struct node_stream stream = {0};
	int result = 0;

	for (size_t i = 0; i < COUNT_OF(pieces) && result == 0; i++)
		result = node_stream_read(&stream, &handler, told, pieces[i]);
	node_stream_clear(&stream);
	return result;
}

#define TAKE "13:4:take,3:1-1,,"

static const char conversation[] =
	"20:5:hello,1:1,5:other,," TAKE "4:text,10:0123456789," TAKE "0:,0:,"
	"8:5:ready,," TAKE "6:text,\n,12:7:4:ping,,,,,"
	"7:4:ping,,";
static const char what_it_says[] = "hello 1 other;"
				   "take 1-1;(text,10)0123456789."
				   "take 1-1;(,0)."
				   "ready;"
				   "take 1-1;(text,\n,12)7:4:ping,,,,."
				   "ping;";

static void each_boundary_comes_to_the_same(void **state)
{
	struct str input = STR(conversation);

	(void)state;
	for (size_t first = 0; first <= input.length; first++)
		for (size_t second = first; second <= input.length; second++) {
			struct told told CLEANUP(clear_told) = {0};

			assert_int_equal(read_pieces(&told, input, first, second), 0);
			if (!str_equal(buffer_view(&told.text), STR(what_it_says)))
				fail_msg("in pieces to %zu and %zu: " STR_FORMAT, first, second,
					 STR_ARGUMENTS(buffer_view(&told.text)));
		}
}

/* What comes before the last byte is told before it. */
static void a_byte_too_few_is_no_error(void **state)
{
	struct str input = STR(conversation);

	(void)state;
	for (size_t length = 0; length < input.length; length++) {
		struct told told CLEANUP(clear_told) = {0};

		assert_int_equal(read_pieces(&told, str_slice(input.data, length), 0, 0), 0);
		assert_true(str_starts_with(STR(what_it_says), buffer_view(&told.text)));
		assert_true(told.text.length < sizeof what_it_says - 1);
	}
}

static const char *const malformed[] = {
	"x",
	":",
	"0:,",          /* no verb */
	"5:ready,",     /* no netstring inside */
	"8:5:ready,x",  /* no comma */
	"8:5:readyx,",  /* nor inside */
	"08:5:ready,,", /* a zero in front */
	"-8:5:ready,,",
	"99999999:", /* longer than a frame may be */
	TAKE "x",
	TAKE ":",
	TAKE "04:text,0:,",
	TAKE "4:textx",
	TAKE "4:text,x",
	TAKE "4:text,:",
	TAKE "4:text,00:,",
	TAKE "4:text,1:xx", /* more data than their length says */
	TAKE "4:text,0:x",
	TAKE "4:text,18446744073709551616:",
	TAKE "99999999999999999999:", /* and of as many digits as there may be */
	TAKE "999999999999999999999:",
	TAKE "4:text,999999999999999999999999",
	TAKE "4:text,0:,,",
};

static void what_is_malformed_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(malformed); i++) {
		struct str input = str_from(malformed[i]);

		for (size_t cut = 0; cut <= input.length; cut++) {
			struct told told CLEANUP(clear_told) = {0};

			if (read_pieces(&told, input, cut, cut) != -EINVAL)
				fail_msg("%s, in pieces to %zu", malformed[i], cut);
		}
	}
}

static void the_largest_size_is_one(void **state)
{
	struct told told CLEANUP(clear_told) = {0};
	struct str input = STR(TAKE "4:text,18446744073709551615:");

	(void)state;
	assert_int_equal(read_pieces(&told, input, 0, 0), 0);
	assert_true(
		str_equal(buffer_view(&told.text), STR("take 1-1;(text,18446744073709551615)")));
}

static void texts_have_a_longest(void **state)
{
	(void)state;
	for (size_t beyond = 0; beyond < 2; beyond++) {
		struct told told CLEANUP(clear_told) = {0};
		struct buffer input CLEANUP(buffer_clear) = {0};
		size_t length = NODE_TEXT_MAX + beyond;

		buffer_append_string(&input, TAKE);
		node_stream_begin_netstring(&input, length);
		for (size_t i = 0; i < length; i++)
			buffer_append_byte(&input, 'x');
		buffer_append_string(&input, ",0:,");
		assert_int_equal(read_pieces(&told, buffer_view(&input), 0, 0),
				 beyond > 0 ? -EINVAL : 0);
		assert_int_equal(told.text_length, beyond > 0 ? 0 : NODE_TEXT_MAX);
	}
}

/* A frame has names of NODE_NAMES_MAX packages with their numbers, and some words. */
static void frames_have_a_largest_number_of_words(void **state)
{
	(void)state;
	for (size_t beyond = 0; beyond < 2; beyond++) {
		struct told told CLEANUP(clear_told) = {0};
		struct buffer words CLEANUP(buffer_clear) = {0};
		struct buffer input CLEANUP(buffer_clear) = {0};

		for (size_t i = 0; i < WORDS_MAX + beyond; i++)
			buffer_append_string(&words, "1:x,");
		node_stream_begin_netstring(&input, words.length);
		buffer_append_str(&input, buffer_view(&words));
		buffer_append_byte(&input, ',');
		assert_int_equal(read_pieces(&told, buffer_view(&input), 0, 0),
				 beyond > 0 ? -EINVAL : 0);
		assert_int_equal(told.words, beyond > 0 ? 0 : WORDS_MAX);
	}
}

static void nothing_follows_what_the_handler_refuses(void **state)
{
	static const struct {
		const char *refusal;
		const char *told;
	} cases[] = {
		{"frame", "hello 1 other;"},
		{"text", "hello 1 other;take 1-1;(text,10)"},
		{"data", "hello 1 other;take 1-1;(text,10)0123456789"},
		{"end", "hello 1 other;take 1-1;(text,10)0123456789."},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct told told CLEANUP(clear_told) = {.refusal = cases[i].refusal};

		assert_int_equal(read_pieces(&told, STR(conversation), 0, 0), -ECANCELED);
		assert_true(str_equal(buffer_view(&told.text), str_from(cases[i].told)));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_boundary_comes_to_the_same),
		cmocka_unit_test(a_byte_too_few_is_no_error),
		cmocka_unit_test(what_is_malformed_is_refused),
		cmocka_unit_test(the_largest_size_is_one),
		cmocka_unit_test(texts_have_a_longest),
		cmocka_unit_test(frames_have_a_largest_number_of_words),
		cmocka_unit_test(nothing_follows_what_the_handler_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
