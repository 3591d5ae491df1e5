// SPDX-License-Identifier: ISC
/* What is left of a damaged envelope at S4: only what its checksum proves is believed; of the rest
 * people are told. */
#include "os/file/file.h"
#include "queue/cleaner.h"
#include "queue/control/checksum.h"
#include "queue/control/salvage.h"
#include "queue/control/trailer.h"
#include "queue_scene.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define DATA "Subject: x\r\n\r\nThe data.\r\n"

static const enum mail_stage stage = MAIL_STAGE_ARRIVE;

struct scene {
	struct queue_store *store;
	struct queue_intake *intake;
	uint64_t number;
	char path[QUEUE_PATH_SIZE];
	struct buffer file; /* as it was */
};

static void begin(struct scene *scene, const char *data)
{
	ssize_t length;
	int file;

	*scene = (struct scene){.store = queue_scene_open("queue", QUEUE_SYNC_FILES)};
	scene->intake = queue_scene_intake(scene->store);
	scene->number = queue_scene_enqueue(scene->intake, NULL, data);
	queue_store_path(scene->store, QUEUE_TODO, "arrive", scene->number, scene->path);
	file = os_file_open(queue_store_directory(scene->store), scene->path, OS_FILE_READ);
	assert_true(file >= 0);
	length = os_file_read(file, buffer_reserve(&scene->file, 4096), 4096, 0);
	os_file_close(file);
	assert_in_range(length, 1, 4095);
	buffer_commit(&scene->file, (size_t)length);
}

static void end(struct scene *scene)
{
	buffer_clear(&scene->file);
	queue_intake_close(scene->intake);
	queue_store_close(scene->store);
}

static int open_file(const struct scene *scene)
{
	int file = os_file_open(queue_store_directory(scene->store), scene->path,
				OS_FILE_READ | OS_FILE_WRITE);

	assert_true(file >= 0);
	return file;
}

static void put(int file, size_t at, const char *text, size_t length)
{
	assert_int_equal(os_file_write(file, text, length, at), 0);
}

static size_t place_of(const struct scene *scene, const char *word)
{
	const char *data = buffer_data(&scene->file);
	const char *found = memmem(data, scene->file.length, word, strlen(word));

	assert_non_null(found);
	return (size_t)(found - data);
}

static struct queue_control *salvage(const struct scene *scene, int file, bool is_proven)
{
	struct queue_control *control = NULL;
	bool proven = !is_proven;

	assert_int_equal(queue_salvage_read(file, stage, scene->number, &control, &proven), 0);
	assert_int_equal(proven, is_proven);
	assert_false(control->is_mapped);
	return control;
}

static void expect_whole(const struct scene *scene, int file)
{
	struct queue_control *control = salvage(scene, file, true);

	assert_true(str_equal(control->envelope->sender, STR("a@example.org")));
	assert_int_equal(control->envelope->recipient_count, 1);
	assert_true(str_equal(control->envelope->recipients[0].address, STR("b@example.net")));
	assert_int_equal(control->envelope->id.number, scene->number);
	assert_int_equal(control->envelope->id.born_us, SECOND_US);
	queue_control_free(control);
}

static void any_bit_can_be_wrong(void **state)
{
	struct scene scene;
	int file;

	(void)state;
	begin(&scene, DATA);
	file = open_file(&scene);
	expect_whole(&scene, file);
	for (size_t i = strlen(DATA); i < scene.file.length; i++)
		for (unsigned bit = 1; bit < 256; bit <<= 1) {
			char was = buffer_data(&scene.file)[i];
			char now = (char)(was ^ (char)bit);

			put(file, i, &now, 1);
			expect_whole(&scene, file);
			put(file, i, &was, 1);
		}
	os_file_close(file);
	end(&scene);
}

/* Of LENGTH bytes with its sum, of a message whose number has as many digits as LIKE. */
static struct mail_envelope *envelope_of(size_t length, uint64_t like)
{
	struct mail_envelope *envelope = queue_scene_envelope();
	struct buffer text CLEANUP(buffer_clear) = {0};
	size_t left = length;

	while (left > 0) {
		char address[200];
		size_t name = left < 150 ? left : 60;

		for (size_t i = 0; i < name; i++)
			address[i] = 'x';
		snprintf(address + name, sizeof address - name, "@b.test");
		mail_envelope_add(envelope, str_from(address));
		buffer_reset(&text);
		envelope->id.number = like;
		envelope->size = strlen(DATA);
		assert_int_equal(queue_control_write_envelope(&text, envelope), 0);
		queue_checksum_add_head(&text, buffer_view(&text), 0);
		if (text.length == length)
			break;
		if (text.length > length) { /* the last one is too long */
			size_t excess = text.length - length;

			assert_true(name > excess);
			envelope->recipients[envelope->recipient_count - 1].address = str_skip(
				envelope->recipients[envelope->recipient_count - 1].address,
				excess);
			break;
		}
		left = length - text.length;
	}
	return envelope;
}

