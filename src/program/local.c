// SPDX-License-Identifier: ISC
/* local - delivers into mailboxes: one transport for each service of kind maildir or mbox. */
#include "deliver/local/local.h"
#include "base/panic.h"
#include "mailbox/maildir.h"
#include "os/file/mounts.h"
#include "os/process/process.h"
#include "program/kind/service.h"
#include "supervisor/child/child.h"
#include <stdlib.h>

enum { CONCURRENCY = 1000 };

static const struct child *process;

struct local_transport {
	struct directory *directory; /* NULL: no service has quotas yet */
	struct deliver_local *local;
};

static void configure_directory(struct local_transport *transport, struct os_loop *loop,
				const struct config *config, const struct config_service *service)
{
	char path[108];

	if (transport->directory != NULL) {
		directory_configure(transport->directory, config);
	} else if (*service->quota != '\0') {
		child_path(process, "directory", path);
		transport->directory = directory_new(loop, config, path);
	}
}

static void *new_local_transport(struct os_loop *loop, const struct config *config,
				 const struct config_service *service)
{
	struct local_transport *transport = memory_alloc_zero(1, sizeof *transport);

	configure_directory(transport, loop, config, service);
	transport->local = deliver_local_new(loop, config, service, transport->directory);
	return transport;
}

static void configure_local_transport(void *context, const struct config *config,
				      const struct config_service *service)
{
	struct local_transport *transport = context;

	configure_directory(transport, process->loop, config, service);
	deliver_local_configure(transport->local, config, service, transport->directory);
}

static void deliver_local_job(void *context, struct deliver_helper_job *job)
{
	struct local_transport *transport = context;

	deliver_local_start(transport->local, job);
}

static void drain_local_transport(void *context)
{
	struct local_transport *transport = context;

	deliver_local_drain(transport->local);
}

static void on_local_manager_lost(void *context)
{
	struct local_transport *transport = context;

	deliver_local_lost(transport->local);
}

static void free_local_transport(void *context)
{
	struct local_transport *transport = context;

	deliver_local_free(transport->local);
	directory_free(transport->directory);
	free(transport);
}

/* The directories of mailboxes must exist for the sandbox to allow them; this process creates them
 * if it may. Otherwise mail waits until they exist. */
static void make_bases(const struct config *config)
{
	os_process_private_mask();
	for (size_t i = 0; i < config->service_count; i++)
		if (config_service_is_local(&config->services[i]) &&
		    *config->services[i].user == '\0')
			(void)!maildir_make_base(config_mailbox_base(&config->services[i]));
}

static int open_local(struct child *child)
{
	const struct config *config = child->config;
	struct os_process_user user = {0};
	int error = 0;

	process = child;
	make_bases(config);
	if (!config_has_mailbox_owners(config))
		return 0;
	(void)!os_mounts_open(); /* without it, owners are distinguished later */
	if (os_process_may_change_user() && *config_process_user(config, "local") != '\0')
		error = os_process_user_find(config_process_user(config, "local"), &user);
	return error == 0 ? os_process_account_helper(&user) : error;
}

#define KIND(word)                                                                  \
	{                                                                           \
		.kind = CONFIG_SERVICE_##word, .concurrency = CONCURRENCY,          \
		.new = new_local_transport, .configure = configure_local_transport, \
		.deliver = deliver_local_job, .drain = drain_local_transport,       \
		.lost = on_local_manager_lost, .free = free_local_transport         \
	}

int main(int argc, char **argv)
{
	static const struct service_kind kinds[] = {KIND(MAILDIR), KIND(MBOX), {0}};

	return service_main(
		argc, argv,
		&(struct service_program){.name = "local", .kinds = kinds, .open = open_local});
}
