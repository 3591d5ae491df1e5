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
		*note = (struct note){process->pid, process->open_count,
				      memory_count(process->memory), notes};
		notes = note;
	}
}

static void compare(const struct note *note, const struct process *process)
{
	size_t blocks = memory_count(process->memory);

	if (process->open_count > note->descriptors)
		judge_object(JUDGE_GROWTH, "%s: %s has %zu descriptors, and had %zu",
			     process->machine->name, process->program->name, process->open_count,
			     note->descriptors);
	if (blocks > note->blocks + GROWTH_BLOCKS)
		judge_object(JUDGE_GROWTH, "%s: %s has %zu blocks of memory, and had %zu",
			     process->machine->name, process->program->name, blocks, note->blocks);
}

/* One that has started since then has nothing to be compared with. */
void growth_compare(const struct machine *machine)
{
	for (struct note **place = &notes; *place != NULL;) {
		struct note *note = *place;
		const struct process *process = process_find(note->pid);

		if (process == NULL || process->machine == machine) {
			if (process != NULL && is_of_node(process, machine))
				compare(note, process);
			*place = note->next;
			free(note);
		} else {
			place = &note->next;
		}
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

void growth_look_at_end(struct machine *machine)
{
	size_t spares = count_names(machine, "/var/queue/pid");
	size_t triggers = count_names(machine, "/var/queue/trigger");

	if (spares > GROWTH_SPARES && !ledger_is_disturbed()) /* 36 hours after a crash */
		judge_object(JUDGE_GROWTH, "%s: %zu files in pid", machine->name, spares);
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
