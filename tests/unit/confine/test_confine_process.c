// SPDX-License-Identifier: ISC
/* The table of processes against those that have one row for each of them, or of their programs. */
#include "confine/internal.h"
#include "confine/process.h"
#include "confine/rights/rights.h"
#include "supervisor/program.h"
#include "test.h"
#include <string.h>

static bool is_started(const char *name)
{
	for (size_t i = 0; i < SUPERVISOR_PROGRAMS; i++)
		if (strcmp(supervisor_programs[i].name, name) == 0)
			return true;
	return false;
}

static void each_process_is_started_and_confined(void **state)
{
	const struct confine_process *process;
	const char *file;
	size_t count = 0;

	(void)state;
	for (; (process = confine_process_at(count)) != NULL; count++) {
		assert_true(is_started(process->name));
		assert_ptr_equal(confine_process_find(process->name), process);
		for (size_t i = 0; (file = confine_process_file(process, i)) != NULL; i++) {
			assert_ptr_equal(confine_process_of(file), process);
			assert_non_null(rights_find(file));
			assert_string_equal(sandbox_profile_find(file)->program, file);
		}
	}
	assert_int_equal(count, SUPERVISOR_PROGRAMS);
	assert_null(confine_process_find("directory-ldap")); /* is a program of one */
	assert_null(confine_process_of("stagepost"));
}

static size_t count_owners(const char *socket)
{
	const struct confine_process *process;
	size_t count = 0;

	for (size_t i = 0; (process = confine_process_at(i)) != NULL; i++)
		count += confine_process_socket(process, str_from(socket)) >= 0;
	return count;
}

/* Whoever connects, and to whom, follows: so each socket has one owner. */
static void each_socket_is_of_one_process(void **state)
{
	const struct confine_process *process;

	(void)state;
	for (size_t i = 0; (process = confine_process_at(i)) != NULL; i++) {
		for (size_t k = 0; k < PROCESS_SOCKETS_MAX && process->sockets[k] != NULL; k++) {
			assert_int_equal(count_owners(process->sockets[k]), 1);
			assert_string_equal(rights_socket_find(process->sockets[k]),
					    process->sockets[k]);
		}
		for (size_t k = 0; k < PROCESS_TARGETS_MAX && process->targets[k] != NULL; k++) {
			assert_int_equal(count_owners(process->targets[k]), 1);
			assert_true(confine_process_socket(process, str_from(process->targets[k])) <
				    0);
		}
	}
	assert_null(rights_socket_find("queue 0"));
	assert_null(rights_socket_find("queu"));
}

static void who_may_be_connected(void **state)
{
	static const struct {
		const char *left, *right;
		bool may;
	} rows[] = {
		{"smtpd", "queue", true},     {"smtpd", "auth", true},
		{"qmtpd", "auth", false},     {"smtpd", "send", false},
		{"mailbox", "decode", true},  {"mailbox-mariadb", "decode", true},
		{"local", "decode", false},   {"directory-ldap", "keys", true},
		{"auth-ldap", "keys", false}, {"pipe", "launch", true},
		{"send", "launch", false},    {"stagepost", "launch", true},
		{"smtpd", "smtpd", true},     {"directory", "directory-ldap", false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct rights *left = rights_find(rows[i].left);
		const struct rights *right = rights_find(rows[i].right);

		assert_int_equal(rights_may_connect(left, right), rows[i].may);
		assert_int_equal(rights_may_connect(right, left), rows[i].may);
	}
}

static void who_may_listen(void **state)
{
	(void)state;
	assert_true(rights_may_listen(rights_find("directory-ldap"), "socketmap"));
	assert_true(rights_may_listen(rights_find("decode"), "decode2"));
	assert_true(rights_may_listen(rights_find("stagepost"), "queue"));
	assert_false(rights_may_listen(rights_find("smtpd"), "queue"));
	assert_false(rights_may_listen(rights_find("queue"), "queue 0"));
	assert_false(rights_may_listen(rights_find("resolve"), "send"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_process_is_started_and_confined),
		cmocka_unit_test(each_socket_is_of_one_process),
		cmocka_unit_test(who_may_be_connected),
		cmocka_unit_test(who_may_listen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
