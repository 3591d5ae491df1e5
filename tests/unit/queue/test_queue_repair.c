// SPDX-License-Identifier: ISC
/* What becomes of messages whose queue was copied, and what is told of each. */
#include "os/file/file.h"
#include "queue/repair.h"
#include "queue_scene.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { TOLD_MAX = 8 };

#define MAP   "map: 1 remote <b@example.net>\nmapped: directory=1 count=1\n"
#define WAITS "wait: 1 2026-11-20T08:33:14Z until=2026-11-20T08:40:01Z 4.4.1 no\n"

static struct queue_store *store;
static struct queue_intake *intake;

/* What was said of the last repair. */
static struct {
	struct {
		uint64_t old, number;
	} kept[TOLD_MAX];
	unsigned count, renumbered, set_aside;
	int error; /* of the first that is told */
} said;

static int set_up(void **state)
{
	if (queue_scene_set_up(state) < 0)
		return -1;
	store = queue_scene_open("queue", QUEUE_SYNC_FILES);
	intake = queue_scene_intake(store);
	return 0;
}

static int tear_down(void **state)
{
	queue_intake_close(intake);
	queue_store_close(store);
	return queue_scene_tear_down(state);
}

/* The name of NUMBER in PLACE leads to another file with the same content: its inode. */
static uint64_t copy(enum queue_folder folder, const char *name, uint64_t number)
{
	int directory = queue_store_directory(store);
	char path[QUEUE_PATH_SIZE];
	char text[8192];
	struct os_file_info info;
	ssize_t length;
	int file;

	queue_store_path(store, folder, name, number, path);
	file = os_file_open(directory, path, OS_FILE_READ);
	assert_true(file >= 0);
	length = os_file_read(file, text, sizeof text, 0);
	os_file_close(file);
	assert_in_range(length, 1, sizeof text - 1);
	file = os_file_open(directory, "copy", OS_FILE_WRITE | OS_FILE_CREATE);
	assert_true(file >= 0);
	assert_int_equal(os_file_write(file, text, (size_t)length, 0), 0);
	assert_int_equal(os_file_info(file, &info), 0);
	os_file_close(file);
	assert_int_equal(os_file_rename(directory, "copy", path), 0);
	assert_true(info.inode != number);
	return info.inode;
}

static uint64_t put_waiting(void)
{
	uint64_t number = queue_scene_enqueue(intake, NULL, "data\r\n");

	queue_scene_preprocess(store, intake, number, MAP WAITS, "");
	return number;
}

static void on_renumbered(void *context, uint64_t old, uint64_t number)
{
	(void)context;
	assert_true(old != number);
	said.renumbered++;
}

static int on_kept(void *context, uint64_t old, uint64_t number)
{
	int error = said.error;

	(void)context;
	said.error = 0;
	if (error < 0)
		return error;
	assert_true(said.count < TOLD_MAX);
	said.kept[said.count].old = old;
	said.kept[said.count++].number = number;
	return 0;
}

static void on_set_aside(void *context, const char *path, const char *why)
{
	(void)context;
	(void)path;
	(void)why;
	said.set_aside++;
}

static void on_progress(void *context, uint64_t count)
{
	(void)context;
	(void)count;
}

static int repair(bool dry_run, int error)
{
	const struct queue_repair options = {.dry_run = dry_run,
					     .renumbered = on_renumbered,
					     .kept = on_kept,
					     .set_aside = on_set_aside,
					     .progress = on_progress};

	memset(&said, 0, sizeof said);
	said.error = error;
	return queue_repair(store, &options);
}

/* How often it was told that OLD is NUMBER now. */
static unsigned told(uint64_t old, uint64_t number)
{
	unsigned count = 0;

	for (unsigned i = 0; i < said.count; i++)
		count += said.kept[i].old == old && said.kept[i].number == number;
	return count;
}

static void each_message_is_told(void **state)
{
	uint64_t queued = queue_scene_enqueue(intake, NULL, "data\r\n");
	uint64_t waiting = put_waiting();
	uint64_t true_number = put_waiting();
	uint64_t queued_now = copy(QUEUE_TODO, "arrive", queued);
	uint64_t waiting_now = copy(QUEUE_MESS, NULL, waiting);

	(void)state;
	assert_int_equal(repair(true, -EIO), 0);
	assert_int_equal(said.count, 0);
	assert_int_equal(repair(false, 0), 0);
	assert_int_equal(said.count, 3);
	assert_int_equal(said.renumbered, 2);
	assert_int_equal(said.set_aside, 0);
	assert_int_equal(told(queued, queued_now), 1);
	assert_int_equal(told(waiting, waiting_now), 1);
	assert_int_equal(told(true_number, true_number), 1);
	assert_int_equal(repair(false, 0), 0);
	assert_int_equal(said.count, 3);
	assert_int_equal(said.renumbered, 0);
	assert_int_equal(told(queued_now, queued_now), 1);
}

