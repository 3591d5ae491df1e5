// SPDX-License-Identifier: ISC
/* How messages come to the process "queue" and go, and who breaks its protocol. */
#include "ipc/pack.h"
#include "queue/client/protocol.h"
#include "queue/message.h"
#include "queue/server/internal.h"
#include "queue/update.h"
#include "queue_server_scene.h"
#include "test.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

static void a_message_comes_and_goes(void **state)
{
	uint64_t number;

	(void)state;
	scene_begin();
	number = scene_queue_one(&scene.client, 1);
	scene_expect_queued(&scene.manager, number, true);
	scene_say_remove(&scene.manager, QUEUE_REMOVE_QUEUED, MAIL_STAGE_ARRIVE, number);
	scene_expect_removed(&scene.manager, number);
	for (uint32_t kind = QUEUE_REMOVE_QUEUED; kind <= QUEUE_REMOVE_DATA; kind++) {
		scene_say_remove(&scene.manager, kind, MAIL_STAGE_SUBMIT,
				 number); /* gone already */
		scene_expect_removed(&scene.manager, number);
	}
	assert_int_equal(scene.manager.loads, 1); /* how long the message's group was at the disk */
	assert_true(scene.manager.load_us > 0);
	scene_end();
}

/* A message whose envelope does not fit into a packet is reported without it. */
static void a_large_envelope_comes_in_parts(void **state)
{
	(void)state;
	scene_begin();
	scene_expect_queued(&scene.manager, scene_queue_one(&scene.client, 300), false);
	scene_end();
}

/* A manager too slow to read each report is told to scan the queue. */
static void a_slow_manager_is_told_to_scan(void **state)
{
	unsigned type;
	unsigned told = 0;

	(void)state;
	scene_begin();
	for (unsigned i = 0; i < 120; i++)
		scene_queue_one(&scene.client, 180);
	do {
		type = queue_peer_hear(&scene.manager);
		told += type == QUEUE_PROTOCOL_QUEUED;
	} while (type == QUEUE_PROTOCOL_QUEUED);
	assert_int_equal(type, QUEUE_PROTOCOL_MISSED);
	assert_in_range(told, 1, 119);
	scene_end();
}

/* What the client wrote is refused; it may go on. */
static void an_envelope_must_be_its_own(void **state)
{
	struct queue_peer client;
	struct buffer text = {0};
	uint64_t number;

	(void)state;
	scene_start(0);
	client = scene_connect();
	number = scene_open_one(&client);
	scene_append_envelope(&text, number + 1, 1);
	assert_int_equal(scene_commit(&client, number, buffer_view(&text)), EBADMSG);
	buffer_reset(&text);
	number = scene_open_one(&client);
	scene_append_envelope(&text, number, 1);
	buffer_append_string(&text, "map: 1 remote <a@b>\nmapped: directory=1 count=1\n");
	assert_int_equal(scene_commit(&client, number, buffer_view(&text)), EBADMSG);
	number = scene_open_one(&client);
	assert_int_equal(scene_commit(&client, number, STR("stagepost 1\n")), ENODATA);
	(void)scene_queue_one(&client, 1);
	buffer_clear(&text);
	queue_peer_close(&client);
	scene_stop();
}

/* A message with the envelope of NUMBER, or of another one, as it stands in a packet. */
static void pack_commit(struct buffer *body, uint64_t number, uint64_t of)
{
	struct buffer text = {0};

	scene_append_envelope(&text, of, 1);
	pack_u64(body, number);
	pack_str(body, buffer_view(&text));
	pack_str(body, STR("data\r\n"));
	buffer_clear(&text);
}

static void hear_all_results(struct queue_peer *peer, const uint64_t *numbers,
			     const uint32_t *results, size_t count)
{
	struct unpack body = {STR(""), false};

	for (size_t heard = 0; heard < count; heard++) {
		uint64_t number;
		size_t i = 0;

		if (body.rest.length == 0) {
			assert_int_equal(queue_peer_hear(peer), QUEUE_PROTOCOL_COMMITTED);
			body = (struct unpack){buffer_view(&peer->body), false};
		}
		number = unpack_u64(&body);
		while (i < count && numbers[i] != number)
			i++;
		assert_true(i < count);
		assert_int_equal(unpack_u32(&body), i < count ? results[i] : 0);
	}
	assert_true(unpack_is_whole(&body));
}

