// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/fuzz_directory_server.c - a client of the directory that says anything. The first
 * byte chooses its roles and how much comes at once. All that it hears are frames, and the
 * connection ends when it does.
 */
#include "base/panic.h"
#include "config/text.h"
#include "directory/server/server.h"
#include "os/process/process.h"
#include "stream.h"
#include "unit/directory/store/memory_store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct scene {
	struct stream stream;
	struct os_loop *loop;
	struct os_timer *timer;
	struct memory_store *store;
	struct config *config;
	struct directory_server *server;
	struct buffer output;
	bool is_open;
} scene;

static ssize_t write_some(void *state, const void *data, size_t size)
{
	(void)state;
	buffer_append(&scene.output, data, size);
	return (ssize_t)size;
}

static void close_it(void *state)
{
	(void)state;
	scene.is_open = false;
}

static void stop(void *context)
{
	os_loop_stop(context);
}

static void begin(void)
{
	static const char text[] = "hostname = mx.example.org\n"
				   "service box { kind = maildir path = /m/%u }\n"
				   "domain here.org { service = box }\ndirectory { }\n";
	struct config_problems problems;

	scene.loop = os_loop_new();
	scene.timer = os_timer_new(scene.loop, stop, scene.loop);
	scene.store = memory_store_new(scene.loop);
	memory_store_put(scene.store, "domain a.org|kind local|service box");
	memory_store_put(scene.store, "address ann@a.org|kind forward|target b@c.org");
	memory_store_put(scene.store, "user ann|password $6$x$y|name Ann");
	if (config_parse("t", STR(text), &scene.config, &problems) != 0)
		panic("the configuration is wrong");
	config_problems_clear(&problems);
	scene.server = directory_server_new(scene.loop, &scene.store->base, scene.config);
}

static void check_output(const struct buffer *output)
{
	static struct str words[DIRECTORY_WORDS_MAX];
	struct buffer rest = {0};
	bool is_first = true;
	struct str content;
	size_t length;

	buffer_append_str(&rest, buffer_view(output));
	while (rest.length > 0) {
		if (directory_frame_take(&rest, &content, &length) != 1 ||
		    directory_frame_words(content, words, DIRECTORY_WORDS_MAX) < 1)
			panic("the server said what is no frame");
		if (is_first && !str_equal(words[0], STR("hello")))
			panic("the server did not greet");
		is_first = false;
		buffer_consume(&rest, length);
	}
	buffer_clear(&rest);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct directory_transport transport = {stream_read,  write_some, close_it,
						stream_wants, -1,         &scene.stream};
	struct input input = {str_slice((const char *)data, size)};
	unsigned choice = input_byte(&input);

	if (scene.loop == NULL)
		begin();
	stream_open(&scene.stream, &input, choice);
	transport.descriptor = scene.stream.descriptor;
	scene.is_open = true;
	buffer_reset(&scene.output);
	directory_server_accept(scene.server, &transport, choice % 8, "fuzz");
	for (unsigned i = 0; scene.is_open; i++) {
		if (i > 100000)
			panic("the connection does not end");
		os_timer_start(scene.timer, 0);
		os_loop_run(scene.loop);
	}
	os_timer_stop(scene.timer);
	stream_close(&scene.stream);
	check_output(&scene.output);
	return 0;
}
