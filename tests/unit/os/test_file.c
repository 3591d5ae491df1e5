// SPDX-License-Identifier: ISC
/* Files: set aside in each state of what belongs to them; read and written in pieces; the space
 * that is left. And what is typed at a terminal. */
#include "os/file/aside.h"
#include "os/file/file.h"
#include "os/stream/terminal.h"
#include "scratch.h"
#include "test.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

static char directory[SCRATCH_SIZE];

static struct {
	size_t most; /* bytes of a call; 0: any */
	int error;   /* of the call after FINE of them */
	unsigned fine;
	struct statvfs space;
	int terminal; /* -1: none */
} world;

/* --- the system --- */

static bool fails(void)
{
	if (world.error == 0 || world.fine-- > 0)
		return false;
	errno = world.error;
	world.error = 0;
	return true;
}

ssize_t __real_pread64(int file, void *data, size_t size, off_t offset);
ssize_t __wrap_pread64(int file, void *data, size_t size, off_t offset);
ssize_t __wrap_pread64(int file, void *data, size_t size, off_t offset)
{
	return fails() ? -1
		       : __real_pread64(file, data,
					world.most > 0 && size > world.most ? world.most : size,
					offset);
}

ssize_t __real_pwrite64(int file, const void *data, size_t size, off_t offset);
ssize_t __wrap_pwrite64(int file, const void *data, size_t size, off_t offset);
ssize_t __wrap_pwrite64(int file, const void *data, size_t size, off_t offset)
{
	return fails() ? -1
		       : __real_pwrite64(file, data,
					 world.most > 0 && size > world.most ? world.most : size,
					 offset);
}

int __wrap_fstatvfs64(int file, struct statvfs *out);
int __wrap_fstatvfs64(int file, struct statvfs *out)
{
	(void)file;
	if (fails())
		return -1;
	*out = world.space;
	return 0;
}

int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...)
{
	va_list list;
	mode_t mode;

	if (strcmp(path, "/dev/tty") == 0) {
		errno = ENXIO;
		return world.terminal >= 0 ? dup(world.terminal) : -1;
	}
	va_start(list, flags);
	mode = va_arg(list, mode_t);
	va_end(list);
	return __real_open64(path, flags, mode);
}

/* --- set aside --- */

static char *path_of(const char *name)
{
	static char paths[4][SCRATCH_SIZE + 40];
	static unsigned next;

	next = (next + 1) % 4;
	snprintf(paths[next], sizeof paths[next], "%s/%s", directory, name);
	return paths[next];
}

