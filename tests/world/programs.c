// SPDX-License-Identifier: ISC
/* os/process/program.h: programs of others, which are inhabitants of the world by the name of their
 * file.
 */
#include "description.h"
#include "os/process/program.h"
#include <errno.h>
#include <signal.h>
#include <string.h>

enum { PIPE_ROOM = 65536, IN = 0, OUT = 1 };

struct pipes {
	int input[2];
	int output[2];
	int ended[2]; /* nobody writes to it: its other end is only the program's */
};

static void close_one(int *descriptor)
{
	if (*descriptor >= 0)
		(void)table_close(*descriptor);
	*descriptor = -1;
}

static void close_pipes(struct pipes *pipes)
{
	for (int i = 0; i < 2; i++) {
		close_one(&pipes->input[i]);
		close_one(&pipes->output[i]);
		close_one(&pipes->ended[i]);
	}
}

static int open_pipes(struct pipes *pipes)
{
	*pipes = (struct pipes){{-1, -1}, {-1, -1}, {-1, -1}};
	if (os_process_pipe(PIPE_ROOM, pipes->input) == 0 &&
	    os_process_pipe(PIPE_ROOM, pipes->output) == 0 &&
	    os_process_pipe(PIPE_ROOM, pipes->ended) == 0)
		return 0;
	close_pipes(pipes);
	return -EMFILE;
}

static const struct world_program *find_program(const char *path)
{
	const char *slash = strrchr(path, '/');

	return world_find_program(slash != NULL ? slash + 1 : path);
}

/* What it writes to standard output is read; it holds the third pipe as long as it lives. */
int os_program_start(const char *const *arguments, const char *const *environment,
		     const struct os_process_user *user, struct os_program *out)
{
	const struct world_program *program = find_program(arguments[0]);
	struct process *process;
	struct pipes pipes;
	int error;

	(void)environment;
	(void)user;
	if (program == NULL)
		return -ENOENT;
	error = open_pipes(&pipes);
	if (error < 0)
		return error;
	process =
		process_new(kernel_process()->machine, kernel_process(), program, arguments, NULL);
	process->dies_with_parent = true;
	table_put(process, 0, table_find(pipes.input[IN]));
	table_put(process, 1, table_find(pipes.output[OUT]));
	table_put(process, 2, table_find(pipes.ended[OUT]));
	close_one(&pipes.input[IN]);
	close_one(&pipes.output[OUT]);
	close_one(&pipes.ended[OUT]);
	*out = (struct os_program){process->pid, pipes.ended[IN], pipes.input[OUT],
				   pipes.output[IN]};
	return 0;
}

bool os_program_has_ended(const struct os_program *program, bool waiting, int *status_out)
{
	struct process *process = process_find(program->pid);

	while (waiting && !process->has_ended)
		(void)table_wait(program->ended, OS_WATCH_READ, -1);
	if (!process->has_ended)
		return false;
	*status_out = process->status;
	process_forget(process);
	return true;
}

void os_program_kill(const struct os_program *program)
{
	process_signal(process_find(program->pid), SIGKILL);
}

void os_program_close_input(struct os_program *program)
{
	close_one(&program->input);
}

void os_program_close_output(struct os_program *program)
{
	close_one(&program->output);
}

void os_program_close(struct os_program *program)
{
	close_one(&program->input);
	close_one(&program->output);
	close_one(&program->ended);
}
