// SPDX-License-Identifier: ISC
#include "node.h"
#include "description.h"
#include "files.h"
#include <err.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define CONFIG "/etc/stagepost.conf"

int world_main_queue(int argc, char **argv);
int world_main_send(int argc, char **argv);
int world_main_resolve(int argc, char **argv);
int world_main_remote(int argc, char **argv);
int world_main_lmtp(int argc, char **argv);
int world_main_local(int argc, char **argv);
int world_main_pipe(int argc, char **argv);
int world_main_list(int argc, char **argv);
int world_main_smtpd(int argc, char **argv);
int world_main_names(int argc, char **argv);
int world_main_launch(int argc, char **argv);
int world_main_stagepost(int argc, char **argv);

static const struct world_program programs[] = {
	{"queue", world_main_queue, true},     {"send", world_main_send, true},
	{"resolve", world_main_resolve, true}, {"remote", world_main_remote, true},
	{"lmtp", world_main_lmtp, true},       {"local", world_main_local, true},
	{"pipe", world_main_pipe, true},       {"list", world_main_list, true},
	{"names", world_main_names, true},     {"launch", world_main_launch, true},
	{"smtpd", world_main_smtpd, true},     {"stagepost", world_main_stagepost, true},
};

void node_add_programs(void)
{
	for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++)
		world_add_program(&programs[i]);
}

/* --- what it says --- */

/* Standard error of a supervisor: its lines go to the world's log. */
struct output {
	struct description description;
	char who[WORLD_NAME_SIZE];
	size_t used;
	char line[4096];
};

static void close_output(struct description *description)
{
	free(description);
}

static ssize_t write_output(struct description *description, const void *data, size_t size)
{
	struct output *output = (void *)description;
	const char *bytes = data;

	for (size_t i = 0; i < size; i++) {
		if (bytes[i] != '\n' && output->used < sizeof output->line)
			output->line[output->used++] = bytes[i];
		if (bytes[i] != '\n')
			continue;
		world_log_text(output->who, output->line, output->used);
		output->used = 0;
	}
	return (ssize_t)size;
}

static const struct description_kind output_description = {"output", NULL,         close_output,
							   NULL,     write_output, S_IFREG};

/* --- the machine --- */

struct machine *node_new(const char *name, uint32_t address, const char *text)
{
	enum { YEAR_2026 = 1767225600 };
	struct machine *machine = machine_new(name, address);

	machine->wall_offset_us = YEAR_2026 * INT64_C(1000000);
	machine->files = files_new();
	files_put(machine, CONFIG, text);
	files_put(machine, "/var/mail/", NULL);
	files_put(machine, "/run/", NULL);
	return machine;
}

struct process *node_start(struct machine *machine)
{
	static const char *const arguments[] = {"stagepost", "serve", "-c", CONFIG, NULL};
	struct output *output = calloc(1, sizeof *output);
	struct process *process;

	if (output == NULL)
		err(1, "no memory");
	description_init(&output->description, &output_description);
	snprintf(output->who, sizeof output->who, "%s", machine->name);
	process = process_new(machine, NULL, world_find_program("stagepost"), arguments, NULL);
	table_put(process, 0, &output->description);
	table_put(process, 1, &output->description);
	table_put(process, 2, &output->description);
	description_drop(&output->description);
	return process;
}

struct process *node_process(const struct machine *machine, const char *program)
{
	struct process *found = NULL;
	uint64_t count = 0;

	for (struct process *process = process_first(); process != NULL; process = process->next) {
		if (process->machine != machine || process->has_ended ||
		    !process->program->has_image ||
		    (program != NULL && strcmp(process->program->name, program) != 0))
			continue;
		if (kernel_one_in(++count))
			found = process;
	}
	return found;
}

struct process *node_supervisor(const struct machine *machine)
{
	return node_process(machine, "stagepost");
}
