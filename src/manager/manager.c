// SPDX-License-Identifier: ISC
/* Creates and frees the parts of the manager. */
#include "manager/manager.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "log/recent.h"
#include "manager/internal.h"
#include "manager/package.h"
#include "os/clock.h"
#include <stdlib.h>

static const int64_t SWEEP_US = 10 * SECOND_US;

static void scan_soon(void *context)
{
	manager_hear_scan.wanted(context, true);
}

static struct scan_times scan_times(const struct config *config)
{
	return (struct scan_times){config->rescan_us, config->queuelifetime_us};
}

static void sweep_transports(void *context)
{
	struct manager *manager = context;

	transports_sweep(manager->transports);
	manager_hear_queue_doubts(manager);
	handed_ask_again(manager->handed);
	os_timer_start(manager->sweep_timer,
		       timestamp_until_round_us(os_clock_monotonic_us(), SWEEP_US));
}

static void make_waiting(struct manager *manager)
{
	const struct config *config = manager->config;

	manager->triggers = triggers_new(manager->loop, manager->store, &manager->sleepers,
					 config->probe_delay_us, &manager_hear_triggers, manager);
	manager->gate = gate_new(manager->loop, manager->triggers);
	manager->wake = wake_new(manager->loop, &manager->sleepers, manager->triggers,
				 &manager->share, &manager_hear_wake, manager);
	manager->scan = scan_new(manager->loop, manager->store, &manager->sleepers, manager->wake,
				 scan_times(config), &manager_hear_scan, manager);
	manager->transports = transports_new(&manager->share, &manager_hear_transports, manager);
	transports_configure(manager->transports, config);
}

static void make_links(struct manager *manager)
{
	struct os_loop *loop = manager->loop;
	const struct manager_peers *peers = &manager->peers;

	manager->helpers = helpers_new(loop, peers->listening, &manager_hear_helpers, manager);
	manager->handed = handed_new(manager->store, manager->helpers, manager->config,
				     &manager_hear_handed, manager);
	manager->resolver = resolver_new(loop, manager->helpers, &manager_hear_resolver, manager);
	manager->recorder = recorder_new(loop, manager->store, &manager_hear_recorder, manager);
	manager->reporter = reporter_new(loop, manager->store, peers->queue_path, manager->config,
					 manager_hear_reported, manager);
	manager->queue =
		queue_link_new(loop, peers->queue_path, peers->token, &manager_hear_queue, manager);
	manager->said = said_new();
	manager->status =
		status_new(loop, manager->store, manager->helpers, &manager_hear_status, manager);
	manager->answers = answers_new(loop, manager->helpers);
	manager->orders = orders_new(loop, peers->notify, peers->owner, command_carry_out, manager);
}

struct manager *manager_new(struct os_loop *loop, struct queue_store *store,
			    const struct config *config, const struct manager_peers *peers,
			    void (*ready)(void *context), void *context)
{
	struct manager *manager = memory_alloc_zero(1, sizeof *manager);

	manager->loop = loop;
	manager->store = store;
	manager->config = config;
	manager->peers = *peers;
	manager->started_us = os_clock_wall_us();
	manager->share.limit = SHARE_UNITS;
	manager->ready = ready;
	manager->ready_context = context;
	manager->dispatch_task = (struct os_task){.call = dispatch, .context = manager};
	manager->stop_task = (struct os_task){.call = stop_finish, .context = manager};
	manager->scan_task = (struct os_task){.call = scan_soon, .context = manager};
	manager->dispatch_timer = os_timer_new(loop, dispatch, manager);
	manager->sweep_timer = os_timer_new(loop, sweep_transports, manager);
	log_recent_keep(config_has_nodes(config));
	make_waiting(manager);
	make_links(manager);
	if (triggers_read(manager->triggers) < 0)
		scan_repeat(manager->scan);
	os_timer_start(manager->sweep_timer, SWEEP_US);
	return manager;
}

void manager_configure(struct manager *manager, const struct config *config)
{
	manager->config = config;
	log_recent_keep(config_has_nodes(config));
	transports_configure(manager->transports, config);
	handed_configure(manager->handed, config);
	package_update_transports(manager);
	triggers_configure(manager->triggers, config->probe_delay_us);
	reporter_configure(manager->reporter, config);
	scan_configure(manager->scan, scan_times(config));
	dispatch_drop_retired(manager);
	dispatch_sleep_paused(manager);
	os_loop_defer(manager->loop, &manager->dispatch_task);
}

void manager_use_limits(struct manager *manager, const struct limit_memory *limits)
{
	gate_configure(manager->gate, manager->config, limits);
}

void manager_stop(struct manager *manager, void (*done)(void *context), void *context)
{
	manager->is_stopping = true;
	scan_stop(manager->scan);
	status_stop(manager->status);
	cleaning_free(manager->cleaning);
	manager->cleaning = NULL;
	gate_stop(manager->gate);
	triggers_stop(manager->triggers);
	wake_stop(manager->wake);
	dispatch_drop_waiting(manager);
	helpers_drain(manager->helpers);
	recorder_flush(manager->recorder);
	manager->stopped = done;
	manager->stopped_context = context;
	stop_check(manager);
}

size_t manager_in_flight(const struct manager *manager)
{
	return helpers_in_flight(manager->helpers);
}

void manager_free(struct manager *manager)
{
	queue_link_free(manager->queue);
	while (manager->messages != NULL)
		life_forget(manager, manager->messages);
	helpers_free(manager->helpers);
	handed_free(manager->handed);
	orders_free(manager->orders);
	answers_free(manager->answers);
	status_free(manager->status);
	said_free(manager->said);
	cleaning_free(manager->cleaning);
	scan_free(manager->scan);
	reporter_free(manager->reporter);
	recorder_free(manager->recorder);
	resolver_free(manager->resolver);
	transports_free(manager->transports);
	wake_free(manager->wake);
	triggers_free(manager->triggers);
	gate_free(manager->gate);
	os_task_cancel(manager->loop, &manager->dispatch_task);
	os_task_cancel(manager->loop, &manager->stop_task);
	os_task_cancel(manager->loop, &manager->scan_task);
	os_timer_free(manager->dispatch_timer);
	os_timer_free(manager->sweep_timer);
	sleepers_clear(&manager->sleepers);
	free(manager);
}
