// SPDX-License-Identifier: ISC
#include "command/rights/node.h"
#include "base/arena.h"
#include "base/panic.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROCESSES_MAX = 4096, DESCRIPTORS_MAX = 1 << 20 };

/* --- which processes --- */

struct pair {
	pid_t pid;
	pid_t parent;
};

struct pairs {
	struct pair *list;
	size_t count;
	size_t size;
};

static void add_pair(void *context, pid_t pid, pid_t parent)
{
	struct pairs *pairs = context;

	pairs->list = memory_grow(pairs->list, pairs->count, &pairs->size, sizeof *pairs->list);
	pairs->list[pairs->count++] = (struct pair){pid, parent};
}

static struct node_process *add_node_process(struct node *node, pid_t pid,
					     const struct node_process *parent)
{
	struct node_process *process = &node->processes[node->count];

	*process = (struct node_process){.pid = pid, .parent = parent};
	if (os_inspect_status(pid, &process->status) < 0)
		return NULL; /* ended */
	node->count++;
	return process;
}

/* Adds children, then their children: each process in the list is searched for as a parent once. */
static void add_child_processes(struct node *node, const struct pairs *pairs)
{
	for (size_t i = 0; i < node->count; i++)
		for (size_t j = 0; j < pairs->count && node->count < PROCESSES_MAX; j++)
			if (pairs->list[j].parent == node->processes[i].pid)
				(void)add_node_process(node, pairs->list[j].pid,
						       &node->processes[i]);
}

/* --- their descriptors --- */

struct descriptors {
	struct node *node;
	struct node_descriptor *list;
	size_t count;
	size_t size;
};

static void add_descriptor(void *context, int number, const char *target, unsigned flags)
{
	struct descriptors *found = context;
	unsigned long socket = 0;

	if (found->count == DESCRIPTORS_MAX)
		return;
	found->list = memory_grow(found->list, found->count, &found->size, sizeof *found->list);
	(void)sscanf(target, "socket:[%lu]", &socket);
	found->list[found->count++] = (struct node_descriptor){
		number, flags, arena_copy(found->node->arena, str_from(target)), socket};
}

static void look_into_process(struct node *node, struct node_process *process)
{
	struct descriptors found = {.node = node};
	char path[OS_PROCESS_PATH_SIZE];
	const char *slash;

	process->error = os_inspect_program(process->pid, path);
	process->path = arena_copy(node->arena, str_from(process->error == 0 ? path : ""));
	slash = strrchr(process->path, '/');
	process->program = slash != NULL ? slash + 1 : process->path;
	process->rights = rights_find(process->program);
	if (process->error == 0)
		process->error = os_inspect_descriptors(process->pid, add_descriptor, &found);
	process->count = found.count;
	process->descriptors = arena_alloc(node->arena, (found.count + 1) * sizeof *found.list);
	if (found.count > 0)
		memcpy(process->descriptors, found.list, found.count * sizeof *found.list);
	free(found.list);
}

int node_look(pid_t supervisor, struct node *out)
{
	struct pairs pairs = {0};
	int error = os_inspect_processes(add_pair, &pairs);

	*out = (struct node){.arena = arena_new()};
	out->processes = arena_alloc(out->arena, PROCESSES_MAX * sizeof *out->processes);
	if (error == 0 && add_node_process(out, supervisor, NULL) == NULL)
		error = -ESRCH;
	if (error == 0)
		add_child_processes(out, &pairs);
	free(pairs.list);
	for (size_t i = 0; error == 0 && i < out->count; i++)
		look_into_process(out, &out->processes[i]);
	if (error == 0)
		error = os_inspect_sockets_new(supervisor, &out->sockets);
	if (error < 0)
		node_clear(out);
	return error;
}

void node_clear(struct node *node)
{
	os_inspect_sockets_free(node->sockets);
	arena_free(node->arena);
	*node = (struct node){0};
}

bool node_is_hidden(const struct node_process *process)
{
	return process->error == -EACCES || process->error == -EPERM;
}

static bool has_socket(const struct node_process *process, uint64_t number)
{
	for (size_t i = 0; i < process->count; i++)
		if (process->descriptors[i].socket == number)
			return true;
	return false;
}

const struct node_process *node_find_socket(const struct node *node, uint64_t number,
					    const struct node_process *process)
{
	for (size_t i = 0; number != 0 && i < node->count; i++)
		if (&node->processes[i] != process && has_socket(&node->processes[i], number))
			return &node->processes[i];
	return number != 0 && has_socket(process, number) ? process : NULL;
}