/* What is wrong with one concerns no other; but no message may be there twice, or be none. */
static void several_are_committed_by_one_packet(void **state)
{
	static const uint32_t results[] = {0, EBADMSG, 0};
	struct queue_peer client;
	struct buffer body = {0};
	uint64_t numbers[3];

	(void)state;
	scene_start(0);
	client = scene_connect();
	for (size_t i = 0; i < 3; i++) {
		numbers[i] = scene_open_one(&client);
		pack_commit(&body, numbers[i], numbers[i] + (i == 1));
	}
	queue_peer_say(&client, QUEUE_PROTOCOL_COMMIT, buffer_view(&body));
	hear_all_results(&client, numbers, results, 3);
	for (size_t i = 0; i < 2; i++) {
		uint64_t number = scene_open_one(&client);

		buffer_reset(&body);
		pack_commit(&body, number, number);
		if (i == 0)
			pack_commit(&body, number, number);
		else
			pack_u32(&body, 0);
		queue_peer_say(&client, QUEUE_PROTOCOL_COMMIT, buffer_view(&body));
		assert_int_equal(queue_peer_hear(&client), 0);
		queue_peer_close(&client);
		client = scene_connect();
	}
	buffer_clear(&body);
	queue_peer_close(&client);
	scene_stop();
}

static void what_is_given_back_is_handed_out_again(void **state)
{
	struct queue_peer client;
	struct buffer body = {0};
	uint64_t number;

	(void)state;
	scene_start(0);
	client = scene_connect();
	number = scene_open_one(&client);
	pack_u64(&body, number);
	queue_peer_say(&client, QUEUE_PROTOCOL_ABANDON, buffer_view(&body));
	assert_int_equal(scene_open_one(&client), number);
	buffer_clear(&body);
	queue_peer_close(&client);
	scene_stop();
}

/* The largest that goes by value needs two packets. */
static void data_come_in_parts(void **state)
{
	enum { FIRST = 60000 };
	struct queue_peer client;
	struct buffer data = {0};
	struct buffer text = {0};
	struct buffer found = {0};
	uint64_t number;
	enum mail_stage stage = MAIL_STAGE_ARRIVE;

	(void)state;
	scene_start(0);
	client = scene_connect();
	number = scene_open_one(&client);
	scene_fill(&data, QUEUE_BY_VALUE_MAX);
	scene_append_envelope_of(&text, number, 1, data.length);
	scene_say_part(&client, QUEUE_PROTOCOL_DATA, number, str_slice(buffer_data(&data), FIRST));
	scene_say_commit(&client, number, buffer_view(&text), str_skip(buffer_view(&data), FIRST));
	assert_int_equal(scene_hear_result(&client, number), 0);
	assert_int_equal(queue_update_read_data(scene.store, &stage, number, data.length, &found),
			 0);
	assert_true(str_equal(buffer_view(&found), buffer_view(&data)));
	buffer_clear(&data);
	buffer_clear(&text);
	buffer_clear(&found);
	queue_peer_close(&client);
	scene_stop();
}

/* Bytes that the envelope does not count would be the envelope's place. */
static void data_must_be_as_long_as_the_envelope_says(void **state)
{
	struct queue_peer client;
	struct buffer text = {0};
	uint64_t number;

	(void)state;
	scene_start(0);
	client = scene_connect();
	for (size_t size = 5; size <= 7; size++) {
		number = scene_open_one(&client);
		buffer_reset(&text);
		scene_append_envelope_of(&text, number, 1, size);
		assert_int_equal(scene_commit(&client, number, buffer_view(&text)),
				 size == 6 ? 0 : EINVAL);
	}
	buffer_clear(&text);
	queue_peer_close(&client);
	scene_stop();
}

