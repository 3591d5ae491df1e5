// SPDX-License-Identifier: ISC
#include "command_programs.h"
#include "os/process/process.h"
#include "supervisor/start/program_directory.h"
#include "test.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <unistd.h>

struct named_main {
	const char *name;
	int (*main)(int argc, char **argv);
};

#define PROGRAM(name) int name##_main(int argc, char **argv);
#include "command_programs.def"
#undef PROGRAM

/* Those of a node. */
static const struct named_main programs_of_node[] = {
#define PROGRAM(name) {#name, name##_main},
#include "command_programs.def"
#undef PROGRAM
	{"stagepost", stagepost_main},
};

/* By the environment, for the programs that a node starts. */
static const char FOLDER[] = "COMMAND_PROGRAMS";

int found(char directory[OS_PROCESS_PATH_SIZE]) __asm__("__wrap_program_directory_find");

int found(char directory[OS_PROCESS_PATH_SIZE])
{
	const char *folder = getenv(FOLDER);

	if (folder == NULL)
		return -ENOENT;
	snprintf(directory, OS_PROCESS_PATH_SIZE, "%s", folder);
	return 0;
}

/* A copy: the kernel shows which program a process runs by the name of the file. */
static void copy_own_program(const char *path)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	ssize_t count;

	assert_true(from >= 0 && to >= 0);
	while ((count = sendfile(to, from, NULL, 1 << 30)) > 0)
		;
	assert_int_equal(count, 0);
	close(from);
	close(to);
}

void command_programs_begin(const char *directory, bool has_node)
{
	char first[OS_PROCESS_PATH_SIZE], path[OS_PROCESS_PATH_SIZE];

	assert_int_equal(setenv(FOLDER, directory, 1), 0);
	snprintf(first, sizeof first, "%s/decode", directory);
	if (!has_node)
		assert_int_equal(symlink("/proc/self/exe", first), 0);
	else
		copy_own_program(first);
	for (size_t i = 0; has_node && i < COUNT_OF(programs_of_node); i++) {
		snprintf(path, sizeof path, "%s/%s", directory, programs_of_node[i].name);
		if (strcmp(path, first) != 0)
			assert_int_equal(link(first, path), 0);
	}
}

void command_programs_run(int argc, char **argv)
{
	const char *slash = strrchr(argv[0], '/');

	for (size_t i = 0; i < COUNT_OF(programs_of_node); i++)
		if (strcmp(slash != NULL ? slash + 1 : argv[0], programs_of_node[i].name) == 0)
			exit(programs_of_node[i].main(argc, argv));
}

int replaced(const char *path, char **arguments) __asm__("__wrap_os_process_replace");

int replaced(const char *path, char **arguments)
{
	static const struct named_main programs[] = {
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
