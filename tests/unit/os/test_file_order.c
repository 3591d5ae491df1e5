// SPDX-License-Identifier: ISC
/* Which file systems keep order: the texts of a kernel that is played, right, and each wrong in one
 * point. */
#include "os/file/file.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

enum { EXT4 = 0xef53, UEVENT = 50, OPTIONS, FILE_ASKED = 7, MAJOR = 254, MINOR = 3 };

static struct kernel {
	uint64_t type;
	int type_error, info_error;
	const char *uevent, *options; /* NULL: no such file */
	const char *journal;          /* a directory, or "" */
	bool is_journal_file;         /* it is no directory */
	int read_error;
	unsigned open; /* descriptors */
} kernel;

static const char good_uevent[] = "MAJOR=254\nMINOR=3\nDEVNAME=vda3\nDEVTYPE=partition\n",
		  good_options[] = "rw\nbsddf\nerrors=continue\ndata=ordered\nbarrier\ncommit=5\n";

static char text_max[4097], device_long[64], device_longest[64], path_longest[80],
	journal_longest[80];

int __wrap_os_file_open(int directory, const char *path, unsigned flags);
int __wrap_os_file_open(int directory, const char *path, unsigned flags)
{
	bool is_uevent = strcmp(path, "/sys/dev/block/254:3/uevent") == 0;
	const char *text = is_uevent ? kernel.uevent : kernel.options;

	assert_int_equal(directory, OS_FILE_HERE);
	assert_int_equal(flags, OS_FILE_READ);
	if (!is_uevent && strcmp(path, "/proc/fs/ext4/vda3/options") != 0 &&
	    strcmp(path, path_longest) != 0)
		fail_msg("%s", path);
	if (text == NULL)
		return -ENOENT;
	kernel.open++;
	return is_uevent ? UEVENT : OPTIONS;
}

ssize_t __wrap_os_file_read(int file, void *data, size_t size, uint64_t offset);
ssize_t __wrap_os_file_read(int file, void *data, size_t size, uint64_t offset)
{
	const char *text = file == UEVENT ? kernel.uevent : kernel.options;
	size_t length = strlen(text) < size ? strlen(text) : size;

	assert_int_equal(offset, 0);
	if (kernel.read_error == file)
		return -EIO;
	memcpy(data, text, length);
	return (ssize_t)length;
}

void __wrap_os_file_close(int file);
void __wrap_os_file_close(int file)
{
	assert_true(file == UEVENT || file == OPTIONS);
	kernel.open--;
}

int __wrap_os_file_filesystem_type(int file, uint64_t *type_out);
int __wrap_os_file_filesystem_type(int file, uint64_t *type_out)
{
	assert_int_equal(file, FILE_ASKED);
	if (kernel.type_error == 0)
		*type_out = kernel.type;
	return kernel.type_error;
}

int __wrap_os_file_info(int file, struct os_file_info *info_out);
int __wrap_os_file_info(int file, struct os_file_info *info_out)
{
	assert_int_equal(file, FILE_ASKED);
	*info_out = (struct os_file_info){.device = makedev(MAJOR, MINOR)};
	return kernel.info_error;
}

int __wrap_os_file_info_at(int directory, const char *path, struct os_file_info *info_out);
int __wrap_os_file_info_at(int directory, const char *path, struct os_file_info *info_out)
{
	assert_int_equal(directory, OS_FILE_HERE);
	*info_out = (struct os_file_info){.is_directory = !kernel.is_journal_file};
	return strcmp(path, kernel.journal) == 0 ? 0 : -ENOENT;
}

/* --- all that may be different --- */

static struct kernel good_kernel(void)
{
	return (struct kernel){.type = EXT4,
			       .uevent = good_uevent,
			       .options = good_options,
			       .journal = "/proc/fs/jbd2/vda3-8"};
}

static void check_order(bool holds)
{
	int watch = os_file_order_watch(FILE_ASKED);

	assert_int_equal(watch, holds ? OPTIONS : -ENOTSUP);
	assert_int_equal(kernel.open, holds);
}

static void which_file_systems_keep_order(void **state)
{
	static const char *const bad_uevents[] = {
		NULL, "", "MAJOR=254\n", "DEVNAME=a/b\n", "XDEVNAME=vda3\n", text_max, device_long,
	};

	(void)state;
	kernel = good_kernel();
	check_order(true);
	kernel = good_kernel();
	kernel.type = 0x9123683e;
	check_order(false);
	kernel = good_kernel();
	kernel.type_error = -EIO;
	check_order(false);
	kernel = good_kernel();
	kernel.info_error = -EIO;
	check_order(false);
	for (size_t i = 0; i < COUNT_OF(bad_uevents); i++) {
		kernel = good_kernel();
		kernel.uevent = bad_uevents[i];
		check_order(false);
	}
	kernel = good_kernel();
	kernel.read_error = UEVENT;
	check_order(false);
	kernel = good_kernel();
	kernel.journal = "";
	check_order(false);
	kernel = good_kernel();
	kernel.is_journal_file = true;
	check_order(false);
	kernel = good_kernel();
	kernel.options = NULL;
	assert_int_equal(os_file_order_watch(FILE_ASKED), -ENOENT);
	/* a name of a device as long as it may be */
	kernel = good_kernel();
	kernel.uevent = device_longest;
	kernel.journal = journal_longest;
	check_order(true);
}

static void which_options_keep_order(void **state)
{
	static const struct {
		const char *options;
		bool holds;
	} rows[] = {
		{good_options, true},
		{"barrier\ndata=ordered\nrw", true},
		{"data=ordered\nbarrier\n", false},
		{"ro\ndata=ordered\nbarrier\n", false},
		{"rw\nbarrier\n", false},
		{"rw\ndata=writeback\nbarrier\n", false},
		{"rw\ndata=journal\nbarrier\n", false},
		{"rw\ndata=ordered\n", false},
		{"rw\ndata=ordered\nnobarrier\n", false},
		{"rw\ndata=ordered\nbarrier\njournal_async_commit\n", false},
		{"rw,data=ordered,barrier\n", false},
		{"", false},
		{text_max, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		kernel = good_kernel();
		kernel.options = rows[i].options;
		assert_int_equal(os_file_order_holds(OPTIONS), rows[i].holds);
		assert_int_equal(kernel.open, 0);
		check_order(rows[i].holds);
	}
	kernel = good_kernel();
	kernel.read_error = OPTIONS;
	assert_false(os_file_order_holds(OPTIONS));
}

static int set_up(void **state)
{
	static const char name[] = "0123456789012345678901234567890"; /* 31 bytes */

	(void)state;
	/* right, but it may be cut */
	snprintf(text_max, sizeof text_max, "%s%s", good_uevent, good_options);
	memset(text_max + strlen(text_max), '\n', sizeof text_max - 1 - strlen(text_max));
	snprintf(device_longest, sizeof device_longest, "DEVNAME=%s\n", name);
	snprintf(device_long, sizeof device_long, "DEVNAME=%s1\n", name);
	snprintf(path_longest, sizeof path_longest, "/proc/fs/ext4/%s/options", name);
	snprintf(journal_longest, sizeof journal_longest, "/proc/fs/jbd2/%s-8", name);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(which_file_systems_keep_order, set_up),
		cmocka_unit_test_setup(which_options_keep_order, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
