// SPDX-License-Identifier: ISC
#include "os/file.h"
#include "queue/cleaner.h"
#include "queue/message.h"
#include "queue/update.h"
#include "scratch.h"
#include "test.h"
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SPARES = 8, SPARE_SIZE = 4096 };

static char base[SCRATCH_SIZE];
static char path[96];

static int set_up(void **state)
{
	(void)state;
	if (scratch_make(base) < 0)
		return -1;
	snprintf(path, sizeof path, "%s/queue", base);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return scratch_remove(base);
}

static struct queue_store *open_store(enum queue_sync sync)
{
	struct queue_options options = {.create = true, .split = 3, .sync = sync};
	struct queue_store *store = NULL;
	struct buffer reason = {0};

	if (queue_store_open(path, &options, &store, &reason) < 0)
		fail_msg(STR_FORMAT, STR_ARGUMENTS(buffer_view(&reason)));
	buffer_clear(&reason);
	return store;
}

static struct queue_intake *open_intake(struct queue_store *store)
{
	struct queue_intake_options options = {.spares = SPARES, .spare_size = SPARE_SIZE};
	struct queue_intake *intake = NULL;

	assert_int_equal(queue_intake_open(store, &options, &intake), 0);
	return intake;
}

static struct queue_message *write_message(struct queue_intake *intake, const char *data)
{
	struct mail_envelope *envelope = mail_envelope_new();
	struct queue_message *message = NULL;
	struct buffer bytes = {0};
	struct buffer text = {0};

	assert_int_equal(queue_message_new(intake, &message), 0);
	buffer_append_string(&bytes, data);
	envelope->id = (struct mail_id){queue_message_number(message), SECOND_US};
	envelope->stage = MAIL_STAGE_ARRIVE;
	envelope->sender = STR("a@example.org");
	envelope->size = strlen(data);
	mail_envelope_add(envelope, STR("b@example.net"));
	assert_int_equal(queue_control_write_envelope(&text, envelope), 0);
	assert_int_equal(
		queue_message_write(message, MAIL_STAGE_ARRIVE, &bytes, buffer_view(&text)), 0);
	buffer_clear(&bytes);
	buffer_clear(&text);
	mail_envelope_free(envelope);
	return message;
}

static uint64_t enqueue(struct queue_intake *intake, const char *data)
{
	struct queue_message *message = write_message(intake, data);
	uint64_t number = queue_message_number(message);
	int result = -1;

	queue_message_commit_group(intake, &message, 1, &result);
	assert_int_equal(result, 0);
	return number;
}

static void expect_data(struct queue_store *store, uint64_t number, const char *data)
{
	const enum mail_stage stage = MAIL_STAGE_ARRIVE;
	char have[8192];
	int file = queue_update_open_data(store, &stage, number);
	ssize_t length;

	assert_true(file >= 0);
	length = os_file_read(file, have, sizeof have, 0);
	os_file_close(file);
	assert_true(length > (ssize_t)strlen(data));
	assert_memory_equal(have, data, strlen(data));
	assert_true(str_starts_with(str_slice(have + strlen(data), (size_t)length - strlen(data)),
				    STR("stagepost 1\n")));
}

static int count_one(void *context, const char *name)
{
	(void)name;
	++*(int *)context;
	return 0;
}

static int names_in(struct queue_store *store, const char *directory)
{
	int count = 0;

	assert_int_equal(os_file_list(queue_store_directory(store), directory, count_one, &count),
			 0);
	return count;
}

static void creation_can_be_run_again(void **state)
{
	struct queue_options options = {.create = true};
	struct queue_store *store = open_store(QUEUE_SYNC_FILES);
	char format[128];

	(void)state;
	queue_store_close(store);
	snprintf(format, sizeof format, "%s/format", path);
	assert_int_equal(unlink(format), 0);
	options.create = false;
	assert_int_equal(queue_store_open(path, &options, &store, NULL), -EPROTO);
	store = open_store(QUEUE_SYNC_FILES);
	assert_int_equal(queue_store_split(store), 3);
	assert_int_equal(queue_store_add_service(store, "mailbox"), 0);
	assert_int_equal(queue_store_add_service(store, "../x"), -EINVAL);
	assert_int_equal(names_in(store, "local/mailbox"), 3);
	queue_store_close(store);
}

