// SPDX-License-Identifier: ISC
/* A queue is made and opened, and messages come and go: S1 to S4. */
#include "os/clock.h"
#include "os/file/file.h"
#include "queue_scene.h"
#include "scratch.h"
#include "test.h"
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void creation_can_be_run_again(void **state)
{
	struct queue_options options = {.create = true};
	struct queue_store *store = queue_scene_open("queue", QUEUE_SYNC_FILES);
	char format[128];

	(void)state;
	queue_store_close(store);
	snprintf(format, sizeof format, "%s/format", queue_scene_path("queue"));
	assert_int_equal(unlink(format), 0);
	options.create = false;
	assert_int_equal(queue_store_open(queue_scene_path("queue"), &options, &store, NULL),
			 -EPROTO);
	store = queue_scene_open("queue", QUEUE_SYNC_FILES);
	assert_int_equal(queue_store_split(store), 3);
	assert_int_equal(queue_store_add_service(store, "mailbox"), 0);
	assert_int_equal(queue_store_add_service(store, "../x"), -EINVAL);
	assert_int_equal(queue_scene_names_in(store, "local/mailbox"), 3);
	queue_store_close(store);
}

/* One is held for each, and no more than there is room for. */
static void a_process_holds_so_many_locks(void **state)
{
	enum { LOCKS = 4 };
	struct queue_store *store = queue_scene_open("queue", QUEUE_SYNC_FILES);
	char path[16];

	(void)state;
	for (unsigned i = 0; i <= LOCKS; i++) {
		int file;

		snprintf(path, sizeof path, "lock/%u", i);
		file = os_file_open(queue_store_directory(store), path,
				    OS_FILE_WRITE | OS_FILE_CREATE);
		assert_true(file >= 0);
		os_file_close(file);
		assert_int_equal(queue_store_lock(store, path + 5), i < LOCKS ? 0 : -EMFILE);
	}
	queue_store_close(store);
}

static int expect_none(void *context, uint64_t number)
{
	(void)context;
	(void)number;
	return -EEXIST;
}

/* Their creation is not synced. */
static void a_power_failure_may_take_parts_of_a_service(void **state)
{
	struct queue_store *store = queue_scene_open("queue", QUEUE_SYNC_FILES);

	(void)state;
	assert_int_equal(queue_store_add_service(store, "mailbox"), 0);
	assert_int_equal(rmdir(queue_scene_path("queue/local/mailbox/1")), 0);
	assert_int_equal(queue_store_each(store, QUEUE_LOCAL, "mailbox", expect_none, NULL, NULL),
			 0);
	assert_int_equal(queue_store_add_service(store, "mailbox"), 0);
	assert_int_equal(queue_scene_names_in(store, "local/mailbox"), 3);
	queue_store_close(store);
}

static void foreign_directories_are_left_alone(void **state)
{
	struct queue_options options = {.create = true};
	struct queue_store *store = NULL;
	struct buffer reason = {0};

	(void)state;
	assert_int_equal(mkdir(queue_scene_path("queue"), 0700), 0);
	assert_int_equal(mkdir(queue_scene_path("queue/x"), 0700), 0);
	assert_int_equal(queue_store_open(queue_scene_path("queue"), &options, &store, &reason),
			 -ENOTEMPTY);
	assert_true(reason.length > 0);
	buffer_clear(&reason);
}

static void unsafe_filesystems_are_refused(void **state)
{
	char name[64];
	struct queue_options options = {.create = true, .split = 1};
	struct queue_store *store = NULL;
	struct buffer reason = {0};

	(void)state;
	snprintf(name, sizeof name, "/dev/shm/stagepost-test-%ld", (long)getpid());
	if (queue_store_open(name, &options, &store, &reason) == 0) {
		queue_store_close(store); /* no tmpfs there */
	} else {
		assert_true(reason.length > 0);
		options.unsafe = true;
		assert_int_equal(queue_store_open(name, &options, &store, &reason), 0);
		queue_store_close(store);
	}
	buffer_clear(&reason);
	scratch_remove(name);
}

