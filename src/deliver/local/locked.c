// SPDX-License-Identifier: ISC
#include "deliver/local/locked.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "log/event.h"
#include "os/clock.h"
#include <stdlib.h>

static const int64_t PAUSE_US = SECOND_US / 10;

struct local_locked {
	struct os_timer *timer; /* runs while any wait, unless it is time */
	void (*again)(void *context);
	void *context;
	struct local_target *targets;
	size_t count;
	bool is_due;
};

static void on_locked_mailboxes_due(void *context)
{
	struct local_locked *locked = context;

	locked->is_due = true;
	locked->again(locked->context);
}

struct local_locked *local_locked_new(struct os_loop *loop, void (*again)(void *context),
				      void *context)
{
	struct local_locked *locked = memory_alloc_zero(1, sizeof *locked);

	locked->timer = os_timer_new(loop, on_locked_mailboxes_due, locked);
	locked->again = again;
	locked->context = context;
	return locked;
}

void local_locked_free(struct local_locked *locked)
{
	if (locked == NULL)
		return;
	os_timer_free(locked->timer);
	free(locked->targets);
	free(locked);
}

static void wait_aside(struct local_locked *locked, struct local_target *target)
{
	locked->targets = memory_resize(locked->targets, (locked->count + 1) * sizeof *target);
	locked->targets[locked->count++] = *target;
	target->entry = NULL;
	if (!locked->is_due && !os_timer_is_running(locked->timer))
		os_timer_start(locked->timer, PAUSE_US);
}

void local_locked_take(struct local_locked *locked, const struct config_service *service,
		       size_t max, struct local_batch *batch, size_t first, size_t end)
{
	for (size_t i = first; i < end; i++) {
		struct local_target *target = &batch->targets[i];

		if (!batch->group.deliveries[i].is_locked)
			continue;
		if (target->locked_us == 0)
			target->locked_us = os_clock_monotonic_us();
		int64_t since_us = os_clock_monotonic_us() - target->locked_us;
		if (locked->count < max && since_us < service->lock_timeout * SECOND_US)
			wait_aside(locked, target);
		else
			log_event_rated(EVENT_MAILBOX_LOCKED, log_str(path, target->path),
					log_str(to, batch->group.deliveries[i].recipient));
	}
}

bool local_locked_is_due(const struct local_locked *locked)
{
	return locked->is_due && locked->count > 0;
}

bool local_locked_give(struct local_locked *locked, struct local_batch *batch)
{
	if (!local_locked_is_due(locked))
		return false;
	batch->targets = locked->targets;
	batch->group.count = locked->count;
	local_batch_fill(batch);
	locked->targets = NULL;
	locked->count = 0;
	locked->is_due = false;
	return true;
}

void local_locked_give_up(struct local_locked *locked)
{
	for (size_t i = 0; i < locked->count; i++)
		local_entry_finish_one(locked->targets[i].entry, locked->targets[i].index, NULL);
	locked->count = 0;
	locked->is_due = false;
	os_timer_stop(locked->timer);
}