/* What a client may leave in our memory, and what a shared message may not have. */
static void data_beyond_their_bound_end_the_connection(void **state)
{
	enum { HALF = QUEUE_BY_VALUE_MAX / 2 };
	struct buffer half = {0};

	(void)state;
	scene_start(0);
	scene_fill(&half, HALF + 1);
	for (unsigned i = 0; i < 4; i++) {
		struct queue_peer client = scene_connect();
		uint64_t number = scene_open_one(&client);

		if (i == 1)
			scene_share(&client, number);
		scene_say_part(&client, QUEUE_PROTOCOL_DATA, number,
			       str_slice(buffer_data(&half), HALF));
		if (i == 2)
			scene_say_number(&client, QUEUE_PROTOCOL_SHARE, number);
		if (i == 3) /* of another message: it counts as well */
			number = scene_open_one(&client);
		if (i == 0 || i == 3)
			scene_say_part(&client, QUEUE_PROTOCOL_DATA, number, buffer_view(&half));
		assert_int_equal(queue_peer_hear(&client), 0);
		queue_peer_close(&client);
	}
	buffer_clear(&half);
	scene_stop();
}

static void a_full_disk_gives_no_files(void **state)
{
	struct queue_peer client;
	struct unpack body;

	(void)state;
	scene_start(UINT64_MAX);
	client = scene_connect();
	for (unsigned i = 0; i < 2; i++) {
		scene_say_u32(&client, QUEUE_PROTOCOL_OPEN, 1);
		assert_int_equal(queue_peer_hear(&client), QUEUE_PROTOCOL_REFUSED);
		body = (struct unpack){buffer_view(&client.body), false};
		assert_int_equal(unpack_u32(&body), ENOSPC);
	}
	queue_peer_close(&client);
	scene_stop();
}

/* As many as are not worth another look at the disk; others are read where they stand. */
static void short_data_come_with_the_news(void **state)
{
	enum { MOST = SERVER_NOTICE_CONTENT_MAX };
	static char data[MOST + 1];

	(void)state;
	memset(data, 'x', sizeof data);
	scene_begin();
	for (size_t size = MOST; size <= MOST + 1; size++) {
		uint64_t number = scene_open_one(&scene.client);
		struct buffer text = {0};

		scene_append_envelope_of(&text, number, 1, size);
		scene_say_commit(&scene.client, number, buffer_view(&text), str_slice(data, size));
		assert_int_equal(scene_hear_result(&scene.client, number), 0);
		scene_expect_queued_with(&scene.manager, number, true,
					 size <= MOST ? str_slice(data, size) : STR(""));
		buffer_clear(&text);
	}
	scene_end();
}

/* The client is gone, its message is not. */
static void a_commit_outlives_its_client(void **state)
{
	struct queue_peer client;
	struct buffer text = {0};
	uint64_t number;

	(void)state;
	scene_begin();
	client = scene_connect();
	number = scene_open_one(&client);
	scene_append_envelope(&text, number, 1);
	scene_say_commit(&client, number, buffer_view(&text), STR("data\r\n"));
	queue_peer_close(&client);
	scene_expect_queued(&scene.manager, number, true);
	buffer_clear(&text);
	scene_end();
}

struct wrong {
	uint16_t type;
	bool is_manager;
	const char *body;
	size_t length;
};

#define WRONG(type, is_manager, body)                    \
	{                                                \
		type, is_manager, body, sizeof(body) - 1 \
	}
#define ZEROES "\0\0\0\0\0\0\0\0"

static void only_those_who_may_are_heard(void **state)
{
	const struct queue_server_peers others = {.manager = {geteuid() + 1, 1, 1, 1},
						  .intake = {geteuid() + 2, 1, 1, 1},
						  .list = {geteuid() + 3, 1, 1, 1}};
	const struct queue_server_peers intake = {.manager = {geteuid() + 1, 1, 1, 1},
						  .intake = {geteuid(), 1, 16, 1},
						  .open = 100,
						  .tokens = &scene_tokens};
	struct queue_peer peer;

	(void)state;
	scene_start_for(0, &others);
	peer = scene_connect();
	assert_int_equal(queue_peer_hear(&peer), 0);
	queue_peer_close(&peer);
	scene_stop();
	scene_start_for(0, &intake);
	peer = scene_connect();
	scene_open_one(&peer);
	queue_peer_say(&peer, QUEUE_PROTOCOL_MANAGE, SCENE_MANAGE_BODY);
	assert_int_equal(queue_peer_hear(&peer), 0);
	queue_peer_close(&peer);
	scene_stop();
}

