// SPDX-License-Identifier: ISC
/* What may stand for a %-sequence of a service's setting. */
#include "base/panic.h"
#include "each_text.h"
#include "mail/localpart.h"
#include "mail/template.h"
#include "test.h"
#include <errno.h>
#include <string.h>

#define LONG_64  "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define LONG_248 LONG_64 LONG_64 LONG_64 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

#define PATH  MAIL_TEMPLATE_PATH
#define WORD  MAIL_TEMPLATE_ARGUMENT
#define LOGIN MAIL_TEMPLATE_LOGIN

static const struct {
	enum mail_template_kind kind;
	const char *template;
	const char *recipient;
	const char *sender;
	const char *text; /* NULL: refused */
} cases[] = {
	{PATH, "/m/%d/%u", "Ann+x@A.test", "", "/m/a.test/ann"},
	{PATH, "/m/%u", "..@a.test", "", NULL},
	{PATH, "/m/%u", "\"a/b\"@a.test", "", NULL},
	{PATH, "/m/%u", "a\nb@a.test", "", NULL},
	{PATH, "/m/%a", "ann@a.test", "", NULL},
	{PATH, "/m/%x", "ann+x@a.test", "", NULL},
	{PATH, "/m/%", "ann@a.test", "", NULL},
	{PATH, "/m/%%%u", "ann@a.test", "", "/m/%ann"},
	{PATH, "/m/%u-%d", LONG_248 "@a.test", "", "/m/" LONG_248 "-a.test"},
	{PATH, "/m/%u-%d", LONG_248 "@aa.test", "", NULL}, /* a name of 256 bytes */

	{WORD, "%a", "ann@a.test", "", "ann@a.test"},
	{WORD, "%a", "-x@a.test", "", NULL},
	{WORD, "-f%a", "-x@a.test", "", "-f-x@a.test"},
	{WORD, "<%a>", "-x@a.test", "", "<-x@a.test>"},
	{WORD, "%s", "ann@a.test", "-x@b.test", NULL},
	{WORD, "%s", "ann@a.test", "", ""},
	{WORD, "--from=%s", "ann@a.test", "-x@b.test", "--from=-x@b.test"},
	{WORD, "%x%a", "ann@a.test", "", "ann@a.test"},
	{WORD, "%x%a", "-x@a.test", "", NULL},
	{WORD, "%x", "ann+../../x@a.test", "", NULL},
	{WORD, "/d/%x", "ann+../../x@a.test", "", NULL},
	{WORD, "/d/%x", "ann+x.y@a.test", "", "/d/x.y"},
	{WORD, "%x", "ann+-x@a.test", "", NULL},
	{WORD, "%x", "ann@a.test", "", ""},
	{WORD, "%u", "-ann@a.test", "", NULL},
	{WORD, "%a", "\"a\nb\"@a.test", "", NULL},

	{LOGIN, "%u*master", "ann@a.test", "", "ann*master"},
	{LOGIN, "%u*master", "\"victim@other.test\"@a.test", "", NULL},
	{LOGIN, "%u*master", "ann*root@a.test", "", NULL},
	{LOGIN, "%a*master", "ann@a.test", "", "ann@a.test*master"},
	{LOGIN, "%a*master", "\"ann@b.test*root\"@a.test", "", NULL},
	{LOGIN, "%a*master", "ann*root@a.test", "", NULL},
	{LOGIN, "%a", "ann*root@a.test", "", "ann*root@a.test"},
	{LOGIN, "%u@%d", "ann@a.test", "", "ann@a.test"},
	{LOGIN, "%u@%d", "\"ann@b.test\"@a.test", "", NULL},
	{LOGIN, "%d!%u", "ann@a.test", "", "a.test!ann"},
	{LOGIN, "%d!%u", "b!ann@a.test", "", NULL},
	{LOGIN, "%d%u", "test@a.test", "", "a.testtest"},
	{LOGIN, "%u%%x", "ann@a.test", "", "ann%x"},
	{LOGIN, "%u%%x", "ann%y@a.test", "", NULL},
	{LOGIN, "%s", "ann@a.test", "", NULL},
};

static void values_stay_in_their_place(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct buffer out CLEANUP(buffer_clear) = {0};
		struct mail_template_recipient storage;
		struct mail_template_values values;
		int error;

		buffer_append_byte(&out, '=');
		assert_int_equal(
			mail_template_values(str_from(cases[i].recipient), &storage, &values), 0);
		values.sender = str_from(cases[i].sender);
		error = mail_template_fill(cases[i].kind, cases[i].template, &values, &out);
		if (error != (cases[i].text == NULL ? -EINVAL : 0) ||
		    !str_equal(str_skip(buffer_view(&out), 1),
			       str_from(cases[i].text == NULL ? "" : cases[i].text)))
			fail_msg("%zu, %s for %s: " STR_FORMAT, i, cases[i].template,
				 cases[i].recipient, STR_ARGUMENTS(buffer_view(&out)));
	}
}

/* --- all short templates, against a plain reading of what may stand where --- */

static const char *const LETTERS[] = {[PATH] = "du", [WORD] = "adsux", [LOGIN] = "adu"};

static const struct plain_values {
	const char *recipient, *sender, *user, *extension, *domain;
} plain_values[] = {
	{"ann@a.test", "", "ann", "", "a.test"},
	{"Ann+X*@A.test", "*@b", "ann", "X*", "a.test"},
	{"-ann+-x@a.test", "-s", "-ann", "-x", "a.test"},
	{"\"a@b\"@c", "s@t", "a@b", "", "c"},
	{"a*n-n/x@d", "/", "a*n-n/x", "", "d"},
	{".+/@-d", "\n", ".", "/", "-d"},
	{"a%\x7f@c", "a", "a%\x7f", "", "c"},
};

