// SPDX-License-Identifier: ISC
/* The directory's client beside servers. */
#include "client_scene.h"
#include <stdio.h>
#include <string.h>

static void count(void *context)
{
	unsigned *times = context;

	(*times)++;
}

static void answers_are_kept_until_something_changes(void **state)
{
	struct client_scene scene;
	struct host *host = &scene.hosts[0];
	unsigned greeted = 0;

	(void)state;
	scene_open(&scene, "r");
	directory_client_when_greeted(scene.client, count, &greeted);
	assert_false(directory_client_is_up(scene.client));
	assert_string_equal(scene_ask(&scene, "route", "ann@example.org"),
			    "val|local box ann@example.org");
	assert_true(directory_client_is_up(scene.client));
	assert_int_equal(greeted, 1);
	assert_string_equal(scene.states, "+");
	assert_true(scene_keeps(&scene, "route", "ann@example.org"));
	assert_string_equal(scene_ask(&scene, "address", "bob@example.org"), "none");
	assert_true(scene_keeps(&scene, "address", "bob@example.org"));
	assert_false(scene_keeps(&scene, "address", "ann@example.org"));
	memory_store_put(host->store, "address bob@example.org|kind mailbox");
	scene_turn(&scene, SECOND_US / 20);
	assert_false(scene_keeps(&scene, "address", "bob@example.org"));
	assert_true(scene_keeps(&scene, "route", "ann@example.org"));
	assert_int_equal(directory_client_version(scene.client), 2);
	assert_string_equal(scene_ask(&scene, "address", "bob@example.org"), "val|kind mailbox");
	memory_store_replace(host->store, "other");
	scene_turn(&scene, SECOND_US / 20);
	assert_false(scene_keeps(&scene, "route", "ann@example.org"));
	assert_string_equal(scene_ask(&scene, "route", "ann@example.org"),
			    "val|refuse 5.1.1 ann@example.org No such user here");
	scene_close(&scene);
}

static void changes_and_lists_are_not_kept(void **state)
{
	static struct asked asked;
	struct client_scene scene;

	(void)state;
	scene_open(&scene, "r");
	assert_string_equal(scene_put(&scene, "address", "c@example.org", "kind mailbox"), "val");
	assert_string_equal(scene_put(&scene, "address", "c@example.org", "kind nothing"), "bad");
	assert_string_equal(scene_ask(&scene, "address", "c@example.org"), "val|kind mailbox");
	scene_prepare(&scene, &asked);
	directory_client_list(scene.client, "address", STR(""), STR(""), 10, &asked.question);
	assert_string_equal(asked_answer(&asked),
			    "val|= ann@example.org|kind mailbox|= c@example.org|kind mailbox");
	scene_prepare(&scene, &asked);
	directory_client_remove(scene.client, "address", STR("c@example.org"), &asked.question);
	assert_string_equal(asked_answer(&asked), "val");
	assert_string_equal(scene_ask(&scene, "address", "c@example.org"), "none");
	scene_prepare(&scene, &asked);
	directory_client_remove(scene.client, "address", STR("c@example.org"), &asked.question);
	assert_string_equal(asked_answer(&asked), "none");
	scene_prepare(&scene, &asked);
	directory_client_stats(scene.client, &asked.question);
	assert_true(str_starts_with(str_from(asked_answer(&asked)), STR("val|state up|identity ")));
	scene_close(&scene);
}

static void what_changed_while_away_is_not_kept(void **state)
{
	struct client_scene scene;
	struct host *host = &scene.hosts[0];

	(void)state;
	scene_open(&scene, "r");
	assert_string_equal(scene_ask(&scene, "address", "ann@example.org"), "val|kind mailbox");
	assert_string_equal(scene_ask(&scene, "address", "bob@example.org"), "none");
	host_stop(host);
	scene_turn(&scene, SECOND_US / 10);
	assert_string_equal(scene.states, "+-");
	/* what exists lives to its TTL; what did not may exist by now */
	assert_true(scene_keeps(&scene, "address", "ann@example.org"));
	assert_string_equal(scene_ask(&scene, "address", "ann@example.org"), "val|kind mailbox");
	assert_string_equal(scene_ask(&scene, "address", "bob@example.org"), "later");
	assert_string_equal(scene_ask(&scene, "address", "other@example.org"), "later");
	memory_store_put(host->store, "address bob@example.org|kind mailbox");
	host_return(host);
	scene_turn(&scene, SECOND_US);
	assert_string_equal(scene.states, "+-+");
	assert_false(scene_keeps(&scene, "address", "bob@example.org"));
	assert_true(scene_keeps(&scene, "address", "ann@example.org"));
	scene_close(&scene);
}

/* While the server, or its data, cannot be reached, nothing is refused for good. */
static void refusals_end_with_the_link(void **state)
{
	struct client_scene scene;
	struct host *host = &scene.hosts[0];

	(void)state;
	scene_open(&scene, "r");
	for (int way = 0; way < 2; way++) {
		assert_string_equal(scene_ask(&scene, "route", "ann@example.org"),
				    "val|local box ann@example.org");
		assert_string_equal(scene_ask(&scene, "route", "nobody@example.org"),
				    "val|refuse 5.1.1 nobody@example.org No such user here");
		if (way == 0)
			memory_store_set_up(host->store, false);
		else
			host_stop(host);
		scene_turn(&scene, SECOND_US / 10);
		assert_string_equal(scene_ask(&scene, "route", "ann@example.org"),
				    "val|local box ann@example.org");
		assert_string_equal(scene_ask(&scene, "route", "nobody@example.org"), "later");
		if (way == 0) {
			memory_store_set_up(host->store, true);
			scene_turn(&scene, SECOND_US / 10);
		}
	}
	scene_close(&scene);
}

