// SPDX-License-Identifier: ISC
/* queue - the only process that creates and removes files in pid, mess and todo. */
#include "base/panic.h"
#include "directory/wire/frame.h"
#include "log/event.h"
#include "os/process/process.h"
#include "program/kind/queue_lock.h"
#include "queue/client/protocol.h"
#include "queue/repair.h"
#include "queue/server/server.h"
#include "supervisor/child/child.h"
#include <errno.h>
#include <stdlib.h>

enum {
	SPARE_SIZE = 64 * 1024,
	REPORTS_OPEN_MAX = 64,         /* of "policy" */
	OTHERS_OPEN_MAX = 8192,        /* messages of "send" or "list" at once */
	DESCRIPTORS_OF_OUR_OWN = 4096, /* directories, connections, and a reserve */
};

struct queue_program {
	struct child *child;
	struct queue_store *store;
	struct queue_intake *intake;
	struct queue_server *server;
};

/* If the queue has another format, or is on a file system that loses mail, a new attempt would not
 * help. */
static void refuse_store(struct child *child, int error, struct str reason)
{
	struct buffer text = {0};

	log_event(EVENT_PROCESS_ERROR, log_string(queue, child->config->queue),
		  log_str(reason, reason), log_error(error));
	if (error != -ENOTSUP && error != -EPROTO && error != -EROFS && error != -EACCES)
		return;
	buffer_append_format(&text, "queue %s: ", child->config->queue);
	buffer_append_str(&text, reason);
	child_cannot_start(child, buffer_view(&text));
	buffer_clear(&text);
}

static int open_or_create_store(struct queue_program *program, const struct config *config)
{
	const struct queue_options options = {
		.create = true,
		.unsafe = config->queue_unsafe,
		.split = config->split,
		.sync = queue_sync_of(config->queue_sync),
	};
	struct buffer reason = {0};
	int error = queue_store_open(config->queue, &options, &program->store, &reason);

	if (error < 0)
		refuse_store(program->child, error, buffer_view(&reason));
	else if (reason.length > 0)
		log_event(EVENT_QUEUE_UNSAFE, log_string(queue, config->queue),
			  log_str(reason, buffer_view(&reason)));
	buffer_clear(&reason);
	return error;
}

/* The messages are being moved to other numbers. */
static int refuse_half_repaired(struct queue_store *store)
{
	int result = queue_repair_is_pending(store);

	if (result <= 0)
		return result;
	log_event(EVENT_PROCESS_ERROR,
		  log_string(reason, "\"stagepost queue repair\" was interrupted: run it again"));
	return -EBUSY;
}

static int open_queue_process(struct child *child)
{
	struct queue_program *program = child->state;
	int error = 0;

	if (program == NULL)
		program = memory_alloc_zero(1, sizeof *program);
	child->state = program;
	program->child = child;
	if (program->store == NULL)
		error = open_or_create_store(program, child->config);
	if (error == 0)
		error = queue_lock_take(child, program->store, "queue");
	if (error == 0)
		error = queue_store_make_folders(program->store);
	if (error == 0)
		error = refuse_half_repaired(program->store);
	return error;
}

/* What clients send by QMTP at once, and by that many connections they rarely do, is refused for
 * now beyond this. */
enum { PACKAGES_MAX = 1024 };

/* An smtpd has a message for each session, as many of clients that left while theirs was being
 * committed, and some spare numbers; "list" has the messages of some lists; "send" and
 * "policy" have reports. Of each process one may be ending while another one begins. */
static void find_peers(const struct child *child, struct queue_server_peers *peers)
{
	const struct config *config = child->config;
	uint32_t sessions =
		(config->maxsessions + config->smtpd_workers - 1) / config->smtpd_workers;
	uint32_t spared = 3 * config->spares + DESCRIPTORS_OF_OUR_OWN;
	size_t descriptors = os_process_descriptor_limit();

	*peers = (struct queue_server_peers){
		.manager = {child_user(child, "send"), 2, OTHERS_OPEN_MAX, 1},
		.intake = {child_user(child, "smtpd"), config->smtpd_workers + 2,
			   2 * sessions + 4 * QUEUE_OPEN_MAX, config->maxrecipients},
		.packages = {child_user(child, "qmtpd"), 3, 2 * config->maxsessions + PACKAGES_MAX,
			     config->maxrecipients},
		.nodes = {child_user(child, "noded"), 3, PACKAGES_MAX, DIRECTORY_LIST_MAX},
		.list = {child_user(child, "list"), 2, OTHERS_OPEN_MAX, DIRECTORY_LIST_MAX},
		.reports = {child_user(child, "policy"), 2, REPORTS_OPEN_MAX, 1},
		.users = {config->maxrecipients, config->maxsize},
		.open = UINT32_MAX,
		.tokens = &child->tokens,
	};
	if (descriptors > 0 && descriptors < UINT32_MAX) /* 0: unknown */
		peers->open = descriptors > 2 * (size_t)spared ? (uint32_t)descriptors - spared
							       : (uint32_t)descriptors / 2;
}

static int start_queue_process(struct child *child)
{
	struct queue_program *program = child->state;
	const struct config *config = child->config;
	const struct queue_intake_options options = {config->spares, SPARE_SIZE, .is_daemon = true};
	struct queue_server_peers peers;
	int error = 0;

	for (size_t i = 1; error == 0 && i < config->transport_count; i++)
		error = queue_store_add_service(program->store, config->transports[i].name);
	if (error == 0)
		error = queue_intake_open(program->store, &options, &program->intake);
	if (error < 0)
		return error;
	find_peers(child, &peers);
	program->server =
		queue_server_new(child->loop, program->store, program->intake,
				 child_socket(child, "queue"), config->queue_reserve, &peers);
	if (config->submit_group[0] != '\0')
		queue_server_serve_users(program->server, child_socket(child, "submit"));
	log_event(EVENT_QUEUE_OPENED, log_string(queue, config->queue),
		  log_string(sync, queue_sync_name(queue_store_sync(program->store))));
	child_ready(child);
	return 0;
}

static void reload_queue_process(struct child *child, const struct config *old)
{
	struct queue_program *program = child->state;
	struct queue_server_peers peers;

	(void)old;
	find_peers(child, &peers);
	queue_server_configure(program->server, child->config->queue_reserve, &peers);
	for (size_t i = 1; i < child->config->transport_count; i++) {
		const char *name = child->config->transports[i].name;
		int error = queue_store_add_service(program->store, name);

		if (error < 0)
			log_event(EVENT_QUEUE_ERROR, log_string(service, name), log_error(error));
	}
}

static void on_queue_server_stopped(void *context)
{
	struct queue_program *program = context;

	queue_server_free(program->server);
	queue_intake_close(program->intake);
	queue_store_close(program->store);
	os_loop_stop(program->child->loop);
}

static void stop_queue_process(struct child *child)
{
	struct queue_program *program = child->state;

	queue_server_stop(program->server, on_queue_server_stopped, program);
}

int main(int argc, char **argv)
{
	static const struct child_program program = {"queue", open_queue_process,
						     start_queue_process, reload_queue_process,
						     stop_queue_process};

	return child_main(argc, argv, &program);
}