static void foreign_directories_are_left_alone(void **state)
{
	struct queue_options options = {.create = true};
	struct queue_store *store = NULL;
	struct buffer reason = {0};

	(void)state;
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path + strlen(path), sizeof path - strlen(path), "/x");
	assert_int_equal(mkdir(path, 0700), 0);
	*strrchr(path, '/') = '\0';
	assert_int_equal(queue_store_open(path, &options, &store, &reason), -ENOTEMPTY);
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
	struct queue_store *one = open_store(QUEUE_SYNC_FILES);
	struct queue_store *two = open_store(QUEUE_SYNC_FILES);

	(void)state;
	assert_int_equal(queue_store_lock(one, "queue"), 0);
	assert_int_equal(queue_store_lock(one, "send"), 0);
	assert_int_equal(queue_store_lock(two, "queue"), -EAGAIN);
	queue_store_pull_trigger(one);
	assert_int_equal(queue_store_has_room(one, 1), 0);
	assert_int_equal(queue_store_has_room(one, UINT64_MAX), -ENOSPC);
	queue_store_close(one);
	assert_int_equal(queue_store_lock(two, "queue"), 0);
	queue_store_close(two);
}

static void pass_s4_and_reuse(enum queue_sync sync)
{
	struct queue_store *store = open_store(sync);
	struct queue_intake *intake = open_intake(store);
	uint64_t first = enqueue(intake, "one, the longer message\r\n");
	enum mail_stage stage = MAIL_STAGE_ARRIVE;
	struct queue_control *control;
	struct os_file_info info;
	char name[QUEUE_PATH_SIZE];
	uint64_t second;

	expect_data(store, first, "one, the longer message\r\n");
	queue_store_path(store, QUEUE_TODO, "arrive", first, name);
	assert_int_equal(os_file_info_at(queue_store_directory(store), name, &info), 0);
	assert_int_equal(info.inode, first);
	assert_int_equal(queue_message_remove_queued(intake, MAIL_STAGE_ARRIVE, first), 0);
	assert_int_equal(queue_intake_held(intake), 1);
	/* not yet reused, then reused and cut */
	second = enqueue(intake, "two\r\n");
	assert_int_not_equal(second, first);
	assert_int_equal(queue_intake_held(intake), 0);
	assert_int_equal(enqueue(intake, "three\r\n"), first);
	expect_data(store, first, "three\r\n");
	assert_int_equal(queue_update_load(store, &stage, first, &control, NULL), 0);
	assert_int_equal(control->envelope->size, strlen("three\r\n"));
	queue_control_free(control);
	expect_data(store, second, "two\r\n");
	assert_int_equal(queue_message_remove_queued(intake, MAIL_STAGE_ARRIVE, first), 0);
	assert_int_equal(queue_message_remove_queued(intake, MAIL_STAGE_ARRIVE, second), 0);
	assert_int_equal(queue_message_remove_queued(intake, MAIL_STAGE_ARRIVE, second), 0);
	queue_message_commit_group(intake, NULL, 0, NULL);
	queue_intake_close(intake);
	/* another process removes them */
	intake = open_intake(store);
	assert_int_equal(queue_intake_held(intake), 2);
	queue_message_commit_group(intake, NULL, 0, NULL);
	second = enqueue(intake, "four\r\n");
	expect_data(store, second, "four\r\n");
	assert_int_equal(names_in(store, "pid"), 0);
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
	struct queue_store *store = open_store(QUEUE_SYNC_FILES);
	struct queue_intake *intake = open_intake(store);
	struct queue_message *message = NULL;
	struct buffer text = {0};

	(void)state;
	assert_int_equal(queue_message_new(intake, &message), 0);
	assert_int_equal(queue_message_share(message), 0);
	buffer_append_format(&text, "stagepost 1\nid: %llu-1\nsize: 5\nend:\n",
			     (unsigned long long)queue_message_number(message));
	assert_int_equal(queue_message_envelope(message, MAIL_STAGE_ARRIVE, buffer_view(&text)),
			 -EINVAL);
	queue_message_abandon(message);
	assert_int_equal(queue_message_new(intake, &message), 0);
	assert_int_equal(queue_message_share(message), 0);
	buffer_reset(&text);
	buffer_append_string(&text, "stagepost 1\nid: 1-1\nsize: 0\nend:\n");
	assert_int_equal(queue_message_envelope(message, MAIL_STAGE_ARRIVE, buffer_view(&text)),
			 -EINVAL);
	queue_message_abandon(message);
	message = write_message(intake, "abandoned\r\n");
	queue_message_abandon(message);
	assert_int_equal(names_in(store, "pid"), 1);
	buffer_clear(&text);
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
	struct mail_envelope *envelope = mail_envelope_new();
	struct queue_message *message = NULL;
	struct buffer text = {0};
	char address[64];
	uint64_t number;
	int result = -1;

	assert_int_equal(queue_message_new(intake, &message), 0);
	assert_int_equal(queue_message_share(message), 0);
	number = queue_message_number(message);
	envelope->id = (struct mail_id){number, SECOND_US};
	envelope->stage = MAIL_STAGE_ARRIVE;
	for (size_t i = 0; i < recipients; i++) {
		snprintf(address, sizeof address, "recipient%zu@example.net", i);
		mail_envelope_add(envelope, str_from(address));
	}
	assert_int_equal(queue_control_write_envelope(&text, envelope), 0);
	assert_int_equal(queue_message_envelope(message, MAIL_STAGE_ARRIVE, buffer_view(&text)), 0);
	queue_message_commit_group(intake, &message, 1, &result);
	assert_int_equal(result, 0);
	buffer_clear(&text);
	mail_envelope_free(envelope);
	return number;
}

