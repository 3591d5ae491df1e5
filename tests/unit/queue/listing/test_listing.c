// SPDX-License-Identifier: ISC
/* Listing a queue in which messages move on meanwhile. */
#include "os/clock.h"
#include "os/file/file.h"
#include "queue/listing/listing.h"
#include "queue/message.h"
#include "queue/trigger.h"
#include "queue/update.h"
#include "test.h"
#include "unit/queue/queue_scene.h"
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MESSAGES = 12 };

struct fixture {
	struct queue_store *store;
	struct queue_intake *intake;
	uint64_t numbers[MESSAGES];
	unsigned seen[MESSAGES];
	unsigned calls;
};

/* How the messages came, in turn; the first two are user 1000's. */
static const char *const received[] = {"local uid=1000 user=anna", "local uid=1000",
				       "local uid=10001 user=x",   "smtp 192.0.2.7:25 helo=local",
				       "local uid= user=1000",     "local uid=1000x"};

static uint64_t enqueue(struct queue_intake *intake, size_t index)
{
	struct mail_envelope *envelope = queue_scene_envelope_to_one();

	envelope->received = str_from(received[index % COUNT_OF(received)]);
	return queue_scene_enqueue(intake, envelope, "data\r\n");
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof *fixture);

	assert_non_null(fixture);
	assert_int_equal(queue_scene_set_up(state), 0);
	fixture->store = queue_scene_open("queue", QUEUE_SYNC_FILES);
	fixture->intake = queue_scene_intake(fixture->store);
	for (size_t i = 0; i < MESSAGES; i++)
		fixture->numbers[i] = enqueue(fixture->intake, i);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	queue_intake_close(fixture->intake);
	queue_store_close(fixture->store);
	free(fixture);
	return queue_scene_tear_down(state);
}

/* As the manager and the process "queue" do it. */
static void preprocess(struct fixture *fixture, uint64_t number, bool leaves_todo)
{
	struct queue_update update = {
		.number = number,
		.is_queued = true,
		.stage = MAIL_STAGE_ARRIVE,
		.control = STR("map: 1 remote <b@example.net>\n"
			       "mapped: directory=1 count=1\n"),
		.preprocess = true,
		.link_remote = true,
	};
	struct queue_update *one = &update;

	queue_update_commit_group(fixture->store, &one, 1);
	assert_int_equal(update.result, 0);
	if (leaves_todo)
		assert_int_equal(
			queue_message_remove_todo(fixture->intake, MAIL_STAGE_ARRIVE, number), 0);
}

static void note(struct fixture *fixture, const struct listing_entry *entry)
{
	size_t i = 0;

	assert_non_null(entry->control);
	while (i < MESSAGES && fixture->numbers[i] != entry->number)
		i++;
	assert_true(i < MESSAGES);
	fixture->seen[i]++;
}

static int note_one(void *context, const struct listing_entry *entry)
{
	note(context, entry);
	return 0;
}

/* By name, and by network: of whom or where from nothing is known, nothing passes. */
static void origins_select(void **state)
{
	struct listing_filter filters[] = {{.user = STR("ANNA")},
					   {.user = STR("1000")},
					   {.has_client = true, .client.prefix = 128}};
	static const bool passes[COUNT_OF(filters)][COUNT_OF(received)] = {
		{true}, {[4] = true}, {[3] = true}};
	struct fixture *fixture = *state;

	assert_int_equal(inet_pton(AF_INET6, "::ffff:192.0.2.7", &filters[2].client.address), 1);
	for (size_t f = 0; f < COUNT_OF(filters); f++) {
		memset(fixture->seen, 0, sizeof fixture->seen);
		assert_int_equal(listing_each(fixture->store, &filters[f], note_one, fixture), 0);
		for (size_t i = 0; i < MESSAGES; i++)
			assert_int_equal(fixture->seen[i], passes[f][i % COUNT_OF(received)]);
	}
}

static void a_user_has_what_he_queued(void **state)
{
	const struct listing_filter own = {.is_of_one_user = true, .uid = 1000};
	struct fixture *fixture = *state;

	assert_int_equal(listing_each(fixture->store, &own, note_one, fixture), 0);
	for (size_t i = 0; i < MESSAGES; i++)
		assert_int_equal(fixture->seen[i], i % COUNT_OF(received) < 2);
}

/* A report that an order makes is not bounced by it; mail of a clock that was ahead is. */
static void what_came_since_is_left_out_and_not_what_seems_to_come(void **state)
{
	const struct listing_filter since_two = {.left_out_since_us = 2 * SECOND_US};
	const struct listing_filter since_one = {.left_out_since_us = SECOND_US};
	struct mail_envelope *ahead = queue_scene_envelope_to_one();
	struct fixture *fixture = *state;

	assert_int_equal(listing_each(fixture->store, &since_two, note_one, fixture), 0);
	for (size_t i = 0; i < MESSAGES; i++)
		assert_int_equal(fixture->seen[i], 1);
	ahead->id.born_us = os_clock_wall_us() + 3600 * SECOND_US;
	fixture->numbers[0] = queue_scene_enqueue(fixture->intake, ahead, "data\r\n");
	assert_int_equal(listing_each(fixture->store, &since_one, note_one, fixture), 0);
	for (size_t i = 0; i < MESSAGES; i++)
		assert_int_equal(fixture->seen[i], i == 0 ? 2 : 1);
}

