// SPDX-License-Identifier: ISC
/* send - the queue manager: schedules all deliveries of this node. */
#include "base/panic.h"
#include "log/event.h"
#include "manager/manager.h"
#include "program/kind/queue_lock.h"
#include "supervisor/child/child.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct send_program {
	struct child *child;
	struct os_load load;
	struct queue_store *store;
	struct manager *manager;
	char token[IPC_TOKEN_SIZE]; /* this process's */
};

static int open_store_of_manager(struct send_program *program)
{
	const struct config *config = program->child->config;
	const struct queue_options options = {.unsafe = config->queue_unsafe,
					      .sync = queue_sync_of(config->queue_sync)};
	int error = 0;

	if (program->store == NULL)
		error = queue_store_open(config->queue, &options, &program->store, NULL);
	if (error < 0)
		return error;
	error = queue_lock_take(program->child, program->store, "send");
	for (size_t i = 1; error == 0 && i < config->transport_count; i++)
		error = queue_store_add_service(program->store, config->transports[i].name);
	/* on a full disk the folders of the cleaner can wait */
	if (error == 0 && queue_store_make_folders(program->store) < 0)
		log_event(EVENT_QUEUE_ERROR, log_string(operation, "make directories"));
	return error;
}

static void on_manager_ready(void *context)
{
	child_ready(context);
}

/* On a new machine "queue" is creating the queue meanwhile. */
static int open_send_process(struct child *child)
{
	struct send_program *program = child->state;
	int error;

	if (program == NULL) {
		program = memory_alloc_zero(1, sizeof *program);
		os_load_open(&program->load);
	}
	child->state = program;
	program->child = child;
	error = open_store_of_manager(program);
	if (error == -ENOENT || error == -EPROTO)
		return -EAGAIN;
	if (error < 0 && error != -EAGAIN && error != -EBUSY)
		log_event(EVENT_PROCESS_ERROR, log_string(queue, child->config->queue),
			  log_error(error));
	return error;
}

static struct manager_helper_peer peer_of_manager(const struct child *child, const char *program)
{
	return (struct manager_helper_peer){program, child_user(child, program)};
}

static int start_send_process(struct child *child)
{
	struct send_program *program = child->state;
	struct str token = child_token(child, "send");
	char path[108];

	memcpy(program->token, token.data, token.length);
	const struct manager_peers peers = {
		.listening = child_socket(child, "send"),
		.notify = child_socket(child, "notify"),
		.queue_path = path,
		.helpers = {[MANAGER_RESOLVE] = peer_of_manager(child, "resolve"),
			    [MANAGER_REMOTE] = peer_of_manager(child, "remote"),
			    [MANAGER_LIST] = peer_of_manager(child, "list"),
			    [MANAGER_LOCAL] = peer_of_manager(child, "local"),
			    [MANAGER_LMTP] = peer_of_manager(child, "lmtp"),
			    [MANAGER_PIPE] = peer_of_manager(child, "pipe"),
			    [MANAGER_MAILBOX] = peer_of_manager(child, "mailbox"),
			    [MANAGER_HANDOVER] = peer_of_manager(child, "handover"),
			    [MANAGER_NODED] = peer_of_manager(child, "noded")},
		.tokens = &child->tokens,
		.token = str_from(program->token),
		.owner = child_user(child, "queue"),
		.load = &program->load,
	};

	child_path(child, "queue", path);
	program->manager = manager_new(child->loop, program->store, child->config, &peers,
				       on_manager_ready, child);
	manager_use_limits(program->manager, child->limits);
	return 0;
}

static void reload_send_process(struct child *child, const struct config *old)
{
	struct send_program *program = child->state;

	(void)old;
	manager_configure(program->manager, child->config);
	manager_use_limits(program->manager, child->limits);
}

static void on_manager_stopped(void *context)
{
	struct send_program *program = context;

	manager_free(program->manager);
	program->manager = NULL;
	queue_store_close(program->store);
	os_loop_stop(program->child->loop);
}

static void stop_send_process(struct child *child)
{
	struct send_program *program = child->state;

	manager_stop(program->manager, on_manager_stopped, program);
}

static size_t pending_deliveries_of_manager(const struct child *child)
{
	const struct send_program *program = child->state;

	return program->manager != NULL ? manager_in_flight(program->manager) : 0;
}

int main(int argc, char **argv)
{
	static const struct child_program program = {"send",
						     open_send_process,
						     start_send_process,
						     reload_send_process,
						     stop_send_process,
						     pending_deliveries_of_manager,
						     NULL};

	return child_main(argc, argv, &program);
}
