// SPDX-License-Identifier: ISC
#include "supervisor/start/program_directory.h"
#include "os/file/rights.h"
#include <stdio.h>
#include <string.h>

int program_directory_find(char directory[OS_PROCESS_PATH_SIZE])
{
	static const char *const places[] = {"../libexec/stagepost", "."};
	char path[OS_PROCESS_PATH_SIZE + 32];
	int error = os_process_own_directory(directory);

	for (size_t i = 0; error == 0 && i < COUNT_OF(places); i++) {
		size_t length = strlen(directory);

		snprintf(path, sizeof path, "%s/%s/send", directory, places[i]);
		if (os_file_may_run(path) != 0)
			continue;
		snprintf(directory + length, OS_PROCESS_PATH_SIZE - length, "/%s", places[i]);
		return 0;
	}
	if (error == 0)
		snprintf(directory, OS_PROCESS_PATH_SIZE, "%s", PROGRAM_DIRECTORY);
	return error;
}
