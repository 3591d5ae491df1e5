// SPDX-License-Identifier: ISC
/* What a user of the machine may ask of the process "queue", and how he says who he is. */
#include "base/timestamp.h"
#include "ipc/pack.h"
#include "os/clock.h"
#include "os/file/file.h"
#include "queue/client/protocol.h"
#include "queue/client/submit.h"
#include "queue_server_scene.h"
#include "test.h"
#include <errno.h>
#include <unistd.h>

enum { SIZE_MAX_OF_USERS = 100000, RECIPIENTS_MAX = 3 };

static void start(uint32_t open)
{
	const struct queue_server_peers peers = {
		.manager = {geteuid(), 1, 8192, 1},
		.intake = {geteuid(), 1, 8192, 100},
		.users = {.recipients = RECIPIENTS_MAX, .size = SIZE_MAX_OF_USERS},
		.open = open,
		.tokens = &scene_tokens,
	};

	scene_start_for(0, &peers);
}

/* What a case says of its message, where that is not as it must be. */
struct message {
	const char *label;
	const char *start;    /* of the data; NULL: as it must be */
	const char *received; /* likewise */
	const char *trigger;
	int64_t age_us;
	uint64_t size; /* 0: its own */
	enum mail_stage stage;
	unsigned recipients; /* and one */
	uint32_t result;
};

static void append_data(struct buffer *data, const struct message *message)
{
	if (message->start != NULL)
		buffer_append_string(data, message->start);
	else
		queue_submit_append_trace(data, geteuid());
	buffer_append_string(data, "\tby mx\r\n\r\nhello\r\n");
}

static void append_envelope(struct buffer *text, const struct message *message, uint64_t number,
			    size_t size)
{
	struct mail_envelope *envelope = mail_envelope_new();
	struct buffer received CLEANUP(buffer_clear) = {0};

	if (message->received != NULL)
		buffer_append_string(&received, message->received);
	else
		queue_submit_append_received(&received, geteuid());
	envelope->id = (struct mail_id){number, os_clock_wall_us() - message->age_us};
	envelope->stage = message->stage;
	envelope->size = message->size > 0 ? message->size : size;
	envelope->received = buffer_view(&received);
	envelope->trigger = str_from(message->trigger != NULL ? message->trigger : "");
	for (unsigned i = 0; i <= message->recipients; i++)
		mail_envelope_add(envelope, STR("bob@a.test"));
	assert_int_equal(queue_control_write_envelope(text, envelope), 0);
	mail_envelope_free(envelope);
}

static uint32_t commit_by_value(struct queue_peer *peer, const struct message *message)
{
	uint64_t number = scene_open_one(peer);
	struct buffer data CLEANUP(buffer_clear) = {0};
	struct buffer text CLEANUP(buffer_clear) = {0};

	append_data(&data, message);
	append_envelope(&text, message, number, data.length);
	scene_say_commit(peer, number, buffer_view(&text), buffer_view(&data));
	return scene_hear_result(peer, number);
}

static uint32_t commit_shared(struct queue_peer *peer, const struct message *message)
{
	uint64_t number = scene_open_one(peer);
	struct buffer data CLEANUP(buffer_clear) = {0};
	struct buffer text CLEANUP(buffer_clear) = {0};

	scene_share(peer, number);
	append_data(&data, message);
	append_envelope(&text, message, number, data.length);
	assert_int_equal(os_file_write(peer->files[0], buffer_data(&data), data.length, 0), 0);
	assert_int_equal(close(peer->files[0]), 0);
	peer->file_count = 0;
	scene_say_commit(peer, number, buffer_view(&text), STR(""));
	return scene_hear_result(peer, number);
}

static const struct message cases[] = {
	{.label = "as it must be"},
	{.label = "another uid in the data", .start = "Received: (uid 4711)\r\n", .result = EPERM},
	{.label = "no trace", .start = "Subject: x\r\n", .result = EPERM},
	{.label = "too short for a trace", .start = "R", .result = EPERM},
	{.label = "another uid", .received = "local uid=4711", .result = EPERM},
	{.label = "a client", .received = "smtp 192.0.2.7:1 helo=x", .result = EPERM},
	{.label = "more than a uid", .received = "local uid=0 user=root", .result = EPERM},
	{.label = "a trigger", .trigger = "noon", .result = EPERM},
	{.label = "arrived", .stage = MAIL_STAGE_ARRIVE, .result = EPERM},
	{.label = "born long ago", .age_us = DAY_US + MINUTE_US, .result = EPERM},
	{.label = "born in the future", .age_us = -DAY_US - MINUTE_US, .result = EPERM},
	/* the trace may come on top; data of another length than said are no message */
	{.label = "as large as may be", .size = SIZE_MAX_OF_USERS + 1024, .result = EINVAL},
	{.label = "too large", .size = SIZE_MAX_OF_USERS + 1025, .result = EFBIG},
	{.label = "born a day ago", .age_us = DAY_US - MINUTE_US},
	{.label = "born a day ahead", .age_us = -DAY_US + MINUTE_US},
	{.label = "all recipients", .recipients = RECIPIENTS_MAX - 1},
	{.label = "too many recipients", .recipients = RECIPIENTS_MAX, .result = E2BIG},
};

