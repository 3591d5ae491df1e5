// SPDX-License-Identifier: ISC
/* Which files of the process "queue" are used again, and who sees what was in them. */
#include "os/file.h"
#include "queue/protocol.h"
#include "queue_server_scene.h"
#include "test.h"
#include <string.h>
#include <unistd.h>

/* A message comes and goes by value; by the next one's commit its file is a spare. */
static uint64_t make_spare(struct queue_peer *manager, struct queue_peer *client)
{
	uint64_t number = scene_queue_one(client, 1);

	scene_remove_message(manager, number);
	scene_remove_message(manager, scene_queue_one(client, 1));
	return number;
}

static void what_came_by_value_is_used_again(void **state)
{
	uint64_t number;

	(void)state;
	scene_begin();
	number = make_spare(&scene.manager, &scene.client);
	assert_int_equal(scene_open_one(&scene.client), number);
	/* no client ever saw the file */
	queue_peer_close(&scene.client);
	scene.client = scene_connect();
	assert_int_equal(scene_open_one(&scene.client), number);
	scene_end();
}

static void old_bytes_do_not_leave(void **state)
{
	struct os_file_info info;
	uint64_t number;

	(void)state;
	scene_begin();
	number = make_spare(&scene.manager, &scene.client);
	assert_int_equal(scene_open_one(&scene.client), number);
	scene_share(&scene.client, number);
	assert_int_equal(os_file_info(scene.client.files[0], &info), 0);
	assert_int_equal(info.inode, number);
	assert_int_equal(info.size, 0);
	scene_end();
}

static void expect_not_used_again(struct queue_peer *client, uint64_t number)
{
	for (unsigned i = 0; i < 8; i++)
		assert_int_not_equal(scene_open_one(client), number);
}

/* Whoever has the descriptor may stand still until all of this is over. */
static void a_shared_file_is_not_used_again(void **state)
{
	struct buffer text = {0};
	uint64_t number;
	char data[8] = "";
	int file;

	(void)state;
	scene_begin();
	number = make_spare(&scene.manager, &scene.client);
	assert_int_equal(scene_open_one(&scene.client), number);
	scene_share(&scene.client, number);
	file = dup(scene.client.files[0]);
	assert_int_equal(os_file_write(file, "data\r\n", 6, 0), 0);
	scene_append_envelope(&text, number, 1);
	scene_say_commit(&scene.client, number, buffer_view(&text), STR(""));
	assert_int_equal(scene_hear_result(&scene.client, number), 0);
	scene_expect_queued_with(&scene.manager, number, true, STR(""));
	scene_say_remove(&scene.manager, QUEUE_REMOVE_QUEUED, MAIL_STAGE_ARRIVE, number);
	scene_expect_removed(&scene.manager, number);
	for (unsigned i = 0; i < 4; i++)
		assert_int_not_equal(scene_queue_one(&scene.client, 1), number);
	expect_not_used_again(&scene.client, number);
	assert_int_equal(os_file_read(file, data, sizeof data, 0) >= 6, 1);
	assert_memory_equal(data, "data\r\n", 6);
	os_file_close(file);
	buffer_clear(&text);
	scene_end();
}

static void a_shared_file_that_is_given_back_is_not_used_again(void **state)
{
	struct queue_peer client;
	uint64_t number;
	int file;

	(void)state;
	scene_start(0);
	client = scene_connect();
	number = scene_open_one(&client);
	scene_share(&client, number);
	file = dup(client.files[0]);
	scene_say_number(&client, QUEUE_PROTOCOL_ABANDON, number);
	expect_not_used_again(&client, number);
	os_file_close(file);
	queue_peer_close(&client);
	scene_stop();
}

/* S5: its name in mess/ is made, as "send" does. */
static void what_waited_is_used_again_only_when_it_came_by_value(void **state)
{
	uint64_t number;
	char from[QUEUE_PATH_SIZE];
	char to[QUEUE_PATH_SIZE];

	(void)state;
	scene_begin();
	number = scene_queue_one(&scene.client, 1);
	scene_expect_queued(&scene.manager, number, true);
	queue_store_path(scene.store, QUEUE_TODO, "arrive", number, from);
	queue_store_path(scene.store, QUEUE_MESS, NULL, number, to);
	assert_int_equal(os_file_link(queue_store_directory(scene.store), from, to), 0);
	scene_say_remove(&scene.manager, QUEUE_REMOVE_TODO, MAIL_STAGE_ARRIVE, number);
	scene_expect_removed(&scene.manager, number);
	scene_say_remove(&scene.manager, QUEUE_REMOVE_DATA, MAIL_STAGE_ARRIVE, number);
	scene_expect_removed(&scene.manager, number);
	(void)scene_queue_one(&scene.client, 1);
	assert_int_equal(scene_open_one(&scene.client), number);
	scene_end();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, queue_peer_set_up, queue_peer_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_came_by_value_is_used_again),
		TEST(old_bytes_do_not_leave),
		TEST(a_shared_file_is_not_used_again),
		TEST(a_shared_file_that_is_given_back_is_not_used_again),
		TEST(what_waited_is_used_again_only_when_it_came_by_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
