// SPDX-License-Identifier: ISC
/* What a server can do to its clients: each error once. */
#include "record_scene.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* Who has lost the connection has lost the turn, and notices before he appends. */
static void who_loses_the_connection_loses_the_turn(void **state)
{
	struct record_filing filing = record_scene_opened("<1@example.com>");
	struct lock_name one = record_scene_name("<1@example.com>");
	struct record_filing look;

	(void)state;
	assert_fine(world.a, record_begin(world.a));
	assert_fine(world.a, record_lock(world.a, &one));
	assert_fine(world.a, record_filed(world.a, filing.number, &world.token_a, STR("x"), 1));
	backend->server->lose_connections();
	assert_int_equal(record_check(world.a), -ENOTCONN);
	assert_int_not_equal(strlen(record_error(world.a)), 0);
	assert_int_equal(record_look(world.a, filing.number, &world.token_a, &look), -ENOTCONN);
	assert_int_equal(record_commit(world.a), -ENOTCONN);
	record_rollback(world.a);
	assert_fine(world.b, record_begin(world.b));
	assert_fine(world.b, record_lock(world.b, &one));
	assert_fine(world.b, record_look(world.b, filing.number, &world.token_b, &look));
	assert_int_equal(look.state, RECORD_FILING);
	assert_fine(world.b, record_commit(world.b));
	assert_fine(world.a, record_begin(world.a));
	assert_fine(world.a, record_lock(world.a, &one));
	record_rollback(world.a);
}

static void a_connection_that_was_lost_meanwhile_is_made_again(void **state)
{
	struct record_filing filing = record_scene_opened("<1@example.com>");
	struct record_filing look;

	(void)state;
	backend->server->lose_connections();
	assert_fine(world.a, record_begin(world.a));
	assert_fine(world.a, record_look(world.a, filing.number, &world.token_a, &look));
	record_rollback(world.a);
}

static void a_commit_without_connection_fails(void **state)
{
	struct record_filing filing = record_scene_opened("<1@example.com>");
	struct record_filing look;

	(void)state;
	assert_fine(world.a, record_begin(world.a));
	assert_fine(world.a, record_filed(world.a, filing.number, &world.token_a, STR("x"), 1));
	backend->server->lose_connections();
	assert_int_equal(record_commit(world.a), -ENOTCONN);
	record_rollback(world.a);
	assert_fine(world.a, record_begin(world.a));
	assert_fine(world.a, record_look(world.a, filing.number, &world.token_a, &look));
	assert_int_equal(look.state, RECORD_FILING);
	assert_true(look.is_ours);
	record_rollback(world.a);
}

/* ---- errors of databases, each once ---- */

static void run_number(const char *format, int64_t number)
{
	char text[200];

	snprintf(text, sizeof text, format, (long long)number);
	backend->run(text);
}