static void locks_exclude(void **state)
{
	struct queue_store *one = queue_scene_open("queue", QUEUE_SYNC_FILES);
	struct queue_store *two = queue_scene_open("queue", QUEUE_SYNC_FILES);

	(void)state;
	assert_int_equal(queue_store_lock(one, "queue"), 0);
	assert_int_equal(queue_store_lock(one, "send"), 0);
	assert_int_equal(queue_store_lock(two, "queue"), -EAGAIN);
	queue_store_pull_trigger(one);
	assert_int_equal(queue_store_has_room(one, 1, 1), 0);
	assert_int_equal(queue_store_has_bytes(one, 1), 0);
	assert_int_equal(queue_store_has_bytes(one, UINT64_MAX), -ENOSPC);
	assert_int_equal(queue_store_has_room(one, 0, UINT64_MAX), -ENOSPC);
	assert_int_equal(queue_store_has_room(one, UINT64_MAX, 0), -ENOSPC);
	queue_store_close(one);
	assert_int_equal(queue_store_lock(two, "queue"), 0);
	queue_store_close(two);
}

/* What a process left that died while it tried the filesystem. */
static void old_probes_in_lock_are_removed(void **state)
{
	struct queue_store *store = queue_scene_open("queue", QUEUE_SYNC_FILES);
	int directory = queue_store_directory(store);
	int64_t hour_us = INT64_C(3600000000);
	int64_t now_us = os_clock_wall_us();

	(void)state;
	assert_int_equal(queue_scene_names_in(store, "lock"), 3);
	assert_int_equal(os_file_link(directory, "format", "lock/probe1-0"), 0);
	assert_int_equal(os_file_set_modified(directory, "lock/probe1-0", now_us - 35 * hour_us),
			 0);
	queue_store_close(queue_scene_open("queue", QUEUE_SYNC_FILES));
	assert_int_equal(queue_scene_names_in(store, "lock"), 4);
	assert_int_equal(os_file_set_modified(directory, "lock/probe1-0", now_us - 37 * hour_us),
			 0);
	assert_int_equal(os_file_set_modified(directory, "lock/queue", now_us - 37 * hour_us), 0);
	queue_store_close(queue_scene_open("queue", QUEUE_SYNC_FILES));
	assert_int_equal(queue_scene_names_in(store, "lock"), 3);
	assert_int_equal(queue_store_lock(store, "queue"), 0);
	queue_store_close(store);
}

static void pass_s4_and_reuse(enum queue_sync sync)
{
	struct queue_store *store = queue_scene_open("queue", sync);
	struct queue_intake *intake = queue_scene_intake(store);
	uint64_t first = queue_scene_enqueue(intake, NULL, "one, the longer message\r\n");
	enum mail_stage stage = MAIL_STAGE_ARRIVE;
	struct queue_control *control;
	struct os_file_info info;
	char name[QUEUE_PATH_SIZE];
	uint64_t second;

	queue_scene_expect_data(store, first, "one, the longer message\r\n");
	queue_store_path(store, QUEUE_TODO, "arrive", first, name);
	assert_int_equal(os_file_info_at(queue_store_directory(store), name, &info), 0);
	assert_int_equal(info.inode, first);
	assert_int_equal(queue_message_remove_queued(intake, MAIL_STAGE_ARRIVE, first), 0);
	assert_int_equal(queue_intake_held(intake), 1);
	/* not yet reused, then reused and cut */
	second = queue_scene_enqueue(intake, NULL, "two\r\n");
	assert_int_not_equal(second, first);
	assert_int_equal(queue_intake_held(intake), 0);
	assert_int_equal(queue_scene_enqueue(intake, NULL, "three\r\n"), first);
	queue_scene_expect_data(store, first, "three\r\n");
	assert_int_equal(queue_update_load(store, &stage, first, &control, NULL), 0);
	assert_int_equal(control->envelope->size, strlen("three\r\n"));
	queue_control_free(control);
	queue_scene_expect_data(store, second, "two\r\n");
	assert_int_equal(queue_message_remove_queued(intake, MAIL_STAGE_ARRIVE, first), 0);
	assert_int_equal(queue_message_remove_queued(intake, MAIL_STAGE_ARRIVE, second), 0);
	assert_int_equal(queue_message_remove_queued(intake, MAIL_STAGE_ARRIVE, second), 0);
	queue_message_commit_group(intake, NULL, 0, NULL);
	queue_intake_close(intake);
	/* another process removes them */
	intake = queue_scene_intake(store);
	assert_int_equal(queue_intake_held(intake), 2);
	queue_message_commit_group(intake, NULL, 0, NULL);
	second = queue_scene_enqueue(intake, NULL, "four\r\n");
	queue_scene_expect_data(store, second, "four\r\n");
	assert_int_equal(queue_scene_names_in(store, "pid"), 0);
	assert_int_equal(queue_message_remove_queued(intake, MAIL_STAGE_ARRIVE, second), 0);
	queue_intake_close(intake);
	queue_store_close(store);
}

