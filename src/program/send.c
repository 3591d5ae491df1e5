// SPDX-License-Identifier: ISC
/* send - the queue manager: schedules every stage of this node. */
#include "base/panic.h"
#include "log/event.h"
#include "manager/manager.h"
#include "program/child.h"
#include <errno.h>
#include <stdlib.h>

struct send_program {
	struct child *child;
	struct queue_store *store;
	struct manager *manager;
	struct os_timer *retry; /* until "queue" has made the directory */
};

static int open_store(struct send_program *program)
{
	const struct config *config = program->child->config;
	const struct queue_options options = {.unsafe = config->queue_unsafe,
					      .sync = queue_sync_of(config->queue_sync)};
	int error = queue_store_open(config->queue, &options, &program->store, NULL);

	if (error < 0)
		return error;
	error = queue_store_lock(program->store, "send");
	for (size_t i = 0; error == 0 && i < config->service_count; i++)
		error = queue_store_add_service(program->store, config->services[i].name);
	return error;
}

static void ready(void *context)
{
	child_ready(context);
}

/* On a new machine "queue" creates the queue while we start. */
static void try_start(void *context)
{
	struct send_program *program = context;
	struct child *child = program->child;
	char path[108];
	int error = open_store(program);

	if (error == -ENOENT || error == -EPROTO) {
		os_timer_start(program->retry, SECOND_US / 10);
		return;
	}
	if (error < 0) {
		log_event(EVENT_PROCESS_ERROR, log_string("queue", child->config->queue),
			  log_error(error));
		os_loop_stop(child->loop);
		return;
	}
	child_path(child, "queue", path);
	program->manager =
		manager_new(child->loop, program->store, child->config, child_socket(child, "send"),
			    child_socket(child, "notify"), path, ready, child);
}

static int start(struct child *child)
{
	struct send_program *program = memory_alloc_zero(1, sizeof *program);

	child->state = program;
	program->child = child;
	program->retry = os_timer_new(child->loop, try_start, program);
	try_start(program);
	return 0;
}

static void reload(struct child *child, const struct config *old)
{
	struct send_program *program = child->state;

	(void)old;
	if (program->manager != NULL)
		manager_configure(program->manager, child->config);
}

static void stopped(void *context)
{
	struct send_program *program = context;

	manager_free(program->manager);
	queue_store_close(program->store);
	os_loop_stop(program->child->loop);
}

static void stop(struct child *child)
{
	struct send_program *program = child->state;

	if (program->manager != NULL)
		manager_stop(program->manager, stopped, program);
	else
		os_loop_stop(child->loop);
}

int main(int argc, char **argv)
{
	static const struct child_program program = {"send", start, reload, stop};

	return child_main(argc, argv, &program);
}
