// SPDX-License-Identifier: ISC
/* The step from S4 to S5 when it is interrupted: what is left of its control file. */
#include "os/file/file.h"
#include "queue/control/checksum.h"
#include "queue/control/trailer.h"
#include "queue_scene.h"
#include "test.h"
#include <string.h>

#define MAP "map: 1 remote <b@c>\nmap: 1 remote 2 <b@c>\nmapped: directory=1 count=2\n"

static const enum mail_stage arrive = MAIL_STAGE_ARRIVE;

/* The byte of the control file where RECORD begins. */
static size_t place_in_control(struct queue_store *store, uint64_t number, const char *record)
{
	struct buffer text = {0};
	const char *found;
	size_t at;

	assert_int_equal(queue_update_read(store, &arrive, number, &text), 0);
	found = memmem(buffer_data(&text), text.length, record, strlen(record));
	assert_non_null(found);
	at = (size_t)(found - buffer_data(&text));
	buffer_clear(&text);
	return at;
}

static void put_in_control(struct queue_store *store, uint64_t number, size_t at, struct str bytes)
{
	char path[QUEUE_PATH_SIZE];
	int file;

	queue_store_path(store, QUEUE_INFO, NULL, number, path);
	file = os_file_open(queue_store_directory(store), path, OS_FILE_WRITE);
	assert_true(file >= 0);
	assert_int_equal(os_file_write(file, bytes.data, bytes.length, at), 0);
	os_file_close(file);
}

static enum queue_outcome outcome_of_first(struct queue_store *store, const enum mail_stage *stage,
					   uint64_t number)
{
	struct queue_control *control;
	enum queue_outcome outcome;

	assert_int_equal(queue_update_load(store, stage, number, &control, NULL), 0);
	assert_int_equal(control->damaged, 0);
	assert_int_equal(control->deliveries[1].outcome, QUEUE_DONE);
	outcome = control->deliveries[0].outcome;
	queue_control_free(control);
	return outcome;
}

/* The message is at S5, and what is appended next finds nothing to mend. */
static void expect_sound(struct queue_store *store, uint64_t number)
{
	struct queue_control *control;
	struct buffer text = {0};

	assert_int_equal(queue_update_load(store, NULL, number, &control, NULL), 0);
	assert_false(control->must_be_whole);
	/* the synced record at its end is for all before it */
	assert_int_equal(queue_update_read(store, NULL, number, &text), 0);
	assert_int_equal(control->head.length + control->synced + strlen("synced: 100 #00000000\n"),
			 text.length);
	queue_control_free(control);
	buffer_clear(&text);
}

/* A power failure leaves HOLE in the first outcome that came with the map, and END behind the file:
 * nobody was told of it, and what completes the step is sound. */
static void complete_after(struct queue_store *store, struct queue_intake *intake, struct str hole,
			   struct str end)
{
	enum queue_outcome outcome = hole.length > 0 ? QUEUE_PENDING : QUEUE_FAIL;
	struct queue_update update = {
		.number = queue_scene_enqueue(intake, NULL, "data\r\n"),
		.is_queued = true,
		.stage = arrive,
		.control = STR(MAP "fail: 1 2026-11-20T08:33:11Z 5.1.1 no\n"
				   "done: 2 2026-11-20T08:33:11Z 2.0.0 stored\n"),
		.preprocess = true,
		.link_remote = true,
	};

	assert_int_equal(queue_scene_update(store, &update), 0);
	put_in_control(store, update.number, place_in_control(store, update.number, "fail: 1"),
		       hole);
	put_in_control(store, update.number, update.size, end);
	assert_int_equal(outcome_of_first(store, &arrive, update.number), outcome);
	update.control = STR(MAP "delayed: 2 2026-11-20T08:33:11Z\n");
	assert_int_equal(queue_scene_update(store, &update), 0);
	assert_int_equal(outcome_of_first(store, &arrive, update.number), outcome);
	assert_int_equal(queue_message_remove_todo(intake, arrive, update.number), 0);
	assert_int_equal(outcome_of_first(store, NULL, update.number), outcome);
	expect_sound(store, update.number);
}

static void an_interrupted_step_leaves_no_damage(void **state)
{
	static const enum queue_sync ways[] = {QUEUE_SYNC_FILES, QUEUE_SYNC_FILESYSTEM,
					       QUEUE_SYNC_ORDERED};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(ways); i++) {
		struct queue_store *store = queue_scene_open("queue", ways[i]);
		struct queue_intake *intake = queue_scene_intake(store);

		complete_after(store, intake, STR(""), STR(""));
		complete_after(store, intake, STR("\0\0\0"), STR(""));
		complete_after(store, intake, STR(""), STR("wait: 1 2026-11-2"));
		complete_after(store, intake, STR("\0\0\0"), STR("wait: 1 2026-11-2"));
		queue_intake_close(intake);
		queue_store_close(store);
	}
}

/* A message at S4 as an earlier version has left it, without checksums. */
static uint64_t enqueue_format_1(struct queue_store *store, struct queue_intake *intake)
{
	static const char data[] = "data\r\n";
	uint64_t number = queue_scene_enqueue(intake, NULL, data);
	char path[QUEUE_PATH_SIZE];
	struct buffer text = {0};
	uint64_t end;
	int file;

	assert_int_equal(queue_update_read(store, &arrive, number, &text), 0);
	buffer_truncate(&text, text.length - QUEUE_CHECKSUM_HEAD_SIZE);
	buffer_data(&text)[strlen("stagepost ")] = '1';
	queue_store_path(store, QUEUE_TODO, mail_stage_name(arrive), number, path);
	file = os_file_open(queue_store_directory(store), path, OS_FILE_WRITE);
	assert_true(file >= 0);
	assert_int_equal(queue_trailer_write(file, strlen(data), buffer_view(&text), &end), 0);
	assert_int_equal(os_file_truncate(file, end), 0);
	os_file_close(file);
	buffer_clear(&text);
	return number;
}

/* The same without checksums: a line that was cut becomes no record with what follows it. */
static void an_interrupted_step_of_an_earlier_version(void **state)
{
	struct queue_store *store = queue_scene_open("queue", QUEUE_SYNC_FILES);
	struct queue_intake *intake = queue_scene_intake(store);
	struct queue_update update = {
		.number = enqueue_format_1(store, intake),
		.is_queued = true,
		.stage = arrive,
		.control = STR(MAP "done: 2 2026-11-20T08:33:11Z 2.0.0 stored\n"),
		.preprocess = true,
		.link_remote = true,
	};
	struct queue_control *control;

	(void)state;
	assert_int_equal(queue_scene_update(store, &update), 0);
	put_in_control(store, update.number, update.size,
		       STR("done: 1 2026-11-20T08:33:11Z 2.0.0 "));
	assert_int_equal(outcome_of_first(store, &arrive, update.number), QUEUE_PENDING);
	update.control = STR(MAP);
	assert_int_equal(queue_scene_update(store, &update), 0);
	assert_int_equal(queue_message_remove_todo(intake, arrive, update.number), 0);
	assert_int_equal(outcome_of_first(store, NULL, update.number), QUEUE_PENDING);
	assert_int_equal(queue_update_load(store, NULL, update.number, &control, NULL), 0);
	assert_int_equal(control->format, 1);
	assert_false(control->has_mark);
	queue_control_free(control);
	queue_intake_close(intake);
	queue_store_close(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_interrupted_step_leaves_no_damage,
						queue_scene_set_up, queue_scene_tear_down),
		cmocka_unit_test_setup_teardown(an_interrupted_step_of_an_earlier_version,
						queue_scene_set_up, queue_scene_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