static void message_passes_s4_and_its_files_are_reused(void **state)
{
	(void)state;
	pass_s4_and_reuse(QUEUE_SYNC_FILES);
}

static void the_same_with_a_filesystem_of_its_own(void **state)
{
	(void)state;
	pass_s4_and_reuse(QUEUE_SYNC_FILESYSTEM);
}

static void the_same_with_the_order_kept(void **state)
{
	(void)state;
	pass_s4_and_reuse(QUEUE_SYNC_ORDERED);
}

static void envelope_must_fit_the_data(void **state)
{
	struct queue_store *store = queue_scene_open("queue", QUEUE_SYNC_FILES);
	struct queue_intake *intake = queue_scene_intake(store);
	struct queue_message *message = NULL;
	struct buffer text = {0};

	(void)state;
	assert_int_equal(queue_message_new(intake, &message), 0);
	assert_int_equal(queue_message_share(message), 0);
	buffer_append_format(&text, "stagepost 1\nid: %llu-1\nsize: 5\nend:\n",
			     (unsigned long long)queue_message_number(message));
	assert_int_equal(queue_message_envelope(message, MAIL_STAGE_ARRIVE, &text), -EINVAL);
	queue_message_abandon(message);
	assert_int_equal(queue_message_new(intake, &message), 0);
	assert_int_equal(queue_message_share(message), 0);
	buffer_reset(&text);
	buffer_append_string(&text, "stagepost 1\nid: 1-1\nsize: 0\nend:\n");
	assert_int_equal(queue_message_envelope(message, MAIL_STAGE_ARRIVE, &text), -EINVAL);
	queue_message_abandon(message);
	message = queue_scene_write(intake, NULL, "abandoned\r\n");
	queue_message_abandon(message);
	assert_int_equal(queue_scene_names_in(store, "pid"), 1);
	buffer_clear(&text);
	queue_intake_close(intake);
	queue_store_close(store);
}

/* Its other holder could write into somebody else's message. */
static void a_file_that_was_shared_is_not_used_again(void **state)
{
	struct queue_store *store = queue_scene_open("queue", QUEUE_SYNC_FILES);
	struct queue_intake *intake = queue_scene_intake(store);
	struct queue_message *message = NULL;

	(void)state;
	assert_int_equal(queue_message_new(intake, &message), 0);
	assert_int_equal(queue_message_share(message), 0);
	queue_message_abandon(message);
	assert_int_equal(queue_scene_names_in(store, "pid"), 0);
	queue_intake_close(intake);
	queue_store_close(store);
}

static int load_queued(struct queue_store *store, uint64_t number, size_t *recipients_out)
{
	enum mail_stage stage = MAIL_STAGE_ARRIVE;
	struct queue_control *control;
	int result = queue_update_load(store, &stage, number, &control, NULL);

	if (result < 0)
		return result;
	*recipients_out = control->envelope->recipient_count;
	queue_control_free(control);
	return 0;
}

static uint64_t enqueue_for_many(struct queue_intake *intake, size_t recipients)
{
	struct mail_envelope *envelope = queue_scene_envelope();
	char address[64];

	for (size_t i = 0; i < recipients; i++) {
		snprintf(address, sizeof address, "recipient%zu@example.net", i);
		mail_envelope_add(envelope, str_from(address));
	}
	return queue_scene_enqueue(intake, envelope, "");
}

