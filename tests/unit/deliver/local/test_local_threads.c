// SPDX-License-Identifier: ISC
/* The threads that deliver: as many as there may be, and whose mail would block one more. Threads
 * and disks are played here. */
#include "deliver/local/threads.h"
#include "heard.h"
#include "test.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { USERS = 100, DEVICE_BLOCKS = 4, UNKNOWN_BLOCKS = 16 };

static struct local_disk disks[USERS]; /* of each user */
static unsigned workers;
static int error;

int local_worker_new(struct os_wakeup *wakeup, struct local_worker **hand_out)
{
	static char some[LOCAL_THREADS_MAX + 1];

	assert_null(wakeup);
	if (error < 0)
		return error;
	assert_true(workers < sizeof some);
	*hand_out = (struct local_worker *)(void *)&some[workers++];
	return 0;
}

struct local_disk local_devices_find(const struct local_devices *devices, uid_t uid,
				     struct str path)
{
	assert_null(devices);
	assert_true(str_equal(path, STR("/path")));
	return disks[uid];
}

bool local_disk_is_same(const struct local_disk *a, const struct local_disk *b)
{
	return a->device == b->device && a->mount == b->mount;
}

/* Each busy one has a thread of its own; one that has come back is had again before a new one. */
static void there_are_as_many_threads_as_may_be(void **state)
{
	struct local_threads *threads = calloc(1, sizeof *threads);

	(void)state;
	workers = 0;
	error = 0;
	for (size_t i = 0; i < LOCAL_THREADS_MAX; i++) {
		struct local_thread *thread = local_threads_idle(threads, NULL);

		assert_ptr_equal(thread, &threads->all[i]);
		assert_int_equal(threads->count, i + 1);
		assert_int_equal(workers, i + 1);
		assert_ptr_equal(local_threads_idle(threads, NULL), thread);
		thread->is_busy = true;
	}
	assert_null(local_threads_idle(threads, NULL));
	for (size_t i = 0; i < LOCAL_THREADS_MAX; i++) {
		threads->all[i].is_busy = false;
		assert_ptr_equal(local_threads_idle(threads, NULL), &threads->all[i]);
		threads->all[i].is_busy = true;
	}
	assert_int_equal(workers, LOCAL_THREADS_MAX);
	free(threads);
}

static void without_one_more_thread_the_others_go_on(void **state)
{
	struct local_threads *threads = calloc(1, sizeof *threads);

	(void)state;
	workers = 0;
	error = 0;
	local_threads_idle(threads, NULL)->is_busy = true;
	error = -EAGAIN;
	assert_null(local_threads_idle(threads, NULL));
	assert_int_equal(threads->count, 1);
	error = 0;
	assert_ptr_equal(local_threads_idle(threads, NULL), &threads->all[1]);
	free(threads);
}

/* Bits of STATES, two for each of three: busy, stuck. */
static void who_is_busy_and_not_stuck_works(void **state)
{
	struct local_threads *threads = calloc(1, sizeof *threads);

	(void)state;
	for (size_t count = 0; count <= 3; count++)
		for (unsigned states = 0; states < 64; states++) {
			bool is_working = false;

			threads->count = count;
			for (size_t i = 0; i < 3; i++) {
				threads->all[i].is_busy = (states >> 2 * i & 1) != 0;
				threads->all[i].is_stuck = (states >> 2 * i & 3) == 3;
				is_working |= i < count && (states >> 2 * i & 3) == 1;
			}
			assert_int_equal(local_threads_is_working(threads), is_working);
		}
	free(threads);
}

/* COUNT threads at users from 1 on, at the second of two deliveries; who is not on DISK is on
 * another. */
static void set_stuck_places(struct local_threads *threads, struct os_process_user (*owners)[2],
			     size_t count, struct local_disk disk)
{
	threads->count = count;
	for (size_t i = 0; i < count; i++) {
		owners[i][0] = (struct os_process_user){.change = true, .uid = 99};
		owners[i][1] = (struct os_process_user){.change = true, .uid = (uid_t)i + 1};
		threads->all[i] = (struct local_thread){
			.batch = {.group = {.owners = owners[i], .count = 2}},
			.first = 1,
			.disk = disk,
			.is_busy = true,
			.is_stuck = true,
		};
	}
}

