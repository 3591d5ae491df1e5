// SPDX-License-Identifier: ISC
/* local - delivers into mailboxes: one helper for each maildir service. */
#include "stage/local.h"
#include "mailbox/maildir.h"
#include "os/mounts.h"
#include "os/process.h"
#include "program/child.h"
#include "program/service.h"
#include <sys/stat.h>

enum { CONCURRENCY = 1000 };

static void *new_stage(struct os_loop *loop, const struct config *config,
		       const struct config_service *service)
{
	return stage_local_new(loop, config, service);
}

static void configure(void *stage, const struct config *config,
		      const struct config_service *service)
{
	stage_local_configure(stage, config, service);
}

static void deliver(void *stage, struct stage_helper_job *job)
{
	stage_local_deliver(stage, job);
}

static void drain(void *stage)
{
	stage_local_drain(stage);
}

static void lost(void *stage)
{
	stage_local_lost(stage);
}

static void free_stage(void *stage)
{
	stage_local_free(stage);
}

/* What mailboxes are in must be there to be let in; whoever may make it, does. Where
 * that is not us, mail waits for it. */
static void make_bases(const struct config *config)
{
	umask(077);
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
		{CONFIG_SERVICE_MAILDIR, CONCURRENCY, new_stage, configure, deliver, drain, lost,
		 free_stage},
		{0},
	};

	return service_main(argc, argv, "local", kinds, open_local);
}