static void a_bit_is_looked_for_in_so_many_bytes(void **state)
{
	(void)state;
	for (size_t length = QUEUE_SALVAGE_MAX; length <= QUEUE_SALVAGE_MAX + 1; length++) {
		struct scene scene = {.store = queue_scene_open("queue", QUEUE_SYNC_FILES)};
		struct mail_envelope *envelope;
		struct os_file_info info;
		int file;

		scene.intake = queue_scene_intake(scene.store);
		envelope = envelope_of(length, queue_scene_enqueue(scene.intake, NULL, DATA));
		scene.number = queue_scene_enqueue(scene.intake, envelope, DATA);
		queue_store_path(scene.store, QUEUE_TODO, "arrive", scene.number, scene.path);
		file = open_file(&scene);
		assert_int_equal(os_file_info(file, &info), 0);
		assert_int_equal(info.size, strlen(DATA) + length + QUEUE_TRAILER_LINE);
		put(file, strlen(DATA) + length / 2, "y", 1); /* for x */
		queue_control_free(salvage(&scene, file, length == QUEUE_SALVAGE_MAX));
		os_file_close(file);
		end(&scene);
	}
}

static void no_two_bytes_are_guessed(void **state)
{
	struct queue_control *control;
	struct scene scene;
	int file;

	(void)state;
	begin(&scene, DATA);
	file = open_file(&scene);
	put(file, place_of(&scene, "a@example.org"), "zzz", 3);
	control = salvage(&scene, file, false);
	assert_true(str_equal(control->envelope->sender, STR("zzzxample.org")));
	assert_int_equal(control->envelope->recipient_count, 1);
	assert_int_equal(control->envelope->id.born_us, SECOND_US);
	queue_control_free(control);
	put(file, place_of(&scene, "from: "), "\0\0\0\0", 4);
	put(file, place_of(&scene, "id: "), "\0\0\0\0", 4);
	control = salvage(&scene, file, false);
	assert_int_equal(control->envelope->sender.length, 0);
	assert_int_equal(control->envelope->recipient_count, 1);
	assert_int_equal(control->envelope->id.number, scene.number);
	assert_int_equal(control->envelope->id.born_us, 0);
	queue_control_free(control);
	assert_int_equal(os_file_truncate(file, 10), 0);
	control = salvage(&scene, file, false);
	assert_int_equal(control->envelope->sender.length, 0);
	assert_int_equal(control->envelope->recipient_count, 0);
	queue_control_free(control);
	assert_int_equal(os_file_truncate(file, 0), 0);
	queue_control_free(salvage(&scene, file, false));
	os_file_close(file);
	end(&scene);
}

static void a_later_version_has_its_own(void **state)
{
	struct queue_control *control = NULL;
	bool is_proven;
	struct scene scene;
	int file;

	(void)state;
	begin(&scene, DATA);
	file = open_file(&scene);
	put(file, place_of(&scene, "stagepost 2\n") + strlen("stagepost "), "3", 1);
	expect_whole(&scene, file); /* but one bit */
	put(file, place_of(&scene, "a@example.org"), "zzz", 3);
	assert_int_equal(queue_salvage_read(file, stage, scene.number, &control, &is_proven),
			 -EPROTO);
	assert_null(control);
	os_file_close(file);
	end(&scene);
}

/* Its sender has guessed the number, and has sent an envelope that has all that it needs; the
 * disk has lost the end of the file, with the true one. */
static void what_a_stranger_has_sent_is_no_envelope(void **state)
{
	static const char zeros[100];
	struct mail_envelope *forged = queue_scene_envelope_to_one();
	struct buffer text = {0};
	struct scene scene;
	int file;

	(void)state;
	begin(&scene, DATA);
	file = open_file(&scene);
	forged->id.number = scene.number;
	forged->sender = STR("victim@example.com");
	assert_int_equal(queue_control_write_envelope(&text, forged), 0);
	mail_envelope_free(forged);
	queue_checksum_add_head(&text, buffer_view(&text), 0);
	put(file, 0, buffer_data(&text), text.length);
	put(file, text.length, zeros, sizeof zeros);
	assert_int_equal(os_file_truncate(file, text.length + sizeof zeros), 0);
	queue_control_free(salvage(&scene, file, false));
	buffer_clear(&text);
	os_file_close(file);
	end(&scene);
}

/* --- out of the queue --- */

struct findings {
	struct queue_store *store;
	unsigned count;
	uint64_t report;
	char path[QUEUE_PATH_SIZE];
	bool is_known;
};

static void found(void *context, const struct queue_cleaner_finding *finding)
{
	struct findings *findings = context;

	findings->count++;
	findings->report = finding->report;
	findings->is_known = finding->control != NULL;
	assert_int_equal(finding->kind, QUEUE_CLEANER_DAMAGED);
	snprintf(findings->path, sizeof findings->path, "%s", finding->path);
}

