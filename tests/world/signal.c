// SPDX-License-Identifier: ISC
/* os/signal_watch.h of a simulated process. */
#include "description.h"
#include "os/signal_watch.h"

struct os_signal_watch {
	struct process *process;
	int number;
	struct os_wakeup *wakeup;
	struct os_signal_watch *next;
};

struct os_signal_watch *os_signal_watch_new(struct os_loop *loop, int number,
					    void (*call)(void *context), void *context)
{
	struct os_signal_watch *watch = world_calloc(1, sizeof *watch);

	*watch = (struct os_signal_watch){.process = kernel_process(),
					  .number = number,
					  .wakeup = os_wakeup_new(loop, call, context)};
	watch->next = watch->process->signals;
	watch->process->signals = watch;
	return watch;
}

void os_signal_watch_free(struct os_signal_watch *watch)
{
	struct os_signal_watch **place;

	if (watch == NULL)
		return;
	place = &watch->process->signals;
	while (*place != watch)
		place = &(*place)->next;
	*place = watch->next;
	os_wakeup_free(watch->wakeup);
	world_free(watch);
}

bool loop_signal(struct process *process, int number)
{
	for (struct os_signal_watch *watch = process->signals; watch != NULL; watch = watch->next) {
		if (watch->number != number)
			continue;
		os_wakeup_send(watch->wakeup);
		return true;
	}
	return false;
}
