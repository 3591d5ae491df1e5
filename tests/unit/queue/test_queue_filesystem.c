// SPDX-License-Identifier: ISC
/* Which filesystems a queue is refused on: the calls that ask them are wrapped. */
#include "os/file/file.h"
#include "queue/store.h"
#include "queue_peer.h"
#include "test.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

enum { EXT4 = 0xef53, TMPFS = 0x01021994, OVERLAY = 0x794c7630 };

/* Of the linker's --wrap: the real function, and the one that is called instead. */
#define WRAPPED(type, name, ...)         \
	type __real_##name(__VA_ARGS__); \
	type __wrap_##name(__VA_ARGS__); \
	type __wrap_##name(__VA_ARGS__)

static struct {
	uint64_t type;
	int type_error;
	const char *mountinfo; /* NULL: it cannot be read */
	int link_error;        /* of the probe's */
	int rename_error;
	int info_error;
	uint64_t inode_added; /* to what a link of the probe is said to have */
	uint64_t links_added;
	unsigned taken; /* names of the probe that somebody else has */
} kernel;

WRAPPED(int, os_file_open, int directory, const char *path, unsigned flags)
{
	if (strncmp(path, "pid/probe", 9) == 0 && kernel.taken > 0) {
		kernel.taken--;
		return -EEXIST;
	}
	if (strcmp(path, "/proc/self/mountinfo") != 0)
		return __real_os_file_open(directory, path, flags);
	if (kernel.mountinfo == NULL)
		return -EACCES;
	return __real_os_file_open(directory, kernel.mountinfo, flags);
}

WRAPPED(int, os_file_filesystem_type, int file, uint64_t *type_out)
{
	(void)file;
	*type_out = kernel.type;
	return kernel.type_error;
}

WRAPPED(int, os_file_link, int directory, const char *from, const char *to)
{
	return kernel.link_error < 0 && strstr(from, "probe") != NULL
		       ? kernel.link_error
		       : __real_os_file_link(directory, from, to);
}

WRAPPED(int, os_file_rename, int directory, const char *from, const char *to)
{
	return kernel.rename_error < 0 && strstr(from, "probe") != NULL
		       ? kernel.rename_error
		       : __real_os_file_rename(directory, from, to);
}

WRAPPED(int, os_file_info_at, int directory, const char *path, struct os_file_info *info_out)
{
	int result = __real_os_file_info_at(directory, path, info_out);

	if (strncmp(path, "pid/probe", 9) != 0 || result < 0)
		return result;
	info_out->inode += kernel.inode_added;
	info_out->links += kernel.links_added;
	return kernel.info_error;
}

static int open_queue(struct buffer *reason, bool unsafe)
{
	struct queue_options options = {
		.create = true, .split = 1, .unsafe = unsafe, .sync = QUEUE_SYNC_FILES};
	struct queue_store *store;
	int result = queue_store_open(queue_peer_path("queue"), &options, &store, reason);

	if (result == 0)
		queue_store_close(store);
	return result;
}

static void expect(int result, const char *words)
{
	struct buffer reason = {0};

	assert_int_equal(open_queue(&reason, false), result);
	assert_int_equal(open_queue(NULL, false), result);
	buffer_append_byte(&reason, '\0');
	if (words != NULL)
		assert_non_null(strstr(buffer_data(&reason), words));
	else
		assert_string_equal(buffer_data(&reason), "");
	buffer_clear(&reason);
}

static int set_up(void **state)
{
	memset(&kernel, 0, sizeof kernel);
	kernel.type = EXT4;
	return queue_peer_set_up(state);
}

static void what_keeps_nothing_is_refused(void **state)
{
	struct buffer reason = {0};

	(void)state;
	expect(0, NULL);
	kernel.type = TMPFS;
	expect(-ENOTSUP, "tmpfs");
	assert_int_equal(open_queue(&reason, true), 0); /* the operator insists, and is told */
	assert_true(reason.length > 0);
	buffer_clear(&reason);
	kernel.type_error = -EIO;
	expect(-EIO, NULL);
}

/* DEVICE's own mount, after another one, with OPTIONS. */
static const char *mountinfo(const char *device, const char *options)
{
	const char *path = queue_peer_path("mountinfo");
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fprintf(file,
		"22 1 999:7 / /other rw,volatile - overlay overlay rw,volatile\nshort\n36 35 %s / "
		"/ "
		"rw,relatime shared:1 - overlay overlay %s\n",
		device, options);
	fclose(file);
	return path;
}

static void a_volatile_overlay_is_refused(void **state)
{
	struct stat status;
	char device[48];

	(void)state;
	assert_int_equal(stat(queue_peer_base, &status), 0);
	snprintf(device, sizeof device, "%u:%u", major(status.st_dev), minor(status.st_dev));
	kernel.type = OVERLAY;
	kernel.mountinfo = mountinfo(device, "rw,lowerdir=/l,upperdir=/u");
	expect(0, NULL);
	kernel.mountinfo = mountinfo(device, "rw,lowerdir=/l,volatile,upperdir=/u");
	expect(-ENOTSUP, "volatile");
	kernel.mountinfo = mountinfo("998:1", "rw"); /* which mount it is cannot be told */
	expect(-ENOTSUP, "volatile");
	kernel.mountinfo = NULL;
	expect(-ENOTSUP, "volatile");
	kernel.mountinfo = queue_peer_base; /* cannot be read */
	expect(-ENOTSUP, "volatile");
}

static void numbers_must_be_kept(void **state)
{
	static const char why[] = "does not keep numbers";

	(void)state;
	kernel.taken = 2;
	expect(0, NULL);
	kernel.inode_added = 1;
	expect(-ENOTSUP, why);
	kernel.inode_added = 0;
	kernel.links_added = 1;
	expect(-ENOTSUP, why);
	kernel.links_added = 0;
	for (unsigned i = 0; i < 3; i++) {
		kernel.link_error = (const int[]){-EPERM, -EMLINK, -EXDEV}[i];
		expect(-ENOTSUP, why);
	}
	kernel.link_error = -EIO;
	expect(-EIO, NULL);
	kernel.link_error = 0;
	kernel.rename_error = -ENOSPC;
	expect(-ENOSPC, NULL);
	kernel.rename_error = 0;
	kernel.info_error = -EIO;
	expect(-EIO, NULL);
	kernel.info_error = 0;
	expect(0, NULL);
	kernel.taken = 1000;
	expect(-EEXIST, NULL);
}

static void write_format(const char *text)
{
	FILE *file = fopen(queue_peer_path("queue/format"), "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

/* A format that is not ours is left alone. */
static void the_format_must_be_ours(void **state)
{
	static const char *const formats[] = {"",
					      "stagepost-queue 1\n",
					      "stagepost-queue 1\nsplit\n",
					      "stagepost-queue 1\nsplit x\n",
					      "stagepost-queue 1\nsplit 0\n",
					      "stagepost-queue 1\nsplit 10008\n",
					      "stagepost-queue 2\nsplit 1\n"};

	(void)state;
	expect(0, NULL);
	for (size_t i = 0; i < COUNT_OF(formats); i++) {
		write_format(formats[i]);
		assert_int_equal(open_queue(NULL, false), -EPROTO);
	}
	write_format("stagepost-queue 1\nsplit 1\n");
	expect(0, NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, queue_peer_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_keeps_nothing_is_refused),
		TEST(a_volatile_overlay_is_refused),
		TEST(numbers_must_be_kept),
		TEST(the_format_must_be_ours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
