// SPDX-License-Identifier: ISC
/* What becomes of a message that waits: its way to S5, outcomes, its end. */
#include "os/file/file.h"
#include "queue_scene.h"
#include "test.h"
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

static uint64_t inode_of(struct queue_store *store, enum queue_folder folder, const char *service,
			 uint64_t number)
{
	struct os_file_info info;
	char name[QUEUE_PATH_SIZE];

	queue_store_path(store, folder, service, number, name);
	assert_int_equal(os_file_info_at(queue_store_directory(store), name, &info), 0);
	return info.inode;
}

static void preprocessed_message_ends(void **state)
{
	static const char *const services[] = {"mailbox"};
	struct queue_store *store = queue_scene_open("queue", QUEUE_SYNC_FILES);
	struct queue_intake *intake = queue_scene_intake(store);
	struct queue_control *control;
	struct queue_update update = {
		.is_queued = true,
		.stage = MAIL_STAGE_ARRIVE,
		.control = STR("map: 1 local mailbox <b@c>\nmapped: directory=1 count=1\n"),
		.preprocess = true,
		.link_services = services,
		.link_service_count = 1,
	};
	struct queue_update outcome = {.bounce = STR("1 gone\n"),
				       .control = STR("fail: 1 2026-11-20T08:33:11Z 5.0.0\n")};
	struct queue_update *one = &update;
	struct buffer bounce = {0};
	struct os_file_info left;
	char info[QUEUE_PATH_SIZE];
	char intd[QUEUE_PATH_SIZE];

	(void)state;
	assert_int_equal(queue_store_add_service(store, "mailbox"), 0);
	update.number = queue_scene_enqueue(intake, NULL, "data\r\n");
	outcome.number = update.number;
	queue_update_commit_group(store, &one, 1);
	assert_int_equal(update.result, 0);
	queue_update_commit_group(store, &one, 1); /* begun again */
	assert_int_equal(update.result, 0);
	assert_int_equal(queue_message_remove_todo(intake, MAIL_STAGE_ARRIVE, update.number), 0);
	one = &outcome;
	outcome.born_us = 4711; /* of another message that had this number */
	queue_update_commit_group(store, &one, 1);
	assert_int_equal(outcome.result, -ESTALE);
	outcome.may_be_lost = true;
	queue_update_commit_group(store, &one, 1);
	assert_int_equal(outcome.result, -EINVAL); /* a failure must not be */
	outcome.may_be_lost = false;
	assert_int_equal(queue_update_read_bounce(store, update.number, &bounce), -ENOENT);
	assert_int_equal(queue_update_load(store, NULL, update.number, &control, NULL), 0);
	assert_false(queue_control_is_finished(control));
	outcome.born_us = control->envelope->id.born_us;
	queue_control_free(control);
	queue_update_commit_group(store, &one, 1);
	assert_int_equal(outcome.result, 0);
	assert_int_equal(queue_update_load(store, NULL, update.number, &control, NULL), 0);
	assert_true(queue_control_is_finished(control));
	queue_control_free(control);
	assert_int_equal(queue_update_set_due(store, update.number, 77 * SECOND_US), 0);
	assert_int_equal(queue_update_read_bounce(store, update.number, &bounce), 0);
	assert_true(str_equal(buffer_view(&bounce), STR("1 gone\n")));
	buffer_clear(&bounce);
	assert_int_equal(queue_update_leave(store, update.number, "mailbox"), 0);
	/* what was to replace the control file, when the power failed */
	queue_store_path(store, QUEUE_INFO, NULL, update.number, info);
	queue_store_path(store, QUEUE_INTD, NULL, update.number, intd);
	assert_int_equal(os_file_link(queue_store_directory(store), info, intd), 0);
	assert_int_equal(
		queue_update_finish(store, (struct mail_id){update.number, SECOND_US}, services, 1),
		0);
	assert_int_equal(os_file_info_at(queue_store_directory(store), intd, &left), -ENOENT);
	assert_int_equal(queue_message_remove_data(intake, update.number), 0);
	assert_int_equal(queue_intake_held(intake), 1);
	queue_intake_close(intake);
	queue_store_close(store);
}

