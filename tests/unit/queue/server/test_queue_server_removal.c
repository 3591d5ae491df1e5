// SPDX-License-Identifier: ISC
/* What the manager has the server remove and look at: each call that it makes. */
#include "played_server.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>

static int set_up(void **state)
{
	(void)state;
	played_begin();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	played_end();
	return 0;
}

/* --- what the manager has removed --- */

static bool say_remove(struct server_client *client, uint32_t kind, uint32_t stage, uint64_t number)
{
	struct buffer body CLEANUP(buffer_clear) = {0};
	struct unpack unpack;

	pack_u32(&body, kind);
	pack_u32(&body, stage);
	pack_u64(&body, number);
	unpack = (struct unpack){buffer_view(&body), false};
	return server_remove(client, &unpack);
}

static void removals_are_told_together(void **state)
{
	struct queue_server *server = &played.server;

	(void)state;
	played_manage();
	assert_false(say_remove(&played.other, QUEUE_REMOVE_QUEUED, MAIL_STAGE_ARRIVE, 7));
	assert_false(say_remove(&played.manager, QUEUE_REMOVE_DATA + 1, 0, 7));
	assert_false(say_remove(&played.manager, QUEUE_REMOVE_DATA, MAIL_STAGE_COUNT, 7));
	played_expect("");
	assert_true(say_remove(&played.manager, QUEUE_REMOVE_QUEUED, MAIL_STAGE_ARRIVE, 7));
	played_expect("remove_queued 7 arrive\nsettle in 1000 ms\nlater: tell of removals\n");
	assert_true(say_remove(&played.manager, QUEUE_REMOVE_DATA, 0, 8));
	played_expect("remove_data 8\nlater: tell of removals\n");
	server_removed_send(server);
	played_expect("REMOVED 7 8\n");
	server_removed_send(server);
	played_expect("");
	server->is_full = true; /* its space is needed */
	assert_true(say_remove(&played.manager, QUEUE_REMOVE_DATA, 0, 9));
	played_expect("remove_data 9\nsettle in 0 ms\nlater: tell of removals\n");
	server->manager = NULL;
	server_removed_send(server);
	played_expect("");
	assert_int_equal(server->removed.length, 0);
}

static void many_removals_are_several_packets(void **state)
{
	enum { NUMBERS = IPC_BODY_MAX / 8 + 2 };
	struct queue_server *server = &played.server;
	char wanted[100];

	(void)state;
	played_manage();
	for (uint64_t i = 0; i < NUMBERS; i++)
		pack_u64(&server->removed, i);
	server_removed_send(server);
	snprintf(wanted, sizeof wanted, "REMOVED %d bytes\nREMOVED %d %d\n", IPC_BODY_MAX / 8 * 8,
		 IPC_BODY_MAX / 8, IPC_BODY_MAX / 8 + 1);
	played_expect(wanted);
}

static void an_empty_group_settles(void **state)
{
	struct queue_server *server = &played.server;

	(void)state;
	server_removed_settle(server);
	played_expect("");
	played.held = 1;
	server_removed_settle(server);
	played_expect("an empty group\n");
	played.is_busy = true;
	server_removed_settle(server);
	played_expect("");
	played.is_busy = false;
	played.held = 0;
	played.is_settled = false;
	server_removed_settle(server);
	played_expect("an empty group\n");
	server_settle_held(server);
	played_expect("");
	played.held = 1;
	server_settle_held(server);
	played_expect("settle in 1000 ms\n");
	server_settle_held(server);
	played_expect("");
}

