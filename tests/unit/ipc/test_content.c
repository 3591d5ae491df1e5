// SPDX-License-Identifier: ISC
#include "ipc/content.h"
#include "os/file/file.h"
#include "os/process/process.h"
#include "test.h"
#include <errno.h>
#include <string.h>

#define REST "0123456789"

/* Reads all of CONTENT in blocks of so many bytes. */
static void check_whole(const struct ipc_content *content, size_t block_size, const char *whole)
{
	char block[64];
	char found[64];
	uint64_t offset = 0;

	assert_int_equal(content->size, strlen(whole));
	while (offset < content->size) {
		uint64_t left = content->size - offset;
		struct str part;

		assert_int_equal(ipc_content_read(content, offset, block, block_size, &part), 0);
		assert_int_equal(part.length, left < block_size ? left : block_size);
		memcpy(found + offset, part.data, part.length);
		offset += part.length;
	}
	assert_memory_equal(found, whole, offset);
}

static void a_head_comes_first(void **state)
{
	int file = os_process_share_text(STR(REST));

	(void)state;
	assert_true(file >= 0);
	for (size_t block_size = 1; block_size < 20; block_size++) {
		struct ipc_content inside = {.bytes = STR(REST), .file = -1, .size = 10};
		struct ipc_content behind = {.file = file, .size = 10};

		check_whole(&inside, block_size, REST);
		check_whole(&behind, block_size, REST);
		ipc_content_prepend(&inside, STR("head"));
		ipc_content_prepend(&behind, STR("head"));
		check_whole(&inside, block_size, "head" REST);
		check_whole(&behind, block_size, "head" REST);
	}
	os_file_close(file);
}

static void a_file_may_be_too_short(void **state)
{
	int file = os_process_share_text(STR(REST));
	struct ipc_content content = {.file = file, .size = 11};
	char block[64];
	struct str part;

	(void)state;
	assert_int_equal(ipc_content_read(&content, 0, block, sizeof block, &part), -EIO);
	ipc_content_prepend(&content, STR("head"));
	assert_int_equal(ipc_content_read(&content, 0, block, sizeof block, &part), -EIO);
	assert_int_equal(ipc_content_read(&content, 0, block, 14, &part), 0);
	os_file_close(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_head_comes_first),
		cmocka_unit_test(a_file_may_be_too_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