static void what_breaks_the_rules_ends_the_connection(void **state)
{
	static const struct wrong wrong[] = {
		WRONG(QUEUE_PROTOCOL_OPEN, false, ""),
		WRONG(QUEUE_PROTOCOL_OPEN, false, "\0\0\0\0"),
		WRONG(QUEUE_PROTOCOL_OPEN, false, "\1\0\0\0x"),
		WRONG(QUEUE_PROTOCOL_OPENED, false, ""),
		WRONG(QUEUE_PROTOCOL_ENVELOPE, false, ZEROES "\1\0\0\0x"),
		WRONG(QUEUE_PROTOCOL_COMMIT, false, ZEROES "\xff\xff\xff\xff"),
		WRONG(QUEUE_PROTOCOL_COMMIT, false, ZEROES "\0\0\0\0"),
		WRONG(QUEUE_PROTOCOL_COMMIT, false, ZEROES "\0\0\0\0\0\0\0\0"),
		WRONG(QUEUE_PROTOCOL_DATA, false, ZEROES "\1\0\0\0x"),
		WRONG(QUEUE_PROTOCOL_SHARE, false, ZEROES),
		WRONG(QUEUE_PROTOCOL_SHARE, false, ""),
		WRONG(QUEUE_PROTOCOL_ABANDON, false, ZEROES),
		WRONG(QUEUE_PROTOCOL_ABANDON, false, ""),
		WRONG(QUEUE_PROTOCOL_MANAGE, false, "x"),
		WRONG(QUEUE_PROTOCOL_MANAGE, false, ""),
		WRONG(QUEUE_PROTOCOL_MANAGE, false, "\0\0\0\0"),
		WRONG(QUEUE_PROTOCOL_MANAGE, false, "\6\0\0\0send-2"),
		WRONG(QUEUE_PROTOCOL_MANAGE, false, "\5\0\0\0send-"),
		WRONG(QUEUE_PROTOCOL_MANAGE, false, "\7\0\0\0send-11"),
		WRONG(QUEUE_PROTOCOL_MANAGE, false, "\6\0\0\0send-1x"),
		WRONG(QUEUE_PROTOCOL_MANAGE, false, "\10\0\0\0remote-1"),
		WRONG(QUEUE_PROTOCOL_CLEANED, false, ""),
		WRONG(QUEUE_PROTOCOL_CLEANED, true, "x"),
		WRONG(QUEUE_PROTOCOL_REMOVE, false, ZEROES ZEROES),
		WRONG(QUEUE_PROTOCOL_REMOVE, true, ZEROES),
		WRONG(QUEUE_PROTOCOL_REMOVE, true, "\7\0\0\0\0\0\0\0" ZEROES),
		WRONG(QUEUE_PROTOCOL_REMOVE, true, "\0\0\0\0\7\0\0\0" ZEROES),
		WRONG(99, false, ""),
	};

	(void)state;
	scene_start(0);
	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		struct queue_peer peer = wrong[i].is_manager ? scene_manage() : scene_connect();

		queue_peer_say(&peer, wrong[i].type, str_slice(wrong[i].body, wrong[i].length));
		assert_int_equal(queue_peer_hear(&peer), 0);
		queue_peer_close(&peer);
	}
	scene_stop();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, queue_peer_set_up, queue_peer_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_message_comes_and_goes),
		TEST(a_large_envelope_comes_in_parts),
		TEST(a_slow_manager_is_told_to_scan),
		TEST(an_envelope_must_be_its_own),
		TEST(several_are_committed_by_one_packet),
		TEST(what_is_given_back_is_handed_out_again),
		TEST(data_come_in_parts),
		TEST(data_must_be_as_long_as_the_envelope_says),
		TEST(data_beyond_their_bound_end_the_connection),
		TEST(a_full_disk_gives_no_files),
		TEST(short_data_come_with_the_news),
		TEST(a_commit_outlives_its_client),
		TEST(only_those_who_may_are_heard),
		TEST(what_breaks_the_rules_ends_the_connection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
