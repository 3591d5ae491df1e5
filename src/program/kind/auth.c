// SPDX-License-Identifier: ISC
#include "program/kind/auth.h"
#include "auth/server/server.h"
#include "log/event.h"
#include "os/file/file.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEED_MAX = 64 };

struct auth_process {
	int (*open_binder)(const struct config *config, const struct auth_binder **binder_out);
	const struct auth_binder *binder;
	struct dns_resolver *resolver; /* NULL: no introspection */
	struct https *https;           /* likewise */
	char seed[SEED_MAX];
	size_t seed_length;
	char directory[108];
	struct auth_server *server;
};

static struct auth_process process; /* global, as open() is called before there is a state */

static int fail_auth_start(const char *operation, int error)
{
	log_event(EVENT_PROCESS_ERROR, log_string(operation, operation), log_error(error));
	return error;
}

/* The machine's own identifier (machine-id(5)), which the network does not know: what is invented
 * from it is the same after a restart. */
static void read_seed(void)
{
	int file = os_file_open(OS_FILE_HERE, "/etc/machine-id", OS_FILE_READ);
	ssize_t length;

	if (file < 0)
		return;
	length = os_file_read(file, process.seed, sizeof process.seed, 0);
	os_file_close(file);
	process.seed_length = length > 0 ? (size_t)length : 0;
}

/* The libraries read their configurations once. */
static int open_network(struct child *child)
{
	int error = dns_resolver_new(child->loop, child->config->dns_server, &process.resolver);

	if (error < 0)
		return fail_auth_start("resolver", error);
	error = https_new(child->loop, &process.https);
	return error < 0 ? fail_auth_start("https", error) : 0;
}

static int open_process(struct child *child)
{
	int error = 0;

	child->state = &process;
	read_seed();
	if (process.open_binder != NULL)
		error = process.open_binder(child->config, &process.binder);
	if (error == 0 && config_has_introspection(child->config))
		error = open_network(child);
	return error;
}

/* The issuers of tokens are the operator's choice, wherever they are. */
static void apply_auth_config(struct child *child)
{
	const uid_t users[] = {child_user(child, "smtpd")};

	if (process.https != NULL)
		https_configure(process.https, process.resolver, child->config->tls_authorities,
				true);
	if (process.server != NULL)
		auth_server_set_users(process.server, users, COUNT_OF(users));
}

static int start_auth_process(struct child *child)
{
	bool has_directory = child->config->directory.backend != CONFIG_BACKEND_NONE;
	struct auth_server_ways ways = {.loop = child->loop,
					.listening = child_socket(child, "auth"),
					.binder = process.binder,
					.https = process.https,
					.seed = str_slice(process.seed, process.seed_length)};
	char path[108];
	int error;

	child_path(child, "directory", path);
	snprintf(process.directory, sizeof process.directory, "unix:%s", path);
	ways.directory = has_directory ? process.directory : NULL;
	apply_auth_config(child);
	error = auth_server_new(&ways, child->config, &process.server);
	if (error < 0)
		return fail_auth_start("threads", error);
	apply_auth_config(child);
	child_ready(child);
	return 0;
}

/* What is opened before the sandbox, or lives as long as the process, needs a new one. */
static bool is_other_process(const struct config *config, const struct config *old)
{
	return config_has_introspection(config) != config_has_introspection(old) ||
	       strcmp(config->dns_server, old->dns_server) != 0 ||
	       config->directory.backend != old->directory.backend ||
	       config->auth.users != old->auth.users || config->auth.threads != old->auth.threads ||
	       config->auth.users == CONFIG_AUTH_LDAP;
}

static void reload_auth_process(struct child *child, const struct config *old)
{
	apply_auth_config(child);
	if (is_other_process(child->config, old))
		child_renew(child);
	else
		auth_server_configure(process.server, child->config);
}

static void stop_auth_process(struct child *child)
{
	auth_server_free(process.server);
	https_free(process.https);
	dns_resolver_free(process.resolver);
	explicit_bzero(process.seed, sizeof process.seed);
	os_loop_stop(child->loop);
}

int auth_process_main(int argc, char **argv, const char *name,
		      int (*open_binder)(const struct config *config,
					 const struct auth_binder **binder_out))
{
	const struct child_program program = {name, open_process, start_auth_process,
					      reload_auth_process, stop_auth_process};

	process.open_binder = open_binder;
	return child_main(argc, argv, &program);
}