static void a_control_file_is_written_anew(void **state)
{
	struct queue_store *store = queue_scene_open("queue", QUEUE_SYNC_FILES);
	struct queue_intake *intake = queue_scene_intake(store);
	struct queue_update update = queue_scene_preprocessed(store, intake);
	struct queue_control *control;
	struct buffer whole = {0};
	uint64_t synced;
	uint64_t old;

	(void)state;
	assert_int_equal(queue_update_load(store, NULL, update.number, &control, NULL), 0);
	control->deliveries[0].outcome = QUEUE_WAIT;
	control->must_be_whole = true;
	assert_true(queue_control_outgrown(control, 0, &whole));
	old = inode_of(store, QUEUE_INFO, NULL, update.number);
	update.is_whole = true;
	update.may_be_lost = true;
	update.control = buffer_view(&whole);
	assert_int_equal(queue_scene_update(store, &update), -EINVAL);
	update.may_be_lost = false;
	update.control = STR("wait: 1\n");
	assert_int_equal(queue_scene_update(store, &update), -EINVAL);
	update.control = buffer_view(&whole);
	control->must_be_whole = false;
	update.born_us--; /* of an earlier message that had this number */
	assert_int_equal(queue_scene_update(store, &update), -ESTALE);
	assert_int_equal(inode_of(store, QUEUE_INFO, NULL, update.number), old);
	synced = control->synced;
	queue_update_account(control, &update);
	assert_true(control->must_be_whole);
	assert_int_equal(control->synced, synced);
	update.born_us++;
	assert_int_equal(queue_scene_update(store, &update), 0);
	queue_update_account(control, &update);
	assert_false(control->must_be_whole);
	assert_int_equal(control->size, whole.length);
	assert_int_equal(control->head.length + control->synced, whole.length);
	assert_int_not_equal(inode_of(store, QUEUE_INFO, NULL, update.number), old);
	assert_int_equal(inode_of(store, QUEUE_INFO, NULL, update.number),
			 inode_of(store, QUEUE_LOCAL, "mailbox", update.number));
	queue_control_free(control);
	assert_int_equal(queue_update_load(store, NULL, update.number, &control, NULL), 0);
	assert_int_equal(control->deliveries[0].outcome, QUEUE_WAIT);
	queue_control_free(control);
	buffer_clear(&whole);
	queue_intake_close(intake);
	queue_store_close(store);
}

/* A power failure has left TAIL of what was being appended. */
static void leave_at_end(struct queue_store *store, uint64_t number, struct str tail)
{
	char name[QUEUE_PATH_SIZE];
	int file;

	queue_store_path(store, QUEUE_INFO, NULL, number, name);
	file = os_file_open(queue_store_directory(store), name, OS_FILE_WRITE | OS_FILE_APPEND);
	assert_true(file >= 0);
	assert_int_equal(os_file_append(file, tail.data, tail.length), 0);
	os_file_close(file);
}

#define MAP "map: 1 remote <b@c>\nmap: 1 remote 2 <b@d>\nmapped: directory=1 count=2\n"

/* What TAIL has left is never a record, and what is written after it is one. IS_QUEUED: it is at S4
 * still, and all of its way to S5 is gone again. */
static void delivers_after(struct queue_store *store, struct queue_intake *intake, bool is_queued,
			   struct str tail)
{
	static const uint32_t both[] = {0, 1};
	const enum mail_stage arrive = MAIL_STAGE_ARRIVE;
	const enum mail_stage *stage = is_queued ? &arrive : NULL;
	struct queue_update update = {
		.number = queue_scene_enqueue(intake, NULL, "data\r\n"),
		.is_queued = true,
		.stage = MAIL_STAGE_ARRIVE,
		.control = STR(MAP
			       "said: 27 4.2.0 greylisted\n"
			       "wait: 1 2026-11-20T08:33:11Z until=2026-11-20T09:33:11Z said=27\n"
			       "wait: 2 2026-11-20T08:33:11Z until=2026-11-20T09:33:11Z said=27\n"),
		.preprocess = true,
		.link_remote = true,
	};
	struct queue_control *control;
	struct buffer outcomes = {0};

