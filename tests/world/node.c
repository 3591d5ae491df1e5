// SPDX-License-Identifier: ISC
#include "node.h"
#include "description.h"
#include "files.h"
#include "image.h"
#include <err.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define CONFIG "/etc/stagepost/stagepost.conf"
#define RUN    "/run/stagepost"

#define PROGRAMS(X)  \
	X(queue)     \
	X(send)      \
	X(resolve)   \
	X(remote)    \
	X(lmtp)      \
	X(local)     \
	X(mailbox)   \
	X(decode)    \
	X(pipe)      \
	X(list)      \
	X(handover)  \
	X(noded)     \
	X(names)     \
	X(auth)      \
	X(keys)      \
	X(launch)    \
	X(qmtpd)     \
	X(directory) \
	X(sql)       \
	X(stagepost)

/* The names that make_product gives to what is of a copy. */
#define DECLARE(copy, another)                                                                     \
	int world_main_##copy(int argc, char **argv);                                              \
	bool world_connector_is_used_##copy(void);                                                 \
	int world_connector_connect_##copy(const char *path, int kind);                            \
	extern char __start_world_state_##copy[];                                                  \
	extern char __stop_world_state_##copy[];                                                   \
	static struct world_image image_##copy = {                                                 \
		__start_world_state_##copy,     __stop_world_state_##copy,      world_main_##copy, \
		world_connector_is_used_##copy, world_connector_connect_##copy, another};
#define DECLARE_COPIES(name, last)           \
	DECLARE(name##_3, last)              \
	DECLARE(name##_2, &image_##name##_3) \
	DECLARE(name##_1, &image_##name##_2)
#define DECLARE_THREE(name) DECLARE_COPIES(name, NULL)
PROGRAMS(DECLARE_THREE)
/* Two nodes have up to six, and each looks at its sandbox each ten seconds: with three copies a
 * year of them took twice as long. */
DECLARE(smtpd_6, NULL)
DECLARE(smtpd_5, &image_smtpd_6)
DECLARE(smtpd_4, &image_smtpd_5)
DECLARE_COPIES(smtpd, &image_smtpd_4)

#define ROW(name) {#name, NULL, &image_##name##_1},
static const struct world_program programs[] = {PROGRAMS(ROW) ROW(smtpd)};

void node_add_programs(void)
{
	for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++)
		world_add_program(&programs[i]);
}

/* --- what it says --- */

/* Standard error of a supervisor: its lines go to the world's log. */
struct output {
	struct description description;
	struct machine *machine;
	size_t used;
	char line[4096 + 1];
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
		if (bytes[i] != '\n' && output->used < sizeof output->line - 1)
			output->line[output->used++] = bytes[i];
		if (bytes[i] != '\n')
			continue;
		output->line[output->used] = '\0';
		world_log_text(output->machine->name, output->line, output->used);
		if (output->machine->heard != NULL)
			output->machine->heard(output->machine, output->line);
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
	files_begin(machine);
	files_put(machine, CONFIG, text);
	files_put(machine, "/var/mail/", "");
	files_put(machine, "/run/", "");
	return machine;
}

void node_set(struct machine *machine, const char *text)
{
	files_change(machine, CONFIG, text);
}

struct process *node_start(struct machine *machine)
{
	static const char *const arguments[] = {"stagepost", "serve", "-c", CONFIG, NULL};
	struct output *output = calloc(1, sizeof *output);
	struct process *process;

	if (output == NULL)
		err(1, "no memory");
	description_init(&output->description, &output_description);
	output->machine = machine;
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
		    process->program->image == NULL ||
		    (program != NULL && strcmp(process->program->name, program) != 0))
			continue;
		if (kernel_one_in(++count))
			found = process;
	}
	return found;
}

struct process *node_supervisor(const struct machine *machine)
{
	for (struct process *process = process_first(); process != NULL; process = process->next)
		if (process->machine == machine && !process->has_ended &&
		    strcmp(process->program->name, "stagepost") == 0 &&
		    strcmp(process->arguments[1], "serve") == 0)
			return process;
	return NULL;
}

void node_cut_power(struct machine *machine)
{
	struct process *process;

	/* first, so that nobody starts others again */
	while ((process = node_supervisor(machine)) != NULL)
		process_end(process, SIGKILL);
	while ((process = node_process(machine, NULL)) != NULL)
		process_end(process, SIGKILL);
	disk_table_forget(machine);
	disk_live(machine->disk, kernel_now_us());
	disk_cut_power(machine->disk);
	machine->disk_has_stopped = false;
	machine->boots++;
	files_empty(machine, RUN);
}
