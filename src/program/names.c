// SPDX-License-Identifier: ISC
/* names - looks up clients' names in the DNS: the only process that does so for "smtpd" and
 * "qmtpd", which read foreign input and have no network access. */
#include "base/panic.h"
#include "dns/names/server.h"
#include "log/event.h"
#include "supervisor/child/child.h"
#include <stdlib.h>
#include <string.h>

struct names_program {
	struct dns_resolver *resolver;
	struct names_server *server;
};

static struct names_program program_state;

/* Reads the system's DNS configuration once. */
static int open_names_resolver(struct child *child)
{
	int error =
		dns_resolver_new(child->loop, child->config->dns_server, &program_state.resolver);

	child->state = &program_state;
	if (error < 0)
		log_event(EVENT_PROCESS_ERROR, log_string(operation, "resolver"), log_error(error));
	return error;
}

static void allow_users_of_names(struct child *child, struct names_server *server)
{
	const uid_t users[] = {child_user(child, "smtpd"), child_user(child, "qmtpd")};

	names_server_set_users(server, users, COUNT_OF(users));
}

static int start_names_process(struct child *child)
{
	struct names_program *program = child->state;

	program->server = names_server_new(child->loop, child_socket(child, "names"),
					   program->resolver, child_user(child, "smtpd"));
	allow_users_of_names(child, program->server);
	child_ready(child);
	return 0;
}

/* The resolver lives as long as the process. */
static void reload_names_process(struct child *child, const struct config *old)
{
	const struct names_program *program = child->state;

	allow_users_of_names(child, program->server);
	if (strcmp(child->config->dns_server, old->dns_server) != 0)
		child_renew(child);
}

static void stop_names_process(struct child *child)
{
	struct names_program *program = child->state;

	names_server_free(program->server);
	dns_resolver_free(program->resolver);
	os_loop_stop(child->loop);
}

int main(int argc, char **argv)
{
	static const struct child_program program = {"names", open_names_resolver,
						     start_names_process, reload_names_process,
						     stop_names_process};

	return child_main(argc, argv, &program);
}