	assert_int_equal(queue_scene_update(store, &update), 0);
	if (!is_queued)
		assert_int_equal(
			queue_message_remove_todo(intake, MAIL_STAGE_ARRIVE, update.number), 0);
	leave_at_end(store, update.number, tail);
	assert_int_equal(queue_update_load(store, stage, update.number, &control, NULL), 0);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(control->deliveries[i].outcome, QUEUE_WAIT);
		control->deliveries[i].outcome = QUEUE_DONE;
		control->deliveries[i].status = STR("2.0.0");
		control->deliveries[i].text = STR("said: 250 taken, by a host with a long name");
	}
	if (is_queued)
		buffer_append_string(&outcomes, MAP);
	assert_int_equal(queue_control_write_outcomes(&outcomes, control, both, 2, false), 0);
	assert_int_equal(control->said, 28);
	queue_control_free(control);
	update.control = buffer_view(&outcomes);
	update.is_queued = update.preprocess = is_queued;
	assert_int_equal(queue_scene_update(store, &update), 0);
	assert_int_equal(queue_update_load(store, stage, update.number, &control, NULL), 0);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(control->deliveries[i].outcome, QUEUE_DONE);
		assert_false(control->deliveries[i].is_requeued);
		assert_true(str_starts_with(control->deliveries[i].text, STR("said: 250")));
	}
	assert_int_equal(control->deliveries[0].attempts, 1);
	queue_control_free(control);
	buffer_clear(&outcomes);
}

/* Each of these would be one if only its newline were missing. */
static void a_torn_line_stays_no_record(void **state)
{
	static const char *const tails[] = {
		"said: 28 4.2.0 mx.hop.example said: 450 grey",
		"said: 29 4.2.0",
		"done: 1 2026-11-20T08:34:11Z 2.0.0 sto",
		"fail: 2 2026-11-20T08:34:11Z said=27",
		"wait: 1 2026-11-20T08:34:11Z until=2026-11-20T09:33:11Z tried=1",
		"requeue: 1",
		"sai",
	};
	struct queue_store *store = queue_scene_open("queue", QUEUE_SYNC_FILES);
	struct queue_intake *intake = queue_scene_intake(store);

	(void)state;
	assert_int_equal(queue_store_add_service(store, "mailbox"), 0);
	for (size_t i = 0; i < COUNT_OF(tails); i++) {
		delivers_after(store, intake, false, str_from(tails[i]));
		delivers_after(store, intake, true, str_from(tails[i]));
	}
	queue_intake_close(intake);
	queue_store_close(store);
}

/* As after a reload that could not make the directories of a new service. */
static void who_goes_to_a_service_without_directories_waits_too(void **state)
{
	static const char *const services[] = {"mailbox", "new"};
	static const enum queue_sync ways[] = {QUEUE_SYNC_FILES, QUEUE_SYNC_FILESYSTEM,
					       QUEUE_SYNC_ORDERED};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(ways); i++) {
		struct queue_store *store = queue_scene_open("queue", ways[i]);
		struct queue_intake *intake = queue_scene_intake(store);
		struct queue_update update = {
			.is_queued = true,
			.stage = MAIL_STAGE_ARRIVE,
			.control = STR("map: 1 local mailbox <b@c>\nmap: 1 local new 2 <b@d>\n"
				       "mapped: directory=1 count=2\n"),
			.preprocess = true,
			.link_services = services,
			.link_service_count = 2,
		};
		struct queue_control *control;

		assert_int_equal(queue_store_add_service(store, "mailbox"), 0);
		update.number = queue_scene_enqueue(intake, NULL, "data\r\n");
		assert_int_equal(queue_scene_update(store, &update), 0);
		assert_int_equal(
			queue_message_remove_todo(intake, MAIL_STAGE_ARRIVE, update.number), 0);
		assert_int_equal(inode_of(store, QUEUE_INFO, NULL, update.number),
				 inode_of(store, QUEUE_LOCAL, "mailbox", update.number));
		assert_int_equal(queue_update_load(store, NULL, update.number, &control, NULL), 0);
		assert_int_equal(control->delivery_count, 2);
		queue_control_free(control);
		assert_int_equal(queue_update_finish(store,
						     (struct mail_id){update.number, SECOND_US},
						     services, 2),
				 0);
		assert_int_equal(queue_message_remove_data(intake, update.number), 0);
		queue_intake_close(intake);
		queue_store_close(store);
	}
}

