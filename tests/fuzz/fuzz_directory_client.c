// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/fuzz_directory_client.c - a server of the directory that says anything. The first
 * byte chooses how much comes at once, and what is asked. Every question is answered at
 * most once, and what was answered can be asked again.
 */
#include "base/panic.h"
#include "directory/client/client.h"
#include "stream.h"
#include <errno.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { QUESTIONS = 4 };

static struct scene {
	struct stream stream;
	struct os_loop *loop;
	struct os_task dial; /* one connection; later ones fail */
	directory_dialed *dialed;
	void *context;
	unsigned answers[QUESTIONS];
} scene;

static ssize_t write_some(void *state, const void *data, size_t size)
{
	(void)state;
	(void)data;
	return (ssize_t)size;
}

static void close_it(void *state)
{
	(void)state;
	os_loop_stop(scene.loop);
}

static void connected(void *context)
{
	struct directory_transport transport = {
		stream_read,  write_some, close_it, stream_wants, scene.stream.descriptor,
		&scene.stream};

	(void)context;
	scene.dialed(scene.context, 0, NULL, &transport);
}

static void refused(void *context)
{
	(void)context;
	os_loop_stop(scene.loop);
	scene.dialed(scene.context, -ECONNREFUSED, "no more", NULL);
}

static struct directory_dial *dial(void *context, const char *server, const char *name,
				   directory_dialed *dialed, void *dialed_context)
{
	bool is_first = scene.dial.call == NULL;

	(void)name;
	(void)context;
	(void)server;
	scene.dialed = dialed;
	scene.context = dialed_context;
	scene.dial.call = is_first ? connected : refused;
	os_loop_defer(scene.loop, &scene.dial);
	return (struct directory_dial *)&scene;
}

static void cancel(struct directory_dial *one)
{
	(void)one;
	os_task_cancel(scene.loop, &scene.dial);
}

static void answered(void *context, const struct directory_answer_text *answer)
{
	unsigned *count = context;

	if (++*count > 1)
		panic("answered twice");
	for (size_t i = 0; i < answer->result_count; i++)
		if (answer->results[i].length > DIRECTORY_FRAME_MAX)
			panic("a result over its bound");
}

static void changed(void *context, uint64_t version, struct str table, struct str key)
{
	(void)context;
	(void)version;
	if (table.length + key.length > DIRECTORY_FRAME_MAX)
		panic("a key over its bound");
}

static void ask(struct directory_client *client, struct directory_question *questions)
{
	struct str fields[] = {STR("kind mailbox")};

	for (size_t i = 0; i < QUESTIONS; i++)
		questions[i] = (struct directory_question){.answered = answered,
							   .context = &scene.answers[i]};
	directory_client_get(client, "route", STR("a@b"), 1000000, &questions[0]);
	directory_client_get(client, "user", STR("ann"), 1000000, &questions[1]);
	directory_client_put(client, "address", STR("a@b"), fields, 1, &questions[2]);
	directory_client_list(client, "member", STR(""), STR(""), 10, &questions[3]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const servers[] = {"server:1"};
	static const struct directory_dialer dialer = {dial, cancel, NULL};
	struct input input = {str_slice((const char *)data, size)};
	unsigned choice = input_byte(&input);
	struct directory_question questions[QUESTIONS];
	struct directory_client *client;

	scene = (struct scene){.loop = os_loop_new()};
	stream_open(&scene.stream, &input, choice);
	client = directory_client_new(scene.loop, servers, 1, &dialer, NULL, NULL);
	if (choice % 2 == 1)
		directory_client_watch(client, changed, NULL);
	ask(client, questions);
	os_loop_run(scene.loop);
	directory_client_free(client);
	os_task_cancel(scene.loop, &scene.dial);
	os_loop_free(scene.loop);
	stream_close(&scene.stream);
	return 0;
}
