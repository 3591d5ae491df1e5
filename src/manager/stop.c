// SPDX-License-Identifier: ISC
/* The end of the manager: when nothing is in progress any more. */
#include "manager/internal.h"

static bool is_at_rest(const struct manager *manager)
{
	return helpers_in_flight(manager->helpers) == 0 && recorder_is_idle(manager->recorder) &&
	       manager->in_state[MESSAGE_REPORTING] == 0 &&
	       (manager->in_state[MESSAGE_ENDING] + manager->in_state[MESSAGE_REMOVING] == 0 ||
		!queue_link_is_up(manager->queue));
}

/* At the end of a turn: DONE may free the manager. */
void stop_finish(void *context)
{
	struct manager *manager = context;
	void (*stopped)(void *context) = manager->stopped;

	if (stopped == NULL || !is_at_rest(manager))
		return;
	queue_link_flush(manager->queue); /* its deferred task may not run any more */
	manager->stopped = NULL;
	stopped(manager->stopped_context);
}

void stop_check(void *context)
{
	struct manager *manager = context;

	if (manager->stopped != NULL)
		os_loop_defer(manager->loop, &manager->stop_task);
}
