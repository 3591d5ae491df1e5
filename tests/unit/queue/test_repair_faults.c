// SPDX-License-Identifier: ISC
/* A repair, of whose calls each fails once: the next one ends it, and no message has lost anything.
 */
#include "failing_calls.h"
#include "os/file/file.h"
#include "queue/repair.h"
#include "queue/trigger.h"
#include "queue_portrait.h"
#include "queue_scene.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGES = 3 };

#define GONE 1000003
#define MAP_BOTH                                                                  \
	"map: 1 remote <b@example.net>\nmap: 1 local mailbox 2 <c@example.net>\n" \
	"mapped: directory=1 count=2\n" WAITS
#define MAP   "map: 1 remote <b@example.net>\nmapped: directory=1 count=1\n"
#define WAITS "wait: 1 2026-11-20T08:33:14Z until=2026-11-20T08:40:01Z 4.4.1 no\n"

#define REPAIRED                                                                                  \
	"bounce/0\nbounce/2\ndamaged/info_?\ndamaged/local_?\ndamaged/mess_?\ndamaged/remote_?\n" \
	"info/1\ninfo/2\nlocal/mailbox/2\nmess/1\nmess/2\nremote/1\nremote/2\ntodo/arrive/0\n"    \
	"trigger/hold.0\ntrigger/hold.1\ntrigger/hold.2\n"

static struct queue_store *store;
static struct queue_intake *intake;
static uint64_t last_kept[MESSAGES]; /* of each data's message: its number now */
static unsigned set_aside;

/* The name of NUMBER in PLACE leads to another file with the same content. */
static void copy_file(enum queue_folder place, const char *name, uint64_t number)
{
	int directory = queue_store_directory(store);
	char path[QUEUE_PATH_SIZE];
	char text[8192];
	ssize_t length;
	int file;

	queue_store_path(store, place, name, number, path);
	file = os_file_open(directory, path, OS_FILE_READ);
	assert_true(file >= 0);
	length = os_file_read(file, text, sizeof text, 0);
	os_file_close(file);
	file = os_file_open(directory, "copy", OS_FILE_WRITE | OS_FILE_CREATE);
	assert_true(file >= 0 && length > 0);
	assert_int_equal(os_file_write(file, text, (size_t)length, 0), 0);
	os_file_close(file);
	assert_int_equal(os_file_rename(directory, "copy", path), 0);
}

static void hold_message(uint64_t number, unsigned which)
{
	char name[MAIL_ID_SIZE + 8] = "hold.";

	mail_id_format((struct mail_id){number, SECOND_US + which}, name + 5);
	assert_int_equal(queue_trigger_set(store, str_from(name), 0, STR("held")), 0);
}

static void add_name(enum queue_folder folder, const char *service, uint64_t number)
{
	char path[QUEUE_PATH_SIZE];

	queue_store_path(store, folder, service, number, path);
	assert_int_equal(os_file_link(queue_store_directory(store), "format", path), 0);
}

/* What an interrupted step to S5, and messages that have ended, left; and what is no message. */
static void leave_names(const uint64_t numbers[MESSAGES])
{
	char path[QUEUE_PATH_SIZE];

	add_name(QUEUE_INTD, NULL, numbers[0]);
	add_name(QUEUE_BOUNCE, NULL, numbers[0]);
	add_name(QUEUE_INTD, NULL, numbers[1]);
	add_name(QUEUE_LOCAL, "mailbox", numbers[2]);
	add_name(QUEUE_REMOTE, NULL, GONE);
	add_name(QUEUE_LOCAL, "mailbox", GONE);
	add_name(QUEUE_INFO, NULL, GONE);
	queue_store_path(store, QUEUE_MESS, NULL, 1, path);
	strcpy(strrchr(path, '/') + 1, "stray");
	assert_int_equal(os_file_link(queue_store_directory(store), "format", path), 0);
}

/* One at S4, one that waits, one that waits and has failures to report; all of them copied. */
static void make_queue(void)
{
	uint64_t numbers[MESSAGES];
	struct mail_envelope *envelope;
	char data[16];

	store = queue_scene_open("queue", QUEUE_SYNC_FILES);
	intake = queue_scene_intake(store);
	assert_int_equal(queue_store_add_service(store, "mailbox"), 0);
	for (unsigned i = 0; i < MESSAGES; i++) {
		snprintf(data, sizeof data, "data%u\r\n", i);
		envelope = queue_scene_envelope_to_one();
		envelope->id.born_us += i; /* a hold has both in its name: numbers are used again */
		numbers[i] = queue_scene_enqueue(intake, envelope, data);
		if (i > 0)
			queue_scene_preprocess(store, intake, numbers[i],
					       i == 1 ? MAP WAITS : MAP_BOTH,
					       i == 2 ? "a failure\n" : "");
		hold_message(numbers[i], i);
	}
	leave_names(numbers);
	copy_file(QUEUE_TODO, "arrive", numbers[0]);
	copy_file(QUEUE_MESS, NULL, numbers[1]);
	copy_file(QUEUE_MESS, NULL, numbers[2]);
	copy_file(QUEUE_BOUNCE, NULL, numbers[2]);
	set_aside = 0;
}

