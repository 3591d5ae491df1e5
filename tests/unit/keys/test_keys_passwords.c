// SPDX-License-Identifier: ISC
/* The passwords of logins to relays: where they are found, and where nothing is said of them. */
#include "config/text.h"
#include "keys/passwords.h"
#include "os/file/file.h"
#include "scratch.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char content[] = "# relay.example|ann|commented\n"
			      "\n"
			      "nonsense\n"
			      "relay.example|ann\n"
			      "relay.example;587|ann|for 587\n"
			      "Relay.Example|ann|first|with bars \r\n"
			      "relay.example|ann|second\n"
			      "relay.example|bob|\n"
			      "192.0.2.1;26|ann|address\n"
			      "[2001:db8::1]|ann|bracketed\n"
			      "relay.example;587x|eve|x\n"
			      "other.example|ann|not asked for";

static const struct {
	const char *relay;
	uint16_t port;
	const char *user;
	const char *password; /* NULL: none */
	int error;
} cases[] = {
	{"relay.example", 25, "ann", "first|with bars ", 0},
	{"relay.example", 587, "ann", "for 587", 0},
	{"[192.0.2.1]", 26, "ann", "address", 0},
	{"[2001:db8::1]", 25, "ann", "bracketed", 0},
	{"own.example", 25, "ann", "in the route", 0},
	{"relay.example", 25, "bob", NULL, -EINVAL},
	{"relay.example", 587, "eve", NULL, -ENOENT},
	{"relay.example", 26, "ann", NULL, -ENOENT},
	{"other.example", 25, "ann", NULL, -ENOENT},
	{"relay.example", 25, "Ann", NULL, -ENOENT},
	{"", 25, "", NULL, -ENOENT},
};

static int info_error; /* of each look at an open file */

int __real_os_file_info(int file, struct os_file_info *info_out);
int __wrap_os_file_info(int file, struct os_file_info *info_out);

int __wrap_os_file_info(int file, struct os_file_info *info_out)
{
	return info_error < 0 ? info_error : __real_os_file_info(file, info_out);
}

static struct config *config_for(const char *path)
{
	struct config_problems problems;
	struct buffer text = {0};
	struct config *config;

	buffer_append_format(&text,
			     "hostname = mx.example\nrelay_passwords = \"%s\"\n"
			     "smtproutes = { \"a.org:relay.example|ann\", "
			     "\"b.org:relay.example;587|ann\", \"c.org:relay.example|bob\", "
			     "\"d.org:192.0.2.1;26|ann\", \"e.org:[2001:DB8:0::1]|ann\", "
			     "\"f.org:own.example|ann|in the route\", "
			     "\"g.org:relay.example;587|eve\", \"h.org:other.example\" }\n",
			     path);
	assert_int_equal(config_parse("t", buffer_view(&text), &config, &problems), 0);
	config_problems_clear(&problems);
	buffer_clear(&text);
	return config;
}

static int find(const struct config *config, size_t i, struct buffer *password,
		struct buffer *reason)
{
	buffer_reset(password);
	buffer_reset(reason);
	return keys_password_find(config, str_from(cases[i].relay), cases[i].port,
				  str_from(cases[i].user), password, reason);
}

static void write_content(const char *path, mode_t mode)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(content, file) >= 0);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(path, mode), 0);
}

static void passwords_are_found(void **state)
{
	char directory[SCRATCH_SIZE];
	char path[SCRATCH_SIZE + 16];
	struct buffer password = {0};
	struct buffer reason = {0};
	struct config *config;

	(void)state;
	assert_int_equal(scratch_make(directory), 0);
	snprintf(path, sizeof path, "%s/passwords", directory);
	config = config_for(path);
	assert_int_equal(find(config, 0, &password, &reason), -ENOENT);
	assert_int_equal(find(config, 4, &password, &reason), 0);
	write_content(path, 0640);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		if (find(config, i, &password, &reason) != cases[i].error)
			fail_msg("case %zu: " STR_FORMAT, i, STR_ARGUMENTS(buffer_view(&reason)));
		if (cases[i].password != NULL)
			assert_true(str_equal(buffer_view(&password), str_from(cases[i].password)));
		else
			assert_int_equal(password.length, 0);
	}
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(find(config, 0, &password, &reason), -EPERM);
	assert_int_equal(password.length, 0);
	config_free(config);
	buffer_clear(&password);
	buffer_clear(&reason);
	assert_int_equal(scratch_remove(directory), 0);
}

/* Whether others have access to it is not known then. */
static void what_cannot_be_looked_at_is_not_read(void **state)
{
	char directory[SCRATCH_SIZE];
	char path[SCRATCH_SIZE + 16];
	struct buffer password = {0};
	struct buffer reason = {0};
	struct config *config;

	(void)state;
	assert_int_equal(scratch_make(directory), 0);
	snprintf(path, sizeof path, "%s/passwords", directory);
	config = config_for(path);
	write_content(path, 0644);
	info_error = -EIO;
	assert_int_equal(find(config, 0, &password, &reason), -EIO);
	assert_int_equal(password.length, 0);
	assert_true(str_equal(buffer_view(&reason), str_from(strerror(EIO))));
	info_error = 0;
	assert_int_equal(find(config, 0, &password, &reason), -EPERM);
	config_free(config);
	buffer_clear(&password);
	buffer_clear(&reason);
	assert_int_equal(scratch_remove(directory), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(passwords_are_found),
					   cmocka_unit_test(what_cannot_be_looked_at_is_not_read)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
