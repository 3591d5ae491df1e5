// SPDX-License-Identifier: ISC
/* local - delivers into mailboxes: one transport for each service of kind maildir or mbox. */
#include "deliver/local/local.h"
#include "mailbox/maildir.h"
#include "os/file/mounts.h"
#include "os/process/process.h"
#include "program/kind/service.h"
#include "supervisor/child/child.h"

enum { CONCURRENCY = 1000 };

/* Shared by all services, since one has quotas; NULL before. */
static struct directory *directory;
static size_t services;

static void prepare_quotas(struct child *child, const struct config *config)
{
	char path[108];

	if (directory != NULL)
		directory_configure(directory, config);
	for (size_t i = 0; i < config->service_count && directory == NULL; i++) {
		if (!config_service_is_local(&config->services[i]) ||
		    *config->services[i].quota == '\0')
			continue;
		child_path(child, "directory", path);
		directory = directory_new(child->loop, config, path);
	}
}

static bool fits_local_process(struct child *child, const struct config *config)
{
	prepare_quotas(child, config);
	return true;
}

static void *new_local_transport(struct child *child, const struct config *config,
				 const struct config_service *service)
{
	if (services++ == 0)
		prepare_quotas(child, config);
	return deliver_local_new(child->loop, config, service, directory);
}

static void configure_local_transport(void *local, const struct config *config,
				      const struct config_service *service)
{
	deliver_local_configure(local, config, service, directory);
}

static void free_local_transport(void *local)
{
	deliver_local_free(local);
	if (--services > 0)
		return;
	directory_free(directory);
	directory = NULL;
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

	make_bases(config);
	if (!config_has_mailbox_owners(config))
		return 0;
	(void)!os_mounts_open(); /* without it, owners are distinguished later */
	if (os_process_may_change_user() && *config_process_user(config, "local") != '\0')
		error = os_process_user_find(config_process_user(config, "local"), &user);
	return error == 0 ? os_process_account_helper(&user) : error;
}

#define KIND(word)                                                                      \
	{                                                                               \
		.kind = CONFIG_SERVICE_##word, .concurrency = CONCURRENCY,              \
		.new = new_local_transport, .configure = configure_local_transport,     \
		.jobs = {deliver_local_start, deliver_local_drain, deliver_local_lost}, \
		.free = free_local_transport                                            \
	}

int main(int argc, char **argv)
{
	static const struct service_kind kinds[] = {KIND(MAILDIR), KIND(MBOX), {0}};

	return service_main(argc, argv,
			    &(struct service_program){.name = "local",
						      .kinds = kinds,
						      .open = open_local,
						      .fits = fits_local_process});
}
