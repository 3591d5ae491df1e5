// SPDX-License-Identifier: ISC
/* The client of "noded" and the process "queue": what one says, the other one hears. */
#include "log/event.h"
#include "os/loop.h"
#include "queue/client/handed.h"
#include "queue/client/protocol.h"
#include "queue_server_scene.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct queue_handed_serial first = {1, 7, 1};
static const struct queue_handed_serial second = {1, 7, 2};

static struct {
	struct os_loop *loop;
	struct queue_client *client;
	struct queue_client_message message;
	struct str data;
	int result; /* of the last commit */
	int error;  /* of the last greeting */
	struct queue_handed_serial highest;
	char kept[200];
	bool is_lost;
} node;

static void on_kept(void *context, struct str of, const struct queue_handed_serial *serial,
		    struct str name, struct str numbers)
{
	size_t length = strlen(node.kept);

	assert_ptr_equal(context, &node);
	assert_true(str_equal(of, STR("a1")) && serial->run == 7);
	snprintf(node.kept + length, sizeof node.kept - length, STR_FORMAT " " STR_FORMAT ";",
		 STR_ARGUMENTS(name), STR_ARGUMENTS(numbers));
}

static void on_greeted(void *context, struct str of, const struct queue_handed_serial *serial,
		       int error, const struct queue_handed_serial *highest)
{
	assert_ptr_equal(context, &node);
	assert_true(str_equal(of, STR("a1")) && serial->epoch == 1);
	node.error = error;
	node.highest = *highest;
	os_loop_stop(node.loop);
}

static void on_lost(void *context)
{
	assert_ptr_equal(context, &node);
	node.is_lost = true;
	os_loop_stop(node.loop);
}

static const struct queue_handed_handler handler = {on_kept, on_greeted, on_lost};

static void on_done(void *context, int result)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct mail_envelope *envelope;

	(void)context;
	node.result = result;
	if (node.message.state != QUEUE_CLIENT_OPEN) {
		os_loop_stop(node.loop);
		return;
	}
	envelope = mail_envelope_new();
	envelope->id = (struct mail_id){node.message.number, 1795163591482913};
	envelope->stage = MAIL_STAGE_ARRIVE;
	envelope->size = node.data.length;
	envelope->handed = STR("a1/12-3f.2");
	envelope->origin = STR("a1/12-3f");
	envelope->via = 1;
	mail_envelope_add(envelope, STR("b@example.net"));
	assert_int_equal(queue_control_write_envelope(&text, envelope), 0);
	buffer_append_string(&text, "map: 1 remote 2 <x@example.org>\n"
				    "mapped: directory=1 count=1\n");
	mail_envelope_free(envelope);
	queue_client_commit_handed(&node.message, STR("a1"), &first, buffer_view(&text), node.data);
}

static void on_connected(void *context)
{
	(void)context;
	os_loop_stop(node.loop);
}

static int begin(void **state)
{
	struct queue_server_peers peers = {.manager = {geteuid(), 1, 8192, 1},
					   .nodes = {geteuid(), 1, 8192, 1000},
					   .open = UINT32_MAX,
					   .tokens = &scene_tokens};

	assert_int_equal(queue_peer_set_up(state), 0);
	scene_start_for(0, &peers);
	memset(&node, 0, sizeof node);
	node.loop = os_loop_new();
	node.client = queue_client_new(node.loop, queue_peer_path("socket"), 2);
	node.message.done = on_done;
	queue_client_use_nodes(node.client, STR("noded-1"), &handler, &node);
	assert_false(queue_client_greet(node.client, STR("a1"), &first));
	queue_client_when_connected(node.client, on_connected, NULL);
	os_loop_run(node.loop);
	return 0;
}

static int end(void **state)
{
	queue_client_abandon(&node.message);
	queue_client_free(node.client);
	os_loop_free(node.loop);
	scene_stop();
	return queue_peer_tear_down(state);
}

static void greet(const struct queue_handed_serial *serial, int error, const char *kept)
{
	node.kept[0] = '\0';
	assert_true(queue_client_greet(node.client, STR("a1"), serial));
	os_loop_run(node.loop);
	assert_int_equal(node.error, error);
	assert_string_equal(node.kept, kept);
}

static int hand_over(struct str data)
{
	node.data = data;
	queue_client_open(node.client, &node.message);
	if (node.message.state != QUEUE_CLIENT_IDLE)
		os_loop_run(node.loop);
	return node.result;
}

static void a_package_comes_and_is_settled(void **state)
{
	(void)state;
	assert_int_equal(hand_over(STR("data\r\n")), -ESTALE);
	greet(&first, 0, "");
	assert_int_equal(hand_over(STR("data\r\n")), 0);
	assert_int_equal(hand_over(STR("data\r\n")), -EEXIST);
	greet(&first, -ESTALE, "");
	assert_int_equal(node.highest.connection, 1);
	greet(&second, 0, "12-3f.2 2;");
	assert_int_equal(hand_over(STR("data\r\n")), -ESTALE);
	assert_true(queue_client_settle(node.client, STR("a1"), &second, STR("12-3f.2")));
	greet(&(struct queue_handed_serial){1, 7, 3}, 0, "");
}

/* In a file of its own, and dropped: nobody was told of it. */
static void a_large_package_comes_and_is_dropped(void **state)
{
	struct buffer data CLEANUP(buffer_clear) = {0};

	(void)state;
	scene_fill(&data, 100000);
	greet(&first, 0, "");
	assert_int_equal(hand_over(buffer_view(&data)), 0);
	assert_int_equal(access(queue_peer_path("queue/handed/a1/12-3f.2"), F_OK), 0);
	assert_true(queue_client_drop(node.client, STR("a1"), &first, STR("12-3f.2")));
	greet(&second, 0, "");
	assert_int_not_equal(access(queue_peer_path("queue/handed/a1/12-3f.2"), F_OK), 0);
}

static void a_connection_that_is_lost_is_told(void **state)
{
	(void)state;
	greet(&first, 0, "");
	/* "queue" ends it: a node without a name */
	assert_true(queue_client_greet(node.client, STR(""), &first));
	os_loop_run(node.loop);
	assert_true(node.is_lost);
}

#define SERVED(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SERVED(a_package_comes_and_is_settled),
		SERVED(a_large_package_comes_and_is_dropped),
		SERVED(a_connection_that_is_lost_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
