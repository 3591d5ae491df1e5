// SPDX-License-Identifier: ISC
/* os/loop.h of a simulated process. */
#include "os/loop.h"
#include "base/timestamp.h"
#include "description.h"
#include <errno.h>
#include <stdlib.h>

struct os_timer {
	struct os_loop *loop;
	struct process *process;
	struct event *event; /* NULL: it does not run, or is due */
	bool is_due;
	struct os_timer *next_due;
	struct os_timer *next;
	void (*call)(void *context);
	void *context;
};

struct os_wakeup {
	struct os_loop *loop;
	bool is_due;
	struct os_wakeup *next_due;
	void (*call)(void *context);
	void *context;
};

struct os_loop {
	struct task *task; /* that is in os_loop_run() */
	struct os_task *tasks;
	struct os_watch *due_watches; /* may be ready */
	struct os_watch **last_watch; /* where the next one is appended */
	struct os_timer *due_timers;
	struct os_wakeup *due_wakeups;
	bool (*idle)(void);
	bool stopping;
};

struct os_loop *os_loop_new(void)
{
	struct os_loop *loop = world_calloc(1, sizeof *loop);

	loop->last_watch = &loop->due_watches;
	return loop;
}

void os_loop_free(struct os_loop *loop)
{
	world_free(loop);
}

static void wake_loop(struct os_loop *loop)
{
	if (loop->task != NULL)
		task_wake(loop->task);
}

void os_loop_stop(struct os_loop *loop)
{
	loop->stopping = true;
	wake_loop(loop);
}

void os_loop_set_trouble(struct os_loop *loop, void (*trouble)(int error))
{
	(void)loop;
	(void)trouble;
}

void os_loop_set_idle(struct os_loop *loop, bool (*idle)(void))
{
	loop->idle = idle;
}

/* --- deferred tasks --- */

void os_loop_defer(struct os_loop *loop, struct os_task *task)
{
	if (task->previous != NULL)
		return;
	task->next = loop->tasks;
	task->previous = &loop->tasks;
	if (task->next != NULL)
		task->next->previous = &task->next;
	loop->tasks = task;
}

void os_task_cancel(struct os_loop *loop, struct os_task *task)
{
	(void)loop;
	if (task->previous == NULL)
		return;
	*task->previous = task->next;
	if (task->next != NULL)
		task->next->previous = task->previous;
	task->next = NULL;
	task->previous = NULL;
}

static void run_tasks(struct os_loop *loop)
{
	while (loop->tasks != NULL) {
		struct os_task *task = loop->tasks;

		os_task_cancel(loop, task);
		task->call(task->context);
	}
}

/* --- watches --- */

void watch_due(struct os_watch *watch)
{
	if (watch->loop == NULL) {
		task_wake(watch->task);
		return;
	}
	if (watch->is_due || (description_poll(watch->description) & watch->events) == 0)
		return;
	watch->is_due = true;
	watch->next_due = NULL;
	*watch->loop->last_watch = watch;
	watch->loop->last_watch = &watch->next_due;
	wake_loop(watch->loop);
}

static void take_due(struct os_watch *watch)
{
	struct os_watch **place;

	if (!watch->is_due)
		return;
	place = &watch->loop->due_watches;
	while (*place != watch)
		place = &(*place)->next_due;
	*place = watch->next_due;
	if (watch->loop->last_watch == &watch->next_due)
		watch->loop->last_watch = place;
	watch->is_due = false;
}

void watch_link(struct os_watch *watch, struct description *description)
{
	watch->process = kernel_process();
	watch->description = description;
	watch->next_of_description = description->watches;
	description->watches = watch;
	watch->next_of_process = watch->process->watches;
	watch->process->watches = watch;
}

void watch_unlink(struct os_watch *watch)
{
	struct os_watch **place = &watch->description->watches;

	while (*place != watch)
		place = &(*place)->next_of_description;
	*place = watch->next_of_description;
	place = &watch->process->watches;
	while (*place != watch)
		place = &(*place)->next_of_process;
	*place = watch->next_of_process;
}

struct os_watch *os_watch_new(struct os_loop *loop, int descriptor, unsigned events,
			      void (*call)(void *context, unsigned events), void *context)
{
	struct description *description = table_find(descriptor);
	struct os_watch *watch = world_calloc(1, sizeof *watch);

	if (description == NULL)
		abort();           /* as the real one */
	description->references++; /* who frees it later than closing meets no stranger */
	*watch =
		(struct os_watch){.loop = loop, .events = events, .call = call, .context = context};
	watch_link(watch, description);
	watch_due(watch);
	return watch;
}

void os_watch_set(struct os_watch *watch, unsigned events)
{
	watch->events = events;
	watch_due(watch);
}

static void free_watch(struct os_watch *watch)
{
	if (watch->loop != NULL)
		take_due(watch);
	watch_unlink(watch);
	if (watch->loop != NULL)
		description_drop(watch->description);
}

void os_watch_free(struct os_watch *watch)
{
	if (watch == NULL)
		return;
	free_watch(watch);
	world_free(watch);
}