/* Whoever could not note one is told of it again. */
static void an_error_ends_the_repair(void **state)
{
	uint64_t number = put_waiting();

	(void)state;
	for (unsigned i = 0; i < 2; i++) { /* as it is; and copied */
		uint64_t now = i > 0 ? copy(QUEUE_MESS, NULL, number) : number;

		assert_int_equal(repair(false, -ENOSPC), -ENOSPC);
		assert_int_equal(said.count, 0);
		assert_int_equal(repair(false, 0), 0);
		assert_int_equal(said.count, 1);
		assert_int_equal(told(now, now), 1);
	}
}

/* A copy that was made while it moved to S5 has it twice: it is one message, and what was tried is
 * known. */
static void what_was_copied_on_its_way_is_one_message(void **state)
{
	const enum mail_stage stage = MAIL_STAGE_ARRIVE;
	uint64_t number = queue_scene_enqueue(intake, NULL, "data\r\n");
	struct queue_update update = {
		.number = number,
		.is_queued = true,
		.stage = MAIL_STAGE_ARRIVE,
		.control = STR(MAP WAITS),
		.preprocess = true,
		.link_remote = true,
	};
	struct queue_control *control;
	uint64_t now;

	(void)state;
	assert_int_equal(queue_scene_update(store, &update), 0);
	copy(QUEUE_MESS, NULL, number);
	copy(QUEUE_INFO, NULL, number);
	copy(QUEUE_REMOTE, NULL, number);
	now = copy(QUEUE_TODO, "arrive", number);
	assert_int_equal(repair(false, 0), 0);
	assert_int_equal(said.count, 1);
	assert_int_equal(told(number, now), 1);
	assert_int_equal(said.set_aside, 0);
	assert_int_equal(queue_store_look(store, NULL, number, NULL), -ENOENT);
	assert_int_equal(queue_update_load(store, &stage, now, &control, NULL), 0);
	assert_true(control->is_mapped);
	assert_int_equal(control->deliveries[0].attempts, 1);
	queue_control_free(control);
	queue_scene_preprocess(store, intake, now, MAP WAITS, "");
	assert_int_equal(queue_update_load(store, NULL, now, &control, NULL), 0);
	assert_int_equal(control->delivery_count, 1);
	assert_int_equal(control->deliveries[0].outcome, QUEUE_WAIT);
	assert_int_equal(control->damaged, 0);
	queue_control_free(control);
}

/* More than a configuration may have: each has left its directory. */
static void services_of_old_configurations_are_no_hindrance(void **state)
{
	enum { SERVICES = 300 };
	int directory = queue_store_directory(store);
	char path[40];

	(void)state;
	for (unsigned i = 0; i < SERVICES; i++) {
		snprintf(path, sizeof path, "local/s%u", i);
		assert_int_equal(os_file_make_directory(directory, path), 0);
	}
	assert_int_equal(repair(false, 0), 0);
}

/* Some tools leave out empty directories, and most of them pipes. */
static void what_a_copy_lacks_is_made(void **state)
{
	static const char *const names[] = {"pid", "todo", "lock"};
	struct queue_options options = {.sync = QUEUE_SYNC_FILES};
	int directory = queue_store_directory(store);
	struct queue_store *opened = NULL;
	struct buffer reason = {0};
	struct os_file_info info;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		char away[32];

		snprintf(away, sizeof away, "%s.away", names[i]);
		assert_int_equal(os_file_rename(directory, names[i], away), 0);
	}
	assert_int_equal(queue_store_open(queue_scene_path("queue"), &options, &opened, &reason),
			 -EPROTO);
	buffer_append_byte(&reason, '\0');
	assert_string_equal(buffer_data(&reason),
			    "directories of the queue are missing: run \"stagepost queue repair\"");
	options.make_lacking = true;
	assert_int_equal(queue_store_open(queue_scene_path("queue"), &options, &opened, NULL), 0);
	assert_int_equal(queue_store_lock(opened, "queue"), 0);
	assert_int_equal(os_file_info_at(directory, "todo/arrive/2", &info), 0);
	assert_int_equal(os_file_info_at(directory, "lock/trigger", &info), 0);
	queue_store_close(opened);
	buffer_clear(&reason);
}

#define REPAIR_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		REPAIR_TEST(each_message_is_told),
		REPAIR_TEST(an_error_ends_the_repair),
		REPAIR_TEST(what_was_copied_on_its_way_is_one_message),
		REPAIR_TEST(what_a_copy_lacks_is_made),
		REPAIR_TEST(services_of_old_configurations_are_no_hindrance),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