static void envelope_stands_behind_the_data(void **state)
{
	static const char *const damages[] = {"", "at: 0000\n", "at: 00000000000000099999\n",
					      "at: 00000000000000000001\n",
					      "at: 0000000000000000000x\n"};
	struct queue_store *store = open_store(QUEUE_SYNC_FILES);
	struct queue_intake *intake = open_intake(store);
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
	number = enqueue(intake, "stagepost 1\nend:\nat: 00000000000000000000\n");
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

static void preprocessed_message_ends(void **state)
{
	static const char *const services[] = {"mailbox"};
	struct queue_store *store = open_store(QUEUE_SYNC_FILES);
	struct queue_intake *intake = open_intake(store);
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

	(void)state;
	assert_int_equal(queue_store_add_service(store, "mailbox"), 0);
	update.number = enqueue(intake, "data\r\n");
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
	assert_int_equal(queue_update_finish(store, update.number, services, 1), 0);
	assert_int_equal(queue_message_remove_data(intake, update.number), 0);
	assert_int_equal(queue_intake_held(intake), 1);
	queue_intake_close(intake);
	queue_store_close(store);
}

static int commit_one(struct queue_store *store, struct queue_update *update)
{
	queue_update_commit_group(store, &update, 1);
	return update->result;
}

static struct queue_update make_preprocessed(struct queue_store *store, struct queue_intake *intake)
{
	static const char *const services[] = {"mailbox"};
	struct queue_update update = {
		.is_queued = true,
		.stage = MAIL_STAGE_ARRIVE,
		.control = STR("map: 1 local mailbox <b@c>\nmapped: directory=1 count=1\n"),
		.preprocess = true,
		.link_services = services,
		.link_service_count = 1,
	};

	assert_int_equal(queue_store_add_service(store, "mailbox"), 0);
	update.number = enqueue(intake, "data\r\n");
	assert_int_equal(commit_one(store, &update), 0);
	assert_int_equal(queue_message_remove_todo(intake, MAIL_STAGE_ARRIVE, update.number), 0);
	update.is_queued = update.preprocess = false;
	update.born_us = SECOND_US;
	return update;
}

static uint64_t inode_of(struct queue_store *store, enum queue_place place, const char *service,
			 uint64_t number)
{
	struct os_file_info info;
	char name[QUEUE_PATH_SIZE];

	queue_store_path(store, place, service, number, name);
	assert_int_equal(os_file_info_at(queue_store_directory(store), name, &info), 0);
	return info.inode;
}

static void a_control_file_is_written_anew(void **state)
{
	struct queue_store *store = open_store(QUEUE_SYNC_FILES);
	struct queue_intake *intake = open_intake(store);
	struct queue_update update = make_preprocessed(store, intake);
	struct queue_control *control;
	struct buffer whole = {0};
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
	assert_int_equal(commit_one(store, &update), -EINVAL);
	update.may_be_lost = false;
	update.control = STR("wait: 1\n");
	assert_int_equal(commit_one(store, &update), -EINVAL);
	update.control = buffer_view(&whole);
	control->must_be_whole = false;
	update.born_us++; /* of another message that had this number */
	assert_int_equal(commit_one(store, &update), -ESTALE);
	assert_int_equal(inode_of(store, QUEUE_INFO, NULL, update.number), old);
	queue_update_account(control, &update);
	assert_true(control->must_be_whole);
	update.born_us--;
	assert_int_equal(commit_one(store, &update), 0);
	queue_update_account(control, &update);
	assert_false(control->must_be_whole);
	assert_int_equal(control->size, whole.length);
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

/* A record that does not fit, tried again and again, leaves nothing. */
static void a_full_disk_does_not_let_files_grow(void **state)
{
	struct queue_store *store = open_store(QUEUE_SYNC_FILES);
	struct queue_intake *intake = open_intake(store);
	struct queue_update update = make_preprocessed(store, intake);
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
		assert_int_equal(commit_one(store, &update), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &unlimited), 0);
	assert_int_equal(os_file_info_at(queue_store_directory(store), name, &after), 0);
	assert_int_equal(after.size, before.size);
	assert_int_equal(commit_one(store, &update), 0);
	buffer_clear(&text);
	queue_intake_close(intake);
	queue_store_close(store);
}

static bool has_name(struct queue_store *store, const char *name)
{
	struct os_file_info info;

	return os_file_info_at(queue_store_directory(store), name, &info) == 0;
}

struct hands {
	struct queue_intake *intake;
	uint64_t busy; /* 0: none */
	uint64_t forgotten;
};

static bool is_busy(void *context, uint64_t number)
{
	const struct hands *hands = context;

	return number == hands->busy;
}

static void forget(void *context, uint64_t number)
{
	struct hands *hands = context;

	hands->forgotten = number;
}

static int remove_data(void *context, uint64_t number)
{
	const struct hands *hands = context;

	return queue_message_remove_data(hands->intake, number);
}

static struct queue_cleaner *begin_cleaning(struct queue_store *store, struct hands *hands)
{
	static const char *const services[] = {"mailbox"};
	static const struct queue_cleaner_handler handler = {is_busy, forget, remove_data, NULL};

	return queue_cleaner_new(store, services, 1, &handler, hands);
}

static void finish_cleaning(struct queue_cleaner *cleaner)
{
	int result = 1;

	while (result != 0) {
		result = queue_cleaner_step(cleaner);
		assert_true(result >= 0);
	}
	assert_true(queue_cleaner_is_sure(cleaner));
	queue_cleaner_free(cleaner);
}

static void clean(struct queue_store *store, struct hands *hands)
{
	finish_cleaning(begin_cleaning(store, hands));
}

static void make_name(struct queue_store *store, enum queue_place place, const char *service,
		      uint64_t number)
{
	char name[QUEUE_PATH_SIZE];

	queue_store_path(store, place, service, number, name);
	assert_int_equal(os_file_link(queue_store_directory(store), "format", name), 0);
}

static bool stands(struct queue_store *store, enum queue_place place, const char *service,
		   uint64_t number)
{
	char name[QUEUE_PATH_SIZE];

	queue_store_path(store, place, service, number, name);
	return has_name(store, name);
}

/* Each name that may have come back, of a message that somebody works on and of one that
 * nobody does; beside those of messages at S4 and S5. */
static void what_has_come_back_goes(void **state)
{
	static const struct {
		enum queue_place place;
		const char *service;
		bool is_forgotten;
	} cases[] = {{QUEUE_INFO, NULL, true},
		     {QUEUE_INTD, NULL, false},
		     {QUEUE_REMOTE, NULL, false},
		     {QUEUE_BOUNCE, NULL, false},
		     {QUEUE_LOCAL, "mailbox", false}};
	enum { GONE = 1000001 };
	struct queue_store *store = open_store(QUEUE_SYNC_FILES);
	struct queue_intake *intake = open_intake(store);
	struct queue_update update = make_preprocessed(store, intake);
	uint64_t queued = enqueue(intake, "queued\r\n");
	struct queue_control *control;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct hands hands = {.intake = intake, .busy = GONE};

		make_name(store, cases[i].place, cases[i].service, GONE);
		if (cases[i].place == QUEUE_INFO) /* whoever wakes it finds that it has ended */
			assert_int_equal(queue_update_load(store, NULL, GONE, &control, NULL),
					 -ENOENT);
		clean(store, &hands);
		assert_true(stands(store, cases[i].place, cases[i].service, GONE));
		hands.busy = 0;
		clean(store, &hands);
		assert_false(stands(store, cases[i].place, cases[i].service, GONE));
		assert_int_equal(hands.forgotten, cases[i].is_forgotten ? GONE : 0);
	}
	assert_true(stands(store, QUEUE_TODO, "arrive", queued));
	assert_int_equal(queue_update_load(store, NULL, update.number, &control, NULL), 0);
	queue_control_free(control);
	assert_true(stands(store, QUEUE_LOCAL, "mailbox", update.number));
	queue_intake_close(intake);
	queue_store_close(store);
}