/* A record that does not fit, tried again and again, leaves nothing. */
static void a_full_disk_does_not_let_files_grow(void **state)
{
	struct queue_store *store = queue_scene_open("queue", QUEUE_SYNC_FILES);
	struct queue_intake *intake = queue_scene_intake(store);
	struct queue_update update = queue_scene_preprocessed(store, intake);
	struct os_file_info before;
	struct os_file_info after;
	struct rlimit limit;
	struct rlimit unlimited;
	struct buffer text = {0};
	char name[QUEUE_PATH_SIZE];

	(void)state;
	queue_store_path(store, QUEUE_INFO, NULL, update.number, name);
	assert_int_equal(os_file_info_at(queue_store_directory(store), name, &before), 0);
	buffer_append_string(&text, "done: 1 2026-11-20T08:33:11Z 2.0.0 ");
	memset(buffer_reserve(&text, 1000), 'x', 1000);
	buffer_commit(&text, 1000);
	buffer_append_byte(&text, '\n');
	update.control = buffer_view(&text);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &unlimited), 0);
	limit = unlimited;
	limit.rlim_cur = before.size + 100;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(queue_scene_update(store, &update), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &unlimited), 0);
	assert_int_equal(os_file_info_at(queue_store_directory(store), name, &after), 0);
	assert_int_equal(after.size, before.size);
	assert_int_equal(queue_scene_update(store, &update), 0);
	buffer_clear(&text);
	queue_intake_close(intake);
	queue_store_close(store);
}

#define STORE_TEST(test) \
	cmocka_unit_test_setup_teardown(test, queue_scene_set_up, queue_scene_tear_down)

/* --- a disk that changes bytes --- */

/* Changes the byte AT of a file; the byte that was there. */
static char change_byte(struct queue_store *store, const char *path, uint64_t at, char byte)
{
	int file = os_file_open(queue_store_directory(store), path, OS_FILE_WRITE);
	char was = 0;

	assert_true(file >= 0);
	assert_int_equal(os_file_read(file, &was, 1, at), 1);
	assert_int_equal(os_file_write(file, &byte, 1, at), 0);
	os_file_close(file);
	return was;
}

static uint64_t size_of(struct queue_store *store, const char *path)
{
	struct os_file_info info;

	assert_int_equal(os_file_info_at(queue_store_directory(store), path, &info), 0);
	return info.size;
}

/* Whatever byte of the control file changes, its message is known: the envelope is behind its data,
 * too, and who may have lost a delivery is mapped again. */
static void a_damaged_control_file_is_mended(void **state)
{
	struct queue_store *store = queue_scene_open("queue", QUEUE_SYNC_FILES);
	struct queue_intake *intake = queue_scene_intake(store);
	struct queue_update update = queue_scene_preprocessed(store, intake);
	struct queue_update anew = {.number = update.number, .is_whole = true};
	struct queue_control *control;
	struct buffer whole = {0};
	char path[QUEUE_PATH_SIZE];
	uint64_t size;

	(void)state;
	queue_store_path(store, QUEUE_INFO, NULL, update.number, path);
	size = size_of(store, path);
	for (uint64_t i = 0; i < size; i++) {
		char was = change_byte(store, path, i, '\0');

		assert_int_equal(queue_update_load(store, NULL, update.number, &control, NULL), 0);
		assert_true(control->is_mapped && control->delivery_count > 0);
		assert_true(control->must_be_whole);
		assert_true(str_equal(control->envelope->sender, STR("a@example.org")));
		assert_int_equal(control->envelope->recipient_count, 1);
		queue_control_free(control);
		change_byte(store, path, i, was);
	}
	/* even nothing is enough, and the next record makes it whole */
	for (uint64_t i = 0; i < size; i++)
		change_byte(store, path, i, '\0');
	assert_int_equal(queue_update_load(store, NULL, update.number, &control, NULL), 0);
	assert_true(control->deliveries[0].is_requeued);
	assert_true(queue_control_outgrown(control, 0, &whole));
	anew.born_us = control->envelope->id.born_us;
	anew.control = buffer_view(&whole);
	queue_control_free(control);
	assert_int_equal(queue_scene_update(store, &anew), 0);
	assert_int_equal(queue_update_load(store, NULL, update.number, &control, NULL), 0);
	assert_int_equal(control->damaged, 0);
	queue_control_free(control);
	buffer_clear(&whole);
	queue_intake_close(intake);
	queue_store_close(store);
}

