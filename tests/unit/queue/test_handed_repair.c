// SPDX-License-Identifier: ISC
/* Packages on a disk that has changed them, and in a copy of the queue. */
#include "handed_scene.h"
#include "os/file/file.h"
#include "queue/repair.h"
#include "test.h"

static const char map[] = "map: 1 remote 3 <x@example.org>\n"
			  "map: 1 remote 4 <y@example.org>\n"
			  "map: 1 local mailbox 9 <z@example.org>\n"
			  "mapped: directory=42 count=3\n";

/* The envelope after the data has the map as well, and the control file its own. */
static void a_damaged_envelope_is_mended_with_its_map(void **state)
{
	struct queue_control *control;
	char path[QUEUE_PATH_SIZE];
	uint64_t number;
	int file;

	(void)state;
	handed_scene_open(QUEUE_SYNC_FILES);
	assert_int_equal(handed_scene_greet(7), 0);
	assert_int_equal(handed_scene_take("2-1.3", "part", map, &number), 0);
	queue_scene_preprocess(handed.store, handed.intake, number,
			       "done: 4 1970-01-01T00:00:02Z 2.0.0 stored\n", "");
	queue_store_path(handed.store, QUEUE_INFO, NULL, number, path);
	file = os_file_open(queue_store_directory(handed.store), path, OS_FILE_WRITE);
	assert_int_equal(os_file_write(file, "S", 1, 0), 0);
	os_file_close(file);
	assert_int_equal(queue_update_load(handed.store, NULL, number, &control, NULL), 0);
	assert_int_equal(control->damaged, 1);
	assert_int_equal(control->delivery_count, 3);
	assert_int_equal(control->deliveries[0].outcome, QUEUE_PENDING);
	assert_int_equal(control->deliveries[1].outcome, QUEUE_DONE);
	assert_true(str_equal(control->envelope->handed, STR("a1/2-1.3")));
	queue_control_free(control);
	handed_scene_close();
}

static void copy_file(const char *path)
{
	int directory = queue_store_directory(handed.store);
	int file = os_file_open(directory, path, OS_FILE_READ);
	char bytes[4096];
	ssize_t length = os_file_read(file, bytes, sizeof bytes, 0);

	assert_true(length > 0);
	os_file_close(file);
	assert_int_equal(os_file_unlink(directory, path), 0);
	file = os_file_open(directory, path, OS_FILE_WRITE | OS_FILE_CREATE);
	assert_int_equal(os_file_write(file, bytes, (size_t)length, 0), 0);
	os_file_close(file);
}

static void fail_on_aside(void *context, const char *path, const char *why)
{
	(void)context;
	fail_msg("%s: %s", path, why);
}

static void ignore_progress(void *context, uint64_t count)
{
	(void)context;
	(void)count;
}

/* Whoever copies a queue without hard links. */
static void a_repair_links_the_names_of_a_copy(void **state)
{
	const struct queue_repair options = {.set_aside = fail_on_aside,
					     .progress = ignore_progress};
	uint64_t taken;
	uint64_t other;

	(void)state;
	handed_scene_open(QUEUE_SYNC_FILES);
	assert_int_equal(handed_scene_greet(7), 0);
	assert_int_equal(handed_scene_take("1-1", "data", NULL, &taken), 0);
	assert_int_equal(handed_scene_take("2-1.3", "data", map, &other), 0);
	assert_int_equal(handed_scene_take("3-1", "data", NULL, &other), 0);
	assert_int_equal(queue_handed_settle(handed.intake, STR("a1"), STR("3-1")), 0);
	copy_file("handed/a1/1-1");
	assert_int_equal(queue_repair(handed.store, &options), 0);
	assert_string_equal(handed_scene_names(), "1-1 2-1.3 run.1.7 ");
	assert_int_equal(handed_scene_restart(), 0);
	assert_int_equal(handed_scene_greet(8), 0);
	assert_string_equal(handed_scene_kept(), "1-1 ;2-1.3 3-4,9;");
	assert_int_equal(handed_scene_end(taken), 0);
	handed_scene_close();
}

#define ON_DISK(test) \
	cmocka_unit_test_setup_teardown(test, queue_scene_set_up, queue_scene_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_DISK(a_damaged_envelope_is_mended_with_its_map),
		ON_DISK(a_repair_links_the_names_of_a_copy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
