// SPDX-License-Identifier: ISC
#include "base/attributes.h"
#include "base/buffer.h"
#include "program/conninfo_files.h"
#include "test.h"
#include <string.h>

static const struct {
	const char *text;
	const char *files; /* each with a space after it */
} cases[] = {
	{"", ""},
	{"host=db1 dbname=mail", ""},
	{"host=db1 passfile=/etc/stagepost/pass", "/etc/stagepost/pass "},
	{"sslcert=/a sslkey = /b\tsslrootcert= /c\n sslcrl =/d", "/a /b /c /d "},
	{"passfile='/with a space' host=''", "/with a space "},
	{"passfile='/it\\'s' sslkey=/a\\ b\\\\c", "/it's /a b\\c "},
	{"passfile=relative sslrootcert=system", ""},
	{"password='passfile=/etc/shadow' user=passfile=/etc/shadow", ""},
	{"passfile='/not closed", "/not closed "},
	{"passfile /no sign", ""},
	{"passfile=", ""},
	{"postgresql://u:p@h:5432/mail?sslkey=/a%20b&sslcert=/c&x=/d", "/a b /c "},
	{"postgres:///mail?passfile=%2Fetc%2fp", "/etc/p "},
	{"postgres:///mail?passfile=/a%2&sslcrl=/b%zz", "/a%2 /b%zz "},
	{"postgres://h/passfile=/etc/p", ""},
	{"postgres:///mail?passfile&=&&sslkey=/k", "/k "},
};

static void add(void *context, struct str path)
{
	buffer_append_str(context, path);
	buffer_append_byte(context, ' ');
}

static void test_files(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct buffer files = {0};

		conninfo_files(cases[i].text, add, &files);
		buffer_append_byte(&files, '\0');
		assert_string_equal(buffer_data(&files), cases[i].files);
		buffer_clear(&files);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {cmocka_unit_test(test_files)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
