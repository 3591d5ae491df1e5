// SPDX-License-Identifier: ISC
#include "description.h"
#include "inside.h"
#include <err.h>
#include <errno.h>
#include <stdlib.h>

void description_init(struct description *description, const struct description_kind *kind)
{
	static uint64_t inodes;

	description->kind = kind;
	description->references = 1;
	description->inode = ++inodes;
}

void description_drop(struct description *description)
{
	if (--description->references == 0)
		description->kind->close(description);
}

void description_changed(struct description *description)
{
	for (struct os_watch *watch = description->watches; watch != NULL;
	     watch = watch->next_of_description)
		watch_due(watch);
}

unsigned description_poll(struct description *description)
{
	if (description->kind->poll == NULL)
		return OS_WATCH_READ | OS_WATCH_WRITE;
	return description->kind->poll(description);
}

/* --- tables --- */

static bool has_room(struct process *process, size_t number)
{
	size_t size = process->descriptor_count;

	if (number + process->descriptors_lacking >= process->machine->descriptors)
		return false;
	while (size <= number)
		size = size == 0 ? 16 : 2 * size;
	if (size == process->descriptor_count)
		return true;
	process->descriptors = realloc(process->descriptors, size * sizeof(struct description *));
	if (process->descriptors == NULL)
		err(1, "no memory");
	for (size_t i = process->descriptor_count; i < size; i++)
		process->descriptors[i] = NULL;
	process->descriptor_count = size;
	return true;
}

static int add_from(size_t number, struct description *description)
{
	struct process *process = kernel_process();

	while (number < process->descriptor_count && process->descriptors[number] != NULL)
		number++;
	if (!has_room(process, number)) {
		description_drop(description);
		return -EMFILE;
	}
	process->descriptors[number] = description;
	process->open_count++;
	return (int)number;
}

int table_add(struct description *description)
{
	return add_from(0, description);
}

void table_put(struct process *process, int number, struct description *description)
{
	if (!has_room(process, (size_t)number))
		errx(1, "a process begins with more descriptors than it may have");
	process->descriptors[number] = description;
	process->open_count++;
	description->references++;
}

struct description *table_find(int descriptor)
{
	struct process *process = kernel_process();

	if (descriptor < 0 || (size_t)descriptor >= process->descriptor_count)
		return NULL;
	return process->descriptors[descriptor];
}

struct description *table_of_kind(int descriptor, const struct description_kind *kind)
{
	struct description *description = table_find(descriptor);

	return description != NULL && description->kind == kind ? description : NULL;
}

int table_close(int descriptor)
{
	struct process *process = kernel_process();
	struct description *description = table_find(descriptor);

	if (description == NULL)
		return -EBADF;
	process->descriptors[descriptor] = NULL;
	process->open_count--;
	description_drop(description);
	return 0;
}

int table_copy(int descriptor, int lowest)
{
	struct description *description = table_find(descriptor);

	if (description == NULL)
		return -EBADF;
	description->references++;
	return add_from((size_t)lowest, description);
}

void table_close_all(struct process *process)
{
	for (size_t i = 0; i < process->descriptor_count; i++) {
		struct description *description = process->descriptors[i];

		process->descriptors[i] = NULL;
		if (description != NULL)
			description_drop(description);
	}
	free(process->descriptors);
	process->descriptors = NULL;
	process->descriptor_count = 0;
	process->open_count = 0;
}

/* --- waiting --- */

int table_wait(int descriptor, unsigned events, int64_t timeout_us)
{
	struct description *description = table_find(descriptor);
	int64_t until_us = kernel_now_us() + timeout_us;
	struct os_watch *watch;
	bool is_ready;

	if (description == NULL)
		return -EBADF;
	watch = world_calloc(1, sizeof *watch);
	*watch = (struct os_watch){.task = kernel_task(), .events = events};
	watch_link(watch, description);
	for (;;) {
		is_ready = (description_poll(description) & events) != 0;
		if (is_ready || (timeout_us >= 0 && kernel_now_us() >= until_us))
			break;
		if (timeout_us >= 0)
			task_wait_until(until_us);
		else
			task_wait();
	}
	watch_unlink(watch);
	world_free(watch);
	return is_ready ? 0 : -ETIMEDOUT;
}

int world_description(int descriptor, uint64_t *number_out, mode_t *mode_out)
{
	const struct description *description = table_find(descriptor);

	if (description == NULL)
		return -EBADF;
	*number_out = description->inode;
	*mode_out = description->kind->mode;
	return 0;
}

void world_sleep_us(int64_t time_us)
{
	task_sleep_until(kernel_now_us() + time_us);
}
