// SPDX-License-Identifier: ISC
/*
 * Address fields by chance, of the pieces that programs and forgers write: names, comments, quotes,
 * groups, routes, encoded words, separators too many and too few. Whatever comes out of them, no
 * address is invented; an author is accepted only if no reader of another kind finds somebody else;
 * what is left has one reading; and the cost is linear.
 */
#include "chance.h"
#include "header/authors.h"
#include "mail/address.h"
#include "test.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FIELDS = 20000, PIECES_MAX = 14, LARGE = 32 * 1024, SECONDS_MAX = 1 };

#define OWN     "ann@a.test"
#define FOREIGN "bob@b.test"

static const struct header_addresses_rules rules = {STR("host.test"), MAIL_ADDRESS_UTF8};

static const char *const pieces[] = {
	OWN,
	FOREIGN,
	"<ann@a.test>",
	"<bob@b.test>",
	"<ann@a.test",
	"ann@a.test>",
	"<@b.test:ann@a.test>",
	"<@b.test,@c.test:ann@a.test>",
	"<bob@b.test:ann@a.test>",
	"<mailto:ann@a.test>",
	"<<ann@a.test>>",
	"ann @ a.test",
	"bob @ b.test",
	"ann . x @ a.test",
	"ann(x)@a.test",
	"ann(bob@b.test)@a.test",
	"ann@a(x).test",
	"\"ann\"@a.test",
	"\"b b\"@b.test",
	"ann@[192.0.2.1]",
	"bob@b.test.",
	"@b.test",
	"bob@",
	"@",
	"x@y@z.test",
	"Ann",
	"Lee",
	"J\xc3\xb6rg",
	"\xff",
	"2nd floor",
	"Ann Lee",
	"J. R.",
	"[2nd]",
	"[",
	"]",
	"\\",
	"O'Neil",
	"\"",
	"\"Lee, Ann\"",
	"\"bob@b.test\"",
	"\"<bob@b.test>,\"",
	"\"\\\"<bob@b.test>\\\"\"",
	"\"\\\\\"",
	"(",
	")",
	"(x)",
	"(bob@b.test)",
	"(\\) bob@b.test \\()",
	"(a (bob@b.test) b)",
	"=?UTF-8?Q?J=C3=B6rg?=",
	"=?UTF-8?Q?bob@b.test?=",
	"=?UTF-8?Q?bob@b.test,_x?=",
	"=?utf-8?b?Sm9lCg==?=",
	"=?x?q?",
	"?=",
	",",
	",",
	", ",
	";",
	"; ",
	":",
	": ",
	"Group:",
	"undisclosed-recipients:;",
	"<>",
	"<",
	">",
	"<Ann Lee>",
	"<ann>",
	" ",
	" ",
	" ",
	"\t",
	"\r\n ",
	"\x01",
	"\x7f",
	".",
	"..",
	"mailto:",
	"http://c.test/x",
};

/* One field, and what was read of it. */
struct field {
	struct buffer text;
	struct buffer squeezed; /* without white space and comments */
	bool is_foreign;        /* somebody else was read */
	size_t addresses;
};

static void field_clear(struct field *field)
{
	buffer_clear(&field->text);
	buffer_clear(&field->squeezed);
}

static void make_field(struct buffer *text)
{
	size_t count = 1 + chance(PIECES_MAX);

	for (size_t i = 0; i < count; i++) {
		buffer_append_string(text, pieces[chance(COUNT_OF(pieces))]);
		if (chance(3) > 0)
			buffer_append_byte(text, ' ');
	}
}

static bool contains(const struct buffer *text, struct str part)
{
	return memmem(buffer_data(text), text->length, part.data, part.length) != NULL;
}

/* --- nothing is invented --- */

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Appends TEXT without white space, and without comments, as somebody sees them who knows quotes,
 * or not. */
static void squeeze(struct str text, bool has_comments, bool has_quotes, struct buffer *out)
{
	size_t depth = 0;
	bool is_quoted = false;

	for (size_t i = 0; i < text.length; i++) {
		char c = text.data[i];

		if (depth > 0 && c == '\\') {
			i++;
			continue;
		}
		if (is_quoted && c == '\\' && i + 1 < text.length) {
			buffer_append_byte(out, c);
			c = text.data[++i];
		} else if (has_quotes && c == '"' && depth == 0) {
			is_quoted = !is_quoted;
		}
		depth += has_comments && !is_quoted && c == '(';
		if (depth == 0 && !is_space(c))
			buffer_append_byte(out, c);
		depth -= has_comments && !is_quoted && c == ')' && depth > 0;
	}
	buffer_append_byte(out, '\n');
}

