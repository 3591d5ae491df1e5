// SPDX-License-Identifier: ISC
/* The forms of what clients say before their passwords: each byte, and all small texts. */
#include "auth/sasl/internal.h"
#include "auth/token/jwt.h"
#include "test.h"
#include <string.h>

static bool is_plain_name_byte(int c)
{
	return c > 0 && strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-",
			       c) != NULL;
}

/* Of a channel binding's name, wherever the byte is. */
static void the_name_of_a_binding_has_its_bytes(void **state)
{
	(void)state;
	for (int c = 0; c < 256; c++)
		for (size_t at = 2; at < 5; at++) {
			char text[] = "p=xyz,,rest";
			struct str message = {text, sizeof text - 1};
			struct sasl_gs2 header;
			bool is_allowed = is_plain_name_byte(c);

			if (c == ',')
				continue;
			text[at] = (char)c;
			assert_int_equal(sasl_gs2_take(&message, &header), is_allowed);
			assert_int_equal(message.length, is_allowed ? 4 : sizeof text - 1);
			if (!is_allowed)
				continue;
			assert_int_equal(header.flag, 'p');
			assert_int_equal(header.binding.length, 3);
			assert_int_equal(header.binding.data[at - 2], (char)c);
			assert_true(str_equal(header.header, str_slice(text, 7)));
		}
}

static void a_header_has_its_form(void **state)
{
	static const struct {
		const char *text;
		const char *as; /* NULL: it is none */
		const char *rest;
	} cases[] = {
		{"n,,", "", ""},           {"y,,x", "", "x"},
		{"n,a=ann,x", "ann", "x"}, {"p=a,a=b,x,y", "b", "x,y"},
		{"", NULL, NULL},          {"n", NULL, NULL},
		{"n,", NULL, NULL},        {",,", NULL, NULL},
		{"nn,,", NULL, NULL},      {"x,,", NULL, NULL},
		{"p,,", NULL, NULL},       {"p=,,", NULL, NULL},
		{"px=a,,", NULL, NULL},    {"n,a=,", NULL, NULL},
		{"n,a,", NULL, NULL},      {"n,b=x,", NULL, NULL},
		{"N,,", NULL, NULL},       {"n,a=b", NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct str message = str_from(cases[i].text);
		struct sasl_gs2 header;

		assert_int_equal(sasl_gs2_take(&message, &header), cases[i].as != NULL);
		if (cases[i].as == NULL)
			continue;
		assert_true(str_equal(header.as, str_from(cases[i].as)));
		assert_true(str_equal(message, str_from(cases[i].rest)));
		assert_int_equal(header.header.length + message.length, strlen(cases[i].text));
	}
}

static void a_name_is_decoded(void **state)
{
	static const struct {
		const char *text;
		const char *name; /* NULL: it is none */
	} cases[] = {
		{"ann", "ann"}, {"a=2Cb", "a,b"}, {"=3D", "="},  {"=2C=3D=2C", ",=,"},
		{"", NULL},     {"a,b", NULL},    {"=", NULL},   {"=2", NULL},
		{"=2c", NULL},  {"=3d", NULL},    {"=41", NULL}, {"a=", NULL},
		{"=2Cx", ",x"}, {"x=3D", "x="},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct buffer name = {0};

		assert_int_equal(sasl_gs2_name(str_from(cases[i].text), &name),
				 cases[i].name != NULL);
		if (cases[i].name != NULL)
			assert_true(str_equal(buffer_view(&name), str_from(cases[i].name)));
		buffer_clear(&name);
	}
	assert_false(sasl_gs2_name(STR("\0b"), &(struct buffer){0}));
}

/* Three parts, none of them empty. */
static bool is_plain_token(struct str text)
{
	size_t dots = 0;

	for (size_t i = 0; i < text.length; i++) {
		bool is_dot = text.data[i] == '.';

		if (is_dot && (i == 0 || i + 1 == text.length || text.data[i - 1] == '.'))
			return false;
		dots += is_dot;
	}
	return dots == 2;
}

static void a_token_has_three_parts(void **state)
{
	enum { LENGTH = 8 };
	char text[LENGTH];

	(void)state;
	for (size_t length = 0; length <= LENGTH; length++)
		for (size_t number = 0; number < (size_t)1 << length; number++) {
			struct str token = {text, length};

			for (size_t i = 0; i < length; i++)
				text[i] = number >> i & 1 ? '.' : 'a';
			assert_int_equal(auth_jwt_is_form(token), is_plain_token(token));
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_name_of_a_binding_has_its_bytes),
		cmocka_unit_test(a_header_has_its_form),
		cmocka_unit_test(a_name_is_decoded),
		cmocka_unit_test(a_token_has_three_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
