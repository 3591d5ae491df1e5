// SPDX-License-Identifier: ISC
/*
 * The way of messages into the queue and out of it, each call of which fails once: what was
 * accepted is there, what was refused is not, and the next process finds nothing that it cannot use
 * or remove.
 */
#include "failing_calls.h"
#include "os/file/file.h"
#include "queue/message.h"
#include "queue_portrait.h"
#include "queue_scene.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGES = 4, REMOVED = 1, MOVED = 2, SHARED = 3 };

static struct queue_store *store;
static struct queue_intake *intake;
static enum queue_sync sync_mode;

/* What became of each message. */
static struct one {
	uint64_t number;
	bool is_accepted;
	bool is_gone;     /* from todo/ */
	bool is_doubtful; /* its removal has failed */
} all[MESSAGES];

static int open_intake(bool is_new)
{
	const struct queue_intake_options options = {.spares = 2,
						     .spare_size = QUEUE_SCENE_SPARE_SIZE};
	int result = queue_intake_open(store, &options, &intake);

	if (result == 0 && is_new) /* names of earlier messages may be about */
		assert_false(queue_intake_has_refused(intake, 1));
	return result;
}

static int write_message(struct queue_message *message, unsigned which)
{
	struct mail_envelope *envelope = queue_scene_envelope_to_one();
	struct buffer data CLEANUP(buffer_clear) = {0};
	struct buffer text CLEANUP(buffer_clear) = {0};
	int result;

	buffer_append_format(&data, "data%u\r\n", which);
	envelope->id.number = queue_message_number(message);
	envelope->size = data.length;
	assert_int_equal(queue_control_write_envelope(&text, envelope), 0);
	mail_envelope_free(envelope);
	if (which != SHARED)
		return queue_message_write(message, MAIL_STAGE_ARRIVE, &data, &text);
	result = queue_message_share(message);
	if (result == 0)
		result = os_file_write(queue_message_file(message), buffer_data(&data), data.length,
				       0);
	if (result == 0)
		result = queue_message_check_start(message, STR("data3\r\n"));
	return result == 0 ? queue_message_envelope(message, MAIL_STAGE_ARRIVE, &text) : result;
}

/* S1 to S4. A failure of S2 or S3 is that of the group, too. */
static void add_message(unsigned which)
{
	struct queue_message *message;
	int written, result = -1;

	if (queue_message_new(intake, &message) < 0)
		return;
	all[which].number = queue_message_number(message);
	written = write_message(message, which);
	queue_message_commit_group(intake, &message, 1, &result);
	assert_true(written == 0 || result < 0);
	all[which].is_accepted = result == 0;
	if (result < 0)
		queue_message_abandon(message);
}

static void take_away(unsigned which)
{
	struct one *one = &all[which];
	int result;

	if (!one->is_accepted)
		return;
	result = which == MOVED
			 ? queue_message_remove_todo(intake, MAIL_STAGE_ARRIVE, one->number)
			 : queue_message_remove_queued(intake, MAIL_STAGE_ARRIVE, one->number);
	one->is_gone = result == 0;
	one->is_doubtful = result < 0;
}

/* A message comes and goes, its file is used again, another one moves to S5 (which this test leaves
 * out: its file is gone with its last name), and one is shared. */
static void live(void)
{
	int cleaned;

	memset(all, 0, sizeof all);
	if (open_intake(false) < 0)
		return;
	add_message(0);
	add_message(REMOVED);
	take_away(REMOVED);
	queue_message_commit_group(intake, NULL, 0, NULL);
	add_message(MOVED);
	add_message(SHARED);
	take_away(MOVED);
	cleaned = queue_intake_clean(intake, 1000 * DAY_US, 0, NULL, NULL);
	assert_true(cleaned == 0 || cleaned == -EIO);
	queue_intake_drop_spares(intake);
	queue_intake_remove_stuck(intake);
	queue_intake_close(intake);
}