static void a_message_says_whose_it_is(void **state)
{
	struct queue_peer manager;
	struct queue_peer user;

	(void)state;
	start(1000);
	manager = scene_manage();
	user = scene_connect_user();
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		uint32_t by_value = commit_by_value(&user, &cases[i]);
		uint32_t shared = commit_shared(&user, &cases[i]);

		if (by_value != cases[i].result || shared != cases[i].result)
			fail_msg("%s: %u by value, %u shared", cases[i].label, by_value, shared);
		for (unsigned queued = 0; cases[i].result == 0 && queued < 2; queued++)
			assert_int_equal(queue_peer_hear(&manager), QUEUE_PROTOCOL_QUEUED);
	}
	queue_peer_close(&user);
	queue_peer_close(&manager);
	scene_stop();
}

/* His connection is ended, and nothing else happens. */
static void nothing_else_is_done_for_him(void **state)
{
	static const uint16_t types[] = {0,
					 QUEUE_PROTOCOL_MANAGE,
					 QUEUE_PROTOCOL_REMOVE,
					 QUEUE_PROTOCOL_FOUND,
					 QUEUE_PROTOCOL_CLEANED,
					 QUEUE_PROTOCOL_RELEASE};
	struct queue_peer manager;
	struct queue_peer process;
	struct buffer domain CLEANUP(buffer_clear) = {0};

	(void)state;
	pack_str(&domain, STR("a.test"));
	start(1000);
	manager = scene_manage();
	process = scene_connect();
	for (size_t i = 0; i < COUNT_OF(types); i++) {
		struct queue_peer user = scene_connect_user();

		scene_open_one(&user);
		queue_peer_say(&user, types[i],
			       types[i] == QUEUE_PROTOCOL_MANAGE    ? SCENE_MANAGE_BODY
			       : types[i] == QUEUE_PROTOCOL_RELEASE ? buffer_view(&domain)
								    : STR(""));
		assert_int_equal(queue_peer_hear(&user), 0);
		queue_peer_close(&user);
	}
	/* the manager still is the manager, and was told of nothing */
	scene_queue_one(&process, 1);
	assert_int_equal(queue_peer_hear(&manager), QUEUE_PROTOCOL_QUEUED);
	queue_peer_close(&process);
	queue_peer_close(&manager);
	scene_stop();
}

static void another_s_message_cannot_be_committed(void **state)
{
	struct queue_peer one;
	struct queue_peer other;

	(void)state;
	start(1000);
	one = scene_connect_user();
	other = scene_connect_user();
	scene_say_number(&other, QUEUE_PROTOCOL_ABANDON, scene_open_one(&one));
	assert_int_equal(queue_peer_hear(&other), 0);
	queue_peer_close(&other);
	assert_int_equal(commit_by_value(&one, &cases[0]), 0);
	queue_peer_close(&one);
	scene_stop();
}

static unsigned open_all(struct queue_peer *peer)
{
	unsigned count = 0;

	for (;;) {
		scene_say_u32(peer, QUEUE_PROTOCOL_OPEN, 1);
		if (queue_peer_hear(peer) == QUEUE_PROTOCOL_REFUSED)
			return count;
		count++;
	}
}

/* A user, and all together, have a part; the node's processes have the rest. */
static void what_he_has_is_bounded(void **state)
{
	enum { CONNECTIONS = 32 };
	struct queue_peer users[CONNECTIONS];
	struct queue_peer more;
	struct queue_peer process;
	unsigned opened = 0;

	(void)state;
	start(CONNECTIONS * 16 + 16);
	for (size_t i = 0; i < CONNECTIONS; i++) {
		users[i] = scene_connect_user();
		opened += open_all(&users[i]);
	}
	assert_int_equal(opened, CONNECTIONS * 4);
	more = scene_connect_user();
	assert_int_equal(queue_peer_hear(&more), 0);
	queue_peer_close(&more);
	process = scene_connect();
	scene_queue_one(&process, 1);
	queue_peer_close(&process);
	for (size_t i = 0; i < CONNECTIONS; i++)
		queue_peer_close(&users[i]);
	scene_stop();
	start(40); /* 2 connections, and 10 messages */
	for (size_t i = 0; i < 2; i++)
		users[i] = scene_connect_user();
	assert_int_equal(open_all(&users[0]) + open_all(&users[1]), 8);
	more = scene_connect_user();
	assert_int_equal(queue_peer_hear(&more), 0);
	queue_peer_close(&more);
	process = scene_connect();
	assert_int_equal(open_all(&process), 32);
	queue_peer_close(&process);
	queue_peer_close(&users[0]);
	queue_peer_close(&users[1]);
	scene_stop();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, queue_peer_set_up, queue_peer_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_message_says_whose_it_is),
		TEST(nothing_else_is_done_for_him),
		TEST(another_s_message_cannot_be_committed),
		TEST(what_he_has_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
