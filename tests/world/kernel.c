// SPDX-License-Identifier: ISC
/* Time, chance and the order of tasks. */
#include "kernel.h"
#include "description.h"
#include "fiber.h"
#include "image.h"
#include "streams.h"
#include <err.h>
#include <stdlib.h>
#include <string.h>

struct event {
	int64_t when_us;
	uint64_t number; /* those of one time come in their order */
	void (*call)(void *context);
	void *context;
	size_t place;       /* in the heap; SIZE_MAX: it is happening */
	struct event *next; /* of the spare ones */
};

static struct {
	int64_t now_us;
	uint64_t chance;
	uint64_t fingerprint;
	uint64_t numbers;
	struct event **events; /* a heap */
	size_t event_count;
	size_t event_size;
	struct event *spare;
	struct task **ready;
	size_t ready_count;
	size_t ready_size;
	struct task *running;
	struct fiber *fiber;
	FILE *log;
	const char *until;
	bool is_stopping;
} kernel;

static void *grow(void *list, size_t count, size_t *size, size_t each)
{
	if (count < *size)
		return list;
	*size = *size == 0 ? 64 : 2 * *size;
	list = realloc(list, *size * each);
	if (list == NULL)
		err(1, "no memory");
	return list;
}

int64_t kernel_now_us(void)
{
	return kernel.now_us;
}

/* --- chance (splitmix64) --- */

uint64_t kernel_random(void)
{
	uint64_t x = kernel.chance += 0x9e3779b97f4a7c15;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
	return x ^ (x >> 31);
}

uint64_t kernel_below(uint64_t bound)
{
	return kernel_random() % bound;
}

bool kernel_one_in(uint64_t n)
{
	return kernel_below(n) == 0;
}

/* FNV-1a */
void kernel_mix(const void *data, size_t size)
{
	const unsigned char *bytes = data;

	for (size_t i = 0; i < size; i++)
		kernel.fingerprint = (kernel.fingerprint ^ bytes[i]) * 0x100000001b3;
}

void kernel_mix_number(uint64_t number)
{
	kernel.fingerprint = (kernel.fingerprint ^ number) * 0x100000001b3;
	kernel.fingerprint ^= kernel.fingerprint >> 29;
}

uint64_t world_fingerprint(void)
{
	return kernel.fingerprint;
}

/* --- the log --- */

void world_log_text(const char *who, const char *text, size_t length)
{
	int64_t now = kernel.now_us;

	kernel_mix(text, length);
	if (kernel.until != NULL &&
	    memmem(text, length, kernel.until, strlen(kernel.until)) != NULL)
		kernel.is_stopping = true;
	if (kernel.log == NULL)
		return;
	fprintf(kernel.log, "%03lld:%02lld:%02lld.%06lld %s: ", (long long)(now / 3600000000),
		(long long)(now / 60000000 % 60), (long long)(now / 1000000 % 60),
		(long long)(now % 1000000), who);
	fwrite(text, 1, length, kernel.log);
	fputc('\n', kernel.log);
}

void world_log(const char *who, const char *format, ...)
{
	char text[1024];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	world_log_text(who, text, strlen(text));
}

/* --- events --- */

static bool is_before(const struct event *a, const struct event *b)
{
	return a->when_us != b->when_us ? a->when_us < b->when_us : a->number < b->number;
}

static void put(struct event *event, size_t place)
{
	kernel.events[place] = event;
	event->place = place;
}

/* EVENT, which belongs at PLACE or nearer to the first. */
static void rise(struct event *event, size_t place)
{
	while (place > 0 && is_before(event, kernel.events[(place - 1) / 2])) {
		put(kernel.events[(place - 1) / 2], place);
		place = (place - 1) / 2;
	}
	put(event, place);
}

/* EVENT, which belongs at PLACE or further from the first. */
static void sink(struct event *event, size_t place)
{
	for (;;) {
		size_t next = 2 * place + 1;

		if (next >= kernel.event_count)
			break;
		if (next + 1 < kernel.event_count &&
		    is_before(kernel.events[next + 1], kernel.events[next]))
			next++;
		if (!is_before(kernel.events[next], event))
			break;
		put(kernel.events[next], place);
		place = next;
	}
	put(event, place);
}

static struct event *take_spare(void)
{
	struct event *event = kernel.spare;

	if (event != NULL) {
		kernel.spare = event->next;
		return event;
	}
	event = malloc(sizeof *event);
	if (event == NULL)
		err(1, "no memory");
	return event;
}

static void give_spare(struct event *event)
{
	event->next = kernel.spare;
	kernel.spare = event;
}

struct event *kernel_at(int64_t when_us, void (*call)(void *context), void *context)
{
	struct event *event = take_spare();
	size_t place = kernel.event_count++;

	*event = (struct event){
		.when_us = when_us, .number = kernel.numbers++, .call = call, .context = context};
	kernel.events = grow(kernel.events, place, &kernel.event_size, sizeof *kernel.events);
	rise(event, place);
	return event;
}

