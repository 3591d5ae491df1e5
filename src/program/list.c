// SPDX-License-Identifier: ISC
/* list - sends mail to lists on to their members. */
#include "deliver/list/list.h"
#include "base/panic.h"
#include "program/kind/service.h"
#include "supervisor/child/child.h"
#include <stdlib.h>

enum { CONCURRENCY = 100, STOCK = 4 };

static const struct child *process;

struct list_transport {
	struct directory *directory;
	struct queue_client *queue;
	struct deliver_list *list;
};

static int open_list(struct child *child)
{
	process = child;
	return 0;
}

static void *new_list_transport(struct os_loop *loop, const struct config *config,
				const struct config_service *none)
{
	struct list_transport *transport = memory_alloc_zero(1, sizeof *transport);
	char path[108];

	(void)none;
	child_path(process, "directory", path);
	transport->directory = directory_new(loop, config, path);
	child_path(process, "queue", path);
	transport->queue = queue_client_new(loop, path, STOCK);
	queue_client_use_reserve(transport->queue);
	transport->list =
		deliver_list_new(loop, transport->directory, transport->queue, config->site_key);
	return transport;
}

static void configure_list_transport(void *context, const struct config *config,
				     const struct config_service *none)
{
	const struct list_transport *transport = context;

	(void)none;
	directory_configure(transport->directory, config);
	deliver_list_configure(transport->list, config->site_key);
}

static void deliver_list_job(void *context, struct deliver_helper_job *job)
{
	const struct list_transport *transport = context;

	deliver_list_start(transport->list, job);
}

static void drain_list_transport(void *context)
{
	const struct list_transport *transport = context;

	deliver_list_drain(transport->list);
}

static void on_list_manager_lost(void *context)
{
	const struct list_transport *transport = context;

	deliver_list_give_up(transport->list);
}

static void free_list_transport(void *context)
{
	struct list_transport *transport = context;

	deliver_list_free(transport->list);
	queue_client_free(transport->queue);
	directory_free(transport->directory);
	free(transport);
}

int main(int argc, char **argv)
{
	static const struct service_kind kinds[] = {
		{.name = CONFIG_LIST_SERVICE,
		 .concurrency = CONCURRENCY,
		 .new = new_list_transport,
		 .configure = configure_list_transport,
		 .deliver = deliver_list_job,
		 .drain = drain_list_transport,
		 .lost = on_list_manager_lost,
		 .free = free_list_transport},
		{0},
	};

	return service_main(
		argc, argv,
		&(struct service_program){.name = "list", .kinds = kinds, .open = open_list});
}
