// SPDX-License-Identifier: ISC
/* What another user may do with files, and which part of a path is against it. */
#include "os/file/reason.h"
#include "os/process/access.h"
#include "os/process/output.h"
#include "scratch.h"
#include "test.h"
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OTHER = 60001, GROUP = 60011 }; /* have no accounts */

static char folder[SCRATCH_SIZE];
static char inner[SCRATCH_SIZE + 16];
static char file[SCRATCH_SIZE + 32];

static void put_rights(const char *path, mode_t mode, gid_t group)
{
	assert_int_equal(chown(path, 0, group), 0);
	assert_int_equal(chmod(path, mode), 0);
}

static void expect(const struct os_process_user *user, unsigned wanted, int error,
		   const char *refused)
{
	struct os_access asked = {.path = file, .wanted = wanted};

	assert_int_equal(os_access_as(user, &asked, 1), 0);
	assert_int_equal(asked.error, error);
	if (error < 0)
		assert_int_equal(asked.refused_at, strlen(refused));
}

static void test_users(void **state)
{
	static const gid_t groups[] = {GROUP};
	struct os_process_user other = {.change = true, .uid = OTHER, .gid = OTHER};
	struct os_process_user own = {.change = false};

	(void)state;
	if (!os_process_is_root())
		skip();
	expect(&own, OS_ACCESS_READ | OS_ACCESS_WRITE, 0, "");
	put_rights(inner, 0755, 0);
	put_rights(file, 0640, GROUP);
	expect(&other, OS_ACCESS_READ, -EACCES, file);
	other.groups = groups;
	other.group_count = 1;
	expect(&other, OS_ACCESS_READ, 0, "");
	expect(&other, OS_ACCESS_WRITE, -EACCES, file);
	expect(&other, OS_ACCESS_PASS, -EACCES, file);
	put_rights(inner, 0700, 0);
	expect(&other, OS_ACCESS_READ, -EACCES, inner);
	other.capabilities = UINT64_C(1) << CAP_DAC_READ_SEARCH;
	expect(&other, OS_ACCESS_READ, 0, "");
	put_rights(inner, 0755, 0);
}

static void test_what_is_not_there(void **state)
{
	struct os_process_user own = {.change = false};
	struct os_access asked[] = {{.path = "/nowhere/at/all", .wanted = OS_ACCESS_READ},
				    {.path = "/", .wanted = OS_ACCESS_PASS}};

	(void)state;
	assert_int_equal(os_access_as(&own, asked, 2), 0);
	assert_int_equal(asked[0].error, -ENOENT);
	assert_int_equal(asked[0].refused_at, strlen("/nowhere"));
	assert_int_equal(asked[1].error, 0);
}

/* What somebody sees, which another may not. */
static void test_what_is_there(void **state)
{
	struct os_process_user own = {.change = false};
	struct os_process_user other = {.change = true, .uid = OTHER, .gid = OTHER};
	char link[SCRATCH_SIZE + 40];
	struct os_access asked[] = {{.path = file, .wanted = OS_ACCESS_READ},
				    {.path = link, .wanted = OS_ACCESS_READ},
				    {.path = "/nowhere/at/all", .wanted = OS_ACCESS_READ},
				    {.path = folder, .wanted = OS_ACCESS_PASS}};

	(void)state;
	snprintf(link, sizeof link, "%s/link", inner);
	assert_int_equal(symlink("/nowhere/at/all", link), 0);
	assert_int_equal(os_access_as(&own, asked, 4), 0);
	assert_true(asked[0].is_there && S_ISREG(asked[0].mode));
	assert_true(asked[1].is_there && asked[1].mode == 0 && asked[1].error == -ENOENT);
	assert_true(!asked[2].is_there && asked[2].mode == 0);
	assert_true(asked[3].is_there && S_ISDIR(asked[3].mode));
	if (os_process_is_root()) {
		put_rights(inner, 0700, 0);
		assert_int_equal(os_access_as(&other, asked, 2), 0);
		assert_true(!asked[0].is_there && asked[0].mode == 0 && !asked[1].is_there);
		put_rights(inner, 0755, 0);
	}
	assert_int_equal(unlink(link), 0);
}

static int ask_as_other(void)
{
	struct os_process_user third = {.change = true, .uid = OTHER + 1, .gid = OTHER + 1};
	struct os_access asked = {.path = "/", .wanted = OS_ACCESS_READ};

	return os_access_as(&third, &asked, 1);
}

static void test_who_may_ask(void **state)
{
	(void)state;
	if (os_process_is_root() && seteuid(OTHER) != 0)
		fail();
	assert_int_equal(ask_as_other(), -EPERM);
	assert_int_equal(seteuid(getuid()), 0);
}

static void test_descriptions(void **state)
{
	struct buffer text CLEANUP(buffer_clear) = {0};

	(void)state;
	os_access_describe("/etc/passwd/", strlen("/etc/passwd"), &text);
	os_access_describe("/nowhere", strlen("/nowhere"), &text);
	os_access_name_user(OTHER, &text);
	assert_true(str_equal(buffer_view(&text), STR("mode 0644 root:root60001")));
	assert_non_null(strstr(os_file_reason(-EROFS), "ReadWritePaths"));
	assert_string_equal(os_file_reason(-EACCES), strerror(EACCES));
}

static int output_of(const char *script, size_t max, struct buffer *out)
{
	const char *const arguments[] = {"/bin/sh", "-c", script, NULL};

	buffer_reset(out);
	return os_process_output(arguments, max, out);
}

static void test_output(void **state)
{
	struct buffer out CLEANUP(buffer_clear) = {0};
	const char *const nothing[] = {"/nowhere/program", NULL};

	(void)state;
	assert_int_equal(output_of("echo a; echo b >&2; cat", 100, &out), 0);
	assert_true(str_equal(buffer_view(&out), STR("a\n")));
	assert_int_equal(output_of("echo a; exit 3", 100, &out), -ECHILD);
	assert_int_equal(output_of("yes", 100000, &out), -EFBIG);
	assert_int_equal(os_process_output(nothing, 100, &out), -ENOENT);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_users),         cmocka_unit_test(test_what_is_not_there),
		cmocka_unit_test(test_what_is_there), cmocka_unit_test(test_descriptions),
		cmocka_unit_test(test_who_may_ask),   cmocka_unit_test(test_descriptions),
		cmocka_unit_test(test_output),
	};
	FILE *stream;
	int failed;

	if (scratch_make(folder) < 0 || chmod(folder, 0755) != 0)
		return 1;
	snprintf(inner, sizeof inner, "%s/inner", folder);
	snprintf(file, sizeof file, "%s/file", inner);
	if (mkdir(inner, 0755) != 0 || (stream = fopen(file, "w")) == NULL || fclose(stream) != 0)
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	scratch_remove(folder);
	return failed;
}
