// SPDX-License-Identifier: ISC
/* What may stand for a %-sequence of a service's setting. */
#include "base/panic.h"
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
	const struct CMUnitTest tests[] = {cmocka_unit_test(values_stay_in_their_place),
					   cmocka_unit_test(each_byte_of_a_name)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
