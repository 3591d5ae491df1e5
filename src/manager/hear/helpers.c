// SPDX-License-Identifier: ISC
/* Events from helpers and resolve. */
#include "manager/internal.h"
#include "os/clock.h"
#include <string.h>

static bool may_helper_connect(void *context, uid_t user)
{
	const struct manager *manager = context;

	for (size_t i = 0; i < MANAGER_HELPERS; i++)
		if (user == manager->peers.helpers[i].user)
			return true;
	return false;
}

/* The kind of helper for SERVICE; MANAGER_HELPERS: none. */
static enum manager_helper helper_for(const struct manager *manager, struct str service)
{
	static const enum manager_helper by_kind[CONFIG_SERVICE_KINDS] = {
		[CONFIG_SERVICE_MAILDIR] = MANAGER_LOCAL,   [CONFIG_SERVICE_MBOX] = MANAGER_LOCAL,
		[CONFIG_SERVICE_LMTP] = MANAGER_LMTP,       [CONFIG_SERVICE_PIPE] = MANAGER_PIPE,
		[CONFIG_SERVICE_MAILBOX] = MANAGER_MAILBOX, [CONFIG_SERVICE_IMAP] = MANAGER_MAILBOX,
	};
	const struct config_service *found = config_service_find(manager->config, service);

	if (str_equal(service, STR("resolve")))
		return MANAGER_RESOLVE;
	if (str_equal(service, STR(HANDED_SERVICE)))
		return MANAGER_HANDOVER;
	if (str_equal(service, STR(IPC_JOB_STATUS_SERVICE)))
		return MANAGER_NODED;
	if (transports_find(manager->transports, service) == NULL)
		return MANAGER_HELPERS;
	if (str_equal(service, STR("remote")))
		return MANAGER_REMOTE;
	if (str_equal(service, STR(CONFIG_LIST_SERVICE)))
		return MANAGER_LIST;
	return found != NULL ? by_kind[found->kind] : MANAGER_HELPERS;
}

static bool may_help(void *context, struct str service, struct str token, uid_t user)
{
	const struct manager *manager = context;
	enum manager_helper helper = helper_for(manager, service);

	return helper != MANAGER_HELPERS && user == manager->peers.helpers[helper].user &&
	       ipc_tokens_match(manager->peers.tokens, manager->peers.helpers[helper].program,
				token);
}

enum { HANDOVER_PLACES = 4096 };

static uint32_t places_of_service(void *context, const char *service)
{
	const struct manager *manager = context;
	const struct config_transport *transport =
		config_transport_find(manager->config, str_from(service));

	if (strcmp(service, HANDED_SERVICE) == 0)
		return HANDOVER_PLACES; /* the transports have their own limits */
	return transport != NULL ? transport->concurrency : 0;
}

static void on_helper_joined(void *context, struct str service)
{
	struct manager *manager = context;

	if (str_equal(service, STR(HANDED_SERVICE))) {
		answers_lost(manager->answers);
		handed_joined(manager->handed);
	}
	if (!str_equal(service, STR("resolve"))) {
		os_loop_defer(manager->loop, &manager->dispatch_task);
		return;
	}
	resolver_connected(manager->resolver);
	if (triggers_find(manager->triggers, STR(TRIGGER_DIRECTORY)) != NULL)
		resolver_await(manager->resolver); /* it was down before we began */
}

static void on_limit_of_server(void *context, const struct ipc_job_said *said)
{
	struct manager *manager = context;

	said_note(manager->said, said, os_clock_wall_us());
}

static bool on_resolved(void *context, struct str body)
{
	struct manager *manager = context;

	return resolver_answered(manager->resolver, body);
}

static bool on_handed(void *context, enum ipc_job type, struct str body)
{
	const struct manager *manager = context;

	return type == IPC_JOB_NODE_IS ? answers_hear(manager->answers, body)
				       : handed_hear(manager->handed, type, body);
}

static bool on_asked_for_status(void *context, const char *service, struct str body)
{
	const struct manager *manager = context;

	return status_ask(manager->status, service, body);
}

static void on_directory_back(void *context)
{
	struct manager *manager = context;
	struct trigger *trigger = triggers_find(manager->triggers, STR(TRIGGER_DIRECTORY));

	resolver_back(manager->resolver);
	if (trigger != NULL)
		triggers_release(manager->triggers, trigger);
}

static void on_resolve_lost(void *context)
{
	struct manager *manager = context;

	resolver_lost(manager->resolver);
}

const struct helpers_handler manager_hear_helpers = {
	may_helper_connect, may_help,          places_of_service, on_helper_joined,
	report_take,        dispatch_on_ended, busy_may_be_said,  busy_take,
	on_limit_of_server, on_resolved,       on_handed,         on_asked_for_status,
	on_directory_back,  on_resolve_lost,   stop_check,
};

/* --- resolve --- */

static void on_mapped(void *context, struct message *message, struct queue_delivery *deliveries,
		      size_t count, uint64_t version)
{
	message->control->directory_version = version;
	message_take_mapping(context, message, deliveries, count);
	life_event(context, message, MESSAGE_MAPPED);
}

static void on_unmapped(void *context, struct message *message, bool is_away, struct str text)
{
	life_not_mapped(context, message, is_away, text);
}

static void on_mapping_grew(void *context, struct message *message, size_t count)
{
	size_t recipients = message->control->envelope->recipient_count;

	message_weigh(context, message, share_of_message(count > recipients ? count : recipients),
		      true);
}

static bool is_message_too_old(void *context, const struct message *message)
{
	const struct manager *manager = context;

	return os_clock_wall_us() - mail_envelope_start_us(message->control->envelope) >=
	       manager->config->queuelifetime_us;
}

const struct resolver_handler manager_hear_resolver = {on_mapped, on_unmapped, on_mapping_grew,
						       is_message_too_old};
