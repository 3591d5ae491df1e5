// SPDX-License-Identifier: ISC
#include "pipe_scene.h"
#include "base/panic.h"
#include "chance.h"
#include "deliver/launch/launch.h"
#include "test.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WATCHES = 64, PIPE_BYTES = 4096 };

struct scene_program scene_programs[SCENE_PROGRAMS];
bool scene_is_ready;
const char *scene_service;
struct mail_id scene_id;
void (*scene_forgotten)(struct scene_program *program);

/* --- os/loop.h --- */

struct os_watch {
	int descriptor;
	unsigned events;
	void (*call)(void *context, unsigned events);
	void *context;
};

static struct os_watch *watches[WATCHES];
static size_t watch_count;
static struct os_task *deferred;

struct os_watch *os_watch_new(struct os_loop *loop, int descriptor, unsigned events,
			      void (*call)(void *context, unsigned events), void *context)
{
	struct os_watch *watch = memory_alloc_zero(1, sizeof *watch);

	(void)loop;
	assert_true(watch_count < WATCHES && fcntl(descriptor, F_GETFD) >= 0);
	*watch = (struct os_watch){descriptor, events, call, context};
	watches[watch_count++] = watch;
	return watch;
}

void os_watch_set(struct os_watch *watch, unsigned events)
{
	watch->events = events;
}

void os_watch_free(struct os_watch *watch)
{
	size_t i = 0;

	if (watch == NULL)
		return;
	assert_true(fcntl(watch->descriptor, F_GETFD) >= 0); /* before it is closed */
	while (watches[i] != watch)
		i++;
	watches[i] = watches[--watch_count];
	free(watch);
}

void os_loop_defer(struct os_loop *loop, struct os_task *task)
{
	(void)loop;
	if (task->previous != NULL)
		return;
	assert_null(deferred);
	deferred = task;
	task->previous = &deferred;
}

void os_task_cancel(struct os_loop *loop, struct os_task *task)
{
	(void)loop;
	if (task->previous == NULL)
		return;
	deferred = NULL;
	task->previous = NULL;
}

static unsigned events_of(const struct os_watch *watch)
{
	struct pollfd file = {.fd = watch->descriptor};
	unsigned ready = OS_WATCH_NONE;

	file.events = (short)((watch->events & OS_WATCH_READ ? POLLIN : 0) |
			      (watch->events & OS_WATCH_WRITE ? POLLOUT : 0));
	if (watch->events == OS_WATCH_NONE || poll(&file, 1, 0) < 1)
		return OS_WATCH_NONE;
	if (file.revents & (POLLIN | POLLHUP | POLLERR))
		ready |= OS_WATCH_READ;
	if (file.revents & (POLLOUT | POLLHUP | POLLERR))
		ready |= OS_WATCH_WRITE;
	return ready & watch->events;
}

bool scene_turn(void)
{
	struct os_task *task = deferred;
	size_t first;

	if (task != NULL) {
		deferred = NULL;
		task->previous = NULL;
		task->call(task->context);
	}
	first = watch_count > 0 ? chance(watch_count) : 0;
	for (size_t i = 0; i < watch_count; i++) {
		struct os_watch *watch = watches[(first + i) % watch_count];
		unsigned ready = events_of(watch);

		if (ready == OS_WATCH_NONE)
			continue;
		watch->call(watch->context, ready);
		return true;
	}
	return task != NULL;
}

size_t scene_watches(void)
{
	return watch_count;
}

/* --- deliver/launch/client.h --- */

static struct scene_program *program_of(const struct launch *launch)
{
	for (size_t i = 0; i < SCENE_PROGRAMS; i++)
		if (scene_programs[i].launch == launch)
			return &scene_programs[i];
	fail();
	return NULL;
}

bool launch_client_is_ready(struct launch_client *client)
{
	(void)client;
	return scene_is_ready;
}