static void take_out(struct event *event)
{
	struct event *last = kernel.events[--kernel.event_count];
	size_t place = event->place;

	event->place = SIZE_MAX;
	if (last == event)
		return;
	if (place > 0 && is_before(last, kernel.events[(place - 1) / 2]))
		rise(last, place);
	else
		sink(last, place);
}

void kernel_cancel(struct event *event)
{
	if (event == NULL || event->place == SIZE_MAX)
		return;
	take_out(event);
	give_spare(event);
}

static void run_events(void)
{
	while (kernel.event_count > 0 && kernel.events[0]->when_us <= kernel.now_us) {
		struct event *event = kernel.events[0];

		take_out(event);
		event->call(event->context);
		give_spare(event);
	}
}

/* --- tasks --- */

struct task *kernel_task(void)
{
	return kernel.running;
}

struct process *kernel_process(void)
{
	return kernel.running != NULL ? kernel.running->process : NULL;
}

static void run_task(void *argument)
{
	struct task *task = argument;

	task->call(task->context);
	task->has_ended = true;
	fiber_leave(task->fiber, kernel.fiber);
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
	kernel.ready =
		grow(kernel.ready, kernel.ready_count, &kernel.ready_size, sizeof *kernel.ready);
	task->place = kernel.ready_count;
	kernel.ready[kernel.ready_count++] = task;
}

static void take_ready(struct task *task)
{
	struct task *last;

	if (task->place == SIZE_MAX)
		return;
	last = kernel.ready[--kernel.ready_count];
	kernel.ready[task->place] = last;
	last->place = task->place;
	task->place = SIZE_MAX;
}

void task_wait(void)
{
	fiber_switch(kernel.running->fiber, kernel.fiber);
}

static void ring(void *context)
{
	struct task *task = context;

	task->alarm = NULL;
	task_wake(task);
}

void task_wait_until(int64_t when_us)
{
	struct task *task = kernel.running;

	task->alarm = kernel_at(when_us, ring, task);
	task_wait();
	kernel_cancel(task->alarm);
	task->alarm = NULL;
}

/* Somebody else may wake it before, a thaw for instance. */
void task_sleep_until(int64_t when_us)
{
	while (kernel.now_us < when_us)
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

static void run_one(void)
{
	struct task *task = kernel.ready[kernel_below(kernel.ready_count)];
	struct process *process = task->process;

	take_ready(task);
	process->turns++;
	kernel_mix_number((uint64_t)task->process->pid);
	image_enter(task->process);
	kernel.running = task;
	fiber_switch(kernel.fiber, task->fiber);
	kernel.running = NULL;
	kernel.now_us += 1 + (int64_t)kernel_below(8);
	if (task->has_ended)
		drop_task(task);
	if (process->has_ended && process->tasks == NULL && process->parent == NULL)
		process_forget(process);
}

/* Its tasks are dropped; the one that runs leaves by itself. */
void kernel_drop_tasks(struct process *process)
{
	struct task *task = process->tasks;

	while (task != NULL) {
		struct task *next = task->next;

		take_ready(task);
		task->has_ended = true;
		if (task != kernel.running)
			drop_task(task);
		task = next;
	}
}

void process_leave(int status)
{
	struct task *task = kernel.running;

	process_end(task->process, status);
	fiber_leave(task->fiber, kernel.fiber);
}

void process_freeze(struct process *process, bool is_frozen)
{
	if (process->has_ended || process->is_frozen == is_frozen)
		return;
	process->is_frozen = is_frozen;
	process->frozen_us = kernel.now_us;
	for (struct task *task = process->tasks; task != NULL; task = task->next) {
		if (is_frozen && task != kernel.running)
			take_ready(task);
		else if (!is_frozen)
			task_wake(task); /* whoever waits looks again */
	}
}

/* --- the world --- */

void world_begin(uint64_t seed, FILE *log)
{
	kernel.chance = seed * 0x2545f4914f6cdd1d;
	kernel.fingerprint = 0xcbf29ce484222325;
	kernel.now_us = 0;
	kernel.numbers = 0;
	kernel.log = log;
	streams_begin();
	kernel.fiber = fiber_new(NULL, NULL);
}

void world_stop(void)
{
	kernel.is_stopping = true;
}

void world_stop_at(const char *text)
{
	kernel.is_stopping = false;
	kernel.until = text;
}

bool world_has_stopped(void)
{
	return kernel.is_stopping;
}

void world_run(int64_t when_us)
{
	while (!kernel.is_stopping) {
		run_events();
		if (kernel.ready_count > 0 && kernel.now_us < when_us) {
			run_one();
			continue;
		}
		if (kernel.event_count == 0 || kernel.now_us >= when_us)
			return;
		kernel.now_us = kernel.events[0]->when_us;
		if (kernel.now_us > when_us)
			kernel.now_us = when_us;
	}
}

void world_end(void)
{
	process_end_all();
	listen_end();
	for (size_t i = 0; i < kernel.event_count; i++)
		free(kernel.events[i]);
	while (kernel.spare != NULL)
		free(take_spare());
	free(kernel.events);
	free(kernel.ready);
	fiber_free(kernel.fiber);
	image_end();
	memset(&kernel, 0, sizeof kernel);
}