/* Who holds a descriptor may write more than it says it did. */
static void what_is_written_beyond_the_size_is_cut(void **state)
{
	static const char excess[9000];
	struct queue_store *store = queue_scene_open("queue", QUEUE_SYNC_FILES);
	struct queue_intake *intake = queue_scene_intake(store);
	struct mail_envelope *envelope = queue_scene_envelope_to_one();
	struct queue_message *message = NULL;
	struct buffer text = {0};
	size_t recipients = 0;
	uint64_t number;
	int result = -1;

	(void)state;
	assert_int_equal(queue_message_new(intake, &message), 0);
	assert_int_equal(queue_message_share(message), 0);
	assert_int_equal(os_file_write(queue_message_file(message), excess, sizeof excess, 0), 0);
	number = envelope->id.number = queue_message_number(message);
	envelope->size = 10;
	assert_int_equal(queue_control_write_envelope(&text, envelope), 0);
	assert_int_equal(queue_message_envelope(message, envelope->stage, &text), 0);
	queue_message_commit_group(intake, &message, 1, &result);
	assert_int_equal(result, 0);
	assert_int_equal(load_queued(store, number, &recipients), 0);
	assert_int_equal(recipients, 1);
	buffer_clear(&text);
	mail_envelope_free(envelope);
	queue_intake_close(intake);
	queue_store_close(store);
}

static void envelope_stands_behind_the_data(void **state)
{
	static const char *const damages[] = {"", "at: 0000\n", "at: 00000000000000099999\n",
					      "at: 00000000000000000001\n",
					      "at: 0000000000000000000x\n"};
	struct queue_store *store = queue_scene_open("queue", QUEUE_SYNC_FILES);
	struct queue_intake *intake = queue_scene_intake(store);
	size_t recipients = 0;
	uint64_t number;
	char name[QUEUE_PATH_SIZE];
	int file;

	(void)state;
	for (size_t count = 1; count < 5000; count = count * 3 + 1) {
		number = enqueue_for_many(intake, count);
		assert_int_equal(load_queued(store, number, &recipients), 0);
		assert_int_equal(recipients, count);
	}
	/* what looks like one in the data means nothing */
	number = queue_scene_enqueue(intake, NULL, "stagepost 1\nend:\nat: 00000000000000000000\n");
	assert_int_equal(load_queued(store, number, &recipients), 0);
	queue_store_path(store, QUEUE_TODO, "arrive", number, name);
	for (size_t i = 0; i < COUNT_OF(damages); i++) {
		file = os_file_open(queue_store_directory(store), name, OS_FILE_WRITE);
		assert_true(file >= 0);
		assert_int_equal(os_file_truncate(file, 0), 0);
		assert_int_equal(os_file_write(file, damages[i], strlen(damages[i]), 0), 0);
		os_file_close(file);
		assert_int_equal(load_queued(store, number, &recipients), -ENODATA);
	}
	queue_intake_close(intake);
	queue_store_close(store);
}

/* A copy of a queue has other inodes: a new file's number may be a message's. */
static void a_copy_loses_nothing(void **state)
{
	struct queue_store *store = queue_scene_open("queue", QUEUE_SYNC_FILES);
	struct queue_intake *intake = queue_scene_intake(store);
	struct queue_message *message = queue_scene_write(intake, NULL, "new\r\n");
	uint64_t number = queue_message_number(message);
	char name[QUEUE_PATH_SIZE];
	struct os_file_info before;
	struct os_file_info after;
	int result = 0;

	(void)state;
	queue_store_path(store, QUEUE_TODO, "arrive", number, name);
	assert_int_equal(os_file_link(queue_store_directory(store), "format", name), 0);
	assert_int_equal(os_file_info_at(queue_store_directory(store), name, &before), 0);
	queue_message_commit_group(intake, &message, 1, &result);
	assert_int_equal(result, -EEXIST);
	queue_message_abandon(message);
	assert_int_equal(os_file_info_at(queue_store_directory(store), name, &after), 0);
	assert_int_equal(after.inode, before.inode);
	assert_int_equal(queue_scene_names_in(store, "pid"), 0);
	queue_intake_close(intake);
	queue_store_close(store);
}

struct hand_over {
	struct queue_intake *intake;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct queue_message *message; /* to be committed */
	uint64_t number;               /* was committed; 0: none */
	bool is_over;
};