/* What is left of a way to S5 that was cut off, by the one and by the other. */
static void a_message_at_s4_is_settled(void **state)
{
	struct queue_store *store = open_store(QUEUE_SYNC_FILES);
	struct queue_intake *intake = open_intake(store);
	uint64_t number = enqueue(intake, "queued\r\n");
	struct hands hands = {.intake = intake, .busy = number};
	enum mail_stage stage = MAIL_STAGE_ARRIVE;
	struct queue_update update = {
		.is_queued = true,
		.stage = stage,
		.control = STR("map: 1 remote <b@c>\nmapped: directory=1 count=1\n"),
		.preprocess = true,
	};

	(void)state;
	assert_int_equal(queue_store_add_service(store, "mailbox"), 0);
	for (unsigned i = 0; i < 2; i++) {
		make_name(store, QUEUE_MESS, NULL, number);
		make_name(store, QUEUE_INFO, NULL, number);
		clean(store, &hands);
		assert_true(stands(store, QUEUE_MESS, NULL, number));
		if (i == 0)
			assert_int_equal(queue_update_settle(store, stage, number, NULL, NULL), 0);
		hands.busy = 0;
		clean(store, &hands);
		hands.busy = number;
		assert_false(stands(store, QUEUE_MESS, NULL, number));
		assert_false(stands(store, QUEUE_INFO, NULL, number));
		expect_data(store, number, "queued\r\n");
	}
	/* one that has arrived, but for the removal from todo/, stays as it is */
	update.number = number;
	assert_int_equal(commit_one(store, &update), 0);
	hands.busy = 0;
	assert_int_equal(queue_update_settle(store, stage, number, NULL, NULL), 0);
	clean(store, &hands);
	assert_true(stands(store, QUEUE_MESS, NULL, number));
	assert_true(stands(store, QUEUE_INFO, NULL, number));
	queue_intake_close(intake);
	queue_store_close(store);
}

