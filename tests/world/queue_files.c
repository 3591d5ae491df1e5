// SPDX-License-Identifier: ISC
#include "queue_files.h"
#include "files.h"
#include "states.h"
#include <stdlib.h>
#include <string.h>

bool queue_file_find(struct machine *machine, uint64_t number, char *path, size_t size)
{
	static const char *const folders[] = {"todo/arrive", "todo/submit", "mess"};

	for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
		snprintf(path, size, "/var/queue/%s/%llu/%llu", folders[i],
			 (unsigned long long)(number % STATES_SPLIT), (unsigned long long)number);
		if (files_exist(machine, path))
			return true;
	}
	return false;
}

uint64_t queue_file_message(struct machine *machine, uint64_t number)
{
	static const char header[] = "\nX-World: ";
	uint64_t message = UINT64_MAX;
	char path[512];
	const char *found;
	size_t size;
	char *text;

	if (!queue_file_find(machine, number, path, sizeof path))
		return message;
	text = files_read(machine, path, &size);
	found = text != NULL ? memmem(text, size, header, sizeof header - 1) : NULL;
	if (found != NULL)
		message = strtoull(found + sizeof header - 1, NULL, 10);
	free(text);
	return message;
}
