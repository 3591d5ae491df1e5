// SPDX-License-Identifier: ISC
/* What a disk has changed in a message is said exactly: which part, where, and both checksums. */
#include "base/checksum.h"
#include "os/file/file.h"
#include "queue/control/checksum.h"
#include "queue/control/trailer.h"
#include "queue/damage.h"
#include "queue/repair.h"
#include "queue_scene.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define DATA "Subject: x\r\n\r\nThe data.\r\n"
#define MAP  "map: 1 remote <b@c>\nmapped: directory=1 count=1\n"

enum { FOUND_MAX = 4 };

struct scene {
	struct queue_store *store;
	struct queue_intake *intake;
	uint64_t number;
	struct buffer file; /* the one that is changed, as it was */
	char path[QUEUE_PATH_SIZE];
	struct queue_difference found[FOUND_MAX];
	char paths[FOUND_MAX][QUEUE_PATH_SIZE];
	unsigned count;
	unsigned format;
};

static void note(void *context, const char *path, const struct queue_difference *difference)
{
	struct scene *scene = context;

	assert_true(scene->count < FOUND_MAX);
	snprintf(scene->paths[scene->count], QUEUE_PATH_SIZE, "%s", path);
	scene->found[scene->count++] = *difference;
}

static int look(struct scene *scene, const enum mail_stage *stage)
{
	struct queue_damage damage = {
		.store = scene->store, .with_data = true, .each = note, .context = scene};
	int result;

	scene->count = 0;
	result = queue_damage_look(&damage, stage, scene->number);
	scene->format = damage.format;
	assert_int_equal(damage.count, scene->count);
	return result;
}

static void begin(struct scene *scene)
{
	*scene = (struct scene){.store = queue_scene_open("queue", QUEUE_SYNC_FILES)};
	scene->intake = queue_scene_intake(scene->store);
	scene->number = queue_scene_enqueue(scene->intake, NULL, DATA);
}

static void end(struct scene *scene)
{
	buffer_clear(&scene->file);
	queue_intake_close(scene->intake);
	queue_store_close(scene->store);
}

static void take_file(struct scene *scene, enum queue_folder folder, const char *name)
{
	char *space;
	int file;
	ssize_t length;

	queue_store_path(scene->store, folder, name, scene->number, scene->path);
	file = os_file_open(queue_store_directory(scene->store), scene->path, OS_FILE_READ);
	assert_true(file >= 0);
	buffer_reset(&scene->file);
	space = buffer_reserve(&scene->file, 4096);
	length = os_file_read(file, space, 4096, 0);
	os_file_close(file);
	assert_in_range(length, 1, 4095);
	buffer_commit(&scene->file, (size_t)length);
}

/* Puts LENGTH bytes of TEXT at AT; -1: cuts the file there. */
static void put(const struct scene *scene, size_t at, const char *text, ssize_t length)
{
	int file = os_file_open(queue_store_directory(scene->store), scene->path, OS_FILE_WRITE);

	assert_true(file >= 0);
	if (length < 0)
		assert_int_equal(os_file_truncate(file, at), 0);
	else
		assert_int_equal(os_file_write(file, text, (size_t)length, at), 0);
	os_file_close(file);
}

static void restore(const struct scene *scene)
{
	put(scene, 0, buffer_data(&scene->file), (ssize_t)scene->file.length);
}

/* Where WORD is in the file. */
static size_t place_of(const struct scene *scene, const char *word)
{
	const char *data = buffer_data(&scene->file);
	const char *found = memmem(data, scene->file.length, word, strlen(word));

	assert_non_null(found);
	return (size_t)(found - data);
}

static void expect_one(const struct scene *scene, enum queue_part part, size_t at, size_t length)
{
	assert_int_equal(scene->count, 1);
	assert_int_equal(scene->found[0].part, part);
	assert_string_equal(scene->paths[0], scene->path);
	assert_int_equal(scene->found[0].at, at);
	assert_int_equal(scene->found[0].length, length);
}

