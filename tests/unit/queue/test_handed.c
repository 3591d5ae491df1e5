// SPDX-License-Identifier: ISC
/* The names in handed/: which there are in each state of a package, and what the next process makes
 * of them. */
#include "handed_scene.h"
#include "os/file/file.h"
#include "queue/update.h"
#include "test.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char map[] = "map: 1 remote 3 <x@example.org>\n"
			  "map: 1 remote 4 <y@example.org>\n"
			  "map: 1 local mailbox 9 <z@example.org>\n"
			  "mapped: directory=42 count=3\n";

static int set_up(void **state)
{
	return queue_scene_set_up(state);
}

static int tear_down(void **state)
{
	return queue_scene_tear_down(state);
}

static void settle(const char *name)
{
	assert_int_equal(queue_handed_settle(handed.intake, STR("a1"), str_from(name)), 0);
}

static void link_in_queue(const char *from, const char *to)
{
	assert_int_equal(os_file_link(queue_store_directory(handed.store), from, to), 0);
}

static void make_file(const char *path, const char *data)
{
	int file = os_file_open(queue_store_directory(handed.store), path,
				OS_FILE_WRITE | OS_FILE_CREATE);

	assert_true(file >= 0);
	assert_int_equal(os_file_write(file, data, strlen(data), 0), 0);
	os_file_close(file);
}

static const enum queue_sync modes[] = {QUEUE_SYNC_FILES, QUEUE_SYNC_FILESYSTEM,
					QUEUE_SYNC_ORDERED};

/* Taken, ended, settled: then its file is another message's. */
static void a_package_that_ends_first(enum queue_sync sync)
{
	uint64_t number;
	uint64_t other;

	handed_scene_open(sync);
	assert_int_equal(handed_scene_take("1-1", "data", NULL, &number), -ESTALE);
	assert_int_equal(handed_scene_greet(7), 0);
	assert_string_equal(handed_scene_names(), "run.1.7 ");
	assert_int_equal(handed_scene_take("1-1", "data", NULL, &number), 0);
	assert_true(handed_scene_is_queued(number));
	assert_string_equal(handed_scene_names(), "1-1 run.1.7 ");
	assert_int_equal(handed_scene_take("1-1", "data", NULL, &other), -EEXIST);
	assert_int_equal(handed_scene_end(number), 0);
	assert_false(handed_scene_is_queued(number));
	assert_string_equal(handed_scene_names(), "1-1.done run.1.7 ");
	assert_int_equal(handed_scene_take("1-1", "data", NULL, &other), -EEXIST);
	assert_int_equal(handed_scene_end(number), 0); /* it is asked again */
	assert_int_equal(queue_intake_held(handed.intake), 0);
	/* a file of its own for the next one */
	assert_int_equal(handed_scene_take("2-1", "other", NULL, &other), 0);
	assert_int_not_equal(other, number);
	settle("1-1");
	assert_string_equal(handed_scene_names(), "2-1 run.1.7 ");
	assert_int_equal(queue_intake_held(handed.intake), 1);
	queue_message_commit_group(handed.intake, NULL, 0, NULL);
	assert_int_equal(queue_intake_held(handed.intake), 0);
	assert_int_equal(handed_scene_take("1-1", "anew", NULL, &other), 0);
	assert_int_equal(other, number);
	handed_scene_close();
}

static void each_state_has_its_names(void **state)
{
	for (size_t i = 0; i < COUNT_OF(modes); i++) {
		a_package_that_ends_first(modes[i]);
		tear_down(state);
		set_up(state);
	}
}

static void one_that_is_settled_first_becomes_like_any_other(void **state)
{
	uint64_t number;

	(void)state;
	handed_scene_open(QUEUE_SYNC_FILES);
	assert_int_equal(handed_scene_greet(7), 0);
	assert_int_equal(handed_scene_take("1-1", "data", NULL, &number), 0);
	settle("1-1");
	settle("1-1");
	assert_int_equal(queue_handed_settle(handed.intake, STR("a2"), STR("1-1")), 0);
	assert_string_equal(handed_scene_names(), "run.1.7 ");
	assert_true(handed_scene_is_queued(number));
	assert_int_equal(handed_scene_end(number), 0);
	assert_string_equal(handed_scene_names(), "run.1.7 ");
	assert_int_equal(queue_intake_held(handed.intake), 1);
	/* while NAME.done waits for the disk */
	assert_int_equal(handed_scene_take("2-1", "data", NULL, &number), 0);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(
			queue_message_remove_queued(handed.intake, MAIL_STAGE_ARRIVE, number), 1);
	assert_string_equal(handed_scene_names(), "2-1 2-1.done run.1.7 ");
	assert_true(handed_scene_is_queued(number));
	settle("2-1");
	assert_string_equal(handed_scene_names(), "run.1.7 ");
	assert_true(handed_scene_is_queued(number));
	assert_int_equal(handed_scene_end(number), 0);
	assert_false(handed_scene_is_queued(number));
	handed_scene_close();
}