static int hold_the_first(void *context, const struct listing_entry *entry)
{
	struct fixture *fixture = context;
	char name[LISTING_HOLD_SIZE];

	assert_int_equal(queue_trigger_set(fixture->store,
					   listing_hold_name(entry->control->envelope->id, name), 1,
					   STR("held")),
			 0);
	return 1;
}

static int count_held(void *context, const struct listing_entry *entry)
{
	struct fixture *fixture = context;

	assert_true(entry->is_held);
	fixture->calls++;
	return 0;
}

static void what_is_held_is_found(void **state)
{
	const struct listing_filter everything = {.born_before_us = 0};
	const struct listing_filter held = {.is_held = true};
	struct fixture *fixture = *state;

	assert_int_equal(listing_each(fixture->store, &held, count_held, fixture), 0);
	assert_int_equal(fixture->calls, 0);
	assert_int_equal(listing_each(fixture->store, &everything, hold_the_first, fixture), 1);
	assert_int_equal(listing_each(fixture->store, &held, count_held, fixture), 0);
	assert_int_equal(fixture->calls, 1);
}

static int move_all_at_the_first(void *context, const struct listing_entry *entry)
{
	struct fixture *fixture = context;

	note(fixture, entry);
	if (fixture->calls++ > 0)
		return 0;
	for (size_t i = 0; i < MESSAGES; i++)
		preprocess(fixture, fixture->numbers[i], true);
	return 0;
}

static int move_each(void *context, const struct listing_entry *entry)
{
	struct fixture *fixture = context;

	note(fixture, entry);
	if (!entry->is_preprocessed)
		preprocess(fixture, entry->number, true);
	return 0;
}

static int stop_between(void *context, const struct listing_entry *entry)
{
	struct fixture *fixture = context;

	note(fixture, entry);
	if (!entry->is_preprocessed)
		preprocess(fixture, entry->number, false);
	return 0;
}

static int only_see(void *context, const struct listing_entry *entry)
{
	note(context, entry);
	return 0;
}

static void expect_each_once(struct fixture *fixture,
			     int (*each)(void *context, const struct listing_entry *entry))
{
	const struct listing_filter everything = {.born_before_us = 0};

	memset(fixture->seen, 0, sizeof fixture->seen);
	assert_int_equal(listing_each(fixture->store, &everything, each, fixture), 0);
	for (size_t i = 0; i < MESSAGES; i++)
		assert_int_equal(fixture->seen[i], 1);
}

static void what_moves_before_it_was_shown_is_shown_once(void **state)
{
	expect_each_once(*state, move_all_at_the_first);
	expect_each_once(*state, only_see);
}

static void what_moves_after_it_was_shown_is_shown_once(void **state)
{
	expect_each_once(*state, move_each);
	expect_each_once(*state, only_see);
}

static void what_has_both_names_is_shown_once(void **state)
{
	expect_each_once(*state, stop_between);
	expect_each_once(*state, only_see);
}

/* At S4 it did not pass, as nothing of its way was known there. */
static void what_has_both_names_is_judged_by_both(void **state)
{
	const struct listing_filter remote = {.transport = STR("remote")};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < MESSAGES; i++)
		preprocess(fixture, fixture->numbers[i], false);
	assert_int_equal(listing_each(fixture->store, &remote, only_see, fixture), 0);
	for (size_t i = 0; i < MESSAGES; i++)
		assert_int_equal(fixture->seen[i], 1);
}

#define LISTING_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

/* What goes away when a file is closed for the next time: "" none. */
static char vanishing[QUEUE_PATH_SIZE];

void real_close(int file) __asm__("__real_os_file_close");
void wrap_close(int file) __asm__("__wrap_os_file_close");
void wrap_close(int file)
{
	real_close(file);
	if (vanishing[0] != '\0')
		assert_int_equal(unlink(vanishing), 0);
	vanishing[0] = '\0';
}

static int ignore(void *context, const struct listing_count *count)
{
	(void)context;
	(void)count;
	return 0;
}

/* What was read while its file went may be another message's birth. */
static void what_goes_while_it_is_counted_is_not_the_oldest(void **state)
{
	struct fixture *fixture = *state;
	char path[QUEUE_PATH_SIZE];
	int64_t oldest_us = -1;

	assert_int_equal(listing_count(fixture->store, ignore, NULL, &oldest_us), 0);
	assert_int_equal(oldest_us, SECOND_US);
	for (size_t i = 0; i < MESSAGES; i++) {
		queue_store_path(fixture->store, QUEUE_TODO, "arrive", fixture->numbers[i], path);
		snprintf(vanishing, sizeof vanishing, "%.90s/%.90s", queue_scene_path("queue"),
			 path);
		if (i + 1 < MESSAGES)
			assert_int_equal(unlink(vanishing), 0);
	}
	assert_int_equal(listing_count(fixture->store, ignore, NULL, &oldest_us), 0);
	assert_int_equal(vanishing[0], 0);
	assert_int_equal(oldest_us, 0);
}

