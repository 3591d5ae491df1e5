// SPDX-License-Identifier: ISC
/* Rows of memory that processes share: what is in one, and who may change what. */
#include "limit/memory.h"
#include "os/file/file.h"
#include "os/shared.h"
#include "test.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct limit_layout two_areas(uint32_t rates)
{
	struct limit_layout layout = {.count = 0};

	limit_layout_add(&layout, LIMIT_AREA_SESSIONS, 100, true);
	limit_layout_add(&layout, LIMIT_AREA_RATES, rates, false);
	return layout;
}

static void a_layout_goes_from_process_to_process(void **state)
{
	struct limit_layout layout = two_areas(5000);
	struct limit_layout smaller = two_areas(4000);
	struct limit_layout one = two_areas(0);
	struct limit_layout other;
	struct buffer text = {0};
	struct unpack in;

	(void)state;
	limit_layout_pack(&layout, &text);
	in = (struct unpack){buffer_view(&text), false};
	assert_true(limit_layout_unpack(&in, &other));
	assert_true(unpack_is_whole(&in));
	assert_true(limit_layout_equal(&layout, &other));
	assert_false(limit_layout_equal(&layout, &smaller));
	assert_true(limit_layout_has(&layout, &smaller));
	assert_false(limit_layout_has(&smaller, &layout));
	assert_true(limit_layout_has(&layout, &one));
	assert_false(limit_layout_has(&one, &layout));
	assert_int_equal(one.count, 1);
	for (size_t length = 0; length < text.length; length++) {
		in = (struct unpack){str_slice(buffer_data(&text), length), false};
		assert_false(limit_layout_unpack(&in, &other));
	}
	buffer_clear(&text);
}

static void a_row_is_seen_by_all_and_written_by_one(void **state)
{
	struct limit_layout layout = two_areas(5000);
	int row = limit_row_new(&layout, "smtpd.0");
	int reader = os_shared_reader(row);
	struct limit_memory *own = limit_memory_new(&layout);
	struct limit_memory *other = limit_memory_new(&layout);
	char *sessions;
	char *rates;

	(void)state;
	assert_true(row >= 0 && reader >= 0);
	assert_int_equal(limit_memory_add(own, "smtpd.0", row, true), 0);
	assert_int_equal(limit_memory_add(other, "smtpd.0", reader, false), 0);
	assert_int_equal(limit_memory_own(own), 0);
	assert_int_equal(limit_memory_own(other), -1);
	assert_string_equal(limit_memory_name(other, 0), "smtpd.0");
	os_file_close(row);
	os_file_close(reader);
	sessions = limit_memory_area(own, 0, LIMIT_AREA_SESSIONS, 100);
	rates = limit_memory_area(own, 0, LIMIT_AREA_RATES, 5000);
	assert_int_equal((uintptr_t)rates % LIMIT_ALIGNMENT, 0);
	assert_true(rates >= sessions + 100);
	assert_null(limit_memory_area(own, 0, LIMIT_AREA_RATES, 5001));
	for (size_t i = 0; i < 5000; i++)
		assert_int_equal(rates[i], 0);
	rates[4999] = 'r';
	sessions[99] = 's';
	assert_int_equal(((char *)limit_memory_area(other, 0, LIMIT_AREA_RATES, 1))[4999], 'r');
	assert_int_equal(((char *)limit_memory_area(other, 0, LIMIT_AREA_SESSIONS, 1))[99], 's');
	limit_memory_free(own);
	limit_memory_free(other);
	limit_memory_free(NULL);
}

/* Neither its size nor, by who has it for reading, its content can be changed. */
static void a_row_cannot_be_taken_away(void **state)
{
	struct limit_layout layout = two_areas(5000);
	int row = limit_row_new(&layout, "smtpd.0");
	int reader = os_shared_reader(row);
	int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	char byte = 1;

	(void)state;
	assert_int_equal(fcntl(row, F_GET_SEALS), seals);
	assert_int_equal(ftruncate(row, 0), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(ftruncate(row, 1 << 20), -1);
	assert_int_equal(fcntl(row, F_ADD_SEALS, F_SEAL_WRITE), -1);
	assert_int_equal(pwrite(reader, &byte, 1, 0), -1);
	assert_int_equal(errno, EBADF);
	assert_ptr_equal(mmap(NULL, 100, PROT_READ | PROT_WRITE, MAP_SHARED, reader, 0),
			 MAP_FAILED);
	assert_int_equal(errno, EACCES);
	os_file_close(row);
	os_file_close(reader);
}

static void rows_keep_their_numbers_and_have_a_bound(void **state)
{
	struct limit_layout layout = two_areas(0);
	struct limit_memory *memory = limit_memory_new(&layout);
	int row = limit_row_new(&layout, "row");
	char name[LIMIT_NAME_SIZE + 1];

	(void)state;
	for (size_t i = 0; i < LIMIT_ROWS_MAX; i++) {
		snprintf(name, sizeof name, "smtpd.%zu", i);
		assert_int_equal(limit_memory_add(memory, name, row, false), 0);
	}
	assert_int_equal(limit_memory_add(memory, "one.more", row, false), -ENOSPC);
	assert_int_equal(limit_memory_add(memory, "smtpd.7", row, true), 0);
	assert_int_equal(limit_memory_own(memory), -1);
	assert_int_equal(limit_memory_count(memory), LIMIT_ROWS_MAX);
	assert_string_equal(limit_memory_name(memory, 7), "smtpd.7");
	memset(name, 'x', sizeof name);
	name[LIMIT_NAME_SIZE] = '\0';
	assert_int_equal(limit_memory_add(memory, name, row, false), -EINVAL);
	assert_int_equal(limit_memory_add(memory, "", row, false), -EINVAL);
	os_file_close(row);
	limit_memory_free(memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_layout_goes_from_process_to_process),
		cmocka_unit_test(a_row_is_seen_by_all_and_written_by_one),
		cmocka_unit_test(a_row_cannot_be_taken_away),
		cmocka_unit_test(rows_keep_their_numbers_and_have_a_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