static void the_next_process_finds_what_is_not_settled(void **state)
{
	uint64_t taken;
	uint64_t ended;
	uint64_t part;

	(void)state;
	handed_scene_open(QUEUE_SYNC_FILES);
	assert_int_equal(handed_scene_greet(7), 0);
	assert_int_equal(handed_scene_take("1-1", "data", NULL, &taken), 0);
	assert_int_equal(handed_scene_take("2-1.3", "part", map, &part), 0);
	assert_int_equal(handed_scene_take("3-1", "end", NULL, &ended), 0);
	assert_int_equal(handed_scene_end(ended), 0);
	assert_int_equal(handed_scene_restart(), 0);
	assert_string_equal(handed_scene_names(), "1-1 2-1.3 3-1.done run.1.7 ");
	assert_int_equal(handed_scene_greet(8), 0);
	assert_string_equal(handed_scene_kept(), "1-1 ;2-1.3 3-4,9;3-1 ;");
	assert_string_equal(handed_scene_names(), "1-1 2-1.3 3-1.done run.1.8 ");
	assert_int_equal(handed_scene_end(part), 0);
	settle("3-1");
	settle("2-1.3");
	assert_string_equal(handed_scene_names(), "1-1 run.1.8 ");
	assert_int_equal(queue_intake_held(handed.intake), 2);
	handed_scene_close();
}

/* Of a commit that did not succeed, of one that was undone, and of a rename. */
static void the_next_process_removes_litter(void **state)
{
	uint64_t number;
	char path[QUEUE_PATH_SIZE];

	(void)state;
	handed_scene_open(QUEUE_SYNC_FILES);
	assert_int_equal(handed_scene_greet(7), 0);
	assert_int_equal(handed_scene_take("1-1", "data", NULL, &number), 0);
	queue_store_path(handed.store, QUEUE_TODO, "arrive", number, path);
	link_in_queue(path, "handed/a1/1-1.done");
	make_file("handed/a1/2-1", "alone");
	make_file("pid/n1-1", "unfinished");
	link_in_queue("pid/n1-1", "handed/a1/3-1");
	make_file("pid/n1-2", "");
	link_in_queue("pid/n1-2", "handed/a1/4-1");
	make_file("handed/a1/run.1.6", "");
	make_file("handed/a1/run.1.07", "not ours");
	make_file("handed/a1/01-1", "not ours");
	make_file("handed/a1/5-1.done", "ended");
	make_file("handed/stray", "not ours");
	assert_int_equal(handed_scene_restart(), 0);
	/* it has ended: the manager must not find it */
	assert_false(handed_scene_is_queued(number));
	assert_string_equal(handed_scene_names(), "01-1 1-1.done 5-1.done run.1.07 run.1.7 ");
	assert_int_equal(handed_scene_greet(9), 0);
	assert_string_equal(handed_scene_kept(), "1-1 ;5-1 ;");
	handed_scene_close();
}

static void an_empty_file_is_no_message(void **state)
{
	char path[QUEUE_PATH_SIZE];
	uint64_t number;
	int file;

	(void)state;
	handed_scene_open(QUEUE_SYNC_FILES);
	assert_int_equal(handed_scene_greet(7), 0);
	assert_int_equal(handed_scene_take("1-1", "data", NULL, &number), 0);
	queue_store_path(handed.store, QUEUE_TODO, "arrive", number, path);
	file = os_file_open(queue_store_directory(handed.store), path, OS_FILE_WRITE);
	assert_int_equal(os_file_truncate(file, 0), 0);
	os_file_close(file);
	assert_int_equal(handed_scene_restart(), 0);
	assert_string_equal(handed_scene_names(), "run.1.7 ");
	handed_scene_close();
}

/* Its control file says where the deliveries go from then on; at the end mess/ goes last. */
static void at_s5_it_stays_until_mess_goes(void **state)
{
	uint64_t number;

	(void)state;
	handed_scene_open(QUEUE_SYNC_FILES);
	assert_int_equal(handed_scene_greet(7), 0);
	assert_int_equal(handed_scene_take("1-1", "data", NULL, &number), 0);
	queue_scene_preprocess(handed.store, handed.intake, number,
			       "map: 1 remote <b@example.net>\nmapped: directory=1 count=1\n", "");
	assert_int_equal(handed_scene_restart(), 0);
	assert_string_equal(handed_scene_names(), "1-1 run.1.7 ");
	assert_int_equal(queue_message_remove_data(handed.intake, number), 1);
	queue_message_commit_group(handed.intake, NULL, 0, NULL);
	assert_int_equal(queue_message_remove_data(handed.intake, number), 0);
	assert_string_equal(handed_scene_names(), "1-1.done run.1.7 ");
	assert_int_equal(queue_scene_names_in(handed.store, "pid"), 0);
	settle("1-1");
	assert_int_equal(queue_scene_names_in(handed.store, "pid"), 1);
	handed_scene_close();
}

