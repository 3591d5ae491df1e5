// SPDX-License-Identifier: ISC
/* SASLprep of each character of the first plane and at the edges of the others, by the tables of
 * RFC 3454 as they are printed there; and texts in two directions. */
#include "mail/text/saslprep.h"
#include "test.h"
#include <errno.h>
#include <string.h>
#include <unictype.h>
#include <uninorm.h>
#include <unistr.h>

struct range {
	uint32_t first, last;
};

static const struct range b_1[] = {{0xad, 0xad},     {0x34f, 0x34f},   {0x1806, 0x1806},
				   {0x180b, 0x180d}, {0x200b, 0x200d}, {0x2060, 0x2060},
				   {0xfe00, 0xfe0f}, {0xfeff, 0xfeff}};
static const struct range c_1_2[] = {{0xa0, 0xa0},     {0x1680, 0x1680}, {0x2000, 0x200a},
				     {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000}};
/* C.2.1 to C.9, without what is mapped; that of C.8 which has another form is never seen. */
static const struct range c_2_on[] = {{0, 0x1f},          {0x7f, 0x9f},       {0x6dd, 0x6dd},
				      {0x70f, 0x70f},     {0x180e, 0x180e},   {0x200e, 0x200f},
				      {0x2028, 0x202e},   {0x2061, 0x2063},   {0x206a, 0x206f},
				      {0x2ff0, 0x2ffb},   {0xe000, 0xf8ff},   {0xfdd0, 0xfdef},
				      {0xfff9, 0xffff},   {0x1d173, 0x1d17a}, {0x1fffe, 0x1ffff},
				      {0xe0001, 0xe0001}, {0xe0020, 0xe007f}, {0xefffe, 0x10ffff}};

static bool is_in(const struct range *ranges, size_t count, uint32_t c)
{
	for (size_t i = 0; i < count; i++)
		if (c >= ranges[i].first && c <= ranges[i].last)
			return true;
	return false;
}

static int prepare(const char *text, size_t length, struct buffer *out)
{
	buffer_reset(out);
	return mail_saslprep(str_slice(text, length), 100, out);
}

/* Others become characters of which this knows nothing. */
static bool is_its_own_form(const uint8_t *text, size_t length)
{
	uint8_t form[100];
	size_t size = sizeof form;

	return u8_normalize(UNINORM_NFKC, text, length, form, &size) == form && size == length &&
	       memcmp(form, text, length) == 0;
}

static void check_character(uint32_t c, struct buffer *out)
{
	uint8_t text[8] = "a";
	int bytes = u8_uctomb(text + 1, (ucs4_t)c, 5);
	int category = uc_bidi_category((ucs4_t)c);
	int result;

	if (bytes < 0) /* a surrogate */
		return;
	text[bytes + 1] = 'b';
	result = prepare((const char *)text, (size_t)bytes + 2, out);
	if (is_in(b_1, COUNT_OF(b_1), c)) {
		if (result != 0 || !str_equal(buffer_view(out), STR("ab")))
			fail_msg("U+%04X is not mapped to nothing", c);
	} else if (is_in(c_1_2, COUNT_OF(c_1_2), c)) {
		if (result != 0 || !str_equal(buffer_view(out), STR("a b")))
			fail_msg("U+%04X is not mapped to a space", c);
	} else if (is_in(c_2_on, COUNT_OF(c_2_on), c)) {
		if (result != -EINVAL)
			fail_msg("U+%04X is not prohibited", c);
	} else if (result != 0 && category != UC_BIDI_R && category != UC_BIDI_AL &&
		   is_its_own_form(text, (size_t)bytes + 2)) {
		fail_msg("U+%04X is prohibited", c);
	}
}

static void each_character(void **state)
{
	struct buffer out CLEANUP(buffer_clear) = {0};

	(void)state;
	for (uint32_t c = 0; c < 0x10000; c++)
		check_character(c, &out);
	for (size_t i = 0; i < COUNT_OF(c_2_on); i++) {
		const uint32_t edges[] = {c_2_on[i].first - 1, c_2_on[i].first, c_2_on[i].last,
					  c_2_on[i].last + 1};

		for (size_t k = 0; k < COUNT_OF(edges); k++)
			if (edges[k] > 0xffff && edges[k] <= 0x10ffff)
				check_character(edges[k], &out);
	}
}

#define ALEF  "\xd7\x90" /* right to left */
#define ARAB  "\xd8\xa7" /* likewise, of another category */
#define DIGIT "1"        /* in no direction */

/* RFC 4013 section 3, and RFC 3454 section 6. */
static void texts(void **state)
{
	static const struct {
		const char *text, *out; /* NULL: it is prohibited */
	} cases[] = {
		{"I\xc2\xadX", "IX"},
		{"user", "user"},
		{"USER", "USER"},
		{"\xc2\xaa", "a"},
		{"\xe2\x85\xa8", "IX"},
		{"\x07", NULL},
		{ARAB DIGIT, NULL},
		{ARAB DIGIT ARAB, ARAB DIGIT ARAB},
		{ALEF DIGIT ALEF, ALEF DIGIT ALEF},
		{ALEF DIGIT ARAB, ALEF DIGIT ARAB},
		{DIGIT ALEF, NULL},
		{ALEF "a" ALEF, NULL},
		{"a" ALEF, NULL},
		{ALEF, ALEF},
		{ARAB, ARAB},
		{DIGIT, DIGIT},
		{"", NULL},
		{"\xc2\xad", NULL}, /* nothing is left */
		{"\xff", NULL},     /* no UTF-8 */
		{"a\xc3", NULL},
	};
	struct buffer out CLEANUP(buffer_clear) = {0};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		int result = prepare(cases[i].text, strlen(cases[i].text), &out);

		if (result != (cases[i].out != NULL ? 0 : -EINVAL) ||
		    !str_equal(buffer_view(&out),
			       str_from(cases[i].out != NULL ? cases[i].out : "")))
			fail_msg("case %zu: %d \"" STR_FORMAT "\"", i, result,
				 STR_ARGUMENTS(buffer_view(&out)));
	}
}

/* What was given may be four times as long, if it becomes shorter. */
static void lengths(void **state)
{
	enum { MAX = 3 };
	struct buffer out CLEANUP(buffer_clear) = {0};

	(void)state;
	assert_int_equal(mail_saslprep(STR("abc"), MAX, &out), 0);
	assert_int_equal(out.length, 3);
	assert_int_equal(mail_saslprep(STR("abcd"), MAX, &out), -EMSGSIZE);
	/* twelve bytes, of which three are left; and one more */
	assert_int_equal(mail_saslprep(STR("abc\xc2\xad\xc2\xad\xc2\xad\xe2\x80\x8b"), MAX, &out),
			 0);
	assert_int_equal(
		mail_saslprep(STR("abc\xc2\xad\xc2\xad\xe2\x80\x8b\xe2\x80\x8b"), MAX, &out),
		-EMSGSIZE);
	assert_int_equal(out.length, 6); /* what is refused appends nothing */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_character),
		cmocka_unit_test(texts),
		cmocka_unit_test(lengths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
