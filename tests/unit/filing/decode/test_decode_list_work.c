// SPDX-License-Identifier: ISC
#include "base/buffer.h"
#include "filing/decode/mime/internal.h"
#include "test.h"

enum { SIZE = 64 << 10 };

static uint64_t steps_of(const char *begin, const char *piece)
{
	struct decode_list_work work = {0};
	struct buffer text = {0};

	buffer_append_string(&text, begin);
	while (text.length < SIZE)
		buffer_append_string(&text, piece);
	for (size_t i = 0; i < text.length; i++)
		decode_list_work_take(&work, buffer_data(&text)[i]);
	buffer_clear(&text);
	return work.steps;
}

/* Lists as programs write them are looked through about once. */
static void usual_lists_cost_their_size(void **state)
{
	static const char *const pieces[] = {
		"a@b.test,",
		"a@b.test,\r\n ",
		"Ann Bell <a@b.test>, ",
		"Bell, Ann <a@b.test>; ",
		"\"Bell, Ann (x) [y]\" <a@b.test>, ",
		"\"a b\"@b.test, ",
		"=?UTF-8?Q?J=C3=B6rg?= <a@b.test>, ",
		"J\xc3\xb6rg <a@b.test>,",
		"g: a@b.test, c@d.test;, ",
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(pieces); i++)
		if (steps_of(" ", pieces[i]) > 3 * SIZE)
			fail_msg("%s: %llu", pieces[i],
				 (unsigned long long)steps_of(" ", pieces[i]));
}

/* Where GMime may go on past the end of an address, each comma counts until the end. */
static void others_cost_the_square(void **state)
{
	static const struct {
		const char *begin, *piece;
	} lists[] = {
		{"", "a,"},
		{"", "a.b, c"},
		{"\"", "a,@"},
		{"", ",\"@\""},
		{"a \"", ",\"@\""},
		{"a@b ;\"", ",\"@\""},
		{"(\")", ",\"@\""},
		{"[\"", ",\"@\""},
		{"<\"", ",\"@\""},
		{"a@\"", ",\"@\""},
		{"\\\"", ",\"@\""},
		{"< @,\"x:", ",\"@\""},
		{"\"\\\",", "\"a,\"@,"},
		{"(", "a@b,"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(lists); i++)
		if (steps_of(lists[i].begin, lists[i].piece) < (uint64_t)SIZE * SIZE / 20)
			fail_msg("%s%s: %llu", lists[i].begin, lists[i].piece,
				 (unsigned long long)steps_of(lists[i].begin, lists[i].piece));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(usual_lists_cost_their_size),
		cmocka_unit_test(others_cost_the_square),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
