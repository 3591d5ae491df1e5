// SPDX-License-Identifier: ISC
#include "manager/manager.h"
#include "base/panic.h"
#include "ipc/listener.h"
#include "log/event.h"
#include "manager/internal.h"
#include "os/file.h"
#include <stdlib.h>

enum { BOUNCE_STOCK = 2 };

static void scan_soon(void *context)
{
	scan_begin(context, true);
}

static bool is_at_rest(const struct manager *manager)
{
	const struct message *message;
	const struct message *next;

	if (HASH_COUNT(manager->jobs) > 0 || manager->updating > 0)
		return false;
	HASH_ITER (hh, (struct message *)manager->messages, message, next)
		if (message->state == MESSAGE_BOUNCING ||
		    (message->state == MESSAGE_REMOVING && manager->is_managing))
			return false;
	return true;
}

/* At the end of a turn: DONE may free the manager. */
static void finish_stop(void *context)
{
	struct manager *manager = context;
	void (*stopped)(void *context) = manager->stopped;

	if (stopped == NULL || !is_at_rest(manager))
		return;
	manager->stopped = NULL;
	stopped(manager->stopped_context);
}

struct manager *manager_new(struct os_loop *loop, struct queue_store *store,
			    const struct config *config, const struct manager_peers *peers,
			    void (*ready)(void *context), void *context)
{
	struct manager *manager = memory_alloc_zero(1, sizeof *manager);

	manager->loop = loop;
	manager->store = store;
	manager->config = config;
	manager->trigger = -1;
	manager->peers = *peers;
	manager->ready = ready;
	manager->ready_context = context;
	manager->dispatch_task = (struct os_task){.call = stage_dispatch, .context = manager};
	manager->removals_task = (struct os_task){.call = removal_flush, .context = manager};
	manager->questions_task = (struct os_task){.call = resolver_flush, .context = manager};
	manager->stop_task = (struct os_task){.call = finish_stop, .context = manager};
	manager->scan_task = (struct os_task){.call = scan_soon, .context = manager};
	manager->wake.timer = os_timer_new(loop, wake_due, manager);
	manager->wake.timer_at_us = INT64_MAX;
	manager->record_timer = os_timer_new(loop, record_due, manager);
	manager->trigger_timer = os_timer_new(loop, trigger_timer, manager);
	manager->rescan_timer = os_timer_new(loop, scan_timer, manager);
	manager->updates = queue_group_new(loop, &record_group_handler, manager);
	stage_configure_all(manager);
	manager->helper_listener =
		ipc_listener_new(loop, peers->listening, helper_on_connection, manager);
	manager->notify_watch =
		os_watch_new(loop, peers->notify, OS_WATCH_READ, operator_on_notice, manager);
	manager->bounce_queue = queue_client_new(loop, peers->queue_path, BOUNCE_STOCK);
	manager->queue = ipc_client_new(loop, peers->queue_path, &removal_queue_handler, manager);
	scan_open_trigger(manager);
	trigger_scan(manager);
	os_timer_start(manager->rescan_timer, config->rescan_us);
	return manager;
}

void manager_configure(struct manager *manager, const struct config *config)
{
	bool is_other_pace = manager->config->rescan_us != config->rescan_us;

	manager->config = config;
	stage_configure_all(manager);
	if (is_other_pace) /* what was left to the next scan may be due before it */
		scan_timer(manager);
}

void manager_check_stopped(struct manager *manager)
{
	if (manager->stopped != NULL)
		os_loop_defer(manager->loop, &manager->stop_task);
}

void manager_stop(struct manager *manager, void (*done)(void *context), void *context)
{
	manager->is_stopping = true;
	os_timer_stop(manager->rescan_timer);
	stage_drop_waiting(manager);
	helper_drain_all(manager);
	record_all(manager);
	manager->stopped = done;
	manager->stopped_context = context;
	manager_check_stopped(manager);
}

size_t manager_in_flight(const struct manager *manager)
{
	return HASH_COUNT(manager->jobs);
}

void manager_free(struct manager *manager)
{
	ipc_client_free(manager->queue);
	while (manager->helpers != NULL)
		helper_close(manager->helpers);
	scan_end(manager);
	while (manager->messages != NULL)
		message_free(manager, manager->messages);
	queue_client_free(manager->bounce_queue);
	queue_group_free(manager->updates);
	stage_free_all(manager);
	trigger_free_all(manager);
	os_task_cancel(manager->loop, &manager->dispatch_task);
	os_task_cancel(manager->loop, &manager->removals_task);
	os_task_cancel(manager->loop, &manager->questions_task);
	os_task_cancel(manager->loop, &manager->stop_task);
	os_task_cancel(manager->loop, &manager->scan_task);
	ipc_listener_free(manager->helper_listener);
	os_watch_free(manager->notify_watch);
	os_watch_free(manager->trigger_watch);
	if (manager->trigger >= 0)
		os_file_close(manager->trigger);
	os_timer_free(manager->wake.timer);
	os_timer_free(manager->record_timer);
	os_timer_free(manager->rescan_timer);
	os_timer_free(manager->trigger_timer);
	sleepers_clear(&manager->sleepers);
	buffer_clear(&manager->removals);
	buffer_clear(&manager->questions);
	free(manager->unresolved);
	free(manager);
}
