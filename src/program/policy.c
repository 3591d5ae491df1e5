// SPDX-License-Identifier: ISC
/* policy - fetches and keeps the policies of MTA-STS that other domains publish, and counts and
 * reports how TLS went with them, for "remote", which reads what strangers send. */
#include "base/panic.h"
#include "log/event.h"
#include "os/file/file.h"
#include "policy/https/https.h"
#include "policy/reports/ledger.h"
#include "policy/sts/server.h"
#include "supervisor/child/child.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { STOCK = 1 }; /* numbers of messages: reports are rare */

struct policy_program {
	struct dns_resolver *resolver;
	struct https *https;
	struct sts_cache *cache;
	struct sts_server *server;
	struct queue_client *queue;    /* NULL: no reports */
	struct reports_ledger *ledger; /* NULL: no reports */
	struct buffer from;            /* the reports' sender, with a NUL */
};

static struct policy_program program_state;

static int fail_policy_start(const char *operation, int error)
{
	log_event(EVENT_PROCESS_ERROR, log_string(operation, operation), log_error(error));
	return error;
}

/* Reads the configurations of the DNS and of the libraries once. The directory must exist before
 * the sandbox is entered; what else is wrong with it is logged when it is used. */
static int open_policy(struct child *child)
{
	int error = os_file_make_directory(OS_FILE_HERE, child->config->policy_path);

	if (error < 0 && error != -EEXIST)
		(void)fail_policy_start("policy_path", error);
	child->state = &program_state;
	error = dns_resolver_new(child->loop, child->config->dns_server, &program_state.resolver);
	if (error < 0)
		return fail_policy_start("resolver", error);
	error = https_new(child->loop, &program_state.https);
	return error < 0 ? fail_policy_start("https", error) : 0;
}

static void append_path(const struct child *child, const char *name, struct buffer *path)
{
	buffer_append_format(path, "%s/%s", child->config->policy_path, name);
	buffer_append_byte(path, '\0');
}

static void open_sts_cache(struct policy_program *program, const struct child *child)
{
	struct buffer path CLEANUP(buffer_clear) = {0};

	append_path(child, "mta-sts", &path);
	program->cache =
		sts_cache_new(child->loop, program->resolver, program->https, buffer_data(&path));
}

/* --- reports --- */

static void on_count(void *context, const struct tlsrpt_session *session)
{
	struct policy_program *program = context;
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct str hosts = STR("");
	struct tlsrpt_session counted = *session;

	if (session->policy == TLSRPT_TLSA)
		buffer_append_str(&text, session->text);
	else if (session->policy == TLSRPT_STS &&
		 !sts_cache_describe(program->cache, session->domain, &text, &hosts))
		counted.policy = TLSRPT_NO_POLICY; /* it has just ended */
	if (program->ledger != NULL)
		reports_ledger_count(program->ledger, &counted, buffer_view(&text), hosts);
}

static struct reports_ways find_ways(struct policy_program *program, const struct child *child)
{
	const struct config *config = child->config;

	buffer_reset(&program->from);
	if (*config->tls_report_from != '\0')
		buffer_append_string(&program->from, config->tls_report_from);
	else
		buffer_append_format(&program->from, "postmaster@%s", config->hostname);
	buffer_append_byte(&program->from, '\0');
	return (struct reports_ways){
		.loop = child->loop,
		.resolver = program->resolver,
		.https = program->https,
		.queue = program->queue,
		.hostname = config->hostname,
		.from = buffer_data(&program->from),
	};
}

static void open_ledger(struct policy_program *program, const struct child *child)
{
	struct buffer path CLEANUP(buffer_clear) = {0};
	struct reports_ways ways;
	char queue[108];

	if (!child->config->tls_reports)
		return;
	child_path(child, "queue", queue);
	program->queue = queue_client_new(child->loop, queue, STOCK);
	ways = find_ways(program, child);
	append_path(child, "tls-reports", &path);
	program->ledger = reports_ledger_new(&ways, buffer_data(&path));
}

/* --- life --- */

static struct sts_users find_users(const struct child *child)
{
	return (struct sts_users){child_user(child, "remote"), child_user(child, "queue")};
}

static int start_policy_process(struct child *child)
{
	struct policy_program *program = child->state;
	const struct sts_users users = find_users(child);

	https_configure(program->https, program->resolver, child->config->tls_authorities,
			child->config->https_private);
	open_sts_cache(program, child);
	open_ledger(program, child);
	program->server =
		sts_server_new(child->loop, child_socket(child, "policy"), program->cache, &users);
	sts_server_on_count(program->server, on_count, program);
	child_ready(child);
	return 0;
}

static void reload_policy_process(struct child *child, const struct config *old)
{
	struct policy_program *program = child->state;
	const struct sts_users users = find_users(child);
	struct reports_ways ways;

	https_configure(program->https, program->resolver, child->config->tls_authorities,
			child->config->https_private);
	sts_server_set_users(program->server, &users);
	if (child->config->tls_reports != old->tls_reports ||
	    strcmp(child->config->dns_server, old->dns_server) != 0) {
		child_renew(child);
		return;
	}
	ways = find_ways(program, child);
	if (program->ledger != NULL)
		reports_ledger_configure(program->ledger, &ways);
}

static void stop_policy_process(struct child *child)
{
	struct policy_program *program = child->state;

	sts_server_free(program->server);
	reports_ledger_free(program->ledger);
	queue_client_free(program->queue);
	sts_cache_free(program->cache);
	https_free(program->https);
	dns_resolver_free(program->resolver);
	buffer_clear(&program->from);
	os_loop_stop(child->loop);
}

int main(int argc, char **argv)
{
	static const struct child_program program = {"policy", open_policy, start_policy_process,
						     reload_policy_process, stop_policy_process};

	return child_main(argc, argv, &program);
}
