// SPDX-License-Identifier: ISC
/* What helpers and resolve tell. */
#include "manager/internal.h"
#include "os/clock.h"

static bool may_help(void *context, struct str service, uid_t user)
{
	struct manager *manager = context;
	const struct config_service *found = config_service_find(manager->config, service);

	if (str_equal(service, STR("resolve")))
		return user == manager->peers.resolve;
	if (transports_find(manager->transports, service) == NULL)
		return false;
	if (str_equal(service, STR("remote")))
		return user == manager->peers.remote;
	if (str_equal(service, STR(CONFIG_LIST_SERVICE)))
		return user == manager->peers.list;
	return found != NULL && user == manager->peers.services[found->kind];
}

static void on_helper_joined(void *context, struct str service)
{
	struct manager *manager = context;

	if (!str_equal(service, STR("resolve"))) {
		os_loop_defer(manager->loop, &manager->dispatch_task);
		return;
	}
	resolver_connected(manager->resolver);
	if (triggers_find(manager->triggers, STR(TRIGGER_DIRECTORY)) != NULL)
		resolver_await(manager->resolver); /* since before we both began */
}

static bool on_resolved(void *context, struct str body)
{
	struct manager *manager = context;

	return resolver_answered(manager->resolver, body);
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

const struct helpers_handler hear_helpers = {
	may_help,    on_helper_joined,  dispatch_on_report, dispatch_on_ended,
	on_resolved, on_directory_back, on_resolve_lost,    stop_check,
};

/* --- resolve --- */

static void on_mapped(void *context, struct message *message, struct queue_delivery *deliveries,
		      size_t count, uint64_t version)
{
	message->control->directory_version = version;
	message_take_deliveries(context, message, deliveries, count);
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

static bool is_too_old(void *context, const struct message *message)
{
	const struct manager *manager = context;

	return os_clock_wall_us() - message->id.born_us >= manager->config->queuelifetime_us;
}

const struct resolver_handler hear_resolver = {on_mapped, on_unmapped, on_mapping_grew, is_too_old};