static bool would_block(const struct local_threads *threads, uid_t uid)
{
	return local_threads_blocks(threads, NULL, uid, STR("/path"));
}

/* Mail for a user on DISK waits once BOUND others do. */
static void check_disk(struct local_threads *threads, struct local_disk disk, size_t bound)
{
	static struct os_process_user owners[LOCAL_THREADS_MAX][2];
	struct local_disk other = {.device = disk.device > 0 ? disk.device + 1 : 0,
				   .mount = disk.device > 0 ? 0 : disk.mount + 1};

	disks[98] = other;
	disks[99] = disk;
	for (size_t count = 0; count <= bound + 1; count++) {
		set_stuck_places(threads, owners, count, disk);
		assert_int_equal(local_threads_stuck_on(threads, &disk), count);
		assert_int_equal(local_threads_stuck_on(threads, &other), 0);
		assert_int_equal(would_block(threads, 99), count >= bound);
		assert_false(would_block(threads, 98));
		for (uid_t uid = 1; uid <= count; uid++)
			assert_true(would_block(threads, uid));
		if (count < bound)
			continue;
		for (size_t i = 0; i < count; i++) { /* some have come back */
			threads->all[i].is_stuck = false;
			assert_int_equal(local_threads_stuck_on(threads, &disk), count - i - 1);
			assert_int_equal(would_block(threads, 99), count - i - 1 >= bound);
			disks[i + 1] = other;
			assert_false(would_block(threads, (uid_t)i + 1));
		}
	}
}

static void a_disk_blocks_mail_after_a_few_owners(void **state)
{
	struct local_threads *threads = calloc(1, sizeof *threads);

	(void)state;
	check_disk(threads, (struct local_disk){.device = 7}, DEVICE_BLOCKS);
	check_disk(threads, (struct local_disk){.mount = 7}, UNKNOWN_BLOCKS);
	check_disk(threads, (struct local_disk){0}, UNKNOWN_BLOCKS);
	free(threads);
}

/* Of each delivery that is done, and of no other: what was cut off, and what is no mailbox. */
static void what_deliveries_found_is_logged(void **state)
{
	struct maildir_delivery deliveries[] = {
		{.path = STR("/a"), .recipient = STR("a@t"), .flaw = "no mbox"},
		{.path = STR("/b"), .recipient = STR("b@t"), .removed = 7},
		{.path = STR("/c"), .recipient = STR("c@t")},
		{.path = STR("/d"), .recipient = STR("d@t"), .flaw = "a link", .removed = 9}};
	static const char *const lines[] = {"mailbox_refused path=/a to=a@t reason=no mbox\n",
					    "mailbox_recovered path=/b bytes=7\n", "",
					    ("mailbox_refused path=/d to=d@t reason=a "
					     "link\nmailbox_recovered path=/d bytes=9\n")};
	struct os_process_user owners[] = {{.uid = 5}, {.uid = 6}, {.uid = 7}, {.uid = 8}};
	struct local_thread thread = {
		.batch = {.group = {.deliveries = deliveries, .owners = owners, .count = 4}},
		.first = 2};

	(void)state;
	for (size_t first = 0; first <= 4; first++)
		for (size_t end = first; end <= 4; end++) {
			char wanted[400] = "";

			for (size_t i = first; i < end; i++)
				strcat(wanted, lines[i]);
			local_thread_log_found(&thread, first, end);
			assert_string_equal(heard_take(), wanted);
		}
	local_thread_log(&thread, EVENT_MAILBOX_STUCK);
	local_thread_log(&thread, EVENT_MAILBOX_BACK);
	assert_string_equal(heard_take(), "mailbox_stuck path=/c to=c@t uid=7\n"
					  "mailbox_back path=/c to=c@t uid=7\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(there_are_as_many_threads_as_may_be),
		cmocka_unit_test(without_one_more_thread_the_others_go_on),
		cmocka_unit_test(who_is_busy_and_not_stuck_works),
		cmocka_unit_test(a_disk_blocks_mail_after_a_few_owners),
		cmocka_unit_test(what_deliveries_found_is_logged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