/* As a message can be filed that another one had failed with ERROR. */
static void assert_usable(const struct record_filing *filing)
{
	record_rollback(world.a);
	assert_fine(world.a, record_begin(world.a));
	assert_fine(world.a, record_filed(world.a, filing->number, &world.token_a, STR("x"), 1));
	assert_fine(world.a, record_commit(world.a));
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void of_two_that_wait_for_each_other_one_gives_up(void **state)
{
	struct record_filing one = record_scene_opened("<1@example.com>");
	struct record_filing two = record_scene_opened("<2@example.com>");
	char text[100];

	(void)state;
	assert_fine(world.a, record_begin(world.a));
	assert_fine(world.a, record_filed(world.a, one.number, &world.token_a, STR("x"), 1));
	backend->run("BEGIN");
	backend->run("UPDATE message SET size = size + 1");
	backend->run("UPDATE participant SET name = 'x'");
	run_number("UPDATE filing SET opened_us = 5 WHERE number = %lld", two.number);
	snprintf(text, sizeof text, "UPDATE filing SET opened_us = 5 WHERE number = %lld",
		 (long long)one.number);
	backend->server->send(text);
	assert_int_equal(record_filed(world.a, two.number, &world.token_a, STR("x"), 1), -EDEADLK);
	assert_int_equal(record_commit(world.a), -EDEADLK);
	record_rollback(world.a);
	backend->server->receive();
	backend->run("ROLLBACK");
	assert_usable(&one);
}

static void a_serialization_failure_is_to_be_tried_again(void **state)
{
	struct record_filing filing = record_scene_opened("<1@example.com>");

	(void)state;
	backend->server->set_unserializable(true);
	assert_fine(world.a, record_begin(world.a));
	assert_int_equal(record_end(world.a, filing.number, &world.token_a), -EDEADLK);
	record_rollback(world.a);
	backend->server->set_unserializable(false);
	assert_usable(&filing);
}

static void nobody_waits_for_longer_than_his_time(void **state)
{
	struct record_filing filing = record_scene_opened("<1@example.com>");
	int64_t since_ms;

	(void)state;
	backend->run("BEGIN");
	run_number("UPDATE filing SET opened_us = 5 WHERE number = %lld", filing.number);
	assert_fine(world.a, record_begin(world.a));
	since_ms = now_ms();
	assert_int_equal(record_filed(world.a, filing.number, &world.token_a, STR("x"), 1),
			 -ETIMEDOUT);
	assert_true(now_ms() - since_ms < 2 * RECORD_CONTRACT_TIMEOUT_MS);
	backend->run("ROLLBACK");
	assert_usable(&filing);
}

static void a_server_that_hangs_is_left(void **state)
{
	struct record_filing filing = record_scene_opened("<1@example.com>");
	int64_t since_ms;
	int error;

	(void)state;
	assert_fine(world.a, record_begin(world.a));
	assert_fine(world.a, record_check(world.a));
	backend->server->freeze(true);
	since_ms = now_ms();
	error = record_check(world.a);
	backend->server->freeze(false);
	assert_true(error == -ETIMEDOUT || error == -ENOTCONN);
	assert_true(now_ms() - since_ms < 2 * RECORD_CONTRACT_TIMEOUT_MS);
	assert_usable(&filing);
}

/* Whether a commit came about that was not answered is not known. */
static void a_commit_without_answer_is_unknown(void **state)
{
	struct record_filing filing = record_scene_opened("<1@example.com>");

	(void)state;
	assert_fine(world.a, record_begin(world.a));
	assert_fine(world.a, record_filed(world.a, filing.number, &world.token_a, STR("x"), 1));
	backend->server->freeze(true);
	assert_int_equal(record_commit(world.a), -ENOTCONN);
	backend->server->freeze(false);
	assert_usable(&filing);
}

static void a_database_may_be_read_only(void **state)
{
	struct record_filing filing = record_scene_opened("<1@example.com>");

	(void)state;
	backend->server->set_read_only(true);
	backend->server->lose_connections();
	assert_int_equal(record_begin(world.a), -EROFS);
	assert_int_equal(record_check(world.a), -EROFS);
	backend->server->set_read_only(false);
	assert_usable(&filing);
}

static void a_server_may_have_too_many_connections(void **state)
{
	struct record_filing filing = record_scene_opened("<1@example.com>");
	struct record *other = backend->connect();

	(void)state;
	backend->server->set_full(true);
	assert_int_equal(record_begin(other), -EUSERS);
	record_rollback(other);
	backend->server->set_full(false);
	assert_fine(other, record_begin(other));
	assert_usable(&filing);
	record_free(other);
}

static int fill(const char *path)
{
	static char block[1 << 16];
	int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	for (size_t size = sizeof block; size > 0; size = size > 1 ? size / 2 : 0)
		while (write(file, block, size) > 0)
			;
	(void)fsync(file);
	return file;
}

static void a_disk_may_be_full(void **state)
{
	struct record_filing filing = record_scene_opened("<1@example.com>");
	char path[200];
	int error = 0;
	int file;

	(void)state;
	snprintf(path, sizeof path, "%s/filler", backend->disk);
	file = fill(path);
	for (int i = 0; i < 100000 && error == 0; i++) {
		char id[40];
		struct record_message message;
		int64_t number;
		bool is_new;
		unsigned different;

		snprintf(id, sizeof id, "<full-%d@example.com>", i);
		message = record_scene_message(id, 1);
		error = record_begin(world.a);
		if (error == 0)
			error = record_put(world.a, &message, &number, &is_new, &different);
		if (error == 0)
			error = record_commit(world.a);
	}
	close(file);
	(void)unlink(path);
	if (error != -ENOSPC)
		fail_msg("%s: %s", strerror(-error), record_error(world.a));
	assert_usable(&filing);
}

int record_contract_server(void)
{
	const struct CMUnitTest tests[] = {
		CASE(who_loses_the_connection_loses_the_turn),
		CASE(a_connection_that_was_lost_meanwhile_is_made_again),
		CASE(a_commit_without_connection_fails),
		CASE(of_two_that_wait_for_each_other_one_gives_up),
		CASE(nobody_waits_for_longer_than_his_time),
		CASE(a_server_that_hangs_is_left),
		CASE(a_commit_without_answer_is_unknown),
		CASE(a_database_may_be_read_only),
		CASE(a_server_may_have_too_many_connections),
		CASE(a_disk_may_be_full),
	};
	const struct CMUnitTest serializable[] = {
		CASE(a_serialization_failure_is_to_be_tried_again),
	};
	int failed = cmocka_run_group_tests_name("record_contract_server", tests, NULL, NULL);

	if (backend->server->set_unserializable != NULL)
		failed += cmocka_run_group_tests_name("serializable", serializable, NULL, NULL);
	return failed;
}
