// SPDX-License-Identifier: ISC
/* Rows of memory that processes share: what is in one, and who may change what. */
#include "limit/memory.h"
#include "os/file/file.h"
#include "os/shared.h"
#include "test.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
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

/* Each field alone makes the difference; what is behind the last area makes none. */
static void layouts_are_equal_by_their_areas(void **state)
{
	struct limit_layout layout = two_areas(5000);
	struct limit_layout other = layout;

	(void)state;
	other.areas[2] = (struct limit_area){LIMIT_AREA_CLIENTS, 77, true};
	assert_true(limit_layout_equal(&layout, &other));
	for (size_t i = 0; i < layout.count; i++) {
		other = layout;
		other.areas[i].use = LIMIT_AREA_CLIENTS;
		assert_false(limit_layout_equal(&layout, &other));
		assert_false(limit_layout_has(&layout, &other));
		other = layout;
		other.areas[i].size++;
		assert_false(limit_layout_equal(&layout, &other));
		assert_false(limit_layout_has(&layout, &other));
		assert_true(limit_layout_has(&other, &layout));
		other.areas[i].size -= 2;
		assert_true(limit_layout_has(&layout, &other));
		other = layout;
		other.count = i;
		assert_false(limit_layout_equal(&layout, &other));
		assert_true(limit_layout_has(&layout, &other));
		assert_false(limit_layout_has(&other, &layout));
	}
}

static void check_unpacking(uint32_t count, uint32_t size, bool is_allowed)
{
	struct buffer text = {0};
	struct limit_layout layout;
	struct unpack in;

	pack_u32(&text, count);
	for (uint32_t i = 0; i < count; i++) {
		pack_u32(&text, LIMIT_AREA_RATES);
		pack_u32(&text, i + 1 < count ? 1 : size);
		pack_u32(&text, i % 2);
	}
	in = (struct unpack){buffer_view(&text), false};
	assert_int_equal(limit_layout_unpack(&in, &layout), is_allowed);
	if (is_allowed) {
		assert_true(unpack_is_whole(&in));
		assert_int_equal(layout.count, count);
	}
	for (uint32_t i = 0; is_allowed && i < count; i++) {
		assert_int_equal(layout.areas[i].use, LIMIT_AREA_RATES);
		assert_int_equal(layout.areas[i].size, i + 1 < count ? 1 : size);
		assert_int_equal(layout.areas[i].is_allocated, i % 2);
	}
	buffer_clear(&text);
}

static void a_layout_has_its_bounds(void **state)
{
	(void)state;
	for (uint32_t count = 1; count <= LIMIT_AREAS_MAX + 1; count++) {
		bool is_allowed = count <= LIMIT_AREAS_MAX;

		check_unpacking(count, 0, false);
		check_unpacking(count, 1, is_allowed);
		check_unpacking(count, LIMIT_AREA_SIZE_MAX, is_allowed);
		check_unpacking(count, (uint32_t)LIMIT_AREA_SIZE_MAX + 1, false);
	}
	check_unpacking(0, 0, true);
}

static void add_areas(size_t count, uint32_t size)
{
	struct limit_layout layout = {.count = 0};

	for (size_t i = 0; i < count; i++)
		limit_layout_add(&layout, LIMIT_AREA_SESSIONS, size, true);
	assert_int_equal(layout.count, size > 0 ? count : 0);
}

static void check_panic(size_t count, uint32_t size)
{
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		if (freopen("/dev/null", "w", stderr) != NULL)
			add_areas(count, size);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void more_than_a_layout_can_have_is_a_fault(void **state)
{
	(void)state;
	add_areas(LIMIT_AREAS_MAX, 1);
	add_areas(LIMIT_AREAS_MAX + 1, 0);
	add_areas(1, LIMIT_AREA_SIZE_MAX);
	check_panic(LIMIT_AREAS_MAX + 1, 1);
	check_panic(1, (uint32_t)LIMIT_AREA_SIZE_MAX + 1);
}

/* Sizes around the alignment: no area is in another, and each is in its row to the last byte. */
static void areas_are_beside_each_other(void **state)
{
	static const uint32_t sizes[] = {1, LIMIT_ALIGNMENT - 1, LIMIT_ALIGNMENT,
					 LIMIT_ALIGNMENT + 1};

	(void)state;
	for (size_t i = 0; i < 4 * 4 * 4; i++) {
		const uint32_t size[] = {sizes[i % 4], sizes[i / 4 % 4], sizes[i / 16]};
		struct limit_layout layout = {.count = 0};
		struct limit_memory *memory;
		char *end = NULL;
		int row;

		for (unsigned use = 0; use < 3; use++)
			limit_layout_add(&layout, LIMIT_AREA_SESSIONS + use, size[use], use < 2);
		row = limit_row_new(&layout, "smtpd.0");
		memory = limit_memory_new(&layout);
		assert_int_equal(limit_memory_add(memory, "smtpd.0", row, true), 0);
		for (unsigned use = 0; use < 3; use++) {
			char *area =
				limit_memory_area(memory, 0, LIMIT_AREA_SESSIONS + use, size[use]);

			assert_int_equal((uintptr_t)area % LIMIT_ALIGNMENT, 0);
			assert_true(end == NULL || (area >= end && area < end + LIMIT_ALIGNMENT));
			end = area + size[use];
			assert_int_equal(limit_memory_area_size(memory, LIMIT_AREA_SESSIONS + use),
					 size[use]);
		}
		assert_int_equal(limit_memory_area_size(memory, LIMIT_AREA_CLIENTS + 1), 0);
		assert_true(lseek(row, 0, SEEK_END) >=
			    end - (char *)limit_memory_area(memory, 0, LIMIT_AREA_SESSIONS, 1));
		os_file_close(row);
		limit_memory_free(memory);
	}
}

/* The first that may be written to is the own one, wherever it is; a name has its bound. */
static void a_row_has_its_place_and_its_name(void **state)
{
	struct limit_layout layout = two_areas(0);
	int row = limit_row_new(&layout, "row");
	char name[LIMIT_NAME_SIZE];

	(void)state;
	for (size_t own = 0; own < 3; own++) {
		struct limit_memory *memory = limit_memory_new(&layout);

		for (size_t i = 0; i < 3; i++) {
			snprintf(name, sizeof name, "smtpd.%zu", i);
			assert_int_equal(limit_memory_add(memory, name, row, i >= own), 0);
		}
		assert_int_equal(limit_memory_own(memory), own);
		assert_true(limit_layout_equal(limit_memory_layout(memory), &layout));
		memset(name, 'x', sizeof name);
		name[LIMIT_NAME_SIZE - 1] = '\0';
		assert_int_equal(limit_memory_add(memory, name, -1, false), -EBADF);
		assert_int_equal(limit_memory_count(memory), 3);
		assert_int_equal(limit_memory_add(memory, name, row, false), 0);
		assert_string_equal(limit_memory_name(memory, 3), name);
		limit_memory_free(memory);
	}
	os_file_close(row);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_layout_goes_from_process_to_process),
		cmocka_unit_test(a_row_is_seen_by_all_and_written_by_one),
		cmocka_unit_test(a_row_cannot_be_taken_away),
		cmocka_unit_test(rows_keep_their_numbers_and_have_a_bound),
		cmocka_unit_test(layouts_are_equal_by_their_areas),
		cmocka_unit_test(a_layout_has_its_bounds),
		cmocka_unit_test(more_than_a_layout_can_have_is_a_fault),
		cmocka_unit_test(areas_are_beside_each_other),
		cmocka_unit_test(a_row_has_its_place_and_its_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
