// SPDX-License-Identifier: ISC
/* list - sends mail to lists on to their members. */
#include "deliver/list/list.h"
#include "program/kind/service.h"
#include "supervisor/child/child.h"

enum { CONCURRENCY = 100, STOCK = 4 };

/* There is one transport. */
static struct directory *directory;
static struct queue_client *queue;

static void *new_list_transport(struct child *child, const struct config *config,
				const struct config_service *none)
{
	char path[108];

	(void)none;
	child_path(child, "directory", path);
	directory = directory_new(child->loop, config, path);
	child_path(child, "queue", path);
	queue = queue_client_new(child->loop, path, STOCK);
	queue_client_use_reserve(queue);
	return deliver_list_new(child->loop, directory, queue, config->site_key);
}

static void configure_list_transport(void *list, const struct config *config,
				     const struct config_service *none)
{
	(void)none;
	directory_configure(directory, config);
	deliver_list_configure(list, config->site_key);
}

static void free_list_transport(void *list)
{
	deliver_list_free(list);
	queue_client_free(queue);
	directory_free(directory);
}

int main(int argc, char **argv)
{
	static const struct service_kind kinds[] = {
		{.name = CONFIG_LIST_SERVICE,
		 .concurrency = CONCURRENCY,
		 .new = new_list_transport,
		 .configure = configure_list_transport,
		 .jobs = {deliver_list_start, deliver_list_drain, deliver_list_give_up},
		 .free = free_list_transport},
		{0},
	};

	return service_main(argc, argv, &(struct service_program){.name = "list", .kinds = kinds});
}