static void set_aside(struct scene *scene, struct findings *findings)
{
	struct os_file_info info;

	assert_int_equal(
		queue_cleaner_set_aside(scene->store, stage, scene->number, found, findings), 0);
	assert_int_equal(
		os_file_info_at(queue_store_directory(scene->store), findings->path, &info), 0);
	assert_int_equal(info.inode, scene->number);
}

static void one_with_a_sender_stands_for_it(void **state)
{
	struct queue_control *control;
	struct findings findings = {0};
	struct buffer data = {0};
	struct scene scene;
	int file;

	(void)state;
	begin(&scene, DATA);
	assert_int_equal(queue_store_make_folders(scene.store), 0);
	file = open_file(&scene);
	put(file, place_of(&scene, "a@example.org"), "c", 1);
	os_file_close(file);
	set_aside(&scene, &findings);
	assert_int_equal(findings.count, 1);
	assert_true(findings.is_known);
	assert_int_not_equal(findings.report, 0);
	assert_int_equal(queue_update_load(scene.store, NULL, findings.report, &control, NULL), 0);
	assert_true(str_equal(control->envelope->sender, STR("a@example.org")));
	assert_int_equal(control->envelope->size, strlen(DATA));
	assert_int_equal(control->delivery_count, 1);
	assert_true(control->deliveries[0].is_requeued);
	assert_int_equal(
		queue_update_read_data(scene.store, NULL, findings.report, strlen(DATA), &data),
		-ENODATA); /* nothing can be delivered */
	queue_control_free(control);
	/* interrupted before its name in todo/ was gone */
	set_aside(&scene, &findings);
	assert_int_equal(findings.count, 1);
	assert_int_equal(queue_scene_names_in(scene.store, "damaged"), 1);
	assert_int_equal(queue_message_remove_todo(scene.intake, stage, scene.number), 0);
	assert_int_equal(
		queue_cleaner_set_aside(scene.store, stage, scene.number + 1, found, &findings),
		-ENOENT);
	buffer_clear(&data);
	end(&scene);
}

/* The data of others are gone, so that a new file may get their numbers; but their control files
 * are there, and nobody has judged them. */
static void it_takes_the_place_of_nobody(void **state)
{
	enum { OTHERS = 8 };
	struct findings findings = {0};
	uint64_t others[OTHERS];
	char path[QUEUE_PATH_SIZE];
	struct scene scene;
	int file;

	(void)state;
	begin(&scene, DATA);
	assert_int_equal(queue_store_make_folders(scene.store), 0);
	for (size_t i = 0; i < OTHERS; i++) {
		others[i] = queue_scene_enqueue(scene.intake, NULL, DATA);
		queue_scene_preprocess(scene.store, scene.intake, others[i],
				       "map: 1 remote <b@c>\nmapped: directory=1 count=1\n", "");
	}
	for (size_t i = 0; i < OTHERS; i++) {
		queue_store_path(scene.store, QUEUE_MESS, NULL, others[i], path);
		assert_int_equal(os_file_unlink(queue_store_directory(scene.store), path), 0);
	}
	file = open_file(&scene);
	put(file, place_of(&scene, "a@example.org"), "c", 1);
	os_file_close(file);
	set_aside(&scene, &findings);
	assert_int_not_equal(findings.report, 0);
	for (size_t i = 0; i < OTHERS; i++) {
		struct buffer text = {0};
		char id[MAIL_ID_SIZE];

		assert_int_not_equal(findings.report, others[i]);
		assert_int_equal(queue_update_read(scene.store, NULL, others[i], &text), 0);
		mail_id_format((struct mail_id){others[i], SECOND_US}, id);
		assert_non_null(memmem(buffer_data(&text), text.length, id, strlen(id)));
		buffer_clear(&text);
	}
	end(&scene);
}

static void nobody_stands_for_what_is_unknown(void **state)
{
	struct findings findings = {0};
	struct scene scene;
	int file;

	(void)state;
	begin(&scene, DATA);
	assert_int_equal(queue_store_make_folders(scene.store), 0);
	file = open_file(&scene);
	assert_int_equal(os_file_truncate(file, 20), 0);
	os_file_close(file);
	set_aside(&scene, &findings);
	assert_int_equal(findings.count, 1);
	assert_int_equal(findings.report, 0);
	assert_false(findings.is_known);
	end(&scene);
}

int main(void)
{
#define SALVAGE_TEST(test) \
	cmocka_unit_test_setup_teardown(test, queue_scene_set_up, queue_scene_tear_down)
	const struct CMUnitTest tests[] = {
		SALVAGE_TEST(any_bit_can_be_wrong),
		SALVAGE_TEST(a_bit_is_looked_for_in_so_many_bytes),
		SALVAGE_TEST(no_two_bytes_are_guessed),
		SALVAGE_TEST(a_later_version_has_its_own),
		SALVAGE_TEST(what_a_stranger_has_sent_is_no_envelope),
		SALVAGE_TEST(one_with_a_sender_stands_for_it),
		SALVAGE_TEST(it_takes_the_place_of_nobody),
		SALVAGE_TEST(nobody_stands_for_what_is_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
