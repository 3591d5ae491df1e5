// SPDX-License-Identifier: ISC
#include "command_programs.h"
#include "os/process/process.h"
#include "supervisor/start/program_directory.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int decode_main(int argc, char **argv);

static char folder[OS_PROCESS_PATH_SIZE];

int found(char directory[OS_PROCESS_PATH_SIZE]) __asm__("__wrap_program_directory_find");

int found(char directory[OS_PROCESS_PATH_SIZE])
{
	memcpy(directory, folder, sizeof folder);
	return 0;
}

void command_programs_begin(const char *directory)
{
	char path[OS_PROCESS_PATH_SIZE + 10];

	snprintf(folder, sizeof folder, "%s", directory);
	snprintf(path, sizeof path, "%s/decode", directory);
	assert_int_equal(symlink("/proc/self/exe", path), 0);
}

void command_programs_run(int argc, char **argv)
{
	const char *slash = strrchr(argv[0], '/');

	if (strcmp(slash != NULL ? slash + 1 : argv[0], "decode") == 0)
		_Exit(decode_main(argc, argv));
}

int replaced(const char *path, char **arguments) __asm__("__wrap_os_process_replace");

int replaced(const char *path, char **arguments)
{
	static const struct {
		const char *name;
		int (*main)(int argc, char **argv);
	} programs[] = {
		{"directory-command", directory_command_main},
		{"mailbox-command", mailbox_command_main},
	};
	int count = 0;

	while (arguments[count] != NULL)
		count++;
	for (size_t i = 0; i < COUNT_OF(programs); i++)
		if (strcmp(strrchr(path, '/') + 1, programs[i].name) == 0)
			_Exit(programs[i].main(count, arguments));
	return -ENOENT;
}