static void at_s4(void **state)
{
	static const enum mail_stage stage = MAIL_STAGE_ARRIVE;
	static const enum mail_stage other = MAIL_STAGE_SUBMIT;
	char misplaced[QUEUE_PATH_SIZE];
	struct scene scene;
	size_t size = strlen(DATA);
	size_t envelope;

	(void)state;
	begin(&scene);
	assert_int_equal(look(&scene, &stage), 0);
	assert_int_equal(scene.count, 0);
	assert_int_equal(scene.format, 2);
	take_file(&scene, QUEUE_TODO, "arrive");

	put(&scene, 0, "s", 1);
	assert_int_equal(look(&scene, &stage), 0);
	expect_one(&scene, QUEUE_PART_DATA, 0, size);
	assert_true(scene.found[0].has_expected && scene.found[0].has_found);
	assert_int_equal(scene.found[0].expected, checksum_extend(0, DATA, size));
	assert_int_equal(scene.found[0].found,
			 checksum_extend(checksum_extend(0, "s", 1), &DATA[1], size - 1));
	restore(&scene);

	envelope = place_of(&scene, "\nend:\n") + strlen("\nend:\n") - size;
	put(&scene, place_of(&scene, "<a@example.org>") + 1, "b", 1);
	assert_int_equal(look(&scene, &stage), 0);
	expect_one(&scene, QUEUE_PART_ENVELOPE, size, envelope);
	assert_true(scene.found[0].has_expected && scene.found[0].has_found);
	assert_int_not_equal(scene.found[0].expected, scene.found[0].found);
	assert_int_equal(scene.format, 0);
	restore(&scene);

	put(&scene, place_of(&scene, "stage: "), "\0", 1); /* which line, if it can be told */
	assert_int_equal(look(&scene, &stage), 0);
	expect_one(&scene, QUEUE_PART_ENVELOPE, size, envelope);
	assert_int_equal(scene.found[0].line, 3);
	restore(&scene);

	put(&scene, place_of(&scene, "at: 0"), "A", 1);
	assert_int_equal(look(&scene, &stage), 0);
	expect_one(&scene, QUEUE_PART_TRAILER, scene.file.length - QUEUE_TRAILER_LINE,
		   QUEUE_TRAILER_LINE);
	restore(&scene);

	queue_store_path(scene.store, QUEUE_TODO, "submit", scene.number, misplaced);
	assert_int_equal(os_file_link(queue_store_directory(scene.store), scene.path, misplaced),
			 0);
	assert_int_equal(look(&scene, &other), 0);
	assert_int_equal(scene.count, 1);
	assert_int_equal(scene.found[0].part, QUEUE_PART_ID);
	scene.number++;
	assert_int_equal(look(&scene, &stage), -ENOENT);
	end(&scene);
}

static void at_s5(void **state)
{
	struct queue_update requeue = {.control = STR("requeue: 1\n")};
	struct scene scene;
	size_t record;

	(void)state;
	begin(&scene);
	queue_scene_preprocess(scene.store, scene.intake, scene.number,
			       MAP "delayed: 1 2026-11-20T08:33:11Z\n", "");
	requeue.number = scene.number;
	assert_int_equal(queue_scene_update(scene.store, &requeue), 0);
	assert_int_equal(look(&scene, NULL), 0);
	assert_int_equal(scene.count, 0);

	take_file(&scene, QUEUE_INFO, NULL);
	record = place_of(&scene, "delayed: ");
	put(&scene, record, "D", 1);
	assert_int_equal(look(&scene, NULL), 0);
	expect_one(&scene, QUEUE_PART_RECORD, record,
		   strlen("delayed: 1 2026-11-20T08:33:11Z #00000000\n"));
	assert_true(scene.found[0].has_expected && scene.found[0].has_found);
	assert_int_equal(scene.found[0].line, 12);
	put(&scene, record + strlen("delayed: 1 2026-11-20T08:33:11Z "), "x", 1);
	assert_int_equal(look(&scene, NULL), 0);
	assert_int_equal(scene.count, 1);
	assert_false(scene.found[0].has_expected);
	restore(&scene);

	record = place_of(&scene, "requeue: ");
	put(&scene, record, "R", 1); /* what was appended last may be a power failure's */
	assert_int_equal(look(&scene, NULL), 0);
	assert_int_equal(scene.count, 0);
	restore(&scene);

	put(&scene, place_of(&scene, "map: "), NULL, -1);
	assert_int_equal(look(&scene, NULL), 0);
	expect_one(&scene, QUEUE_PART_RECORD, place_of(&scene, "map: "), 0);
	restore(&scene);

	put(&scene, place_of(&scene, "<a@example.org>") + 1, "b", 1);
	assert_int_equal(look(&scene, NULL), 0);
	assert_int_equal(scene.count, 1);
	assert_int_equal(scene.found[0].part, QUEUE_PART_ENVELOPE);
	restore(&scene);

	take_file(&scene, QUEUE_MESS, NULL);
	put(&scene, place_of(&scene, "<a@example.org>") + 1, "b", 1);
	assert_int_equal(look(&scene, NULL), 0);
	assert_int_equal(scene.count, 1);
	assert_int_equal(scene.found[0].part, QUEUE_PART_ENVELOPE);
	assert_int_equal(scene.found[0].at, strlen(DATA));
	put(&scene, 4, NULL, -1);
	assert_int_equal(look(&scene, NULL), 0);
	expect_one(&scene, QUEUE_PART_DATA, 0, strlen(DATA));
	assert_true(scene.found[0].has_expected && !scene.found[0].has_found);
	end(&scene);
}