/* A removal from todo/ is told when it is durable: those of one group together, the next later. */
static void who_has_moved_waits_until_it_has_settled(void **state)
{
	struct queue_server *server = &played.server;

	(void)state;
	played_manage();
	played.moved = 1;
	assert_true(say_remove(&played.manager, QUEUE_REMOVE_TODO, MAIL_STAGE_ARRIVE, 7));
	played_expect("remove_todo 7 arrive\nsettle in 100 ms\n");
	assert_true(say_remove(&played.manager, QUEUE_REMOVE_TODO, MAIL_STAGE_ARRIVE, 8));
	played_expect("remove_todo 8 arrive\n");
	played.moved = 2;
	assert_true(say_remove(&played.manager, QUEUE_REMOVE_TODO, MAIL_STAGE_SUBMIT, 9));
	played_expect("remove_todo 9\n");
	played.settled = 1;
	server_tell_settled(server);
	played_expect("later: tell of removals\nlater: tell of removals\nsettle in 100 ms\n");
	server_removed_send(server);
	played_expect("REMOVED 7 8\n");
	played.settled = 2;
	server_tell_settled(server);
	played_expect("later: tell of removals\n");
	server_removed_send(server);
	played_expect("REMOVED 9\n");
	/* what is settled at once waits for nothing */
	assert_true(say_remove(&played.manager, QUEUE_REMOVE_TODO, MAIL_STAGE_ARRIVE, 10));
	played_expect("remove_todo 10 arrive\nlater: tell of removals\n");
	server->is_full = true;
	played.moved = 3;
	assert_true(say_remove(&played.manager, QUEUE_REMOVE_TODO, MAIL_STAGE_ARRIVE, 11));
	played_expect("remove_todo 11 arrive\n"); /* the timer runs */
}

/* Not even the order of the filesystem is enough, as for a name in todo/. */
static void a_durable_removal_waits_for_a_sync(void **state)
{
	const uint32_t durably = QUEUE_REMOVE_DURABLY;
	struct queue_server *server = &played.server;

	(void)state;
	played_manage();
	played.settled = 7;
	assert_false(say_remove(&played.manager, durably | (QUEUE_REMOVE_DATA + 1), 0, 7));
	assert_false(say_remove(&played.manager, 2 * durably, 0, 7));
	assert_true(
		say_remove(&played.manager, durably | QUEUE_REMOVE_QUEUED, MAIL_STAGE_ARRIVE, 7));
	played_expect("remove_queued 7 arrive\nsettle in 100 ms\n");
	assert_true(say_remove(&played.manager, durably | QUEUE_REMOVE_TODO, MAIL_STAGE_ARRIVE, 8));
	played_expect("remove_todo 8 arrive\nsettle in 100 ms\n");
	assert_true(say_remove(&played.manager, durably | QUEUE_REMOVE_DATA, 0, 9));
	played_expect("remove_data 9\nsettle in 100 ms\n");
	server_removed_settle(server);
	played_expect("an empty group\n");
	played.durable = 2;
	server_tell_settled(server);
	played_expect("later: tell of removals\nlater: tell of removals\nsettle in 100 ms\n");
	server_removed_send(server);
	played_expect("REMOVED 7 8\n");
	played.durable = 3;
	server_tell_settled(server);
	server_removed_send(server);
	played_expect("later: tell of removals\nREMOVED 9\n");
	/* one that fails at first stays durable */
	played.removal = -EIO;
	assert_true(say_remove(&played.manager, durably | QUEUE_REMOVE_DATA, 0, 10));
	played_expect("remove_data 10\nagain in 1000 ms\n"
		      "queue_error number=10 operation=remove error=Input/output error\n");
	played.removal = 0;
	server_remove_again(server);
	played_expect("remove_data 10\nsettle in 100 ms\n");
}

/* Its number may be another message's when its file has left quarantine, whatever else is awaited.
 */
