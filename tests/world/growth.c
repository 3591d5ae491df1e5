// SPDX-License-Identifier: ISC
#include "growth.h"
#include "files.h"
#include "judge.h"
#include "mail.h"
#include <err.h>
#include <stdlib.h>
#include <string.h>

/* What a process had. */
struct note {
	pid_t pid;
	size_t descriptors;
	size_t blocks;
	bool had_more_descriptors; /* than the time before */
	bool had_more_blocks;
	struct note *next;
};

static struct note *notes;

static bool is_of_node(const struct process *process, const struct machine *machine)
{
	return process->machine == machine && !process->has_ended && process->memory != NULL &&
	       process->on_end == NULL; /* no command */
}

void growth_note(const struct machine *machine)
{
	for (const struct process *process = process_first(); process != NULL;
	     process = process->next) {
		struct note *note;

		if (!is_of_node(process, machine))
			continue;
		note = malloc(sizeof *note);
		if (note == NULL)
			err(1, "no memory");
		*note = (struct note){.pid = process->pid,
				      .descriptors = process->open_count,
				      .blocks = memory_count(process->memory),
				      .next = notes};
		notes = note;
	}
}

static bool has_grown(size_t now, size_t *before, size_t most, bool *had_grown)
{
	const bool had = *had_grown;

	*had_grown = now > *before + most;
	*before = now;
	return had && *had_grown;
}

static void compare(struct note *note, const struct process *process)
{
	const char *node = process->machine->name;
	const char *program = process->program->name;

	if (has_grown(process->open_count, &note->descriptors, GROWTH_DESCRIPTORS,
		      &note->had_more_descriptors))
		judge_object(JUDGE_GROWTH, "%s: %s has %zu descriptors, more each time", node,
			     program, note->descriptors);
	if (has_grown(memory_count(process->memory), &note->blocks, GROWTH_BLOCKS,
		      &note->had_more_blocks))
		judge_object(JUDGE_GROWTH, "%s: %s has %zu blocks of memory, more each time", node,
			     program, note->blocks);
}

/* One that has started since then has nothing to be compared with. */
void growth_compare(const struct machine *machine)
{
	for (struct note *note = notes; note != NULL; note = note->next) {
		const struct process *process = process_find(note->pid);

		if (process != NULL && is_of_node(process, machine))
			compare(note, process);
	}
}

/* --- files --- */

static size_t count_names(struct machine *machine, const char *path)
{
	size_t size = 0;
	char *names = files_names(machine, path, &size);
	size_t count = 0;

	for (size_t i = 0; names != NULL && i < size; i += strlen(names + i) + 1)
		count++;
	if (names != NULL)
		disk_list_free(names);
	return count;
}

static void look_at_part(struct machine *machine, const char *path)
{
	size_t size = 0;
	char *names = files_names(machine, path, &size);

	for (size_t i = 0; names != NULL && i < size; i += strlen(names + i) + 1) {
		char file[512];
		uint64_t length;

		snprintf(file, sizeof file, "%s/%s", path, names + i);
		length = files_size(machine, file);
		if (length > GROWTH_CONTROL)
			judge_object(JUDGE_GROWTH, "%s: %s has %llu bytes", machine->name, file,
				     (unsigned long long)length);
	}
	if (names != NULL)
		disk_list_free(names);
}

void growth_look_at_controls(struct machine *machine)
{
	size_t size = 0;
	char *parts = files_names(machine, "/var/queue/info", &size);
	char path[64];

	for (size_t i = 0; parts != NULL && i < size; i += strlen(parts + i) + 1) {
		snprintf(path, sizeof path, "/var/queue/info/%.8s", parts + i);
		look_at_part(machine, path);
	}
	if (parts != NULL)
		disk_list_free(parts);
}

/* Whether something holds a message: all are gone. */
static bool has_holds(struct machine *machine)
{
	size_t size = 0;
	char *names = files_names(machine, "/var/queue/trigger", &size);
	bool has = false;

	for (size_t i = 0; names != NULL && i < size; i += strlen(names + i) + 1)
		has |= strncmp(names + i, "hold.", 5) == 0;
	if (names != NULL)
		disk_list_free(names);
	return has;
}

void growth_look_at_end(struct machine *machine)
{
	size_t spares = count_names(machine, "/var/queue/pid");
	size_t triggers = count_names(machine, "/var/queue/trigger");

	if (spares > GROWTH_SPARES && !ledger_is_disturbed()) /* 36 hours after a crash */
		judge_object(JUDGE_GROWTH, "%s: %zu files in pid", machine->name, spares);
	if (has_holds(
		    machine)) /* the start before this ended those that a power cut brought back */
		judge_object(JUDGE_GROWTH, "%s: holds of no messages are left", machine->name);
	if (triggers > 0 && !ledger_is_disturbed()) /* a power cut may bring a name back */
		judge_object(JUDGE_GROWTH, "%s: %zu triggers are left", machine->name, triggers);
}

void growth_end(void)
{
	while (notes != NULL) {
		struct note *note = notes;

		notes = note->next;
		free(note);
	}
}
