// SPDX-License-Identifier: ISC
/* Tasks, of which one runs until it waits; chance decides which is next. */
#include "description.h"
#include "fiber.h"
#include "image.h"
#include "kernel_internal.h"
#include <err.h>
#include <stdlib.h>
#include <string.h>

static struct {
	struct task **ready;
	size_t ready_count;
	size_t ready_size;
	struct task *running;
	struct fiber *fiber; /* that of who runs the tasks */
} tasks;

struct task *kernel_task(void)
{
	return tasks.running;
}

struct process *kernel_process(void)
{
	return tasks.running != NULL ? tasks.running->process : NULL;
}

static void run_task(void *argument)
{
	struct task *task = argument;

	task->call(task->context);
	task->has_ended = true;
	fiber_leave(task->fiber, tasks.fiber);
}

struct task *task_new(struct process *process, void (*call)(void *context), void *context)
{
	struct task *task = calloc(1, sizeof *task);

	if (task == NULL)
		err(1, "no memory");
	*task = (struct task){
		.process = process, .call = call, .context = context, .place = SIZE_MAX};
	task->fiber = fiber_new(run_task, task);
	task->next = process->tasks;
	process->tasks = task;
	task_wake(task);
	return task;
}

void task_wake(struct task *task)
{
	if (task->place != SIZE_MAX || task->has_ended || task->process->is_frozen)
		return;
	tasks.ready =
		kernel_grow(tasks.ready, tasks.ready_count, &tasks.ready_size, sizeof *tasks.ready);
	task->place = tasks.ready_count;
	tasks.ready[tasks.ready_count++] = task;
}

static void take_ready(struct task *task)
{
	struct task *last;

	if (task->place == SIZE_MAX)
		return;
	last = tasks.ready[--tasks.ready_count];
	tasks.ready[task->place] = last;
	last->place = task->place;
	task->place = SIZE_MAX;
}

void task_wait(void)
{
	fiber_switch(tasks.running->fiber, tasks.fiber);
}

static void ring(void *context)
{
	struct task *task = context;

	task->alarm = NULL;
	task_wake(task);
}

void task_wait_until(int64_t when_us)
{
	struct task *task = tasks.running;

	task->alarm = kernel_at(when_us, ring, task);
	task_wait();
	kernel_cancel(task->alarm);
	task->alarm = NULL;
}

/* Somebody else may wake it before, a thaw for instance. */
void task_sleep_until(int64_t when_us)
{
	while (kernel_now_us() < when_us)
		task_wait_until(when_us);
}

static void drop_task(struct task *task)
{
	struct task **place = &task->process->tasks;

	while (*place != task)
		place = &(*place)->next;
	*place = task->next;
	kernel_cancel(task->alarm);
	fiber_free(task->fiber);
	free(task);
}

bool tasks_run_one(void)
{
	struct task *task;
	struct process *process;

	if (tasks.ready_count == 0)
		return false;
	task = tasks.ready[kernel_below(tasks.ready_count)];
	process = task->process;
	take_ready(task);
	process->turns++;
	kernel_mix_number((uint64_t)task->process->pid);
	image_enter(task->process);
	tasks.running = task;
	fiber_switch(tasks.fiber, task->fiber);
	tasks.running = NULL;
	events_pass(1 + (int64_t)kernel_below(8));
	if (task->has_ended)
		drop_task(task);
	if (process->has_ended && process->tasks == NULL && process->parent == NULL)
		process_forget(process);
	return true;
}

/* Its tasks are dropped; the one that runs leaves by itself. */
void kernel_drop_tasks(struct process *process)
{
	struct task *task = process->tasks;

	while (task != NULL) {
		struct task *next = task->next;

		take_ready(task);
		task->has_ended = true;
		if (task != tasks.running)
			drop_task(task);
		task = next;
	}
}

void process_leave(int status)
{
	struct task *task = tasks.running;

	process_end(task->process, status);
	fiber_leave(task->fiber, tasks.fiber);
}

void process_freeze(struct process *process, bool is_frozen)
{
	if (process->has_ended || process->is_frozen == is_frozen)
		return;
	process->is_frozen = is_frozen;
	process->frozen_us = kernel_now_us();
	for (struct task *task = process->tasks; task != NULL; task = task->next) {
		if (is_frozen && task != tasks.running)
			take_ready(task);
		else if (!is_frozen)
			task_wake(task); /* whoever waits looks again */
	}
}

void tasks_begin(void)
{
	tasks.fiber = fiber_new(NULL, NULL);
}

void tasks_end(void)
{
	free(tasks.ready);
	fiber_free(tasks.fiber);
	memset(&tasks, 0, sizeof tasks);
}
