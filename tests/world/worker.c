// SPDX-License-Identifier: ISC
/* os/worker.h: what a thread does is a task of its process, done at a random later time. */
#include "os/worker.h"
#include "kernel.h"

enum { LATE_US = 20000, LOOK_US = 1000 };

struct os_worker {
	void (*work)(void *context);
	void *context;
	struct os_wakeup *wakeup;
	struct task *free_waits; /* for the end of what is done */
	bool is_busy;
};

int os_worker_new(void (*work)(void *context), void *context, struct os_wakeup *wakeup,
		  struct os_worker **worker_out)
{
	struct os_worker *worker = world_calloc(1, sizeof *worker);

	*worker = (struct os_worker){.work = work, .context = context, .wakeup = wakeup};
	*worker_out = worker;
	return 0;
}

static void run(void *context)
{
	struct os_worker *worker = context;

	task_sleep_until(kernel_now_us() + (int64_t)kernel_below(LATE_US));
	worker->work(worker->context);
	task_sleep_until(kernel_now_us() + (int64_t)kernel_below(LATE_US));
	worker->is_busy = false;
	if (worker->free_waits != NULL)
		task_wake(worker->free_waits);
	else if (worker->wakeup != NULL)
		os_wakeup_send(worker->wakeup);
}

/* Who has a processor is not simulated. */
void os_worker_lower(struct os_worker *worker, enum os_worker_priority priority)
{
	(void)worker;
	(void)priority;
}

void os_worker_start(struct os_worker *worker)
{
	worker->is_busy = true;
	(void)task_new(kernel_process(), run, worker);
}

bool os_worker_is_busy(struct os_worker *worker)
{
	return worker->is_busy;
}

bool os_worker_wait(struct os_worker *worker, int64_t timeout_us)
{
	int64_t end_us = kernel_now_us() + timeout_us;

	while (worker->is_busy && kernel_now_us() < end_us)
		task_sleep_until(kernel_now_us() + LOOK_US);
	return !worker->is_busy;
}

void os_worker_free(struct os_worker *worker)
{
	if (worker == NULL)
		return;
	worker->free_waits = kernel_task();
	while (worker->is_busy)
		task_wait();
	world_free(worker);
}
