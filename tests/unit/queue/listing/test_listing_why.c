// SPDX-License-Identifier: ISC
/* What messages wait for: what the manager says of them, what they have in common, and how many
 * they are. */
#include "listing_scene.h"
#include "queue/listing/listing.h"
#include "queue/trigger.h"
#include "test.h"
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *answer;
static unsigned asked;

static void ask_why(void *context, struct mail_id id, struct buffer *why)
{
	size_t i = 0;

	assert_ptr_equal(context, &asked);
	while (listing_scene_numbers[i] != id.number)
		i++;
	assert_int_equal(id.born_us, listing_scene_born(i));
	asked++;
	buffer_append_string(why, answer);
}

static const char *wanted_for, *wanted_because, *wanted_pause;

static int see_why(void *context, const struct listing_entry *entry)
{
	size_t i = 0;
	bool is_asked;

	(void)context;
	while (listing_scene_numbers[i] != entry->number)
		i++;
	/* not those that wait for a time, or are decided */
	is_asked = listing_scene_messages[i].control == NULL || i == 3 || i == 9;
	assert_true(str_equal(entry->waits_for, str_from(is_asked ? wanted_for : "")));
	assert_true(str_equal(entry->waits_because, str_from(is_asked ? wanted_because : "")));
	assert_true(str_equal(entry->pause, str_from(is_asked ? wanted_pause : "")));
	return 0;
}

static void the_manager_says_why(void **state)
{
	static const struct {
		const char *answer, *wait, *because, *pause;
	} cases[] = {{"", "", "", ""},
		     {"the.moon", "the.moon", "it is full", ""},
		     {"no.file", "no.file", "", ""},
		     {"hold.1-1", "", "", ""},
		     {"(a.test: full)", "", "", "a.test: full"},
		     {"()", "()", "", ""},
		     {"(x)", "", "", "x"}};

	(void)state;
	assert_int_equal(
		queue_trigger_set(listing_scene_store, STR("the.moon"), 1, STR("it is full")), 0);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const struct listing_filter filter = {.ask_why = ask_why, .why_context = &asked};

		answer = cases[i].answer;
		wanted_for = cases[i].wait;
		wanted_because = cases[i].because;
		wanted_pause = cases[i].pause;
		asked = 0;
		assert_int_equal(listing_each(listing_scene_store, &filter, see_why, NULL), 0);
		assert_int_equal(asked, 6);
	}
	assert_int_equal(queue_trigger_release(listing_scene_store, STR("the.moon")), 0);
}

/* --- groups --- */

static struct buffer told;

static void tell_group(void *context, const struct listing_group *group)
{
	(void)context;
	assert_false(group->is_rest);
	buffer_append_format(&told, STR_FORMAT ": %d in %d, %d\n", STR_ARGUMENTS(group->name),
			     (int)group->deliveries, (int)group->messages,
			     (int)(group->oldest_us / SECOND_US - 1000));
}

static void groups_are_by_what_they_wait_for(void **state)
{
	(void)state;
	assert_int_equal(
		listing_groups(listing_scene_store, LISTING_BY_DESTINATION, tell_group, NULL), 0);
	buffer_append_byte(&told, '\0');
	assert_string_equal(
		buffer_data(&told),
		"a.test: 5 in 5, 0\nb.test: 1 in 1, 1\nc.test: 1 in 1, 2\n"
		"d.test: 1 in 1, 3\nlocal box: 1 in 1, 4\nlocal box srv.test:24: 1 in 1, 7\n"
		"f.test: 1 in 1, 7\n");
	buffer_reset(&told);
	assert_int_equal(listing_groups(listing_scene_store, LISTING_BY_REASON, tell_group, NULL),
			 0);
	buffer_append_byte(&told, '\0');
	assert_string_equal(buffer_data(&told),
			    "not tried: 7 in 6, 0\n4.4.1 Not Reached: 1 in 1, 4\n"
			    "4.7.1 greylisted: 1 in 1, 5\n4.4.1 a b: 1 in 1, 7\n"
			    "4.4.1 port # id 10.9.8.7 1:2345: 1 in 1, 7\n");
	buffer_clear(&told);
}

static void as_many_are_counted(void **state)
{
	uint64_t count;

	(void)state;
	assert_int_equal(listing_count_messages(listing_scene_store, &count), 0);
	assert_int_equal(count, LISTING_SCENE_MESSAGES);
}

static void make_names(const char *const *names, size_t count)
{
	int directory = queue_store_directory(listing_scene_store);

	for (size_t i = 0; i < count; i++) {
		size_t length = strlen(names[i]);
		int file = 0;

		if (names[i][length - 1] == '/')
			assert_int_equal(mkdirat(directory, names[i], 0755), 0);
		else
			file = openat(directory, names[i], O_CREAT | O_WRONLY, 0644);
		assert_true(file >= 0);
		if (file > 0)
			close(file);
	}
}

/* Other nodes' packages, ended or not, and nodes that may have some of ours; neither runs nor what is
 * no node's name. */
static void what_other_nodes_may_come_back_to_is_counted(void **state)
{
	static const char *const folders[] = {"handed/", "peers/"};
	static const char *const names[] = {
		"handed/a1/",           "handed/a1/12-3f", "handed/a1/13-3f.3.done",
		"handed/a1/run.1.7",    "handed/b2/",      "handed/b2/run.1.7",
		"handed/b2/12-3f",      "handed/none",     "handed/.x",
		"peers/a1",             "peers/:run.9",    "peers/b2",
	};
	struct listing_left left;

	(void)state;
	assert_int_equal(listing_count_left(listing_scene_store, &left), 0);
	assert_int_equal(left.messages, LISTING_SCENE_MESSAGES);
	assert_true(left.packages == 0 && left.peers == 0);
	for (size_t i = 0; i < COUNT_OF(folders); i++)
		if (faccessat(queue_store_directory(listing_scene_store), folders[i], F_OK, 0) < 0)
			make_names(&folders[i], 1);
	make_names(names, COUNT_OF(names));
	assert_int_equal(listing_count_left(listing_scene_store, &left), 0);
	assert_int_equal(left.messages, LISTING_SCENE_MESSAGES);
	assert_int_equal(left.packages, 3);
	assert_int_equal(left.peers, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_manager_says_why),
		cmocka_unit_test(groups_are_by_what_they_wait_for),
		cmocka_unit_test(as_many_are_counted),
		cmocka_unit_test(what_other_nodes_may_come_back_to_is_counted),
	};

	return cmocka_run_group_tests(tests, listing_scene_open, listing_scene_close);
}
