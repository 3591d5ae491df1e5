// SPDX-License-Identifier: ISC
/* policy - fetches and keeps the policies of MTA-STS that other domains publish, for "remote",
 * which reads what strangers send. */
#include "base/panic.h"
#include "https/https.h"
#include "log/event.h"
#include "os/file.h"
#include "program/child.h"
#include "sts/server.h"
#include <errno.h>
#include <stdlib.h>

struct policy_program {
	struct dns_resolver *resolver;
	struct https *https;
	struct sts_keeper *keeper;
	struct sts_server *server;
};

static struct policy_program program_state;

static int fail(const char *operation, int error)
{
	log_event(EVENT_PROCESS_ERROR, log_string("operation", operation), log_error(error));
	return error;
}

/* Reads the configurations of the DNS and of the libraries once. The directory must exist before
 * the sandbox is entered; what else is wrong with it is logged when it is used. */
static int open_policy(struct child *child)
{
	int error = os_file_make_directory(OS_FILE_HERE, child->config->policy_path);

	if (error < 0 && error != -EEXIST)
		(void)fail("policy_path", error);
	child->state = &program_state;
	error = dns_resolver_new(child->loop, child->config->dns_server, &program_state.resolver);
	if (error < 0)
		return fail("resolver", error);
	error = https_new(child->loop, &program_state.https);
	return error < 0 ? fail("https", error) : 0;
}

static void open_keeper(struct policy_program *program, const struct child *child)
{
	struct buffer path = {0};

	buffer_append_format(&path, "%s/mta-sts", child->config->policy_path);
	buffer_append_byte(&path, '\0');
	program->keeper =
		sts_keeper_new(child->loop, program->resolver, program->https, buffer_data(&path));
	buffer_clear(&path);
}

static int start(struct child *child)
{
	struct policy_program *program = child->state;

	https_configure(program->https, program->resolver, child->config->tls_authorities);
	open_keeper(program, child);
	program->server = sts_server_new(child->loop, child_socket(child, "policy"),
					 program->keeper, child_user(child, "remote"));
	child_ready(child);
	return 0;
}

static void reload(struct child *child, const struct config *old)
{
	const struct policy_program *program = child->state;

	(void)old;
	https_configure(program->https, program->resolver, child->config->tls_authorities);
	sts_server_set_user(program->server, child_user(child, "remote"));
}

static void stop(struct child *child)
{
	struct policy_program *program = child->state;

	sts_server_free(program->server);
	sts_keeper_free(program->keeper);
	https_free(program->https);
	dns_resolver_free(program->resolver);
	os_loop_stop(child->loop);
}

int main(int argc, char **argv)
{
	static const struct child_program program = {"policy", open_policy, start, reload, stop};

	return child_main(argc, argv, &program);
}