static void cleaning_spares_the_living(void **state)
{
	struct queue_store *store = open_store(QUEUE_SYNC_FILES);
	struct queue_intake *intake = open_intake(store);
	uint64_t queued = enqueue(intake, "queued\r\n");
	struct queue_message *ours = write_message(intake, "ours\r\n");
	struct hands hands = {.intake = intake};
	int directory = queue_store_directory(store);
	int64_t now_us = INT64_C(4102444800) * SECOND_US;
	char name[QUEUE_PATH_SIZE];
	char live[QUEUE_PATH_SIZE];
	struct os_file_info info;

	(void)state;
	/* what other processes left: one was writing a message, one had ended one */
	assert_int_equal(os_file_link(directory, "format", "pid/n1-1"), 0);
	assert_int_equal(os_file_info_at(directory, "format", &info), 0);
	queue_store_path(store, QUEUE_MESS, NULL, info.inode, name);
	assert_int_equal(os_file_link(directory, "format", name), 0);
	queue_store_path(store, QUEUE_TODO, "arrive", queued, live);
	assert_int_equal(queue_intake_clean(intake, now_us, now_us, NULL, NULL), 0);
	assert_true(has_name(store, "pid/n1-1"));
	assert_int_equal(queue_store_add_service(store, "mailbox"), 0);
	hands.busy = info.inode;
	clean(store, &hands);
	assert_true(has_name(store, name));
	hands.busy = 0;
	clean(store, &hands);
	assert_false(has_name(store, name));
	assert_int_equal(queue_intake_clean(intake, now_us, HOUR_US, NULL, NULL), 0);
	assert_false(has_name(store, "pid/n1-1"));
	assert_true(has_name(store, live));
	expect_data(store, queued, "queued\r\n");
	assert_int_equal(queue_message_remove_todo(intake, MAIL_STAGE_ARRIVE, queued), 0);
	queue_message_abandon(ours);
	queue_intake_close(intake);
	queue_store_close(store);
}

