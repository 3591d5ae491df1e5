// SPDX-License-Identifier: ISC
/* The processes that do the work: their connections and their reports. */
#include "base/panic.h"
#include "ipc/job.h"
#include "log/event.h"
#include "manager/internal.h"
#include "os/socket.h"
#include <stdlib.h>

enum { HELPER_BACKLOG_MAX = 1 << 20 };

struct helper *helper_resolve(struct manager *manager)
{
	struct helper *helper;

	DL_FOREACH2 (manager->helpers, helper, next)
		if (helper->is_resolve)
			return helper;
	return NULL;
}

/* The one with the most room. */
struct helper *helper_for_stage(struct stage *stage)
{
	struct helper *best = NULL;
	struct helper *helper;

	DL_FOREACH2 (stage->manager->helpers, helper, next) {
		if (helper->stage != stage || helper->in_flight >= helper->concurrency ||
		    ipc_channel_backlog(helper->channel) > HELPER_BACKLOG_MAX)
			continue;
		if (best == NULL ||
		    helper->concurrency - helper->in_flight > best->concurrency - best->in_flight)
			best = helper;
	}
	return best;
}

static void give_up_job(struct manager *manager, struct job *job)
{
	struct message *message = job->message;

	outcome_lost(manager, job);
	stage_job_ended(manager, job);
	message_continue(manager, message);
}

void helper_close(struct helper *helper)
{
	struct manager *manager = helper->manager;
	bool was_resolve = helper->is_resolve;

	if ((helper->stage != NULL || was_resolve) && !manager->is_stopping)
		log_event(EVENT_HELPER_LOST,
			  log_string("service", was_resolve ? "resolve" : helper->stage->name),
			  log_number("jobs", helper->in_flight));
	ipc_channel_close(helper->channel);
	helper->is_resolve = false;
	while (helper->jobs != NULL)
		give_up_job(manager, helper->jobs);
	DL_DELETE2(manager->helpers, helper, previous, next);
	free(helper);
	if (was_resolve)
		resolver_lost(manager);
	manager_check_stopped(manager);
}

/* Whether the process that USER runs is the one for SERVICE. */
static bool may_help(const struct manager *manager, struct str service, uid_t user)
{
	const struct config_service *found = config_service_find(manager->config, service);

	if (str_equal(service, STR("resolve")))
		return user == manager->peers.resolve;
	if (str_equal(service, STR("remote")))
		return user == manager->peers.remote;
	if (str_equal(service, STR(CONFIG_LIST_SERVICE)))
		return user == manager->peers.list;
	return found != NULL && user == manager->peers.services[found->kind];
}

static bool on_hello(struct helper *helper, struct str body)
{
	struct manager *manager = helper->manager;
	struct ipc_job_hello hello;

	if (!ipc_job_read_hello(body, &hello) || helper->stage != NULL || helper->is_resolve ||
	    !may_help(manager, hello.service, helper->user))
		return false;
	helper->concurrency = hello.concurrency;
	if (str_equal(hello.service, STR("resolve"))) {
		helper->is_resolve = true;
		resolver_connected(manager);
		return true;
	}
	helper->stage = stage_find(manager, hello.service);
	os_loop_defer(manager->loop, &manager->dispatch_task);
	return helper->stage != NULL;
}

static bool on_report(struct helper *helper, struct ipc_message *ipc_message)
{
	struct manager *manager = helper->manager;
	struct unpack body = {ipc_message->body, false};
	struct message *message;
	struct job *job;

	HASH_FIND(hh, manager->jobs, &ipc_message->tag, sizeof ipc_message->tag, job);
	if (job == NULL || job->helper != helper)
		return false;
	while (body.rest.length > 0) {
		struct ipc_job_report report;

		if (!ipc_job_take_report(&body, &report) || !outcome_set(manager, job, &report))
			return false;
	}
	if (ipc_message->type == IPC_JOB_REPORT)
		return true;
	message = job->message;
	outcome_lost(manager, job);
	stage_job_ended(manager, job);
	message_continue(manager, message);
	return true;
}

static void on_message(void *context, struct ipc_channel *channel, struct ipc_message *message)
{
	struct helper *helper = context;
	bool ok = false;

	(void)channel;
	switch (message->type) {
	case IPC_JOB_HELLO:
		ok = on_hello(helper, message->body);
		break;
	case IPC_JOB_REPORT:
	case IPC_JOB_FINISH:
		ok = on_report(helper, message);
		break;
	case IPC_JOB_RETIRE:
		ok = helper->stage != NULL;
		helper->concurrency = 0; /* what it has comes to its end */
		break;
	case IPC_JOB_RESOLVED:
		ok = helper->is_resolve && resolver_answered(helper->manager, message->body);
		break;
	case IPC_JOB_BACK:
		ok = helper->is_resolve;
		if (ok)
			resolver_back(helper->manager);
		break;
	default:
		break;
	}
	if (!ok) {
		log_event(EVENT_IPC_REFUSED, log_number("type", message->type));
		helper_close(helper);
	}
}

static void on_lost(void *context, struct ipc_channel *channel)
{
	(void)channel;
	helper_close(context);
}

static const struct ipc_channel_handler channel_handler = {on_message, on_lost};

void helper_drain_all(struct manager *manager)
{
	const struct helper *helper;

	DL_FOREACH2 (manager->helpers, helper, next)
		if (helper->stage != NULL)
			ipc_channel_send(helper->channel, IPC_JOB_DRAIN, 0, STR(""), NULL, 0);
}

void helper_on_connection(void *context, int socket)
{
	struct manager *manager = context;
	struct helper *helper = memory_alloc_zero(1, sizeof *helper);

	helper->manager = manager;
	helper->user = os_socket_peer_user(socket);
	helper->channel = ipc_channel_new(manager->loop, socket, &channel_handler, helper);
	DL_APPEND2(manager->helpers, helper, previous, next);
}