static int note_format_1(void *context, const struct listing_count *count)
{
	struct listing_count *noted = context;

	if (strcmp(count->name, "of format 1") == 0)
		*noted = *count;
	return 0;
}

/* Until none is left, an operator sees that an earlier version has queued some. */
static void what_an_earlier_version_has_queued_is_counted(void **state)
{
	struct fixture *fixture = *state;
	struct listing_count noted = {.messages = 0};
	char path[QUEUE_PATH_SIZE];
	struct os_file_info info;
	char text[4096];
	int64_t oldest_us;
	char *begin;
	ssize_t length;
	int file;

	assert_int_equal(listing_count(fixture->store, note_format_1, &noted, &oldest_us), 0);
	assert_int_equal(noted.messages, 0);
	queue_store_path(fixture->store, QUEUE_TODO, "arrive", fixture->numbers[1], path);
	file = os_file_open(queue_store_directory(fixture->store), path,
			    OS_FILE_READ | OS_FILE_WRITE);
	assert_true(file >= 0);
	length = os_file_read(file, text, sizeof text - 1, 0);
	assert_true(length > 0);
	text[length] = '\0';
	begin = strstr(text, "stagepost 2\n");
	assert_non_null(begin);
	assert_int_equal(os_file_write(file, "stagepost 1", 11, (uint64_t)(begin - text)), 0);
	assert_int_equal(os_file_info(file, &info), 0);
	os_file_close(file);
	assert_int_equal(listing_count(fixture->store, note_format_1, &noted, &oldest_us), 0);
	assert_int_equal(noted.messages, 1);
	assert_int_equal(noted.bytes, info.size);
}

/* Of the next time that a message's file is opened. */
static int opening_error;

int real_open(int directory, const char *path, unsigned flags) __asm__("__real_os_file_open");
int wrap_open(int directory, const char *path, unsigned flags) __asm__("__wrap_os_file_open");
int wrap_open(int directory, const char *path, unsigned flags)
{
	int error = strncmp(path, "todo/", 5) == 0 ? opening_error : 0;

	if (error == 0)
		return real_open(directory, path, flags);
	opening_error = 0;
	return error;
}

/* Who chooses messages would not hear of those that are left out. */
static void what_cannot_be_read_is_not_left_out(void **state)
{
	static const int errors[] = {-EIO, -EMFILE, -ENFILE, -ENOMEM};
	static const struct listing_filter all = {.domain = STR("example.net")};
	struct fixture *fixture = *state;
	struct listing_entry entry;
	char number[32];
	int directory = queue_store_directory(fixture->store);

	for (size_t i = 0; i < COUNT_OF(errors); i++) {
		opening_error = errors[i];
		assert_int_equal(listing_each(fixture->store, &all, only_see, fixture), errors[i]);
		assert_int_equal(opening_error, 0);
	}
	assert_int_equal(os_file_rename(directory, "trigger", "trigger.away"), 0);
	assert_int_equal(os_file_link(directory, "format", "trigger"), 0);
	assert_int_equal(listing_each(fixture->store, &all, only_see, fixture), -ENOTDIR);
	snprintf(number, sizeof number, "%llu", (unsigned long long)fixture->numbers[0]);
	assert_int_equal(listing_find(fixture->store, str_from(number), &entry), -ENOTDIR);
	assert_int_equal(os_file_unlink(directory, "trigger"), 0);
	assert_int_equal(os_file_rename(directory, "trigger.away", "trigger"), 0);
	memset(fixture->seen, 0, sizeof fixture->seen);
	assert_int_equal(listing_each(fixture->store, &all, only_see, fixture), 0);
	for (size_t i = 0; i < MESSAGES; i++)
		assert_int_equal(fixture->seen[i], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LISTING_TEST(what_moves_before_it_was_shown_is_shown_once),
		LISTING_TEST(what_moves_after_it_was_shown_is_shown_once),
		LISTING_TEST(what_has_both_names_is_shown_once),
		LISTING_TEST(what_has_both_names_is_judged_by_both),
		LISTING_TEST(what_is_held_is_found),
		LISTING_TEST(a_user_has_what_he_queued),
		LISTING_TEST(what_came_since_is_left_out_and_not_what_seems_to_come),
		LISTING_TEST(origins_select),
		LISTING_TEST(what_cannot_be_read_is_not_left_out),
		LISTING_TEST(what_an_earlier_version_has_queued_is_counted),
		cmocka_unit_test_setup_teardown(what_goes_while_it_is_counted_is_not_the_oldest,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
