// SPDX-License-Identifier: ISC
/* On what filesystem a path is, by the kernel's table of mounts alone. */
#include "os/file/mounts.h"
#include "test.h"
#include "unit/frame/frame.h"
#include <sys/stat.h>
#include <sys/sysmacros.h>

static const char text[] = "22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n"
			   "23 22 8:2 / /home rw - ext4 /dev/sda2 rw\n"
			   "24 23 8:3 /x /home/ann rw shared:1 - ext4 /dev/sda3 rw\n"
			   "25 23 0:50 / /home/with\\040space\\134 rw - fuse x rw\n"
			   "26 22 8:4 / /mnt rw - ext4 /dev/sda4 rw\n"
			   "27 26 8:5 / /mnt rw - ext4 /dev/sda5 rw\n"
			   "28 22 none / /home/ann/Maildir rw - broken\n"
			   "29 22 8:6 /\n";

static void the_longest_beginning_counts(void **state)
{
	static const struct {
		const char *path;
		unsigned high, low;
	} cases[] = {
		{"/var/mail/ann", 8, 1},
		{"/", 8, 1},
		{"/home", 8, 2},
		{"/home/bob/Maildir", 8, 2},
		{"/homes/bob", 8, 1},
		{"/home/ann", 8, 3},
		{"/home/ann/Maildir", 8, 3},
		{"/home/anna/Maildir", 8, 2},
		{"/home/with space\\/Maildir", 0, 50},
		{"/home/with space", 8, 2},
		{"/mnt/ann", 8, 5}, /* the later one covers the other */
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_int_equal(os_mounts_find_in(str_from(text), str_from(cases[i].path)),
				 makedev(cases[i].high, cases[i].low));
	assert_int_equal(os_mounts_find_in(STR(""), STR("/home")), 0);
}

static void the_kernel_tells(void **state)
{
	struct stat status;

	(void)state;
	frame_leaves_for_life();
	assert_int_equal(os_mounts_find(STR("/proc/self")), 0); /* not open yet */
	assert_int_equal(os_mounts_open(), 0);
	assert_int_equal(stat("/proc", &status), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(os_mounts_find(STR("/proc/self/status")), status.st_dev);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_longest_beginning_counts),
		cmocka_unit_test(the_kernel_tells),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
