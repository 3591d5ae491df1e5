// SPDX-License-Identifier: ISC
/* What the service manager says that it has passed to this process. */
#include "os/socket/inherited.h"
#include "test.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void set_variable(const char *name, const char *value)
{
	if (value != NULL)
		setenv(name, value, 1);
	else
		unsetenv(name);
}

static void only_what_is_passed_to_us_counts(void **state)
{
	static const struct {
		const char *pid; /* "": ours */
		const char *count;
		const char *names;
		unsigned counted;
		const char *named;
	} cases[] = {
		{"", "0", NULL, 0, ""},
		{"", "1", NULL, 1, ""},
		{"", "2", "smtp:qmtp", 2, "smtp:qmtp"},
		{"", "4096", NULL, 4096, ""},
		{"", "4097", "many", 0, ""}, /* more than anybody has */
		{"", "4294967297", "many", 0, ""},
		{"", "18446744073709551617", "many", 0, ""},
		{"", "-1", "few", 0, ""},
		{"", "", "none", 0, ""},
		{"", NULL, "none", 0, ""},
		{"1", "2", "another's", 0, ""},
		{"", "2 ", "words", 0, ""},
		{NULL, "2", "nobody's", 0, ""},
	};
	(void)state;

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct buffer names = {0};
		char own[32];

		snprintf(own, sizeof own, "%ld", (long)getpid());
		set_variable("LISTEN_PID",
			     cases[i].pid != NULL && *cases[i].pid == '\0' ? own : cases[i].pid);
		set_variable("LISTEN_FDS", cases[i].count);
		set_variable("LISTEN_FDNAMES", cases[i].names);
		assert_int_equal(os_inherited_count(&names), cases[i].counted);
		assert_true(str_equal(buffer_view(&names), str_from(cases[i].named)));
		/* who asks again, and programs that are started, are told of none */
		assert_int_equal(os_inherited_count(&names), 0);
		assert_null(getenv("LISTEN_PID"));
		assert_null(getenv("LISTEN_FDS"));
		assert_null(getenv("LISTEN_FDNAMES"));
		buffer_clear(&names);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_is_passed_to_us_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
