// SPDX-License-Identifier: ISC
/* Events from the helper "handover". */
#include "manager/internal.h"
#include "manager/outcome.h"
#include "manager/package.h"
#include "os/clock.h"
#include <errno.h>

static void on_handed_released(void *context, struct str name)
{
	struct manager *manager = context;
	struct trigger *trigger = triggers_find(manager->triggers, name);
	enum queue_trigger_kind kind = queue_trigger_kind(name);

	if (trigger != NULL && (kind == QUEUE_TRIGGER_NODES || kind == QUEUE_TRIGGER_NODE))
		triggers_release(manager->triggers, trigger);
}

/* What waits has destinations of one kind or of the other. */
static void on_groups_changed(void *context)
{
	struct manager *manager = context;
	const struct config *config = manager->config;

	for (size_t i = 0; i < config->transport_count; i++) {
		struct buffer name CLEANUP(buffer_clear) = {0};

		buffer_append_format(&name, "nodes.%s",
				     config_transport_nodes(config, config->transports[i].name));
		on_handed_released(manager, buffer_view(&name));
	}
	package_update_transports(manager);
	dispatch_drop_waiting(manager);
	os_loop_defer(manager->loop, &manager->dispatch_task);
}

static void make_sleeper_due(void *context, struct sleeper *sleeper)
{
	struct manager *manager = context;

	sleepers_set_due(&manager->sleepers, sleeper, os_clock_wall_us());
}

/* All that waits is looked at, also what scans have left on the disk: deliver.c has what goes to
 * another node then, whatever it waits for here. */
static void on_node_draining(void *context)
{
	struct manager *manager = context;
	bool is_draining = handed_is_draining(manager->handed);

	scan_keep_all(manager->scan, is_draining);
	if (!is_draining)
		return;
	sleepers_each(&manager->sleepers, make_sleeper_due, manager);
	wake_schedule(manager->wake);
	scan_begin(manager->scan, false);
	os_loop_defer(manager->loop, &manager->dispatch_task);
}

/* What is on the disk of the message ID, which is not in memory: the deliveries that are decided
 * are told. 1: it is there; 0: it is not; or -errno. */
static int settle_by_disk(struct manager *manager, struct mail_id id)
{
	struct queue_control *control;
	int error = queue_update_load(manager->store, NULL, id.number, &control, NULL);
	int result = 0;

	if (error < 0)
		return error;
	/* an earlier process may have died between writing a record and its sync */
	error = queue_update_sync_control(manager->store, id.number);
	if (error < 0) {
		queue_control_free(control);
		return error;
	}
	if (control->envelope->id.born_us == id.born_us) {
		result = 1;
		for (size_t i = 0; i < control->delivery_count; i++)
			if (!outcome_is_open(&control->deliveries[i]))
				handed_settle(manager->handed, id, &control->deliveries[i].number,
					      1);
	}
	queue_control_free(control);
	return result;
}

/* Whether ID is at S4: 1, 0 or -errno. */
static int is_queued(struct manager *manager, struct mail_id id)
{
	for (enum mail_stage stage = 0; stage < MAIL_STAGE_COUNT; stage++) {
		struct queue_control *control;
		int error = queue_update_load(manager->store, &stage, id.number, &control, NULL);
		bool is_same;

		if (error == -ENOENT)
			continue;
		if (error < 0)
			return error;
		is_same = control->envelope->id.born_us == id.born_us;
		queue_control_free(control);
		if (is_same)
			return 1;
	}
	return 0;
}

/* Whether it was answered, or will be at its end. */
static bool answer_for_kept(struct manager *manager, struct mail_id id)
{
	struct message *message = message_find(manager, id.number);
	int there;

	if (!queue_link_is_up(
		    manager->queue)) /* what is gone may come back: MANAGED waits for that */
		return false;
	if (message != NULL && message->id.born_us == id.born_us) {
		message->is_handed = true;
		if (message->control != NULL && message->facts.place == MESSAGE_AT_S5)
			package_settle_recorded(manager, message);
		return true;
	}
	if (message != NULL && message->id.born_us == 0)
		return false; /* it is being read */
	there = is_queued(manager, id);
	if (there == 0)
		there = settle_by_disk(manager, id);
	if (there == 0 || there == -ENOENT)
		handed_settle(manager->handed, id, NULL, 0);
	return there >= 0 || there == -ENOENT;
}

static void on_package_kept(void *context, struct mail_id id)
{
	struct manager *manager = context;

	if (!answer_for_kept(manager, id))
		handed_ask_later(manager->handed, id);
}

const struct handed_handler manager_hear_handed = {on_handed_released, on_groups_changed,
						   on_node_draining, on_package_kept};