static uint64_t enqueue_shared(struct queue_intake *intake, const char *data)
{
	struct mail_envelope *envelope = queue_scene_envelope_to_one();
	struct queue_message *message = NULL;
	struct buffer text = {0};
	int result = -1;

	assert_int_equal(queue_message_new(intake, &message), 0);
	assert_int_equal(queue_message_share(message), 0);
	assert_int_equal(os_file_write(queue_message_file(message), data, strlen(data), 0), 0);
	envelope->id.number = queue_message_number(message);
	envelope->size = strlen(data);
	assert_int_equal(queue_control_write_envelope(&text, envelope), 0);
	assert_int_equal(queue_message_envelope(message, MAIL_STAGE_ARRIVE, &text), 0);
	queue_message_commit_group(intake, &message, 1, &result);
	assert_int_equal(result, 0);
	buffer_clear(&text);
	result = (int)envelope->id.number;
	mail_envelope_free(envelope);
	return (uint64_t)result;
}

/* By value and in a shared file. */
static void damaged_data_are_seen(void **state)
{
	static const char data[] = "Subject: data\r\n\r\nThe disk changes one of these bytes.\r\n";
	struct queue_store *store = queue_scene_open("queue", QUEUE_SYNC_FILES);
	struct queue_intake *intake = queue_scene_intake(store);
	const enum mail_stage stage = MAIL_STAGE_ARRIVE;

	(void)state;
	for (unsigned is_shared = 0; is_shared < 2; is_shared++) {
		uint64_t number = is_shared ? enqueue_shared(intake, data)
					    : queue_scene_enqueue(intake, NULL, data);
		struct queue_control *control;
		char path[QUEUE_PATH_SIZE];
		int file = queue_update_open_data(store, &stage, number);

		assert_true(file >= 0);
		queue_store_path(store, QUEUE_TODO, mail_stage_name(stage), number, path);
		assert_int_equal(queue_update_load(store, &stage, number, &control, NULL), 0);
		assert_int_equal(control->format, 2);
		for (uint64_t i = 0; i < strlen(data); i++) {
			uint32_t sound = 0;
			uint32_t damaged = 0;
			char was;

			assert_int_equal(queue_update_checksum_data(file, strlen(data), &sound), 0);
			was = change_byte(store, path, i, '?');
			assert_int_equal(queue_update_checksum_data(file, strlen(data), &damaged),
					 0);
			change_byte(store, path, i, was);
			assert_true(queue_control_has_data(control, sound));
			assert_int_equal(queue_control_has_data(control, damaged), was == '?');
		}
		/* what an operator takes for the message is it */
		queue_control_take_data(control, 7);
		assert_true(queue_control_has_data(control, 7) && control->must_be_whole);
		queue_control_free(control);
		os_file_close(file);
	}
	queue_intake_close(intake);
	queue_store_close(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(preprocessed_message_ends),
		STORE_TEST(a_control_file_is_written_anew),
		STORE_TEST(a_torn_line_stays_no_record),
		STORE_TEST(who_goes_to_a_service_without_directories_waits_too),
		STORE_TEST(a_full_disk_does_not_let_files_grow),
		STORE_TEST(a_damaged_control_file_is_mended),
		STORE_TEST(damaged_data_are_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
