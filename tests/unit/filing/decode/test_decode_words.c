// SPDX-License-Identifier: ISC
/* Encoded words in a header: each after each other one, in each field that has words, and as many
 * as are looked at; a problem is told exactly if one of them has a charset that nobody knows. */
#include "base/arena.h"
#include "base/buffer.h"
#include "filing/decode/mime.h"
#include "test.h"
#include <string.h>

enum { WORDS_LOOKED_AT = 200 };

static const struct {
	const char *text;
	bool is_bad;
} words[] = {
	{"plain", false},
	{"=?utf-8?q?a?=", false},
	{"=?UTF-8?B?YQ==?=", false},
	{"=?iso-8859-1*en?q?a?=", false},
	{"=?nope?q?a?=", true},
	{"=?nope*en?q?a?=", true},
	{"=??q?a?=", true},
	{"a=b", false},
	{"==", false},
	{"=?utf-8?q?a=41=?=", false},
	{"=?0123456789012345678901234567890123456789012345678901234567890123?q?a?=", true},
	{"=?01234567890123456789012345678901234567890123456789012345678901234?q?a?=", true},
};

static bool has_problem(const char *header)
{
	struct ipc_content content = {.bytes = str_from(header), .file = -1};
	struct arena *arena = arena_new();
	struct decode_message message;
	bool has_it;

	content.size = content.bytes.length;
	decode_mime(&content, arena, &message);
	has_it = memmem(message.problem.data, message.problem.length, "encoded words", 13) != NULL;
	arena_free(arena);
	return has_it;
}

static void each_after_each(void **state)
{
	static const char *const fields[] = {"Subject", "from", "Sender", "Reply-To",
					     "TO",      "Cc",   "BCC",    "Comments"};

	(void)state;
	for (size_t a = 0; a < COUNT_OF(words); a++)
		for (size_t b = 0; b < COUNT_OF(words); b++)
			for (size_t c = 0; c < COUNT_OF(words); c++) {
				size_t field = (a + b + c) % COUNT_OF(fields);
				bool is_bad = words[a].is_bad || words[b].is_bad || words[c].is_bad;
				struct buffer text = {0};

				buffer_append_format(&text, "%s: %s %s %s\n\nbody\n%c",
						     fields[field], words[a].text, words[b].text,
						     words[c].text, '\0');
				if (has_problem(buffer_data(&text)) !=
				    (is_bad && strcmp(fields[field], "Comments") != 0))
					fail_msg("%s", buffer_data(&text));
				buffer_clear(&text);
			}
}

static void as_many_as_are_looked_at(void **state)
{
	(void)state;
	for (unsigned before = WORDS_LOOKED_AT - 2; before <= WORDS_LOOKED_AT + 1; before++) {
		struct buffer text = {0};

		buffer_append_string(&text, "Subject:");
		for (unsigned i = 0; i < before; i++)
			buffer_append_string(&text, " =?utf-8?q?a?=\n");
		buffer_append_format(&text, " =?nope?q?a?=\n\nbody\n%c", '\0');
		assert_int_equal(has_problem(buffer_data(&text)), before < WORDS_LOOKED_AT);
		buffer_clear(&text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_after_each),
		cmocka_unit_test(as_many_as_are_looked_at),
	};

	decode_mime_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
