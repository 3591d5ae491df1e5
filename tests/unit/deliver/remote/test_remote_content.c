// SPDX-License-Identifier: ISC
/* What breaks add to a message is what the client's engine adds. */
#include "deliver/remote/session/content.h"
#include "smtp/client/stuffing.h"
#include "test.h"
#include <string.h>

/* A line of LENGTH bytes. */
static void append_line(struct buffer *out, size_t length)
{
	for (size_t i = 0; i < length; i++)
		buffer_append_byte(out, 'x');
	buffer_append_string(out, "\r\n");
}

static uint64_t added_by_engine(struct str text)
{
	struct smtp_stuffing stuffing = {.breaks_lines = true};
	struct buffer out = {0};
	uint64_t added;

	assert_true(smtp_stuffing_append(&stuffing, text, &out));
	assert_true(smtp_stuffing_end(&stuffing, &out));
	added = out.length - text.length - 3 -
		(str_ends_with_nocase(text, STR("\r\n")) || text.length == 0 ? 0 : 2);
	smtp_stuffing_clear(&stuffing);
	buffer_clear(&out);
	return added;
}

static uint64_t counted(struct str text, size_t step)
{
	struct remote_breaks breaks = {0};

	for (size_t i = 0; i < text.length; i += step)
		remote_breaks_count(
			&breaks,
			str_slice(text.data + i, step < text.length - i ? step : text.length - i));
	return remote_breaks_size(&breaks);
}

static void check(struct str text)
{
	uint64_t added = added_by_engine(text);

	assert_int_equal(counted(text, text.length), added);
	for (size_t step = 1; step < 3000; step += step < 4 ? 1 : 331)
		assert_int_equal(counted(text, step), added);
}

static void breaks_are_counted_as_they_are_made(void **state)
{
	static const size_t lengths[] = {0,    1,    70,   996,  997,  998,  999,
					 1000, 1001, 1994, 1995, 1996, 2993, 70000};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(lengths); i++)
		for (size_t j = 0; j < COUNT_OF(lengths); j++) {
			struct buffer text = {0};

			append_line(&text, lengths[i]);
			append_line(&text, 3);
			append_line(&text, lengths[j]);
			check(buffer_view(&text));
			check(str_slice(text.memory, text.length - 2)); /* without a last CRLF */
			buffer_clear(&text);
		}
}

static struct remote_content_needs look(struct str text)
{
	static char chunk[REMOTE_CHUNK_SIZE];
	const struct ipc_content content = {.bytes = text, .file = -1, .size = text.length};

	return remote_content_look(&content, chunk);
}

static void what_is_behind_the_first_mib_may_be_8bit(void **state)
{
	struct buffer text = {0};

	(void)state;
	while (text.length < 1 << 20)
		append_line(&text, 1022);
	assert_int_equal(text.length, 1 << 20);
	assert_false(look(buffer_view(&text)).is_8bit);
	assert_int_equal(look(buffer_view(&text)).breaks_size, 3 * 1024);
	text.memory[(1 << 20) - 5] = (char)0xe9;
	assert_true(look(buffer_view(&text)).is_8bit);
	text.memory[(1 << 20) - 5] = 'x';
	append_line(&text, 1);
	assert_true(look(buffer_view(&text)).is_8bit);
	assert_false(look(STR("")).is_8bit);
	buffer_clear(&text);
}

/* RFC 8689 section 4.2.2 */
static void the_field_that_waives_tls(void **state)
{
	static const struct {
		const char *text;
		bool waives;
	} cases[] = {
		{"TLS-Required: No\r\nSubject: a\r\n\r\ntext\r\n", true},
		{"Subject: a\r\nTLS-Required: No\r\n\r\ntext\r\n", true},
		{"Subject: a\r\nTLS-Required: No", true}, /* no more than this is known */
		{"tls-required:nO\t\r\n\r\n", true},
		{"TLS-Required:\r\n\tNo\r\n \r\n\r\n", true},
		{"TLS-Required: No\r\n way\r\n\r\n", false},
		{"TLS-Required: Yes\r\n\r\n", false},
		{"TLS-Required: \r\n\r\n", false},
		{"TLS-Required: Nobody\r\n\r\n", false},
		{"TLS-Required: Yes, No\r\n\r\n", false},
		{"TLS-Required No\r\n\r\n", false},
		{"X-TLS-Required: No\r\n\r\n", false},
		{"Subject: a\r\n TLS-Required: No\r\n\r\n", false},
		{"Subject: TLS-Required: No\r\n\r\n", false},
		{"Subject: a\r\n\r\nTLS-Required: No\r\n\r\n", false},
		{"", false},
	};
	static char chunk[REMOTE_CHUNK_SIZE];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct str text = str_from(cases[i].text);
		const struct ipc_content content = {.bytes = text, .file = -1, .size = text.length};

		if (remote_content_waives_tls(&content, chunk) != cases[i].waives)
			fail_msg("%s", cases[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(breaks_are_counted_as_they_are_made),
		cmocka_unit_test(what_is_behind_the_first_mib_may_be_8bit),
		cmocka_unit_test(the_field_that_waives_tls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