static const char *plain_value(char letter, const struct plain_values *values)
{
	return letter == 'a'   ? values->recipient
	       : letter == 'd' ? values->domain
	       : letter == 's' ? values->sender
	       : letter == 'u' ? values->user
			       : values->extension;
}

/* BESIDE: the literal bytes on both sides of it. */
static bool may_stand_there(enum mail_template_kind kind, char letter, const char *value,
			    const char beside[2])
{
	const char *at = letter == 'a' ? strrchr(value, '@') : NULL;

	for (const char *c = value; *c != '\0'; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			return false;
	if (kind != LOGIN)
		return letter == 'a' || letter == 's' || (letter == 'x' && *value == '\0') ||
		       (*value != '\0' && *value != '.' && strchr(value, '/') == NULL);
	for (const char *c = value; *c != '\0'; c++)
		for (size_t i = 0; i < 2; i++)
			if ((*c == '@' && c != at) || (*c == beside[i] && beside[i] != '@'))
				return false;
	return true;
}

/* False: it is refused. */
static bool fill_plainly(enum mail_template_kind kind, const char *template,
			 const struct plain_values *values, char out[EACH_TEXT_MAX])
{
	char before = '\0';

	*out = '\0';
	for (const char *c = template; *c != '\0'; c++) {
		bool is_value = c[0] == '%' && c[1] != '%';
		const char *next = c + (c[0] == '%' ? 2 : 1);

		if (c[0] == '%' && c[1] == '\0')
			return false;
		c = next - 1;
		if (is_value) {
			const char *value = plain_value(*c, values);
			bool is_literal_next = next[0] != '%' || next[1] == '%';
			const char beside[2] = {before, is_literal_next ? *next : '\0'};

			if (strchr(LETTERS[kind], *c) == NULL ||
			    !may_stand_there(kind, *c, value, beside))
				return false;
			strcat(out, value);
		} else {
			strcat(out, (const char[]){*c, '\0'});
		}
		before = is_value ? '\0' : *c;
	}
	return kind != WORD || *out != '-' || *template == '-';
}

static void check_template(struct str text)
{
	char template[EACH_TEXT_MAX], wanted[EACH_TEXT_MAX];

	copy_of(text, template);
	for (size_t i = 0; i < COUNT_OF(plain_values); i++) {
		struct mail_template_recipient storage;
		struct mail_template_values values;

		assert_int_equal(mail_template_values(str_from(plain_values[i].recipient), &storage,
						      &values),
				 0);
		values.sender = str_from(plain_values[i].sender);
		for (enum mail_template_kind kind = PATH; kind <= LOGIN; kind++) {
			struct buffer out CLEANUP(buffer_clear) = {0};
			bool is_filled = fill_plainly(kind, template, &plain_values[i], wanted);

			buffer_append_byte(&out, '=');
			assert_int_equal(mail_template_fill(kind, template, &values, &out),
					 is_filled ? 0 : -EINVAL);
			if (!str_equal(str_skip(buffer_view(&out), 1),
				       str_from(is_filled ? wanted : "")))
				fail_msg("%d, \"%s\" for %s: " STR_FORMAT, (int)kind, template,
					 plain_values[i].recipient,
					 STR_ARGUMENTS(buffer_view(&out)));
		}
	}
}

static void each_template(void **state)
{
	static const struct pieces pieces = {
		{"%a", "%d", "%s", "%u", "%x", "%z", "%%", "%", "@", "*", "-", "/"}, 3, 1500};

	(void)state;
	each_text_of(&pieces, check_template);
}

/* The values of a recipient, and none of what cannot be one. */
static void values_of_recipients(void **state)
{
	(void)state;
	for (size_t local = 250; local <= 256; local++) {
		struct mail_template_recipient storage;
		struct mail_template_values values = {.user = STR("untouched")};
		char text[EACH_TEXT_MAX];
		int error;

		memset(text, 'x', local);
		text[1] = '+';
		strcpy(text + local, "@a.test");
		error = mail_template_values(str_from(text), &storage, &values);
		assert_int_equal(error, local < 256 ? 0 : -EINVAL);
		if (error < 0)
			assert_true(str_equal(values.user, STR("untouched")));
		else
			assert_true(values.extension.length == local - 2 &&
				    str_equal(values.user, STR("x")) &&
				    str_equal(values.domain, STR("a.test")));
	}
}

/* Each byte at each place of a name: no directory above, no other directory, nothing that does not
 * print. */
static void each_byte_of_a_name(void **state)
{
	(void)state;
	assert_false(mail_name_is_path_safe(STR("")));
	for (size_t length = 1; length <= 3; length++)
		for (size_t at = 0; at < length; at++)
			for (int byte = 0; byte < 256; byte++) {
				char name[3] = {'n', 'n', 'n'};
				bool is_safe = strchr("/\x7f", byte) == NULL && byte >= 0x20 &&
					       (byte != '.' || at > 0);

				name[at] = (char)byte;
				assert_int_equal(mail_name_is_path_safe(str_slice(name, length)),
						 is_safe);
			}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_stay_in_their_place), cmocka_unit_test(each_template),
		cmocka_unit_test(values_of_recipients), cmocka_unit_test(each_byte_of_a_name)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