static void a_durable_removal_is_told_before_its_number_is_given_out(void **state)
{
	const uint32_t durably = QUEUE_REMOVE_DURABLY | QUEUE_REMOVE_DATA;
	struct queue_server *server = &played.server;

	(void)state;
	played_manage();
	played.retired = 3;
	assert_true(say_remove(&played.manager, durably, 0, 7)); /* its file is gone */
	played.has_file = true;
	assert_true(say_remove(&played.manager, durably, 0, 8));
	assert_true(say_remove(&played.manager, durably, 0, 9));
	played_expect("remove_data 7\nsettle in 100 ms\nremove_data 8\nsettle in 100 ms\n"
		      "remove_data 9\nsettle in 100 ms\n");
	played.released = 4;
	server_tell_settled(server);
	server_removed_send(server);
	played_expect("later: tell of removals\nsettle in 100 ms\nREMOVED 8\n");
	played.durable = 2;
	server_tell_settled(server);
	server_removed_send(server);
	played_expect("later: tell of removals\nsettle in 100 ms\nREMOVED 7\n");
	played.released = 5;
	server_tell_settled(server);
	server_removed_send(server);
	played_expect("later: tell of removals\nREMOVED 9\n");
}

static bool say_manage(struct server_client *client)
{
	static const struct ipc_tokens tokens = {{{"send", "send-1"}}, 1};
	struct buffer body CLEANUP(buffer_clear) = {0};
	struct unpack unpack;

	client->server->peers.tokens = &tokens;
	pack_str(&body, STR("send-1"));
	unpack = (struct unpack){buffer_view(&body), false};
	return server_manage(client, &unpack);
}

/* A package that its node may hand over again: its name in handed/ must be durable first. */
static void one_that_waits_for_its_other_name_is_removed_after_the_group(void **state)
{
	struct queue_server *server = &played.server;

	(void)state;
	played_manage();
	played.removal = 1;
	played.is_settled = true;
	assert_true(say_remove(&played.manager, QUEUE_REMOVE_QUEUED, MAIL_STAGE_ARRIVE, 7));
	played_expect("remove_queued 7 arrive\nsettle in 100 ms\n");
	server_tell_settled(server);
	played_expect("remove_queued 7 arrive\nsettle in 100 ms\n");
	/* the next manager is not answered before, and not told of it */
	assert_true(say_manage(&played.manager));
	played_expect("an empty group\n");
	server_tell_settled(server);
	played_expect("remove_queued 7 arrive\nsettle in 100 ms\nsettle in 100 ms\n");
	played.removal = 0;
	server_tell_settled(server);
	played_expect("remove_queued 7 arrive\nlater: tell of removals\nMANAGED\n");
	server_removed_send(server);
	played_expect("");
}

static void a_removal_that_fails_is_tried_again(void **state)
{
	struct queue_server *server = &played.server;

	(void)state;
	played_manage();
	played.removal = -EIO;
	assert_true(say_remove(&played.manager, QUEUE_REMOVE_QUEUED, MAIL_STAGE_ARRIVE, 7));
	played_expect("remove_queued 7 arrive\nagain in 1000 ms\n"
		      "queue_error number=7 operation=remove error=Input/output error\n");
	assert_true(say_remove(&played.manager, QUEUE_REMOVE_TODO, MAIL_STAGE_SUBMIT, 8));
	played_expect("remove_todo 8\n"
		      "queue_error number=8 operation=remove error=Input/output error\n");
	server_remove_again(server);
	played_expect("remove_queued 7 arrive\nremove_todo 8\n");
	played.removal = 0;
	server_remove_again(server);
	played_expect("remove_queued 7 arrive\nsettle in 1000 ms\nlater: tell of removals\n"
		      "remove_todo 8\nlater: tell of removals\n");
	server_remove_again(server);
	played_expect("");
	server_removed_send(server);
	played_expect("REMOVED 7 8\n");
}

/* --- what the manager has found --- */

static bool say_found(struct server_client *client, uint32_t stage, uint64_t number)
{
	struct buffer body CLEANUP(buffer_clear) = {0};
	struct unpack unpack;

	pack_u32(&body, stage);
	pack_u64(&body, number);
	unpack = (struct unpack){buffer_view(&body), false};
	return server_found(client, &unpack);
}