/* One that is ready, and is so still, has its next turn behind the others. */
static void run_watch(struct os_loop *loop)
{
	struct os_watch *watch = loop->due_watches;
	unsigned ready = description_poll(watch->description) & watch->events;

	take_due(watch);
	if (ready == 0)
		return;
	watch_due(watch);
	kernel_mix_number(watch->description->inode << 2 | ready);
	watch->call(watch->context, ready);
}

/* --- timers --- */

static void timer_due(void *context)
{
	struct os_timer *timer = context;
	struct os_timer **place = &timer->loop->due_timers;

	while (*place != NULL)
		place = &(*place)->next_due;
	timer->event = NULL;
	timer->is_due = true;
	timer->next_due = NULL;
	*place = timer;
	wake_loop(timer->loop);
}

struct os_timer *os_timer_new(struct os_loop *loop, void (*call)(void *context), void *context)
{
	struct os_timer *timer = world_calloc(1, sizeof *timer);

	*timer = (struct os_timer){
		.loop = loop, .process = kernel_process(), .call = call, .context = context};
	timer->next = timer->process->timers;
	timer->process->timers = timer;
	return timer;
}

void os_timer_stop(struct os_timer *timer)
{
	struct os_timer **place = &timer->loop->due_timers;

	kernel_cancel(timer->event);
	timer->event = NULL;
	if (!timer->is_due)
		return;
	while (*place != timer)
		place = &(*place)->next_due;
	*place = timer->next_due;
	timer->is_due = false;
}

void os_timer_start(struct os_timer *timer, int64_t delay_us)
{
	os_timer_stop(timer);
	timer->event = kernel_at(kernel_now_us() + (delay_us > 0 ? delay_us : 0), timer_due, timer);
}

bool os_timer_is_running(const struct os_timer *timer)
{
	return timer->event != NULL || timer->is_due;
}

void os_timer_free(struct os_timer *timer)
{
	struct os_timer **place;

	if (timer == NULL)
		return;
	os_timer_stop(timer);
	place = &timer->process->timers;
	while (*place != timer)
		place = &(*place)->next;
	*place = timer->next;
	world_free(timer);
}

static void run_timer(struct os_timer *timer)
{
	os_timer_stop(timer);
	timer->call(timer->context);
}

/* --- wakeups --- */

struct os_wakeup *os_wakeup_new(struct os_loop *loop, void (*call)(void *context), void *context)
{
	struct os_wakeup *wakeup = world_calloc(1, sizeof *wakeup);

	*wakeup = (struct os_wakeup){.loop = loop, .call = call, .context = context};
	return wakeup;
}

void os_wakeup_send(struct os_wakeup *wakeup)
{
	if (!wakeup->is_due) {
		wakeup->is_due = true;
		wakeup->next_due = wakeup->loop->due_wakeups;
		wakeup->loop->due_wakeups = wakeup;
	}
	wake_loop(wakeup->loop);
}

static void take_wakeup(struct os_wakeup *wakeup)
{
	struct os_wakeup **place = &wakeup->loop->due_wakeups;

	if (!wakeup->is_due)
		return;
	while (*place != wakeup)
		place = &(*place)->next_due;
	*place = wakeup->next_due;
	wakeup->is_due = false;
}

void os_wakeup_free(struct os_wakeup *wakeup)
{
	if (wakeup == NULL)
		return;
	take_wakeup(wakeup);
	world_free(wakeup);
}

static void run_wakeup(struct os_wakeup *wakeup)
{
	take_wakeup(wakeup);
	wakeup->call(wakeup->context);
}

/* --- turns --- */

static bool has_something(const struct os_loop *loop)
{
	return loop->due_watches != NULL || loop->due_timers != NULL || loop->due_wakeups != NULL;
}

/* What is ready when it begins, at most: a turn ends. */
static void turn(struct os_loop *loop)
{
	size_t left = 0;

	for (const struct os_watch *watch = loop->due_watches; watch != NULL;
	     watch = watch->next_due)
		left++;
	while (left-- > 0 && loop->due_watches != NULL && !loop->stopping)
		run_watch(loop);
	while (loop->due_wakeups != NULL && !loop->stopping)
		run_wakeup(loop->due_wakeups);
	left = 0;
	for (const struct os_timer *timer = loop->due_timers; timer != NULL;
	     timer = timer->next_due)
		left++;
	while (left-- > 0 && loop->due_timers != NULL && !loop->stopping)
		run_timer(loop->due_timers);
}

void os_loop_run(struct os_loop *loop)
{
	loop->task = kernel_task();
	while (!loop->stopping) {
		run_tasks(loop);
		if (loop->idle != NULL)
			(void)loop->idle();
		if (loop->stopping)
			break;
		if (has_something(loop))
			task_wake(loop->task); /* others have their turn first, perhaps */
		task_wait();
		turn(loop);
	}
	run_tasks(loop);
	if (loop->idle != NULL)
		(void)loop->idle();
	loop->stopping = false;
	loop->task = NULL;
}

/* --- the end --- */

void loop_forget_process(struct process *process)
{
	while (process->watches != NULL)
		free_watch(process->watches);
	for (struct os_timer *timer = process->timers; timer != NULL; timer = timer->next)
		kernel_cancel(timer->event);
	process->timers = NULL;
	process->signals = NULL;
}
