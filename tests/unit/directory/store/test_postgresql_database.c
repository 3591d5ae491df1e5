// SPDX-License-Identifier: ISC
#include "base/buffer.h"
#include "directory/store/postgresql/internal.h"
#include "test.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *value(const struct postgresql_database *database, const char *name)
{
	for (size_t i = 0; database->names[i] != NULL; i++)
		if (strcmp(database->names[i], name) == 0)
			return database->values[i];
	return "-";
}

/* Of each database: label, host, port, hostaddr, and the name to be looked up. */
static void describe(const struct postgresql_databases *databases, struct buffer *out)
{
	for (size_t i = 0; i < databases->count; i++) {
		const struct postgresql_database *database = &databases->list[i];

		buffer_append_format(out, "%s host=%s port=%s addr=%s ask=%s:%u; ", database->label,
				     value(database, "host"), value(database, "port"),
				     value(database, "hostaddr"),
				     database->host != NULL ? database->host : "", database->port);
	}
	buffer_append_byte(out, '\0');
}

static const struct {
	const char *text;
	const char *databases; /* NULL: refused */
} cases[] = {
	{"dbname=mail", "local:5432/mail host= port=5432 addr= ask=:5432; "},
	{"host=/run/pg port=5433 dbname=m",
	 "/run/pg:5433/m host=/run/pg port=5433 addr= ask=:5433; "},
	{"host=@abstract", "@abstract:5432/ host=@abstract port=5432 addr= ask=:5432; "},
	{"host=192.0.2.1 dbname=m", "192.0.2.1:5432/m host=192.0.2.1 port=5432 addr= ask=:5432; "},
	{"host=2001:db8::1", "[2001:db8::1]:5432/ host=2001:db8::1 port=5432 addr= ask=:5432; "},
	{"host=db1.example.org",
	 "db1.example.org:5432/ host=db1.example.org port=5432 addr= ask=db1.example.org:5432; "},
	{"host=db1 hostaddr=192.0.2.1", "db1:5432/ host=db1 port=5432 addr=192.0.2.1 ask=:5432; "},
	{"hostaddr=192.0.2.1,192.0.2.2",
	 "192.0.2.1:5432/ host= port=5432 addr=192.0.2.1 ask=:5432; "
	 "192.0.2.2:5432/ host= port=5432 addr=192.0.2.2 ask=:5432; "},
	{"host=a,/b port=1,2",
	 "a:1/ host=a port=1 addr= ask=a:1; /b:2/ host=/b port=2 addr= ask=:2; "},
	/* a list that is too short has nothing at the end */
	{"host=a,b,c port=1,2",
	 "a:1/ host=a port=1 addr= ask=a:1; b:2/ host=b port=2 addr= ask=b:2; "
	 "c:5432/ host=c port=5432 addr= ask=c:5432; "},
	{"host=a,b port=7", "a:7/ host=a port=7 addr= ask=a:7; b:7/ host=b port=7 addr= ask=b:7; "},
	{"postgresql://u@[::1]:99,h/m?sslmode=require",
	 "[::1]:99/m host=::1 port=99 addr= ask=:99; h:5432/m host=h port=5432 addr= ask=h:5432; "},
	{"hots=a", NULL},
	{"host=a service=mail", NULL},
	{"host='a", NULL},
	{"postgresql://[::1/mail", NULL},
};

static void test_parse(void **state)
{
	struct os_loop *loop = os_loop_new();

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct postgresql_databases databases;
		struct buffer text = {0};
		int error = postgresql_databases_parse(loop, &cases[i].text, 1, &databases);

		if (cases[i].databases == NULL) {
			assert_int_equal(error, -EINVAL);
			continue;
		}
		assert_int_equal(error, 0);
		describe(&databases, &text);
		assert_string_equal(buffer_data(&text), cases[i].databases);
		buffer_clear(&text);
		postgresql_databases_clear(&databases);
	}
	os_loop_free(loop);
}

/* What the operator says counts, but for what this code relies on. */
static void test_settings(void **state)
{
	static const char *const texts[] = {
		"host=/a user=me keepalives_idle=77 passfile=/p",
		"host=/b client_encoding=LATIN1 target_session_attrs=read-write"};
	struct os_loop *loop = os_loop_new();
	struct postgresql_databases databases;

	(void)state;
	assert_int_equal(postgresql_databases_parse(loop, texts, 2, &databases), 0);
	assert_int_equal(databases.count, 2);
	assert_string_equal(value(&databases.list[0], "user"), "me");
	assert_string_equal(value(&databases.list[0], "keepalives_idle"), "77");
	assert_string_equal(value(&databases.list[0], "passfile"), "/p");
	assert_string_equal(value(&databases.list[0], "sslcert"), "/nonexistent/sslcert");
	assert_string_equal(value(&databases.list[0], "gssencmode"), "disable");
	assert_string_not_equal(value(&databases.list[1], "user"), "-");
	assert_string_equal(value(&databases.list[1], "client_encoding"), "UTF8");
	assert_string_equal(value(&databases.list[1], "target_session_attrs"), "any");
	postgresql_databases_clear(&databases);
	assert_int_equal(postgresql_databases_parse(loop, texts, 0, &databases), -EINVAL);
	os_loop_free(loop);
}

/* The binary form of text[]: PostgreSQL's array_recv(). */
static void test_array(void **state)
{
	static const char expected[] = "\0\0\0\1\0\0\0\1\0\0\0\31\0\0\0\3\0\0\0\1"
				       "\0\0\0\2a,\0\0\0\0\377\377\377\377";
	struct postgresql_array array = {0};
	struct postgresql_parameter parameter;

	(void)state;
	postgresql_array_add(&array, STR("a,"));
	postgresql_array_add(&array, STR(""));
	postgresql_array_add(&array, (struct str){0});
	parameter = postgresql_array_end(&array);
	assert_true(parameter.is_binary);
	assert_int_equal(parameter.value.length, sizeof expected - 1);
	assert_memory_equal(parameter.value.data, expected, sizeof expected - 1);
	postgresql_array_clear(&array);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_settings),
		cmocka_unit_test(test_array),
	};

	unsetenv("PGHOST");
	unsetenv("PGPORT");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