static bool has_text(const struct buffer *names, const char *text)
{
	return names->length > 0 &&
	       memmem(buffer_data(names), names->length, text, strlen(text)) != NULL;
}

static bool has_name(const struct buffer *names, unsigned which)
{
	char name[32];

	snprintf(name, sizeof name, "todo/arrive/%u\n", which);
	return has_text(names, name);
}

/* As the next process finds it, which has removed what was left. */
static void check_queue(unsigned call)
{
	struct buffer names CLEANUP(buffer_clear) = {0};

	assert_int_equal(open_intake(true), 0);
	assert_int_equal(queue_intake_clean(intake, 1000 * DAY_US, 0, NULL, NULL), 0);
	queue_message_commit_group(intake, NULL, 0, NULL);
	assert_true(queue_intake_is_settled(intake));
	assert_int_equal(queue_intake_held(intake), 0);
	queue_portrait(store, &names);
	for (unsigned i = 0; i < MESSAGES; i++) {
		bool is_there = has_name(&names, i);

		if (!all[i].is_doubtful && is_there != (all[i].is_accepted && !all[i].is_gone))
			fail_msg("call %u: message %u is %s\n" STR_FORMAT, call, i,
				 is_there ? "there" : "gone", STR_ARGUMENTS(buffer_view(&names)));
		if (is_there) {
			char data[16];

			snprintf(data, sizeof data, "data%u\r\n", i);
			queue_scene_expect_data(store, all[i].number, data);
		}
	}
	if (has_text(&names, "(stray)"))
		fail_msg("call %u:\n" STR_FORMAT, call, STR_ARGUMENTS(buffer_view(&names)));
	queue_intake_close(intake);
	assert_true(queue_scene_names_in(store, "pid") <= 2); /* spares */
}

/* What a user's message must begin with. */
static void check_starts(void)
{
	static const char *const others[] = {"x", "data0\r", "data0\r\n.", ""};
	struct queue_message *message;

	assert_int_equal(open_intake(true), 0);
	for (size_t i = 0; i < COUNT_OF(others); i++) {
		assert_int_equal(queue_message_new(intake, &message), 0);
		assert_int_equal(queue_message_share(message), 0);
		assert_int_equal(os_file_write(queue_message_file(message), "data0\r\n", 7, 0), 0);
		assert_int_equal(queue_message_check_start(message, str_from(others[i])),
				 strncmp("data0\r\n", others[i], strlen(others[i])) == 0 ? 0
											 : -EPERM);
		queue_message_abandon(message);
	}
	queue_intake_close(intake);
}

static void begin(void)
{
	void *state = NULL;

	assert_int_equal(queue_scene_set_up(&state), 0);
	store = queue_scene_open("queue", sync_mode);
}

static void end(void)
{
	void *state = NULL;

	queue_store_close(store);
	assert_int_equal(queue_scene_tear_down(&state), 0);
}

static void fail_each_call(void)
{
	unsigned call = 0;
	bool is_over = false;

	failing_calls_forget();
	begin();
	live();
	for (unsigned i = 0; i < MESSAGES; i++)
		assert_true(all[i].is_accepted && all[i].is_gone == (i == REMOVED || i == MOVED));
	assert_int_equal(queue_scene_names_in(store, "pid"), 0);
	check_queue(0);
	check_starts();
	end();
	while (!is_over) {
		begin();
		call++;
		failing_calls_begin();
		live();
		is_over = !failing_calls_end();
		check_queue(call);
		end();
	}
	assert_true(call > 30);
}

static void by_files(void **state)
{
	(void)state;
	sync_mode = QUEUE_SYNC_FILES;
	fail_each_call();
}

static void by_order(void **state)
{
	(void)state;
	sync_mode = QUEUE_SYNC_ORDERED;
	fail_each_call();
}

static void by_the_filesystem(void **state)
{
	(void)state;
	sync_mode = QUEUE_SYNC_FILESYSTEM;
	fail_each_call();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_files),
		cmocka_unit_test(by_order),
		cmocka_unit_test(by_the_filesystem),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
