// SPDX-License-Identifier: ISC
/* When a connection to another node asks for more to be sent. */
#include "node/link.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct scene {
	struct os_loop *loop;
	struct os_task stop;
	struct buffer out;
	struct node_link *link;
	int sockets[2];
	size_t writable; /* bytes that the connection takes yet */
	size_t written;
	unsigned asked; /* for more */
	char lost[100];
} scene;

static ssize_t read_nothing(void *state, void *data, size_t size)
{
	(void)state;
	(void)data;
	(void)size;
	return -EAGAIN;
}

static ssize_t write_some(void *state, const void *data, size_t size)
{
	size_t count = size < scene.writable ? size : scene.writable;

	(void)state;
	(void)data;
	if (count == 0)
		return -EAGAIN;
	scene.writable -= count;
	scene.written += count;
	return (ssize_t)count;
}

static void close_transport(void *state)
{
	(void)state;
	close(scene.sockets[0]);
}

static unsigned want_nothing(void *state, bool has_output)
{
	(void)state;
	(void)has_output;
	return 0;
}

static bool on_bytes(void *context, struct str bytes)
{
	(void)context;
	(void)bytes;
	return true;
}

static void on_room(void *context)
{
	(void)context;
	scene.asked++;
}

static void on_lost(void *context, const char *reason)
{
	(void)context;
	snprintf(scene.lost, sizeof scene.lost, "%s.", reason);
	node_link_free(scene.link);
	scene.link = NULL;
}

static const struct node_link_handler handler = {on_bytes, on_room, on_lost, NULL};

static void stop_loop(void *context)
{
	(void)context;
	os_loop_stop(scene.loop);
}

/* All that is to be done now. */
static void play_turn(void)
{
	os_loop_defer(scene.loop, &scene.stop);
	os_loop_run(scene.loop);
}

static int begin_scene(void **state)
{
	struct directory_transport transport = {read_nothing, write_some, close_transport,
						want_nothing, -1,         NULL};

	(void)state;
	scene = (struct scene){.loop = os_loop_new(), .stop = {.call = stop_loop}};
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, scene.sockets), 0);
	transport.descriptor = scene.sockets[0];
	scene.link = node_link_new(scene.loop, &transport, &scene.out, &handler, NULL);
	return 0;
}

static int end_scene(void **state)
{
	(void)state;
	node_link_free(scene.link);
	close(scene.sockets[1]);
	buffer_clear(&scene.out);
	os_task_cancel(scene.loop, &scene.stop);
	os_loop_free(scene.loop);
	return 0;
}

static void append_bytes(size_t count)
{
	while (count-- > 0)
		buffer_append_byte(&scene.out, 'x');
}

static void no_more_is_asked_for_at_the_bound(void **state)
{
	(void)state;
	append_bytes(NODE_LINK_OUT_MAX - 1);
	play_turn();
	assert_int_equal(scene.asked, 1);
	append_bytes(1);
	node_link_send(scene.link);
	play_turn();
	assert_int_equal(scene.asked, 1);
	append_bytes(1);
	node_link_send(scene.link);
	play_turn();
	assert_int_equal(scene.asked, 1);
	scene.writable = 2;
	node_link_send(scene.link);
	play_turn();
	assert_int_equal(scene.written, 2);
	node_link_send(scene.link);
	play_turn();
	assert_int_equal(scene.asked, 2);
	assert_int_equal(scene.out.length, NODE_LINK_OUT_MAX - 1);
}

/* What can be sent at once is, and the rest is not waited for. */
static void the_end_sends_what_it_can(void **state)
{
	(void)state;
	play_turn();
	append_bytes(10);
	scene.writable = 4;
	node_link_end(scene.link);
	play_turn();
	assert_int_equal(scene.written, 4);
	assert_string_equal(scene.lost, ".");
	assert_null(scene.link);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(no_more_is_asked_for_at_the_bound, begin_scene,
						end_scene),
		cmocka_unit_test_setup_teardown(the_end_sends_what_it_can, begin_scene, end_scene),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