/* --- a control file that was put back --- */

/* The control file of a message with the same number, born at BORN_US, from SENDER. */
static void put_control_of(struct scene *scene, int64_t born_us, const char *sender)
{
	struct mail_envelope *envelope = queue_scene_envelope_to_one();
	struct buffer text = {0};
	size_t before;

	envelope->id = (struct mail_id){scene->number, born_us};
	envelope->sender = str_from(sender);
	envelope->size = strlen(DATA);
	assert_int_equal(queue_control_write_envelope(&text, envelope), 0);
	mail_envelope_free(envelope);
	queue_checksum_add_head(&text, buffer_view(&text), 1);
	before = text.length;
	buffer_append_string(&text, MAP);
	queue_checksum_add_records(&text, before, born_us);
	put(scene, 0, NULL, -1);
	put(scene, 0, buffer_data(&text), (ssize_t)text.length);
	buffer_clear(&text);
}

static int write_anew(const struct scene *scene, struct queue_control *control)
{
	struct buffer whole = {0};
	struct queue_update update = {.number = scene->number,
				      .born_us = control->envelope->id.born_us,
				      .bounce = STR("fail: 1 2026-11-20T08:33:11Z 5.1.1 no\n"),
				      .is_whole = true,
				      .link_remote = true};
	int result;

	assert_true(control->must_be_whole);
	assert_true(queue_control_outgrown(control, 0, &whole));
	update.control = buffer_view(&whole);
	result = queue_scene_update(scene->store, &update);
	buffer_clear(&whole);
	return result;
}

static void the_younger_one_is_the_message(void **state)
{
	struct queue_control *control;
	struct scene scene;

	(void)state;
	begin(&scene);
	queue_scene_preprocess(scene.store, scene.intake, scene.number, MAP, "");
	take_file(&scene, QUEUE_INFO, NULL);
	put_control_of(&scene, SECOND_US - 1, "earlier@example.org");
	assert_int_equal(look(&scene, NULL), 0);
	expect_one(&scene, QUEUE_PART_ID, 0, scene.found[0].length);
	assert_int_equal(queue_update_load(scene.store, NULL, scene.number, &control, NULL), 0);
	assert_true(str_equal(control->envelope->sender, STR("a@example.org")));
	assert_int_equal(control->delivery_count, 1);
	assert_true(control->deliveries[0].is_requeued);
	assert_int_equal(write_anew(&scene, control), 0);
	queue_control_free(control);
	assert_int_equal(look(&scene, NULL), 0);
	assert_int_equal(scene.count, 0);

	/* the data were put back, and the control file's envelope is damaged: its records tell, or
	 * its id and its birth */
	put_control_of(&scene, SECOND_US + 1, "later@example.org");
	take_file(&scene, QUEUE_INFO, NULL);
	put(&scene, place_of(&scene, "later@"), "L", 1);
	assert_int_equal(queue_update_load(scene.store, NULL, scene.number, &control, NULL),
			 -EBADMSG);
	put(&scene, place_of(&scene, "id: "), "I", 1); /* now nothing says whose it is */
	assert_int_equal(queue_update_load(scene.store, NULL, scene.number, &control, NULL), 0);
	assert_true(str_equal(control->envelope->sender, STR("a@example.org")));
	queue_control_free(control);
	restore(&scene);
	put(&scene, place_of(&scene, "born: "), "B", 1);
	assert_int_equal(queue_update_load(scene.store, NULL, scene.number, &control, NULL),
			 -EBADMSG);
	restore(&scene);
	put(&scene, place_of(&scene, "from: "), NULL, -1);
	assert_int_equal(queue_update_load(scene.store, NULL, scene.number, &control, NULL),
			 -ENODATA);

	/* that of another message, by its name or its number */
	scene.number++;
	put_control_of(&scene, SECOND_US + 1, "other@example.org");
	scene.number--;
	assert_int_equal(queue_update_load(scene.store, NULL, scene.number, &control, NULL), 0);
	assert_true(str_equal(control->envelope->sender, STR("a@example.org")));
	assert_int_equal(write_anew(&scene, control), 0);
	queue_control_free(control);

	/* the data were put back: they are not this message's */
	put_control_of(&scene, SECOND_US + 1, "later@example.org");
	assert_int_equal(queue_update_load(scene.store, NULL, scene.number, &control, NULL), 0);
	assert_true(str_equal(control->envelope->sender, STR("later@example.org")));
	assert_false(queue_control_has_data(control, checksum_extend(0, DATA, strlen(DATA))));
	/* who believes it is the other one destroys nothing */
	control->envelope->id.born_us = SECOND_US;
	control->must_be_whole = true;
	assert_int_equal(write_anew(&scene, control), -ESTALE);
	queue_control_free(control);
	end(&scene);
}

