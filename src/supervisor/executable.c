// SPDX-License-Identifier: ISC
/*
 * The executables of this version, opened when the supervisor begins. A package manager or "make
 * install" may put those of another version in their place while the node runs: a process that is
 * started again is of the supervisor's version nevertheless, and a node that goes back from a
 * failed upgrade needs nothing but what it holds open.
 */
#include "log/event.h"
#include "supervisor/internal.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

static void path_of_executable(const struct supervisor *supervisor, const char *file,
			       char path[SERVE_EXECUTABLE_PATH_SIZE])
{
	snprintf(path, SERVE_EXECUTABLE_PATH_SIZE, "%s/%s", supervisor->program_directory, file);
}

/* What is not there, such as the process for a database whose package is not installed, is looked
 * for again when it is needed. */
static void open_executable(struct supervisor *supervisor, const char *file)
{
	struct supervisor_executable *one =
		&supervisor->executables[supervisor->executable_count++];
	char path[SERVE_EXECUTABLE_PATH_SIZE];
	int error;

	path_of_executable(supervisor, file, path);
	one->file = file;
	one->descriptor = os_process_open_program(path);
	error = one->descriptor;
	if (error < 0 && error != -ENOENT)
		log_event(EVENT_PROCESS_ERROR, log_string(file, path), log_error(error));
}

void supervisor_open_executables(struct supervisor *supervisor)
{
	const struct confine_process *process;
	const char *file;

	for (size_t i = 0; (process = confine_process_at(i)) != NULL; i++)
		for (size_t k = 0; (file = confine_process_file(process, k)) != NULL; k++)
			open_executable(supervisor, file);
}

pid_t supervisor_run_executable(const struct supervisor *supervisor, const char *file,
				const struct os_process_user *user, int control, int output)
{
	const char *arguments[] = {file, "--supervised", NULL};
	char path[SERVE_EXECUTABLE_PATH_SIZE];
	int descriptor = -1;

	path_of_executable(supervisor, file, path);
	for (size_t i = 0; i < supervisor->executable_count; i++)
		if (strcmp(supervisor->executables[i].file, file) == 0)
			descriptor = supervisor->executables[i].descriptor;
	return os_process_start(path, descriptor, arguments, user, control, output);
}