static void what_is_found_is_looked_at(void **state)
{
	struct server_held held = {.number = 9};

	(void)state;
	played_manage();
	assert_false(say_found(&played.other, MAIL_STAGE_ARRIVE, 7));
	assert_false(say_found(&played.manager, MAIL_STAGE_COUNT, 7));
	played_expect("");
	assert_true(say_found(&played.manager, MAIL_STAGE_ARRIVE, 7));
	played_expect("look at 7 arrive\nis 7 arrive being committed?\nSTANDS 1 7\n");
	played.is_committing = 1;
	assert_true(say_found(&played.manager, MAIL_STAGE_ARRIVE, 7));
	played_expect("look at 7 arrive\nis 7 arrive being committed?\n");
	played.is_committing = -ENOENT;
	assert_true(say_found(&played.manager, MAIL_STAGE_ARRIVE, 7));
	played_expect("look at 7 arrive\nis 7 arrive being committed?\n");
	played.is_committing = -EIO;
	assert_true(say_found(&played.manager, MAIL_STAGE_ARRIVE, 7));
	played_expect("look at 7 arrive\nis 7 arrive being committed?\nUNKNOWN\n"
		      "queue_error path=todo/arrive/1/7 error=Input/output error\n");
	played.refused = 7;
	assert_true(say_found(&played.manager, MAIL_STAGE_ARRIVE, 7));
	played_expect("");
	HASH_ADD(hh, played.server.committing, number, sizeof held.number, (&held));
	assert_true(say_found(&played.manager, MAIL_STAGE_ARRIVE, 9));
	played_expect("");
	/* it is removed when the group is done, and only if all of it was to go */
	assert_true(say_remove(&played.manager, QUEUE_REMOVE_QUEUED, MAIL_STAGE_ARRIVE, 9));
	played_expect("");
	assert_true(held.is_removed);
	assert_true(say_remove(&played.manager, QUEUE_REMOVE_DATA, 0, 9));
	played_expect("remove_data 9\nsettle in 1000 ms\nlater: tell of removals\n");
	HASH_CLEAR(hh, played.server.committing);
}

static void what_is_no_message_is_handled(void **state)
{
	(void)state;
	played_manage();
	played.look = -ENOENT;
	assert_true(say_found(&played.manager, MAIL_STAGE_ARRIVE, 7));
	played_expect("look at 7 arrive\n");
	played.look = -EIO;
	assert_true(say_found(&played.manager, MAIL_STAGE_ARRIVE, 7));
	played_expect("look at 7 arrive\nUNKNOWN\n"
		      "queue_error path=todo/arrive/1/7 error=Input/output error\n");
	played.look = -ENODATA;
	assert_true(say_found(&played.manager, MAIL_STAGE_ARRIVE, 7));
	played_expect("look at 7 arrive\nremove_void 7 arrive\n"
		      "queue_cleaned path=todo/arrive/1/7\n");
	played.removal = -EROFS;
	assert_true(say_found(&played.manager, MAIL_STAGE_ARRIVE, 7));
	played_expect("look at 7 arrive\nremove_void 7 arrive\n"
		      "queue_cleaned path=todo/arrive/1/7\n"
		      "queue_error path=todo/arrive/1/7 error=Read-only file system\n");
	played.look = -EUCLEAN;
	assert_true(say_found(&played.manager, MAIL_STAGE_ARRIVE, 7));
	assert_true(played.server.is_copied);
	played_expect(
		"look at 7 arrive\nqueue_copied path=todo/arrive/1/7 inode=5 reason=this queue "
		"was copied: new mail is refused. Stop Stagepost, run \"stagepost queue "
		"repair\", start it again\n");
}

#define PLAYED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PLAYED(removals_are_told_together),
		PLAYED(many_removals_are_several_packets),
		PLAYED(an_empty_group_settles),
		PLAYED(who_has_moved_waits_until_it_has_settled),
		PLAYED(a_durable_removal_waits_for_a_sync),
		PLAYED(a_durable_removal_is_told_before_its_number_is_given_out),
		PLAYED(one_that_waits_for_its_other_name_is_removed_after_the_group),
		PLAYED(a_removal_that_fails_is_tried_again),
		PLAYED(what_is_found_is_looked_at),
		PLAYED(what_is_no_message_is_handled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
