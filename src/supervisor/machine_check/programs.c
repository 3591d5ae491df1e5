// SPDX-License-Identifier: ISC
/* The programs of backends, each of which a site may have or not. */
#include "os/file/rights.h"
#include "supervisor/machine_check/internal.h"
#include "supervisor/start/backend.h"
#include "supervisor/start/program_directory.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { PROGRAMS_PATH_SIZE = OS_PROCESS_PATH_SIZE + 32 };

static int may_run_program_file(const char *directory, const char *program,
				char path[PROGRAMS_PATH_SIZE])
{
	snprintf(path, PROGRAMS_PATH_SIZE, "%s/%s", directory, program);
	return os_file_may_run(path);
}

static void check_installed_program(struct machine_check *check, const char *directory,
				    const char *setting, const char *program)
{
	const char *library = strrchr(program, '-');
	char path[PROGRAMS_PATH_SIZE];

	if (library != NULL && may_run_program_file(directory, program, path) == -ENOENT)
		machine_check_report(check, MACHINE_FATAL, setting,
				     "its program %s is not installed; Debian's package of it is "
				     "stagepost%s",
				     path, library);
}

void machine_check_programs(struct machine_check *check)
{
	const struct config *config = check->config;
	char directory[OS_PROCESS_PATH_SIZE];
	char path[PROGRAMS_PATH_SIZE];

	/* where there is none at all, nothing is installed, and it is not this program that will
	 * run */
	if (program_directory_find(directory) < 0 ||
	    may_run_program_file(directory, "send", path) < 0)
		return;
	check_installed_program(check, directory, "directory.backend",
				backend_directory_program(config));
	if (config_has_auth(config))
		check_installed_program(check, directory, "auth.users",
					backend_auth_program(config));
	if (config_has_recording_service(config))
		check_installed_program(check, directory, "record.backend",
					backend_mailbox_program(config));
}