static void *commit_what_comes(void *context)
{
	struct hand_over *hand = context;

	pthread_mutex_lock(&hand->mutex);
	while (!hand->is_over) {
		struct queue_message *message = hand->message;
		uint64_t number;
		int result = -1;

		if (message == NULL || hand->number != 0) {
			pthread_cond_wait(&hand->changed, &hand->mutex);
			continue;
		}
		hand->message = NULL;
		number = queue_message_number(message);
		pthread_mutex_unlock(&hand->mutex);
		queue_message_commit_group(hand->intake, &message, 1, &result);
		pthread_mutex_lock(&hand->mutex);
		hand->number = result == 0 ? number : UINT64_MAX;
		if (result < 0)
			queue_message_abandon(message);
		pthread_cond_signal(&hand->changed);
	}
	pthread_mutex_unlock(&hand->mutex);
	return NULL;
}

/* While one message is being committed, the main thread writes the next one,
 * abandons one, cleans and ends the one before. */
static void writer_thread_works_beside_the_main_thread(void **state)
{
	enum { ROUNDS = 40 };
	struct queue_store *store = queue_scene_open("queue", QUEUE_SYNC_FILES);
	struct hand_over hand = {.intake = queue_scene_intake(store)};
	uint64_t before = 0;
	pthread_t thread;

	(void)state;
	pthread_mutex_init(&hand.mutex, NULL);
	pthread_cond_init(&hand.changed, NULL);
	assert_int_equal(pthread_create(&thread, NULL, commit_what_comes, &hand), 0);
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct queue_message *message =
			queue_scene_write(hand.intake, NULL, "from the main thread\r\n");

		pthread_mutex_lock(&hand.mutex);
		hand.message = message;
		pthread_cond_signal(&hand.changed);
		pthread_mutex_unlock(&hand.mutex);
		queue_message_abandon(queue_scene_write(hand.intake, NULL, "never mind\r\n"));
		if (before != 0)
			assert_int_equal(
				queue_message_remove_queued(hand.intake, MAIL_STAGE_ARRIVE, before),
				0);
		assert_int_equal(queue_intake_clean(hand.intake, INT64_MAX / 2, 0, NULL, NULL), 0);
		pthread_mutex_lock(&hand.mutex);
		while (hand.number == 0)
			pthread_cond_wait(&hand.changed, &hand.mutex);
		before = hand.number;
		hand.number = 0;
		pthread_mutex_unlock(&hand.mutex);
		assert_int_not_equal(before, UINT64_MAX);
		queue_scene_expect_data(store, before, "from the main thread\r\n");
	}
	pthread_mutex_lock(&hand.mutex);
	hand.is_over = true;
	pthread_cond_signal(&hand.changed);
	pthread_mutex_unlock(&hand.mutex);
	pthread_join(thread, NULL);
	pthread_cond_destroy(&hand.changed);
	pthread_mutex_destroy(&hand.mutex);
	queue_intake_close(hand.intake);
	queue_store_close(store);
}

#define STORE_TEST(test) \
	cmocka_unit_test_setup_teardown(test, queue_scene_set_up, queue_scene_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(creation_can_be_run_again),
		STORE_TEST(a_power_failure_may_take_parts_of_a_service),
		STORE_TEST(foreign_directories_are_left_alone),
		STORE_TEST(unsafe_filesystems_are_refused),
		STORE_TEST(locks_exclude),
		STORE_TEST(a_process_holds_so_many_locks),
		STORE_TEST(old_probes_in_lock_are_removed),
		STORE_TEST(message_passes_s4_and_its_files_are_reused),
		STORE_TEST(the_same_with_a_filesystem_of_its_own),
		STORE_TEST(the_same_with_the_order_kept),
		STORE_TEST(a_file_that_was_shared_is_not_used_again),
		STORE_TEST(envelope_must_fit_the_data),
		STORE_TEST(what_is_written_beyond_the_size_is_cut),
		STORE_TEST(envelope_stands_behind_the_data),
		STORE_TEST(writer_thread_works_beside_the_main_thread),
		STORE_TEST(a_copy_loses_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