void launch_begin(struct launch_client *client, struct launch *launch,
		  const struct launch_order *order)
{
	struct scene_program *program = program_of(NULL);

	assert_true(scene_is_ready);
	assert_string_equal(order->service, scene_service);
	assert_int_equal(order->id.number, scene_id.number);
	assert_int_equal(order->id.born_us, scene_id.born_us);
	assert_true(str_equal(order->sender, STR("s@x.example")));
	*program =
		(struct scene_program){.launch = launch, .input = -1, .output = -1, .process = -1};
	assert_true(order->recipient.length < sizeof program->to);
	memcpy(program->to, order->recipient.data, order->recipient.length);
	launch->client = client;
}

void launch_whole(const struct launch *launch)
{
	struct scene_program *program = program_of(launch);

	assert_false(program->is_whole);
	program->is_whole = true;
}

void launch_kill(const struct launch *launch)
{
	if (launch->client != NULL)
		program_of(launch)->is_killed = true;
}

void launch_forget(struct launch *launch)
{
	struct scene_program *program;

	if (launch->client == NULL)
		return;
	program = program_of(launch);
	launch->client = NULL;
	scene_forgotten(program);
}

/* --- programs --- */

static void make_pipe(int *ours, int *theirs, bool is_input)
{
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	assert_true(fcntl(ends[0], F_SETPIPE_SZ, PIPE_BYTES) > 0);
	*ours = ends[is_input ? 0 : 1];
	*theirs = ends[is_input ? 1 : 0];
}

void scene_start_program(struct scene_program *program)
{
	int theirs[LAUNCH_DESCRIPTORS];

	make_pipe(&program->input, &theirs[LAUNCH_INPUT], true);
	make_pipe(&program->output, &theirs[LAUNCH_OUTPUT], false);
	make_pipe(&program->process, &theirs[LAUNCH_PROCESS], false);
	program->is_started = true;
	program->launch->handler->started(program->launch->context, theirs);
}

void scene_read_input(struct scene_program *program, size_t size)
{
	ssize_t count;

	if (program->input < 0)
		return;
	count = read(program->input, buffer_reserve(&program->got, size), size);
	program->is_at_end |= count == 0;
	if (count > 0)
		buffer_commit(&program->got, (size_t)count);
}

static void close_scene_end(int *descriptor)
{
	if (*descriptor >= 0)
		assert_int_equal(close(*descriptor), 0);
	*descriptor = -1;
}

void scene_close_input(struct scene_program *program)
{
	close_scene_end(&program->input);
}

void scene_write_output(struct scene_program *program, const char *text)
{
	if (program->output >= 0 && write(program->output, text, strlen(text)) > 0)
		buffer_append_string(&program->said, text);
}

void scene_close_output(struct scene_program *program)
{
	close_scene_end(&program->output);
}

void scene_clear_program(struct scene_program *program)
{
	if (program->launch == NULL)
		return;
	close_scene_end(&program->input);
	close_scene_end(&program->output);
	close_scene_end(&program->process);
	buffer_clear(&program->got);
	buffer_clear(&program->said);
	*program = (struct scene_program){.launch = NULL};
}

void scene_end_program(struct scene_program *program, int status, bool is_late)
{
	struct launch *launch = program->launch;

	scene_close_input(program);
	scene_close_output(program);
	launch->client = NULL;
	launch->handler->ended(launch->context, status, is_late);
	scene_clear_program(program);
}

void scene_refuse_program(struct scene_program *program, const struct mail_verdict *why)
{
	struct launch *launch = program->launch;

	launch->client = NULL;
	launch->handler->refused(launch->context, why);
	scene_clear_program(program);
}

void scene_lose_launcher(void)
{
	scene_is_ready = false;
	for (size_t i = 0; i < SCENE_PROGRAMS; i++) {
		struct scene_program *program = &scene_programs[i];
		struct launch *launch = program->launch;

		if (launch == NULL || program->is_lost)
			continue;
		program->is_lost = true;
		launch->client = NULL;
		launch->handler->lost(launch->context);
		if (!program->is_started)
			scene_clear_program(program);
	}
}
