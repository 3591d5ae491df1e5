// SPDX-License-Identifier: ISC
/* Machines and processes: how they begin, hear signals and end. */
#include "description.h"
#include "files.h"
#include "image.h"
#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { PROGRAMS_MAX = 64 };

static struct {
	const struct world_program *programs[PROGRAMS_MAX];
	size_t program_count;
	struct machine *machines;
	struct process *first;
	pid_t last_pid;
} all;

void world_add_program(const struct world_program *program)
{
	if (all.program_count == PROGRAMS_MAX)
		errx(1, "too many programs");
	all.programs[all.program_count++] = program;
}

const struct world_program *world_find_program(const char *name)
{
	for (size_t i = 0; i < all.program_count; i++)
		if (strcmp(all.programs[i]->name, name) == 0)
			return all.programs[i];
	return NULL;
}

struct machine *machine_new(const char *name, uint32_t address)
{
	struct machine *machine = calloc(1, sizeof *machine);

	if (machine == NULL)
		err(1, "no memory");
	snprintf(machine->name, sizeof machine->name, "%s", name);
	machine->address = address;
	machine->descriptors = WORLD_DESCRIPTORS_MAX;
	machine->next = all.machines;
	all.machines = machine;
	return machine;
}

/* --- beginning --- */

static void run_main(void *context)
{
	struct process *process = context;
	int (*main)(int argc, char **argv) =
		process->image != NULL ? process->image->main : process->program->main;
	int count = 0;

	while (process->arguments[count] != NULL)
		count++;
	process_leave((main(count, process->arguments) & 0xff) << 8);
}

static char **copy_arguments(const char *const *arguments)
{
	size_t count = 0;
	char **copy;

	while (arguments[count] != NULL)
		count++;
	copy = calloc(count + 1, sizeof *copy);
	if (copy == NULL)
		err(1, "no memory");
	for (size_t i = 0; i < count; i++)
		copy[i] = strdup(arguments[i]);
	return copy;
}

struct process *process_new(struct machine *machine, struct process *parent,
			    const struct world_program *program, const char *const *arguments,
			    void *context)
{
	struct process *process = calloc(1, sizeof *process);
	struct process **place = &all.first;

	if (process == NULL)
		err(1, "no memory");
	process->pid = ++all.last_pid + 100;
	process->machine = machine;
	process->parent = parent;
	process->program = program;
	process->arguments = copy_arguments(arguments);
	process->memory = memory_new();
	process->context = context;
	if (program->image != NULL)
		process->image = image_new(program->image, &process->slot);
	while (*place != NULL)
		place = &(*place)->next;
	*place = process;
	task_new(process, run_main, process);
	return process;
}

struct process *process_first(void)
{
	return all.first;
}

struct process *process_find(pid_t pid)
{
	struct process *process = all.first;

	while (process != NULL && process->pid != pid)
		process = process->next;
	return process;
}

/* --- ending --- */

static void free_arguments(struct process *process)
{
	for (size_t i = 0; process->arguments[i] != NULL; i++)
		free(process->arguments[i]);
	free(process->arguments);
	process->arguments = NULL;
}

/* The first that is a child of PARENT. */
static struct process *child_of(const struct process *parent)
{
	struct process *process = all.first;

	while (process != NULL && process->parent != parent)
		process = process->next;
	return process;
}

static void orphan_children(const struct process *parent)
{
	struct process *process;

	while ((process = child_of(parent)) != NULL) {
		process->parent = NULL;
		process->is_orphan = true;
		if (process->dies_with_parent && !process->has_ended)
			process_end(process, SIGKILL);
		else if (process->has_ended && process->tasks == NULL)
			process_forget(process);
	}
}

void process_end(struct process *process, int status)
{
	if (process->has_ended)
		return;
	kernel_mix_number((uint64_t)status ^ (uint64_t)process->pid << 32);
	process->has_ended = true;
	process->is_frozen = false;
	process->status = status;
	if (process->on_end != NULL)
		process->on_end(process);
	loop_forget_process(process);
	kernel_drop_tasks(process);
	table_close_all(process);
	memory_free_all(process->memory);
	process->memory = NULL;
	image_free(process);
	free_arguments(process);
	orphan_children(process);
	if (process->parent != NULL)
		process_signal(process->parent, SIGCHLD);
	else if (process->tasks == NULL)
		process_forget(process);
}

void process_forget(struct process *process)
{
	struct process **place = &all.first;

	while (*place != process)
		place = &(*place)->next;
	*place = process->next;
	free(process);
}

void process_signal(struct process *process, int number)
{
	if (process->has_ended)
		return;
	kernel_mix_number((uint64_t)number ^ (uint64_t)process->pid << 32);
	if (number == SIGSTOP || number == SIGCONT)
		process_freeze(process, number == SIGSTOP);
	else if (number == SIGKILL)
		process_end(process, SIGKILL);
	else if (!loop_signal(process, number) && !process->ignored[number] && number != SIGCHLD &&
		 number != 0)
		process_end(process, number);
}

static void free_machines(void)
{
	while (all.machines != NULL) {
		struct machine *machine = all.machines;

		all.machines = machine->next;
		files_end(machine);
		free(machine);
	}
}

void process_end_all(void)
{
	while (all.first != NULL) {
		struct process *process = all.first;

		process->parent = NULL;
		if (process->has_ended)
			process_forget(process);
		else
			process_end(process, SIGKILL);
	}
	free_machines();
	memset(&all, 0, sizeof all);
}
