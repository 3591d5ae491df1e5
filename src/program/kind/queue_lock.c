// SPDX-License-Identifier: ISC
#include "program/kind/queue_lock.h"
#include "base/timestamp.h"
#include "log/event.h"
#include "os/clock.h"
#include <errno.h>

/* Without a supervisor a process waits for deliveries at most ten seconds
 * (supervisor/child/child.h).
 */
static const int64_t QUEUE_LOCK_PATIENCE_US = 20 * SECOND_US;

int queue_lock_take(struct child *child, struct queue_store *store, const char *name)
{
	static int64_t begun_us; /* monotonic; 0: it was not locked by another one so far */
	struct buffer reason CLEANUP(buffer_clear) = {0};
	int error = queue_store_lock(store, name);
	int64_t now_us = os_clock_monotonic_us();

	if (error != -EAGAIN)
		return error;
	buffer_append_format(&reason, "another mail system works with the queue %s: it has lock/%s",
			     child->config->queue, name);
	if (begun_us == 0) {
		begun_us = now_us;
		child_waits(child, buffer_view(&reason));
	}
	if (now_us - begun_us < QUEUE_LOCK_PATIENCE_US)
		return -EAGAIN;
	log_event(EVENT_PROCESS_ERROR, log_str(reason, buffer_view(&reason)));
	child_cannot_start(child, buffer_view(&reason));
	return -EBUSY;
}
