// SPDX-License-Identifier: ISC
/* The names in peers/: which nodes may have mail of this one, and how often it has begun. */
#include "os/file/file.h"
#include "queue/handed.h"
#include "queue/peers.h"
#include "queue_scene.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct queue_store *store;

static int set_up(void **state)
{
	int error = queue_scene_set_up(state);

	store = queue_scene_open("queue", QUEUE_SYNC_FILES);
	return error;
}

static int tear_down(void **state)
{
	queue_store_close(store);
	return queue_scene_tear_down(state);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(a, b);
}

struct names {
	char text[10][100];
	size_t count;
	int result; /* of each call */
};

static int on_node(void *context, struct str node)
{
	struct names *names = context;

	assert_true(names->count < COUNT_OF(names->text));
	snprintf(names->text[names->count++], sizeof names->text[0], STR_FORMAT,
		 STR_ARGUMENTS(node));
	return names->result;
}

static int on_name(void *context, const char *name)
{
	return on_node(context, str_from(name));
}

static const char *sorted(struct names *names)
{
	static char text[1100];

	qsort(names->text, names->count, sizeof names->text[0], compare_names);
	*text = '\0';
	for (size_t i = 0; i < names->count; i++) {
		strcat(text, names->text[i]);
		strcat(text, " ");
	}
	return text;
}

/* The nodes, sorted, each with a space after it. */
static const char *nodes(void)
{
	struct names names = {0};

	assert_int_equal(queue_peers_each(store, on_node, &names), 0);
	return sorted(&names);
}

/* All names, also those that are no nodes'. */
static const char *files(void)
{
	struct names names = {0};

	assert_int_equal(
		os_file_list(queue_store_directory(store), QUEUE_PEERS_FOLDER, on_name, &names), 0);
	return sorted(&names);
}

static void nodes_come_and_go(void **state)
{
	(void)state;
	assert_string_equal(nodes(), "");
	assert_int_equal(queue_peers_add(store, STR("b2")), 0);
	assert_int_equal(queue_peers_add(store, STR("b1.example")), 0);
	assert_int_equal(queue_peers_add(store, STR("b2")), 0);
	assert_string_equal(nodes(), "b1.example b2 ");
	assert_int_equal(queue_peers_remove(store, STR("b2")), 0);
	assert_int_equal(queue_peers_remove(store, STR("b2")), 0);
	assert_string_equal(nodes(), "b1.example ");
}

/* Nothing is made or removed outside of the folder. */
static void what_is_no_name_of_a_node_is_refused(void **state)
{
	static const char *const wrong[] = {"", ".", "..", "../pid", "a/b", ":run.9", "B2", "a b"};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		assert_int_equal(queue_peers_add(store, str_from(wrong[i])), -EINVAL);
		assert_int_equal(queue_peers_remove(store, str_from(wrong[i])), -EINVAL);
	}
	assert_string_equal(files(), "");
}

static void each_run_is_above_those_before(void **state)
{
	uint64_t run = 0;

	(void)state;
	assert_int_equal(queue_peers_add(store, STR("b2")), 0);
	for (uint64_t i = 1; i < 12; i++) {
		assert_int_equal(queue_peers_begin_run(store, &run), 0);
		assert_int_equal(run, i);
	}
	assert_string_equal(files(), ":run.11 b2 ");
	assert_string_equal(nodes(), "b2 ");
}

static void make_file(const char *path)
{
	int file = os_file_open(queue_store_directory(store), path, OS_FILE_WRITE | OS_FILE_CREATE);

	assert_true(file >= 0);
	os_file_close(file);
}

/* Killed between the name of the next run and the removal of that before, or with litter. */
static void the_highest_run_counts(void **state)
{
	uint64_t run = 0;

	(void)state;
	make_file("peers/:run.9");
	make_file("peers/:run.10");
	make_file("peers/:run.x");
	make_file("peers/Litter");
	assert_int_equal(queue_peers_begin_run(store, &run), 0);
	assert_int_equal(run, 11);
	assert_string_equal(files(), ":run.11 :run.9 :run.x Litter ");
	assert_string_equal(nodes(), "");
}

static void the_first_result_ends_the_walk(void **state)
{
	struct names names = {.result = 5};

	(void)state;
	assert_int_equal(queue_peers_add(store, STR("b1")), 0);
	assert_int_equal(queue_peers_add(store, STR("b2")), 0);
	assert_int_equal(queue_peers_each(store, on_node, &names), 5);
	assert_int_equal(names.count, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nodes_come_and_go, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_no_name_of_a_node_is_refused, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(each_run_is_above_those_before, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_highest_run_counts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_first_result_ends_the_walk, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
