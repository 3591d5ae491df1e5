// SPDX-License-Identifier: ISC
/* When the number of an ended message may be another one's. */
#include "os/file/file.h"
#include "queue_scene.h"
#include "test.h"
#include <errno.h>

static bool is_failing;

void __real_os_file_sync_directories(const int *directories, size_t count, int *results);
void __wrap_os_file_sync_directories(const int *directories, size_t count, int *results);
void __wrap_os_file_sync_directories(const int *directories, size_t count, int *results)
{
	__real_os_file_sync_directories(directories, count, results);
	for (size_t i = 0; is_failing && i < count; i++)
		results[i] = -EIO;
}

static bool is_short; /* of descriptors */

int __real_os_file_open_directory(int directory, const char *path);
int __wrap_os_file_open_directory(int directory, const char *path);
int __wrap_os_file_open_directory(int directory, const char *path)
{
	return is_short ? -EMFILE : __real_os_file_open_directory(directory, path);
}

/* A message comes and ends; the number by which its file is asked for. */
static uint64_t retire_one(struct queue_intake *intake)
{
	uint64_t number = queue_scene_enqueue(intake, NULL, "data\r\n");

	assert_int_equal(queue_message_remove_queued(intake, MAIL_STAGE_ARRIVE, number), 0);
	return queue_intake_retired(intake);
}

static void sync_removals(struct queue_intake *intake)
{
	queue_message_commit_group(intake, NULL, 0, NULL);
}

static void a_file_is_released_by_the_group_after_it(void **state)
{
	struct queue_store *store = queue_scene_open("queue", QUEUE_SYNC_FILES);
	struct queue_intake *intake = queue_scene_intake(store);
	uint64_t first;
	uint64_t second;
	uint64_t third;

	(void)state;
	assert_false(queue_intake_has_released(intake, 0));
	first = retire_one(intake);
	assert_int_equal(first, 1);
	assert_false(queue_intake_has_released(intake, first));
	second = retire_one(intake); /* whose commit was a group */
	assert_true(queue_intake_has_released(intake, first));
	assert_false(queue_intake_has_released(intake, second));
	sync_removals(intake);
	assert_true(queue_intake_has_released(intake, second));
	third = retire_one(intake);
	assert_int_equal(queue_message_remove_queued(intake, MAIL_STAGE_ARRIVE, UINT32_MAX), 0);
	sync_removals(intake);
	assert_true(queue_intake_has_released(intake, third));
	queue_intake_close(intake);
	queue_store_close(store);
}

/* Its removal is in doubt, and its number is not given out again, whatever succeeds later. */
static void a_failed_sync_releases_nothing(void **state)
{
	struct queue_store *store = queue_scene_open("queue", QUEUE_SYNC_FILES);
	struct queue_intake *intake = queue_scene_intake(store);
	uint64_t lost;
	uint64_t next;

	(void)state;
	sync_removals(intake); /* those of an earlier process, by the whole filesystem */
	lost = retire_one(intake);
	is_failing = true;
	sync_removals(intake);
	is_failing = false;
	assert_false(queue_intake_has_released(intake, lost));
	sync_removals(intake);
	assert_false(queue_intake_has_released(intake, lost));
	next = retire_one(intake);
	sync_removals(intake);
	assert_true(queue_intake_has_released(intake, next));
	assert_false(queue_intake_has_released(intake, lost));
	queue_intake_close(intake);
	queue_store_close(store);
}

/* Nothing was synced. */
static void a_group_without_descriptors_releases_nothing(void **state)
{
	struct queue_store *store = queue_scene_open("queue", QUEUE_SYNC_FILES);
	struct queue_intake *intake = queue_scene_intake(store);
	uint64_t retired;

	(void)state;
	sync_removals(intake);
	retired = retire_one(intake);
	is_short = true;
	sync_removals(intake);
	is_short = false;
	assert_false(queue_intake_has_released(intake, retired));
	sync_removals(intake);
	assert_true(queue_intake_has_released(intake, retired));
	queue_intake_close(intake);
	queue_store_close(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_file_is_released_by_the_group_after_it,
						queue_scene_set_up, queue_scene_tear_down),
		cmocka_unit_test_setup_teardown(a_group_without_descriptors_releases_nothing,
						queue_scene_set_up, queue_scene_tear_down),
		cmocka_unit_test_setup_teardown(a_failed_sync_releases_nothing, queue_scene_set_up,
						queue_scene_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