/* The last name of one that has ended is in mess/, and goes after that in handed/. */
static void a_file_with_another_name_is_no_spare(void **state)
{
	uint64_t number;

	(void)state;
	handed_scene_open(QUEUE_SYNC_FILES);
	assert_int_equal(handed_scene_greet(7), 0);
	assert_int_equal(handed_scene_take("1-1", "data", NULL, &number), 0);
	queue_scene_preprocess(handed.store, handed.intake, number,
			       "map: 1 remote <b@example.net>\nmapped: directory=1 count=1\n", "");
	assert_int_equal(os_file_rename(queue_store_directory(handed.store), "handed/a1/1-1",
					"handed/a1/1-1.done"),
			 0);
	assert_int_equal(handed_scene_restart(), 0);
	settle("1-1");
	assert_int_equal(queue_intake_held(handed.intake), 0);
	assert_int_equal(queue_message_remove_data(handed.intake, number), 0);
	assert_int_equal(queue_intake_held(handed.intake), 1);
	handed_scene_close();
}

static void who_was_not_reported_is_dropped(void **state)
{
	uint64_t unknown;
	uint64_t known;

	(void)state;
	handed_scene_open(QUEUE_SYNC_ORDERED);
	assert_int_equal(handed_scene_greet(7), 0);
	assert_int_equal(handed_scene_take("1-1", "data", NULL, &unknown), 0);
	assert_int_equal(handed_scene_take("2-1", "data", NULL, &known), 0);
	queue_handed_report(handed.intake, known);
	assert_int_equal(queue_handed_drop(handed.intake, STR("a1"), STR("1-1")), 0);
	assert_int_equal(queue_handed_drop(handed.intake, STR("a1"), STR("2-1")), 0);
	assert_int_equal(queue_handed_drop(handed.intake, STR("a1"), STR("3-1")), 0);
	assert_string_equal(handed_scene_names(), "run.1.7 ");
	assert_false(handed_scene_is_queued(unknown));
	assert_true(handed_scene_is_queued(known));
	handed_scene_close();
}

/* Nothing is known of it, so nothing is said of it. */
static void a_name_that_somebody_made_is_an_error(void **state)
{
	uint64_t number;

	(void)state;
	handed_scene_open(QUEUE_SYNC_FILES);
	assert_int_equal(handed_scene_greet(7), 0);
	make_file("handed/a1/1-1", "what");
	assert_int_equal(handed_scene_take("1-1", "data", NULL, &number), -EUCLEAN);
	assert_false(handed_scene_is_queued(number));
	assert_int_equal(handed_scene_take("1-1", "data", NULL, &number), -EBUSY);
	handed_scene_close();
}

static void a_queue_of_an_earlier_version_gets_its_folders(void **state)
{
	struct os_file_info info;
	int directory;

	(void)state;
	handed_scene_open(QUEUE_SYNC_FILES);
	directory = queue_store_directory(handed.store);
	assert_int_equal(unlinkat(directory, "handed", AT_REMOVEDIR), 0);
	assert_int_equal(unlinkat(directory, "peers", AT_REMOVEDIR), 0);
	assert_int_equal(handed_scene_restart(), 0);
	assert_int_equal(os_file_info_at(directory, "handed", &info), 0);
	assert_int_equal(os_file_info_at(directory, "peers", &info), 0);
	assert_int_equal(handed_scene_greet(7), 0);
	assert_string_equal(handed_scene_names(), "run.1.7 ");
	handed_scene_close();
}

static void there_are_not_too_many_nodes(void **state)
{
	uint64_t durable;
	char name[16];
	unsigned i;

	(void)state;
	handed_scene_open(QUEUE_SYNC_ORDERED);
	for (i = 0; i < QUEUE_HANDED_NODES_MAX; i++) {
		snprintf(name, sizeof name, "n%u", i);
		assert_int_equal(queue_handed_greet(handed.intake, str_from(name), 1, 1, &durable),
				 1);
	}
	assert_int_equal(queue_handed_greet(handed.intake, STR("a1"), 1, 1, &durable), -EMFILE);
	queue_message_commit_group(handed.intake, NULL, 0, NULL);
	assert_int_equal(queue_handed_greet(handed.intake, STR("n1"), 1, 1, &durable), 0);
	handed_scene_close();
}

#define ON_DISK(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_DISK(each_state_has_its_names),
		ON_DISK(one_that_is_settled_first_becomes_like_any_other),
		ON_DISK(the_next_process_finds_what_is_not_settled),
		ON_DISK(the_next_process_removes_litter),
		ON_DISK(an_empty_file_is_no_message),
		ON_DISK(at_s5_it_stays_until_mess_goes),
		ON_DISK(a_file_with_another_name_is_no_spare),
		ON_DISK(who_was_not_reported_is_dropped),
		ON_DISK(a_name_that_somebody_made_is_an_error),
		ON_DISK(a_queue_of_an_earlier_version_gets_its_folders),
		ON_DISK(there_are_not_too_many_nodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