static void write_text(const char *name, const char *text)
{
	FILE *file = fopen(path_of(name), "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static bool has_text(const char *name, const char *text)
{
	FILE *file = fopen(path_of(name), "r");
	char found[40] = "";

	if (file == NULL)
		return false;
	(void)!fgets(found, sizeof found, file);
	fclose(file);
	return strcmp(found, text) == 0;
}

/* With a log or without, with what is made in its place or nothing. */
static void what_belongs_to_a_file_goes_with_it(void **state)
{
	(void)state;
	for (unsigned ways = 0; ways < 8; ways++) {
		bool has_log = (ways & 1) != 0, has_memory = (ways & 2) != 0,
		     is_replaced = (ways & 4) != 0;
		struct buffer kept = {0};
		char expected[30];

		write_text("f", "old");
		if (has_log)
			write_text("f-wal", "log");
		if (has_memory)
			write_text("f-shm", "memory");
		if (is_replaced)
			write_text("new", "new");
		assert_int_equal(
			os_file_set_aside(path_of("f"), is_replaced ? path_of("new") : NULL, &kept),
			0);
		snprintf(expected, sizeof expected, "f.damaged-%u", ways + 1);
		assert_true(str_equal(buffer_view(&kept), str_from(path_of(expected))));
		assert_true(has_text(expected, "old"));
		assert_int_equal(has_text("f", "new"), is_replaced);
		assert_int_equal(access(path_of("f"), F_OK) == 0, is_replaced);
		assert_true(access(path_of("new"), F_OK) < 0);
		assert_true(access(path_of("f-wal"), F_OK) < 0 &&
			    access(path_of("f-shm"), F_OK) < 0);
		snprintf(expected, sizeof expected, "f.damaged-%u-wal", ways + 1);
		assert_int_equal(has_text(expected, "log"), has_log);
		buffer_clear(&kept);
	}
}

static void a_log_that_cannot_be_moved_is_not_left(void **state)
{
	struct buffer kept = {0};

	(void)state;
	write_text("f", "old");
	write_text("new", "new");
	write_text("f-wal", "log");
	assert_int_equal(mkdir(path_of("f.damaged-1-wal"), 0700), 0);
	assert_int_equal(os_file_set_aside(path_of("f"), path_of("new"), &kept), -EISDIR);
	assert_int_equal(kept.length, 0);
	assert_true(has_text("f", "old"));
	assert_int_equal(os_file_set_aside(path_of("none"), NULL, &kept), -ENOENT);
	buffer_clear(&kept);
}

/* --- in pieces --- */

static void all_bytes_are_read_and_written(void **state)
{
	char text[2000], read[2000];
	int file = os_file_open(OS_FILE_HERE, path_of("f"), OS_FILE_WRITE | OS_FILE_CREATE);

	(void)state;
	assert_true(file >= 0);
	for (size_t i = 0; i < sizeof text; i++)
		text[i] = (char)(i * 7);
	for (world.most = 0; world.most < 2002; world.most += world.most < 3 ? 1 : 333) {
		assert_int_equal(ftruncate(file, 0), 0);
		assert_int_equal(os_file_write(file, text, sizeof text, 5), 0);
		for (size_t size = 0; size <= sizeof read; size += 500) {
			size_t there = size < sizeof text ? size : sizeof text;

			memset(read, 0, sizeof read);
			assert_int_equal(os_file_read(file, read, size, 5), there);
			assert_memory_equal(read, text, there);
			assert_int_equal(os_file_read(file, read, size, 5 + sizeof text - 10),
					 size < 10 ? size : 10);
		}
	}
	world.most = 0;
	os_file_close(file);
	os_file_close(-1);
}

/* Of the first call, and of a later one: EINTR is none. */
static void errors_are_told(void **state)
{
	static const int errors[] = {EIO, ENOSPC, EINTR};
	int file = os_file_open(OS_FILE_HERE, path_of("f"), OS_FILE_WRITE | OS_FILE_CREATE);
	char text[100] = "text", read[100];

	(void)state;
	assert_int_equal(os_file_write(file, text, sizeof text, 0), 0);
	world.most = 10;
	for (size_t i = 0; i < COUNT_OF(errors); i++)
		for (unsigned fine = 0; fine < 3; fine++) {
			bool is_error = errors[i] != EINTR;

			world.error = errors[i];
			world.fine = fine;
			assert_int_equal(os_file_read(file, read, sizeof read, 0),
					 is_error ? -errors[i] : (int)sizeof read);
			world.error = errors[i];
			world.fine = fine;
			assert_int_equal(os_file_write(file, text, sizeof text, 0),
					 is_error ? -errors[i] : 0);
		}
	world.most = 0;
	world.error = 0;
	os_file_close(file);
}

static void space_that_is_left(void **state)
{
	static const struct {
		struct statvfs said;
		struct os_file_space space;
	} rows[] = {
		{{.f_bsize = 7,
		  .f_frsize = 4096,
		  .f_blocks = 9,
		  .f_bfree = 8,
		  .f_bavail = 5,
		  .f_files = 100,
		  .f_ffree = 60,
		  .f_favail = 50},
		 {20480, 50, 100}},
		{{.f_frsize = 1, .f_bavail = 0, .f_files = 1, .f_favail = 0}, {0, 0, 1}},
		{{.f_frsize = 512, .f_bavail = 1, .f_files = 0, .f_favail = 0},
		 {512, UINT64_MAX, UINT64_MAX}}, /* btrfs */
	};
	struct os_file_space space = {1, 2, 3};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		world.space = rows[i].said;
		assert_int_equal(os_file_space(0, &space), 0);
		assert_int_equal(space.free_bytes, rows[i].space.free_bytes);
		assert_true(space.free_inodes == rows[i].space.free_inodes &&
			    space.inodes == rows[i].space.inodes);
	}
	world.error = EIO;
	world.fine = 0;
	assert_int_equal(os_file_space(0, &space), -EIO);
	world.error = EINTR;
	assert_int_equal(os_file_space(0, &space), 0);
}

/* --- a terminal --- */

static void what_is_typed(void **state)
{
	static const struct {
		const char *keys;
		int error;
		const char *text;
	} rows[] = {
		{"secret\n", 0, "secret"},
		{"secret\r", 0, "secret"},
		{"\n", 0, ""},
		{"ab\x7f\n", 0, "a"},
		{"ab\b\bc\n", 0, "c"},
		{"\x7f\x7f"
		 "a\n",
		 0, "a"},
		{"a\xc3\xa4\x7f\n", 0, "a"},
		{"\xe2\x82\xac\x7f\n", 0, ""},
		{"abc\x15"
		 "d\n",
		 0, "d"},
		{"ab\x03\n", -EINTR, NULL},
		{"\x04", -EINTR, NULL},
		{"a\x04\n", 0, "a\x04"},
		{"12345678\n", 0, "12345678"},
		{"123456789\n", -EMSGSIZE, NULL},
		{"12345678\x7f"
		 "9\n",
		 0, "12345679"},
	};
	int own = posix_openpt(O_RDWR | O_NOCTTY);
	struct termios before, after;
	char said[500];
	int theirs;

	(void)state;
	assert_true(own >= 0 && grantpt(own) == 0 && unlockpt(own) == 0);
	theirs = __real_open64(ptsname(own), O_RDWR | O_NOCTTY, 0);
	assert_true(theirs >= 0);
	assert_true(os_terminal_is(theirs));
	assert_int_equal(tcgetattr(theirs, &before), 0);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct buffer out = {0};
		struct termios raw = before;
		ssize_t length;
		int error;

		/* what is typed early is kept, too */
		raw.c_lflag &= ~(tcflag_t)(ICANON | ISIG | ECHO);
		assert_int_equal(tcsetattr(theirs, TCSANOW, &raw), 0);
		buffer_append_string(&out, "as before ");
		world.terminal = theirs;
		assert_int_equal(fcntl(own, F_SETFL, O_NONBLOCK), 0);
		{
			pid_t child = fork();

			if (child == 0) {
				/* after the question, as the queue of keys is flushed before it */
				while (read(own, said, sizeof said) <= 0)
					usleep(1000);
				_exit(write(own, rows[i].keys, strlen(rows[i].keys)) > 0 ? 0 : 1);
			}
			error = os_terminal_ask_secret("Password: ", 8, &out);
			assert_int_equal(waitpid(child, NULL, 0), child);
		}
		if (error != rows[i].error)
			fail_msg("%zu: %d", i, error);
		buffer_append_byte(&out, '\0');
		if (error == 0)
			assert_string_equal(buffer_data(&out) + 10, rows[i].text);
		assert_int_equal(tcgetattr(theirs, &after), 0);
		assert_int_equal(after.c_lflag, raw.c_lflag);
		do
			length = read(own, said, sizeof said);
		while (length > 0);
		tcflush(theirs, TCIOFLUSH);
		buffer_clear(&out);
	}
	world.terminal = -1;
	{
		struct buffer out = {0};

		assert_int_equal(os_terminal_ask_secret("Password: ", 8, &out), -ENOTTY);
		world.terminal = __real_open64("/dev/null", O_RDWR, 0);
		assert_int_equal(os_terminal_ask_secret("Password: ", 8, &out), -ENOTTY);
		assert_false(os_terminal_is(world.terminal));
		close(world.terminal);
		buffer_clear(&out);
	}
	close(theirs);
	close(own);
}

static int set_up(void **state)
{
	(void)state;
	memset(&world, 0, sizeof world);
	world.terminal = -1;
	alarm(60);
	return scratch_make(directory);
}

static int tear_down(void **state)
{
	(void)state;
	return scratch_remove(directory);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(what_belongs_to_a_file_goes_with_it),
		CASE(a_log_that_cannot_be_moved_is_not_left),
		CASE(all_bytes_are_read_and_written),
		CASE(errors_are_told),
		CASE(space_that_is_left),
		CASE(what_is_typed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