/* The digits of an id are as valid as those that were written. */
static void a_damaged_id_keeps_nothing_from_being_recorded(void **state)
{
	struct queue_control *control;
	struct scene scene;

	(void)state;
	begin(&scene);
	queue_scene_preprocess(scene.store, scene.intake, scene.number, MAP, "");
	take_file(&scene, QUEUE_INFO, NULL);
	put(&scene, place_of(&scene, "-f4240\n") + 1, "e", 1);
	assert_int_equal(queue_update_load(scene.store, NULL, scene.number, &control, NULL), 0);
	assert_int_equal(control->envelope->id.born_us, SECOND_US);
	assert_int_equal(write_anew(&scene, control), 0);
	queue_control_free(control);
	assert_int_equal(look(&scene, NULL), 0);
	assert_int_equal(scene.count, 0);
	end(&scene);
}

/* --- a repair --- */

static void on_set_aside(void *context, const char *path, const char *why)
{
	unsigned *count = context;

	(void)path;
	assert_non_null(why);
	++*count;
}

static void on_renumbered(void *context, uint64_t old, uint64_t number)
{
	(void)context;
	(void)old;
	(void)number;
	fail();
}

static void on_progress(void *context, uint64_t count)
{
	(void)context;
	(void)count;
}

static unsigned differing;

static void on_differs(void *context, const char *path, const struct queue_difference *difference)
{
	(void)context;
	(void)path;
	assert_int_equal(difference->part, QUEUE_PART_ENVELOPE);
	differing++;
}

static void expect_repair(const struct scene *scene, unsigned differences, unsigned files_aside)
{
	unsigned set_aside = 0;
	const struct queue_repair repair = {.renumbered = on_renumbered,
					    .set_aside = on_set_aside,
					    .differs = on_differs,
					    .progress = on_progress,
					    .context = &set_aside};

	differing = 0;
	assert_int_equal(queue_repair(scene->store, &repair), 0);
	assert_int_equal(differing, differences);
	assert_int_equal(set_aside, files_aside);
}

static void a_repair_keeps_what_can_be_mended(void **state)
{
	struct queue_control *control;
	struct scene scene;

	(void)state;
	begin(&scene);
	queue_scene_preprocess(scene.store, scene.intake, scene.number, MAP, "");
	expect_repair(&scene, 0, 0);
	take_file(&scene, QUEUE_INFO, NULL);
	put(&scene, place_of(&scene, "<a@example.org>") + 1, "b", 1);
	expect_repair(&scene, 1, 0);
	assert_int_equal(queue_update_load(scene.store, NULL, scene.number, &control, NULL), 0);
	assert_true(str_equal(control->envelope->sender, STR("a@example.org")));
	queue_control_free(control);
	take_file(&scene, QUEUE_MESS, NULL);
	put(&scene, place_of(&scene, "<b@example.net>") + 1, "c", 1);
	expect_repair(&scene, 2, 2); /* control file and data */
	end(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(at_s4, queue_scene_set_up, queue_scene_tear_down),
		cmocka_unit_test_setup_teardown(at_s5, queue_scene_set_up, queue_scene_tear_down),
		cmocka_unit_test_setup_teardown(the_younger_one_is_the_message, queue_scene_set_up,
						queue_scene_tear_down),
		cmocka_unit_test_setup_teardown(a_damaged_id_keeps_nothing_from_being_recorded,
						queue_scene_set_up, queue_scene_tear_down),
		cmocka_unit_test_setup_teardown(a_repair_keeps_what_can_be_mended,
						queue_scene_set_up, queue_scene_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
