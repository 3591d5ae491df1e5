// SPDX-License-Identifier: ISC
/* Secrets in files: the first line, at its bound and beside it; what is left of it is erased. */
#include "os/file/secret.h"
#include "scratch.h"
#include "test.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[SCRATCH_SIZE], path[SCRATCH_SIZE + 10];

static void write_secret(const char *text, size_t length)
{
	int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(file >= 0);
	assert_int_equal(write(file, text, length), length);
	close(file);
}

static void a_secret_has_a_longest(void **state)
{
	static const char *const ends[] = {"", "\n", "\r\n", "\nmore", "\r", "\n\n"};
	char text[OS_SECRET_MAX + 20];

	(void)state;
	for (size_t length = 0; length <= OS_SECRET_MAX + 1;
	     length += length < 3 || length > OS_SECRET_MAX - 3 ? 1 : 1019)
		for (size_t end = 0; end < COUNT_OF(ends); end++) {
			struct buffer secret = {0};
			int expected = length == 0 ? -ENODATA : length > OS_SECRET_MAX ? -EFBIG : 0;

			memset(text, 'x', length);
			memcpy(text + length, ends[end], strlen(ends[end]));
			write_secret(text, length + strlen(ends[end]));
			buffer_append_string(&secret, "before ");
			assert_int_equal(os_secret_read(path, &secret), expected);
			assert_true(secret.is_secret);
			assert_int_equal(secret.length, 7 + (expected == 0 ? length : 0));
			if (expected == 0)
				assert_memory_equal(buffer_data(&secret) + 7, text, length);
			buffer_clear(&secret);
		}
}

static void what_cannot_be_read(void **state)
{
	struct buffer secret = {0};
	unsigned before = 0;

	(void)state;
	before = (unsigned)open("/dev/null", O_RDONLY);
	close((int)before);
	assert_int_equal(os_secret_read("/nowhere/x", &secret), -ENOENT);
	assert_true(secret.is_secret);
	assert_true(os_secret_read(directory, &secret) < 0);
	write_secret("x", 1);
	assert_int_equal(os_secret_read(path, &secret), 0);
	/* no descriptor is left */
	assert_int_equal(open("/dev/null", O_RDONLY), before);
	close((int)before);
	buffer_clear(&secret);
}

static int make_folder(void **state)
{
	(void)state;
	if (scratch_make(directory) < 0)
		return -1;
	snprintf(path, sizeof path, "%s/secret", directory);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	return scratch_remove(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_secret_has_a_longest),
		cmocka_unit_test(what_cannot_be_read),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
