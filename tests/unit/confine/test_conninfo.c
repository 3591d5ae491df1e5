// SPDX-License-Identifier: ISC
#include "base/attributes.h"
#include "base/buffer.h"
#include "confine/conninfo.h"
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
	{"passfile=/end\\", "/end "},
	{"passfile /no sign", ""},
	{"passfile=", ""},
	{"postgresql://u:p@h:5432/mail?sslkey=/a%20b&sslcert=/c&x=/d", "/a b /c "},
	{"postgres:///mail?passfile=%2Fetc%2fp", "/etc/p "},
	{"postgres:///mail?%70assfile=/etc/p", "/etc/p "},
	{"postgres://u:p?x@db1/mail?passfile=/etc/p", "/etc/p "},
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

/* What is certainly on the network; all else may be a path. */
static void test_places(void **state)
{
	static const struct {
		const char *text;
		bool may_be_local;
	} places[] = {
		{"", true},
		{"dbname=mail", true},
		{"host=", true},
		{"host=db1", false},
		{"host=db1,192.0.2.1,::1", false},
		{"host=/run/postgresql", true},
		{"host=@abstract", true},
		{"host=db1,/run/postgresql", true},
		{"host=db1,,db2", true},
		{"host=db1,", true},
		{"host=db1 host=/run", true},
		{"host=/run host=db1", false},
		{"hostaddr=192.0.2.1", false},
		{"hostaddr=192.0.2.1,", true},
		{"host='' hostaddr=192.0.2.1", false},
		{"host=/run hostaddr=192.0.2.1", true},
		{"password='host=db1'", true},
		{"user=host=db1", true},
		{"postgresql://", true},
		{"postgresql:///mail", true},
		{"postgresql://db1", false},
		{"postgresql://u:p@db1:5432,[2001:db8::1]:5432/mail", false},
		{"postgresql://u@:5432/mail", true},
		{"postgresql://db1,:5432/mail", true},
		{"postgresql://:5432,db1/mail", true},
		{"postgresql://%2Frun%2Fpostgresql/mail", true},
		{"postgresql://%40abstract/mail", true},
		{"postgres://db1/mail?host=/run", true},
		{"postgres://db1/mail?host=%2frun", true},
		{"postgres:///mail?host=db1", false},
		{"postgres://u:db1@/mail", true},
		{"postgres://u:p?x@db1/mail", false},
		{"postgres:///u:p@db1", true},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(places); i++)
		assert_int_equal(conninfo_may_be_local(places[i].text), places[i].may_be_local);
}

static void test_names(void **state)
{
	static const struct {
		const char *text;
		bool may_be_remote, has_names;
	} names[] = {
		{"", false, false},
		{"host=/run/postgresql", false, false},
		{"host=@abstract", false, false},
		{"host=db1", true, true},
		{"host=192.0.2.1", true, false},
		{"host=::1", true, false},
		{"host=192.0.2.1,db1", true, true},
		{"host=/run,db1", true, true},
		{"host=/run,192.0.2.1", true, false},
		{"host=db1 hostaddr=192.0.2.1", true, false},
		{"host=db1,db2 hostaddr=192.0.2.1,", true, true},
		{"hostaddr=192.0.2.1", true, false},
		{"host=/run hostaddr=192.0.2.1", true, false},
		{"postgresql:///mail", false, false},
		{"postgresql://db1/mail", true, true},
		{"postgresql://[2001:db8::1]:5432/mail", true, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		assert_int_equal(conninfo_may_be_remote(names[i].text), names[i].may_be_remote);
		assert_int_equal(conninfo_has_names(names[i].text), names[i].has_names);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {cmocka_unit_test(test_files),
						  cmocka_unit_test(test_places),
						  cmocka_unit_test(test_names)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