static void the_next_server_takes_over(void **state)
{
	static struct asked asked;
	struct client_scene scene;
	struct host *first = &scene.hosts[0];
	struct host *second = &scene.hosts[1];

	(void)state;
	scene_open(&scene, "rr");
	assert_string_equal(scene_ask(&scene, "address", "ann@example.org"), "val|kind mailbox");
	assert_int_equal(second->connections, 0);
	scene_turn(&scene, SECOND_US + SECOND_US / 10); /* it is a healthy one by now */
	first->store->is_late = true;
	scene_get(&scene, "address", "b@example.org", 8 * SECOND_US, &asked);
	host_stop(first);
	assert_string_equal(asked_answer(&asked), "none");
	assert_int_equal(second->connections, 1);
	assert_string_equal(scene.states, "+");
	first->store->is_late = false;
	memory_store_answer_all(first->store);
	scene_close(&scene);
}

static void a_server_that_cannot_read_is_left_for_another(void **state)
{
	struct client_scene scene;
	struct host *first = &scene.hosts[0];
	struct host *second = &scene.hosts[1];

	(void)state;
	scene_open(&scene, "rr");
	memory_store_set_up(first->store, false); /* before it is asked for the first time */
	assert_string_equal(scene_ask(&scene, "address", "ann@example.org"), "val|kind mailbox");
	assert_int_equal(second->connections, 1);
	memory_store_set_up(first->store, true);
	memory_store_set_up(second->store, false);
	scene_turn(&scene, SECOND_US / 5);
	assert_string_equal(scene_ask(&scene, "address", "bob@example.org"), "none");
	assert_int_equal(first->connections, 2);
	scene_close(&scene);
}

static void a_single_server_tells_whether_it_can_read(void **state)
{
	struct client_scene scene;
	struct host *host = &scene.hosts[0];

	(void)state;
	scene_open(&scene, "r");
	assert_string_equal(scene_ask(&scene, "address", "ann@example.org"), "val|kind mailbox");
	memory_store_set_up(host->store, false);
	scene_turn(&scene, SECOND_US / 20);
	assert_string_equal(scene.states, "+-");
	assert_string_equal(scene_ask(&scene, "address", "x@example.org"), "later");
	memory_store_set_up(host->store, true);
	scene_turn(&scene, SECOND_US / 20);
	assert_string_equal(scene.states, "+-+");
	assert_string_equal(scene_ask(&scene, "address", "x@example.org"), "none");
	assert_int_equal(host->connections, 1);
	scene_close(&scene);
}

struct watched {
	char text[1024];
};

static void on_watched(void *context, uint64_t version, struct str table, struct str key)
{
	struct watched *watched = context;
	size_t length = strlen(watched->text);

	snprintf(watched->text + length, sizeof watched->text - length,
		 "%u " STR_FORMAT " " STR_FORMAT "\n", (unsigned)version, STR_ARGUMENTS(table),
		 STR_ARGUMENTS(key));
}

static void who_watches_hears_of_all(void **state)
{
	struct watched watched = {""};
	struct client_scene scene;
	struct host *host = &scene.hosts[0];

	(void)state;
	scene_open(&scene, "r");
	directory_client_watch(scene.client, on_watched, &watched);
	scene_turn(&scene, SECOND_US / 10);
	memory_store_put(host->store, "address b@example.org|kind mailbox");
	scene_turn(&scene, SECOND_US / 10);
	assert_string_equal(watched.text, "2 address b@example.org\n");
	host_stop(host);
	memory_store_put(host->store, "address c@example.org|kind mailbox");
	host_return(host);
	scene_turn(&scene, SECOND_US);
	memory_store_put(host->store, "address d@example.org|kind mailbox");
	scene_turn(&scene, SECOND_US / 10);
	assert_string_equal(watched.text, "2 address b@example.org\n3 address c@example.org\n"
					  "4 address d@example.org\n");
	memory_store_replace(host->store, "other");
	scene_turn(&scene, SECOND_US / 10);
	assert_non_null(strstr(watched.text, "4 address d@example.org\n0  \n"));
	scene_close(&scene);
}

static void a_cancelled_question_is_not_answered(void **state)
{
	static struct asked asked;
	struct client_scene scene;

	(void)state;
	scene_open(&scene, "r");
	scene_get(&scene, "route", "a@b", SECOND_US, &asked);
	directory_question_cancel(scene.client, &asked.question);
	directory_question_cancel(scene.client, &asked.question);
	scene_turn(&scene, SECOND_US / 10);
	assert_false(asked.is_answered);
	scene_get(&scene, "route", "a@b", SECOND_US, &asked);
	scene_close(&scene); /* with a question that waits */
	assert_false(asked.is_answered);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_are_kept_until_something_changes),
		cmocka_unit_test(changes_and_lists_are_not_kept),
		cmocka_unit_test(what_changed_while_away_is_not_kept),
		cmocka_unit_test(refusals_end_with_the_link),
		cmocka_unit_test(the_next_server_takes_over),
		cmocka_unit_test(a_server_that_cannot_read_is_left_for_another),
		cmocka_unit_test(a_single_server_tells_whether_it_can_read),
		cmocka_unit_test(who_watches_hears_of_all),
		cmocka_unit_test(a_cancelled_question_is_not_answered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
