// SPDX-License-Identifier: ISC
/* What a Maildir holds, counted in maildirsize; how a quota is written. */
#include "base/timestamp.h"
#include "mailbox/quota.h"
#include "os/clock.h"
#include "scratch.h"
#include "test.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char root[SCRATCH_SIZE];
static int64_t ahead_us; /* of the clock */

int64_t os_clock_wall_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * SECOND_US + now.tv_nsec / 1000 + ahead_us;
}

static int set_up(void **state)
{
	static const char *const folders[] = {"new", "cur", "tmp"};
	char path[SCRATCH_SIZE + 10];

	(void)state;
	ahead_us = 0;
	assert_int_equal(scratch_make(root), 0);
	for (size_t i = 0; i < COUNT_OF(folders); i++) {
		snprintf(path, sizeof path, "%s/%s", root, folders[i]);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return scratch_remove(root);
}

static void write_file(const char *name, const char *text)
{
	char path[SCRATCH_SIZE + 100];
	int file;

	snprintf(path, sizeof path, "%s/%s", root, name);
	file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(file >= 0);
	assert_int_equal(write(file, text, strlen(text)), strlen(text));
	close(file);
}

static void expect_file(const char *text)
{
	char path[SCRATCH_SIZE + 20];
	char data[6000] = "";
	int file;

	snprintf(path, sizeof path, "%s/maildirsize", root);
	file = open(path, O_RDONLY);
	assert_true(file >= 0);
	assert_true(read(file, data, sizeof data - 1) >= 0);
	close(file);
	assert_string_equal(data, text);
}

static int take(uint64_t bytes, uint64_t messages, uint64_t size)
{
	const struct mail_quota quota = {bytes, messages};

	return maildir_quota_take(str_from(root), &quota, size);
}

static void what_is_there_is_counted_once(void **state)
{
	char sub[SCRATCH_SIZE + 20];

	(void)state;
	write_file("new/1.host,S=100,W=110", "x");
	write_file("cur/2.host,S=50:2,S", "x");
	write_file("cur/3.host:2,", "seven b");
	write_file("tmp/4.host,S=5000", "x");
	snprintf(sub, sizeof sub, "%s/.Sent", root);
	assert_int_equal(mkdir(sub, 0700), 0);
	snprintf(sub, sizeof sub, "%s/.Sent/cur", root);
	assert_int_equal(mkdir(sub, 0700), 0);
	write_file(".Sent/cur/5.host,S=1000:2,S", "x");
	assert_int_equal(take(2000, 0, 10), 0);
	expect_file("2000S\n1157 4\n10 1\n");
	/* now the file is believed, whatever is there */
	write_file("new/6.host,S=800", "x");
	assert_int_equal(take(2000, 0, 20), 0);
	expect_file("2000S\n1157 4\n10 1\n20 1\n");
	maildir_quota_give_back(str_from(root), 20);
	expect_file("2000S\n1157 4\n10 1\n20 1\n-20 -1\n");
	/* but not enough to refuse a message for it: it has lines that may be wrong */
	assert_int_equal(take(2000, 0, 840), -EDQUOT);
	expect_file("2000S\n1957 5\n");
	assert_int_equal(take(2000, 0, 43), 0);
	write_file("new/7.host,S=43", "x");
	assert_int_equal(take(2000, 0, 1), -EDQUOT);
}

static void a_count_is_made_anew_when_it_is_old(void **state)
{
	(void)state;
	write_file("new/1.host,S=100", "x");
	write_file("maildirsize", "1000S,10C\n990 1\n");
	assert_int_equal(take(1000, 10, 50), -EDQUOT);
	expect_file("1000S,10C\n990 1\n");
	ahead_us = 16 * 60 * SECOND_US;
	assert_int_equal(take(1000, 10, 50), 0);
	expect_file("1000S,10C\n100 1\n50 1\n");
}

static void what_is_no_count_is_made_anew(void **state)
{
	static const char *const files[] = {"",
					    "1000S\n",
					    "1000S\nx\n",
					    "1000S\n12\n",
					    "1000S\n-5 1\n",
					    "1000S\n1111111111111111111111 1\n",
					    "2000S\n5 1\n",
					    "1000S,5C\n5 1\n"};
	struct buffer large CLEANUP(buffer_clear) = {0};

	(void)state;
	write_file("new/1.host,S=100", "x");
	for (size_t i = 0; i < COUNT_OF(files); i++) {
		write_file("maildirsize", files[i]);
		assert_int_equal(take(1000, 0, 7), 0);
		if (i == 1) /* nothing, and so it says */
			expect_file("1000S\n7 1\n");
		else
			expect_file("1000S\n100 1\n7 1\n");
	}
	/* as long as it may be: the next line would not be read */
	buffer_append_string(&large, "100000S\n");
	while (large.length < 5120)
		buffer_append_string(&large, "0 0\n");
	assert_int_equal(large.length, 5120);
	buffer_append_byte(&large, '\0');
	write_file("maildirsize", buffer_data(&large));
	assert_int_equal(take(100000, 0, 7), 0);
	expect_file("100000S\n100 1\n7 1\n");
}

static void both_bounds_hold(void **state)
{
	(void)state;
	assert_int_equal(take(0, 2, 1 << 20), 0);
	expect_file("2C\n0 0\n1048576 1\n");
	assert_int_equal(take(0, 2, 1), 0);
	write_file("new/1.host,S=1", "x");
	write_file("new/2.host,S=1", "x");
	assert_int_equal(take(0, 2, 1), -EDQUOT);
	assert_int_equal(take(100, 0, 101), -EMSGSIZE);
	assert_int_equal(take(0, 0, UINT64_MAX), 0);
}

/* Nobody's mail waits for a file that cannot be read. */
static void what_cannot_be_counted_is_let_in(void **state)
{
	char path[SCRATCH_SIZE + 20];

	(void)state;
	snprintf(path, sizeof path, "%s/maildirsize", root);
	assert_int_equal(mkdir(path, 0700), 0);
	write_file("new/1.host,S=100", "x");
	assert_int_equal(take(1000, 0, 7), 0);
	assert_int_equal(take(100, 0, 7), -EDQUOT); /* counted, and kept nowhere */
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_int_equal(take(1000, 0, 7), 0);
}

static void quotas_are_written_in_one_way(void **state)
{
	static const struct {
		const char *text;
		const char *form; /* NULL: it is none */
	} cases[] = {
		{"1G", "1G"},
		{"1024m", "1G"},
		{"1000", "1000"},
		{"500M,10000", "500M,10000"},
		{"0,5", "0,5"},
		{"none", "none"},
		{"0", "none"},
		{"0,0", "none"},
		{"16777215T", "16777215T"},
		{"16777216T", NULL},
		{"", NULL},
		{"G", NULL},
		{"1GB", NULL},
		{"1G,", NULL},
		{",5", NULL},
		{"1,2,3", NULL},
		{"-1", NULL},
		{"1 G", NULL},
		{"None", NULL},
		{"18446744073709551616", NULL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct buffer out CLEANUP(buffer_clear) = {0};
		int error = mail_quota_normalize(str_from(cases[i].text), &out);

		assert_int_equal(error, cases[i].form != NULL ? 0 : -EINVAL);
		buffer_append_byte(&out, '\0');
		assert_string_equal(buffer_data(&out), cases[i].form != NULL ? cases[i].form : "");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_is_there_is_counted_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_count_is_made_anew_when_it_is_old, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_is_no_count_is_made_anew, set_up, tear_down),
		cmocka_unit_test_setup_teardown(both_bounds_hold, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_cannot_be_counted_is_let_in, set_up,
						tear_down),
		cmocka_unit_test(quotas_are_written_in_one_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