/* Of one that comes to S5 between two steps, some names are seen and others are not. */
static void cleaning_spares_who_comes_meanwhile(void **state)
{
	struct queue_store *store = open_store(QUEUE_SYNC_FILES);
	struct queue_intake *intake = open_intake(store);
	int result = 1;

	(void)state;
	for (unsigned before = 0; result != 0; before++) {
		struct hands hands = {.intake = intake};
		struct queue_cleaner *cleaner = begin_cleaning(store, &hands);
		struct queue_update update;

		assert_int_equal(queue_store_add_service(store, "mailbox"), 0);
		result = 1;
		for (unsigned i = 0; i < before && result != 0; i++)
			result = queue_cleaner_step(cleaner);
		update = make_preprocessed(store, intake);
		finish_cleaning(cleaner);
		assert_true(stands(store, QUEUE_MESS, NULL, update.number));
		assert_true(stands(store, QUEUE_INFO, NULL, update.number));
		assert_int_equal(hands.forgotten, 0);
	}
	queue_intake_close(intake);
	queue_store_close(store);
}

/* A copy of a queue has other inodes: a new file's number may be a message's. */
static void a_copy_loses_nothing(void **state)
{
	struct queue_store *store = open_store(QUEUE_SYNC_FILES);
	struct queue_intake *intake = open_intake(store);
	struct queue_message *message = write_message(intake, "new\r\n");
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
	assert_int_equal(os_file_info_at(queue_store_directory(store), name, &after), 0);
	assert_int_equal(after.inode, before.inode);
	assert_int_equal(names_in(store, "pid"), 0);
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
	struct queue_store *store = open_store(QUEUE_SYNC_FILES);
	struct hand_over hand = {.intake = open_intake(store)};
	uint64_t before = 0;
	pthread_t thread;

	(void)state;
	pthread_mutex_init(&hand.mutex, NULL);
	pthread_cond_init(&hand.changed, NULL);
	assert_int_equal(pthread_create(&thread, NULL, commit_what_comes, &hand), 0);
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct queue_message *message =
			write_message(hand.intake, "from the main thread\r\n");

		pthread_mutex_lock(&hand.mutex);
		hand.message = message;
		pthread_cond_signal(&hand.changed);
		pthread_mutex_unlock(&hand.mutex);
		queue_message_abandon(write_message(hand.intake, "never mind\r\n"));
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
		expect_data(store, before, "from the main thread\r\n");
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(creation_can_be_run_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(foreign_directories_are_left_alone, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(unsafe_filesystems_are_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(locks_exclude, set_up, tear_down),
		cmocka_unit_test_setup_teardown(message_passes_s4_and_its_files_are_reused, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_same_with_a_filesystem_of_its_own, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_same_with_the_order_kept, set_up, tear_down),
		cmocka_unit_test_setup_teardown(envelope_must_fit_the_data, set_up, tear_down),
		cmocka_unit_test_setup_teardown(envelope_stands_behind_the_data, set_up, tear_down),
		cmocka_unit_test_setup_teardown(preprocessed_message_ends, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_control_file_is_written_anew, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_full_disk_does_not_let_files_grow, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(writer_thread_works_beside_the_main_thread, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(cleaning_spares_the_living, set_up, tear_down),
		cmocka_unit_test_setup_teardown(cleaning_spares_who_comes_meanwhile, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_copy_loses_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_has_come_back_goes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_copy_loses_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_message_at_s4_is_settled, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_copy_loses_nothing, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
