// SPDX-License-Identifier: ISC
/* Who looks into the queue of a node for what is not done yet. */
#include "files.h"
#include "mail.h"
#include <string.h>

/* Names of files in the folder PATH, which has DEPTH levels of folders more. */
static uint64_t count_below(struct machine *machine, const char *path, unsigned depth)
{
	size_t size = 0;
	char *names = files_names(machine, path, &size);
	char file[512];
	uint64_t count = 0;

	for (size_t i = 0; names != NULL && i < size; i += strlen(names + i) + 1) {
		snprintf(file, sizeof file, "%s/%s", path, names + i);
		count += depth > 0 ? count_below(machine, file, depth - 1) : 1;
	}
	if (names != NULL)
		disk_list_free(names);
	return count;
}

uint64_t left_in_queue(struct machine *machine)
{
	return count_below(machine, "/var/queue/todo", 2) +
	       count_below(machine, "/var/queue/mess", 1) +
	       count_below(machine, "/var/queue/info", 1) +
	       count_below(machine, "/var/queue/bounce", 1);
}