static void squeeze_address(struct str address, struct buffer *out)
{
	squeeze(address, false, false, out);
	buffer_truncate(out, out->length - 1);
}

static int check_element(void *context, const struct header_element *element)
{
	struct field *field = context;
	static const struct str host = STR("@host.test");
	struct str address = element->address;
	struct buffer plain CLEANUP(buffer_clear) = {0};
	bool is_there;

	if (address.length == 0)
		return 0;
	field->addresses++;
	squeeze_address(address, &plain);
	is_there = contains(&field->squeezed, buffer_view(&plain));
	if (!is_there && str_ends_with_nocase(address, host)) {
		struct str local = str_slice(address.data, address.length - host.length);

		buffer_reset(&plain);
		squeeze_address(local, &plain);
		is_there =
			contains(&field->squeezed, buffer_view(&plain)) && str_find(local, '@') < 0;
	}
	if (!is_there)
		fail_msg("invented " STR_FORMAT " in\n" STR_FORMAT, STR_ARGUMENTS(address),
			 STR_ARGUMENTS(buffer_view(&field->text)));
	return 0;
}

static void no_address_is_invented(void **state)
{
	size_t found = 0;

	(void)state;
	for (int i = 0; i < FIELDS; i++) {
		struct field field = {.addresses = 0};
		struct buffer completed = {0};
		struct buffer again = {0};
		struct str text;

		make_field(&field.text);
		text = buffer_view(&field.text);
		squeeze(text, true, true, &field.squeezed);
		squeeze(text, true, false, &field.squeezed);
		squeeze(text, false, false, &field.squeezed);
		assert_int_equal(header_addresses_read(text, &rules, check_element, &field,
						       &completed, NULL),
				 0);
		assert_int_equal(header_addresses_read(buffer_view(&completed), &rules, NULL, NULL,
						       &again, NULL),
				 0);
		if (!str_equal(buffer_view(&completed), buffer_view(&again)))
			fail_msg("completed twice:\n" STR_FORMAT "\n" STR_FORMAT "\n" STR_FORMAT,
				 STR_ARGUMENTS(text), STR_ARGUMENTS(buffer_view(&completed)),
				 STR_ARGUMENTS(buffer_view(&again)));
		found += field.addresses;
		buffer_clear(&completed);
		buffer_clear(&again);
		field_clear(&field);
	}
	assert_true(found > FIELDS); /* or it says nothing */
}

/* --- authors --- */

static int judge(void *context, struct str address)
{
	struct field *field = context;

	field->is_foreign |=
		!str_equal(address, STR(OWN)) && !str_equal(address, STR("\"ann\"@a.test"));
	field->addresses++;
	return 0;
}

/* Somebody who reads only what is in angle brackets, the last or the first, and does not know
 * what quotes and comments are. */
static bool finds_foreign_in_brackets(struct str text)
{
	for (size_t i = 0; i < text.length; i++) {
		struct str rest = str_skip(text, i + 1);
		ptrdiff_t end;

		if (text.data[i] != '<')
			continue;
		end = str_find(rest, '>');
		if (end >= 0 && str_equal(str_slice(rest.data, (size_t)end), STR(FOREIGN)))
			return true;
	}
	return false;
}

/* Somebody who takes any word with an '@' for an address. */
static bool finds_foreign_word(struct str text)
{
	size_t start = 0;

	for (size_t i = 0; i <= text.length; i++) {
		if (i < text.length && !is_space(text.data[i]) &&
		    strchr("()<>[]:;\\,\"", text.data[i]) == NULL)
			continue;
		if (str_equal(str_slice(text.data + start, i - start), STR(FOREIGN)))
			return true;
		start = i + 1;
	}
	return false;
}