static void on_renumbered(void *context, uint64_t old, uint64_t number)
{
	(void)context;
	assert_true(old != number);
}

static void on_set_aside(void *context, const char *path, const char *why)
{
	(void)context;
	(void)path;
	(void)why;
	set_aside++;
}

static void on_progress(void *context, uint64_t count)
{
	(void)context;
	(void)count;
}

static int repair_queue(void)
{
	static const struct queue_repair options = {
		.renumbered = on_renumbered, .set_aside = on_set_aside, .progress = on_progress};

	return queue_repair(store, &options);
}

/* --- what must be there --- */

static unsigned seen;

/* NUMBER is at S4 or S5, and is the message with the data of its place in the order. */
static void check_message(const enum mail_stage *stage, uint64_t number)
{
	struct queue_control *control;
	struct os_file_info info;
	char data[8];
	int file = queue_update_open_data(store, stage, number);
	unsigned which;

	assert_true(file >= 0);
	assert_int_equal(os_file_info(file, &info), 0);
	assert_int_equal(info.inode, number);
	assert_int_equal(os_file_read(file, data, 7, 0), 7);
	os_file_close(file);
	assert_memory_equal(data, "data", 4);
	which = (unsigned)(data[4] - '0');
	assert_true(which < MESSAGES && (seen & 1U << which) == 0);
	assert_int_equal(stage != NULL, which == 0);
	seen |= 1U << which;
	last_kept[which] = number;
	assert_int_equal(queue_update_load(store, stage, number, &control, NULL), 0);
	assert_int_equal(control->envelope->id.number, number);
	assert_int_equal(control->envelope->id.born_us, SECOND_US + which);
	assert_int_equal(control->envelope->recipient_count, 1);
	assert_int_equal(control->is_mapped, which > 0);
	assert_int_equal(control->damaged, 0);
	if (which > 0)
		assert_int_equal(control->deliveries[0].outcome, QUEUE_WAIT);
	queue_control_free(control);
}

static int check_queued(void *context, uint64_t number)
{
	const enum mail_stage stage = MAIL_STAGE_ARRIVE;

	(void)context;
	check_message(&stage, number);
	return 0;
}

static int check_waiting(void *context, uint64_t number)
{
	(void)context;
	check_message(NULL, number);
	return 0;
}

static int check_remote(void *context, uint64_t number)
{
	(void)context;
	assert_true(number == last_kept[1] || number == last_kept[2]);
	seen += 8;
	return 0;
}

static int check_bounce(void *context, uint64_t number)
{
	char path[QUEUE_PATH_SIZE];
	char text[16];
	int file;

	(void)context;
	if (number != last_kept[2])
		return 0;
	queue_store_path(store, QUEUE_BOUNCE, NULL, number, path);
	file = os_file_open(queue_store_directory(store), path, OS_FILE_READ);
	assert_true(file >= 0);
	assert_int_equal(os_file_read(file, text, sizeof text, 0), 10);
	assert_memory_equal(text, "a failure\n", 10);
	os_file_close(file);
	seen += 64;
	return 0;
}

static void check_portrait(const char *wanted)
{
	struct buffer names CLEANUP(buffer_clear) = {0};

	queue_portrait(store, &names);
	if (!str_equal(buffer_view(&names), str_from(wanted)))
		fail_msg("\n--- wanted\n%s--- there\n" STR_FORMAT, wanted,
			 STR_ARGUMENTS(buffer_view(&names)));
}

/* All three, each once, with its other names; and nothing is left in repair/. */
static void check_queue(void)
{
	seen = 0;
	assert_int_equal(queue_store_each(store, QUEUE_TODO, "arrive", check_queued, NULL, NULL),
			 0);
	assert_int_equal(queue_store_each(store, QUEUE_INFO, NULL, check_waiting, NULL, NULL), 0);
	assert_int_equal(queue_store_each(store, QUEUE_REMOTE, NULL, check_remote, NULL, NULL), 0);
	assert_int_equal(queue_store_each(store, QUEUE_BOUNCE, NULL, check_bounce, NULL, NULL), 0);
	assert_int_equal(seen, 7 + 2 * 8 + 64);
	assert_int_equal(queue_repair_is_pending(store), 0);
	check_portrait(REPAIRED);
}

static void begin(void)
{
	void *state = NULL;

	assert_int_equal(queue_scene_set_up(&state), 0);
	make_queue();
}

static void end(void)
{
	void *state = NULL;

	queue_intake_close(intake);
	queue_store_close(store);
	assert_int_equal(queue_scene_tear_down(&state), 0);
}

static void whatever_fails_the_next_repair_ends_it(void **state)
{
	unsigned call = 0;
	unsigned failed = 0;
	bool is_over = false;

	(void)state;
	begin();
	assert_int_equal(repair_queue(), 0);
	check_queue();
	end();
	while (!is_over) {
		int result;

		begin();
		call++;
		failing_calls_begin();
		result = repair_queue();
		is_over = !failing_calls_end();
		assert_true(result == 0 || result == -EIO);
		failed += result < 0;
		if (result == 0)
			check_queue();
		assert_int_equal(repair_queue(), 0);
		check_queue();
		end();
	}
	assert_true(call > 50 && failed > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whatever_fails_the_next_repair_ends_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
