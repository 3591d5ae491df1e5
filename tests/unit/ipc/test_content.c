// SPDX-License-Identifier: ISC
#include "base/checksum.h"
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
	assert_true(file >= 0);
	assert_int_equal(ipc_content_read(&content, 0, block, sizeof block, &part), -EIO);
	ipc_content_prepend(&content, STR("head"));
	assert_int_equal(ipc_content_read(&content, 0, block, sizeof block, &part), -EIO);
	assert_int_equal(ipc_content_read(&content, 0, block, 14, &part), 0);
	os_file_close(file);
}

/* Passes over CONTENT in blocks of so many bytes: 0 or -errno, and how many were yielded. */
static int pass_over(const struct ipc_content *content, size_t block_size, uint64_t *passed_out)
{
	struct ipc_content_pass pass = {0};
	char block[64];

	while (!ipc_content_is_passed(content, &pass)) {
		struct str part;
		int error = ipc_content_next(content, &pass, block, block_size, &part);

		*passed_out = pass.position;
		if (error < 0)
			return error;
	}
	return 0;
}

/* Each byte of the file is another one, in turn, for all sizes of blocks, with and without a head:
 * the last bytes never come. */
static void changed_bytes_have_no_end(void **state)
{
	static const char *const heads[] = {"", "h", "a longer head"};
	struct str rest = STR(REST);

	(void)state;
	for (size_t i = 0; i < COUNT_OF(heads) * rest.length * 20; i++) {
		size_t block_size = i / (COUNT_OF(heads) * rest.length) + 1;
		char text[] = REST;
		struct ipc_content content = {.size = rest.length, .has_checksum = true};
		uint64_t passed = 0;

		text[i % rest.length] ^= 1;
		content.file = os_process_share_text(str_slice(text, rest.length));
		content.checksum = checksum_extend(0, text, rest.length);
		ipc_content_prepend(&content, str_from(heads[i / rest.length % COUNT_OF(heads)]));
		assert_int_equal(pass_over(&content, block_size, &passed), 0);
		assert_int_equal(passed, content.size);
		content.checksum = checksum_extend(0, rest.data, rest.length);
		assert_int_equal(pass_over(&content, block_size, &passed), -EBADMSG);
		assert_in_range(passed, 0, content.size - 1);
		content.has_checksum = false;
		assert_int_equal(pass_over(&content, block_size, &passed), 0);
		os_file_close(content.file);
	}
}

/* Whoever begins again may do so in the middle; what others read does not count. */
static void each_pass_is_its_own(void **state)
{
	struct str rest = STR(REST);
	int file = os_process_share_text(rest);
	struct ipc_content content = {.file = file,
				      .size = rest.length,
				      .has_checksum = true,
				      .checksum = checksum_extend(0, rest.data, rest.length)};
	struct ipc_content_pass pass = {0};
	uint64_t passed;
	char block[64];
	struct str part;

	(void)state;
	assert_true(file >= 0);
	assert_int_equal(ipc_content_next(&content, &pass, block, 4, &part), 0);
	assert_int_equal(pass_over(&content, 3, &passed), 0);
	assert_int_equal(ipc_content_next(&content, &pass, block, sizeof block, &part), 0);
	assert_true(str_equal(part, str_skip(rest, 4)));
	assert_true(ipc_content_is_passed(&content, &pass));
	pass = (struct ipc_content_pass){.position = 4}; /* it has not seen the beginning */
	assert_int_equal(ipc_content_next(&content, &pass, block, sizeof block, &part), -EBADMSG);
	assert_int_equal(pass.position, 4);
	os_file_close(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_head_comes_first),
		cmocka_unit_test(a_file_may_be_too_short),
		cmocka_unit_test(changed_bytes_have_no_end),
		cmocka_unit_test(each_pass_is_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