/* TEXT without quoted strings and comments. */
static void remove_enclosed(struct str text, struct buffer *out)
{
	size_t depth = 0;
	bool is_quoted = false;

	for (size_t i = 0; i < text.length; i++) {
		char c = text.data[i];

		if (c == '\\' && (is_quoted || depth > 0)) {
			i++;
			continue;
		}
		if (c == '"' && depth == 0) {
			is_quoted = !is_quoted;
			buffer_append_byte(out, 'q'); /* a word is there */
			continue;
		}
		depth += !is_quoted && c == '(';
		if (!is_quoted && depth == 0)
			buffer_append_byte(out, c);
		depth -= !is_quoted && c == ')' && depth > 0;
	}
}

static bool finds_foreign(struct str text)
{
	return finds_foreign_in_brackets(text) || finds_foreign_word(text);
}

static int read_field(struct field *field, struct str list, struct buffer *only)
{
	struct str bad;

	field->is_foreign = false;
	field->addresses = 0;
	return header_authors_read(list, &rules, judge, field, only, &bad);
}

/* What was accepted, and perhaps written anew. */
static void check_accepted(struct field *field, struct str only)
{
	struct str text = buffer_view(&field->text);
	struct str left = only.length > 0 ? only : text;
	struct buffer outside CLEANUP(buffer_clear) = {0};
	struct buffer again CLEANUP(buffer_clear) = {0};
	struct field second = {.addresses = 0};

	if (only.length > 0 && finds_foreign(text))
		fail_msg("accepted:\n" STR_FORMAT, STR_ARGUMENTS(text));
	remove_enclosed(left, &outside);
	if (finds_foreign(buffer_view(&outside)))
		fail_msg("left:\n" STR_FORMAT, STR_ARGUMENTS(left));
	if (read_field(&second, left, &again) != 0 || second.is_foreign || second.addresses == 0)
		fail_msg("not accepted again:\n" STR_FORMAT "\n" STR_FORMAT, STR_ARGUMENTS(text),
			 STR_ARGUMENTS(left));
	if (again.length > 0)
		fail_msg("two readings are left:\n" STR_FORMAT "\n" STR_FORMAT "\n" STR_FORMAT,
			 STR_ARGUMENTS(text), STR_ARGUMENTS(left),
			 STR_ARGUMENTS(buffer_view(&again)));
}

static void an_author_is_accepted_only_without_another_reading(void **state)
{
	size_t accepted = 0;
	size_t rewritten = 0;

	(void)state;
	for (int i = 0; i < FIELDS; i++) {
		struct field field = {.addresses = 0};
		struct buffer only = {0};

		make_field(&field.text);
		if (read_field(&field, buffer_view(&field.text), &only) == 0 && !field.is_foreign) {
			accepted++;
			rewritten += only.length > 0;
			check_accepted(&field, buffer_view(&only));
		}
		buffer_clear(&only);
		field_clear(&field);
	}
	/* or they are no fields that anybody writes */
	assert_true(accepted > FIELDS / 50);
	assert_true(rewritten > FIELDS / 100);
}

/* --- cost --- */

static int count_calls(void *context, struct str address)
{
	(void)address;
	++*(size_t *)context;
	return 0;
}

static double seconds_for(struct str text, size_t *calls)
{
	struct buffer only CLEANUP(buffer_clear) = {0};
	clock_t before = clock();
	struct str bad;

	(void)!header_authors_read(text, &rules, count_calls, calls, &only, &bad);
	(void)!header_addresses_parse(text, rules.hostname, rules.flags, &only, NULL, NULL);
	assert_true(only.length <= 20 * text.length);
	return (double)(clock() - before) / CLOCKS_PER_SEC;
}

/* Any two pieces, again and again: what is quadratic takes minutes. */
static void the_cost_is_linear(void **state)
{
	struct buffer text = {0};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(pieces); i++) {
		for (size_t n = 0; n < 2; n++) {
			size_t other = n == 0 ? i : chance(COUNT_OF(pieces));
			size_t calls = 0;
			double seconds;

			buffer_reset(&text);
			while (text.length < LARGE) {
				buffer_append_string(&text, pieces[i]);
				buffer_append_string(&text, pieces[other]);
			}
			seconds = seconds_for(buffer_view(&text), &calls);
			if (seconds > SECONDS_MAX || calls > LARGE)
				fail_msg("\"%s%s\": %.1f s, %zu calls", pieces[i], pieces[other],
					 seconds, calls);
		}
	}
	buffer_clear(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_address_is_invented),
		cmocka_unit_test(an_author_is_accepted_only_without_another_reading),
		cmocka_unit_test(the_cost_is_linear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
