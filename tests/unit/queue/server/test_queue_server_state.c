// SPDX-License-Identifier: ISC
/* When the server accepts nothing new, and what it says of that: each call that it makes. */
#include "played_server.h"
#include "test.h"
#include <errno.h>

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

/* --- when nothing new is accepted --- */

static void a_disk_is_full_and_has_room_again(void **state)
{
	struct queue_server *server = &played.server;

	(void)state;
	assert_int_equal(server_check_room(server), 0);
	played_expect("room for 700 beside 5000?\nremove what is stuck\n");
	played.room = -ENOSPC; /* spares make room */
	assert_int_equal(server_check_room(server), 0);
	played_expect("room for 700 beside 5000?\nremove what is stuck\ndrop spares\n"
		      "room for 700 beside 5000?\n");
	played.room_without = -ENOSPC;
	assert_int_equal(server_check_room(server), -ENOSPC);
	played_expect("room for 700 beside 5000?\nremove what is stuck\ndrop spares\n"
		      "room for 700 beside 5000?\n"
		      "queue_full reserve=5000 error=No space left on device\n");
	assert_int_equal(server_check_room(server), -ENOSPC); /* said once */
	played_expect("room for 700 beside 5000?\nremove what is stuck\ndrop spares\n"
		      "room for 700 beside 5000?\n");
	played.room_without = 0;
	assert_int_equal(server_check_room(server), 0);
	played_expect("room for 700 beside 5000?\nremove what is stuck\nqueue_room\n");
	played.room = 0;
	assert_int_equal(server_check_room(server), 0);
	played_expect("room for 700 beside 5000?\nremove what is stuck\n");
}

static void another_error_drops_no_spares(void **state)
{
	struct queue_server *server = &played.server;

	(void)state;
	played.room = -EIO;
	assert_int_equal(server_check_room(server), -EIO);
	played_expect("room for 700 beside 5000?\nremove what is stuck\n"
		      "queue_full reserve=5000 error=Input/output error\n");
	played.bytes = -EIO;
	assert_int_equal(server_check_commit(server), -EIO);
	played_expect("5000 bytes?\n");
}

static void what_is_to_be_written_has_room(void **state)
{
	struct queue_server *server = &played.server;

	(void)state;
	server->group_bytes = 21;
	assert_int_equal(server_check_commit(server), 0);
	played_expect("5021 bytes?\n");
	played.bytes = -ENOSPC;
	assert_int_equal(server_check_commit(server), 0);
	played_expect("5021 bytes?\ndrop spares\n5021 bytes?\n");
	played.bytes_without = -ENOSPC;
	assert_int_equal(server_check_commit(server), -ENOSPC);
	played_expect("5021 bytes?\ndrop spares\n5021 bytes?\n"
		      "queue_full reserve=5000 error=No space left on device\n");
	assert_int_equal(server_check_commit(server), -ENOSPC);
	played_expect("5021 bytes?\ndrop spares\n5021 bytes?\n");
	assert_true(server->is_full);
}

static void what_is_checked_before_a_message_begins(void **state)
{
	struct queue_server *server = &played.server;

	(void)state;
	assert_int_equal(server_check_intake(server, false), 0);
	played_expect("room for 700 beside 5000?\nremove what is stuck\n");
	played.room = played.room_without = -ENOSPC;
	assert_int_equal(server_check_intake(server, false), -ENOSPC);
	assert_int_equal(server_check_intake(server, true), 0);
	played.room_without = -EIO;
	assert_int_equal(server_check_intake(server, true), -EIO);
	played.must_prove = true;
	assert_int_equal(server_check_intake(server, true), -EIO);
	server->is_copied = true;
	assert_int_equal(server_check_intake(server, true), -EUCLEAN);
	assert_int_equal(server_check_intake(server, false), -EUCLEAN);
}

static void a_copy_is_told_once(void **state)
{
	struct queue_server *server = &played.server;

	(void)state;
	server_check_numbers(server);
	played_expect("");
	assert_false(server->is_copied);
	played.sample = -EIO;
	server_check_numbers(server);
	played_expect("queue_error operation=check numbers error=Input/output error\n");
	assert_false(server->is_copied);
	played.sample = 1;
	server_check_numbers(server);
	played_expect(
		"queue_copied path=mess/1/4 inode=5 reason=this queue was copied: new mail is "
		"refused. Stop Stagepost, run \"stagepost queue repair\", start it again\n");
	assert_true(server->is_copied);
	server_check_numbers(server);
	played_expect("");
}

static void a_failed_sync_is_proven(void **state)
{
	struct queue_server *server = &played.server;

	(void)state;
	server_check_syncs(server);
	played_expect("");
	played.must_prove = true;
	server_check_syncs(server);
	played_expect("proof in 1000 ms\nqueue_sync_failed reason=new mail is refused until a sync "
		      "succeeds; one is tried every second. Look at the disk\n");
	server_check_syncs(server);
	played_expect("proof in 1000 ms\n");
	server_prove(server);
	played_expect("remove what is stuck\nan empty group\n");
	played.is_busy = true;
	server_prove(server);
	played_expect("remove what is stuck\n");
	played.must_prove = false;
	played.sync = QUEUE_SYNC_ORDERED;
	server_check_syncs(server);
	played_expect("queue_sync_changed sync_before=files sync=ordered\nqueue_sync_back\n");
	server_check_syncs(server);
	played_expect("");
}

static void no_leases_is_told_once(void **state)
{
	struct queue_server *server = &played.server;

	(void)state;
	server_check_sight(server);
	played_expect("");
	played.is_blind = true;
	server_check_sight(server);
	played_expect("sandbox_lacks feature=leases (fs.leases-enable)\n");
	server_check_sight(server);
	played_expect("");
}

#define PLAYED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PLAYED(a_disk_is_full_and_has_room_again),
		PLAYED(another_error_drops_no_spares),
		PLAYED(what_is_to_be_written_has_room),
		PLAYED(what_is_checked_before_a_message_begins),
		PLAYED(a_copy_is_told_once),
		PLAYED(a_failed_sync_is_proven),
		PLAYED(no_leases_is_told_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
