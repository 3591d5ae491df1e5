// SPDX-License-Identifier: ISC
#include "command.h"
#include "description.h"
#include "node.h"
#include <err.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { ARGUMENTS_MAX = 16, OUTPUT_MAX = 64 << 20 };

/* Where a command's output goes: the last of the command that is left. */
struct run {
	struct description description;
	void (*done)(void *context, int status, const char *output);
	void *context;
	int status;
	char *output;
	size_t used;
	size_t size;
};

static void close_run(struct description *description)
{
	struct run *run = (void *)description;

	run->done(run->context, run->status, run->output);
	free(run->output);
	free(run);
}

static ssize_t write_run(struct description *description, const void *data, size_t size)
{
	struct run *run = (void *)description;

	if (run->used + size > OUTPUT_MAX)
		errx(1, "a command prints more than %d bytes", OUTPUT_MAX);
	if (run->used + size >= run->size) {
		run->size = 2 * (run->used + size);
		run->output = realloc(run->output, run->size);
		if (run->output == NULL)
			err(1, "no memory");
	}
	memcpy(run->output + run->used, data, size);
	run->used += size;
	run->output[run->used] = '\0';
	return (ssize_t)size;
}

static const struct description_kind run_description = {"command", NULL,      close_run,
							NULL,      write_run, S_IFREG};

static void note_status(struct process *process)
{
	struct run *run = process->context;

	run->status = process->status;
}

void command_run(struct machine *machine, const char *program, const char *const *arguments,
		 void (*done)(void *context, int status, const char *output), void *context)
{
	const char *all[ARGUMENTS_MAX + 2] = {program};
	struct run *run = calloc(1, sizeof *run);
	struct process *process;
	size_t count = 0;

	if (run == NULL)
		err(1, "no memory");
	while (arguments[count] != NULL && count < ARGUMENTS_MAX) {
		all[count + 1] = arguments[count];
		count++;
	}
	description_init(&run->description, &run_description);
	run->done = done;
	run->context = context;
	run->output = calloc(1, 1);
	process = process_new(machine, NULL, world_find_program(program), all, run);
	process->on_end = note_status;
	for (int descriptor = 0; descriptor <= 2; descriptor++)
		table_put(process, descriptor, &run->description);
	description_drop(&run->description);
}
