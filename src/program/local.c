// SPDX-License-Identifier: ISC
/* local - delivers into mailboxes: one helper for each maildir service. */
#include "deliver/local.h"
#include "mailbox/maildir.h"
#include "os/mounts.h"
#include "os/process.h"
#include "program/child.h"
#include "program/service.h"

enum { CONCURRENCY = 1000 };

static void *new_transport(struct os_loop *loop, const struct config *config,
			   const struct config_service *service)
{
	return deliver_local_new(loop, config, service);
}

static void configure(void *transport, const struct config *config,
		      const struct config_service *service)
{
	deliver_local_configure(transport, config, service);
}

static void deliver(void *transport, struct deliver_helper_job *job)
{
	deliver_local_start(transport, job);
}

static void drain(void *transport)
{
	deliver_local_drain(transport);
}

static void lost(void *transport)
{
	deliver_local_lost(transport);
}

static void free_transport(void *transport)
{
	deliver_local_free(transport);
}

/* What mailboxes are in must be there to be let in; whoever may make it, does. Where
 * that is not us, mail waits for it. */
static void make_bases(const struct config *config)
{
	os_process_private_mask();
	for (size_t i = 0; i < config->service_count; i++)
		if (config->services[i].kind == CONFIG_SERVICE_MAILDIR &&
		    *config->services[i].user == '\0')
			(void)!maildir_make_base(config_mailbox_base(&config->services[i]));
}

static int open_local(struct child *child)
{
	const struct config *config = child->config;
	struct os_process_user user = {0};
	int error = 0;

	make_bases(config);
	if (!config_has_owners(config, CONFIG_SERVICE_MAILDIR))
		return 0;
	(void)!os_mounts_open(); /* without it owners are told apart later */
	if (os_process_may_change_user() && *config_process_user(config, "local") != '\0')
		error = os_process_user_find(config_process_user(config, "local"), &user);
	return error == 0 ? os_process_account_helper(&user) : error;
}

int main(int argc, char **argv)
{
	static const struct service_kind kinds[] = {
		{.kind = CONFIG_SERVICE_MAILDIR,
		 .concurrency = CONCURRENCY,
		 .new = new_transport,
		 .configure = configure,
		 .deliver = deliver,
		 .drain = drain,
		 .lost = lost,
		 .free = free_transport},
		{0},
	};

	return service_main(argc, argv, "local", kinds, open_local);
}
