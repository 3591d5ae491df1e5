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

/* Names below the folder PATH that do not begin with RUN. */
static uint64_t count_packages(struct machine *machine, const char *path, const char *run)
{
	size_t size = 0;
	char *names = files_names(machine, path, &size);
	uint64_t count = 0;

	for (size_t i = 0; names != NULL && i < size; i += strlen(names + i) + 1)
		count += strncmp(names + i, run, strlen(run)) != 0;
	if (names != NULL)
		disk_list_free(names);
	return count;
}

/* Packages of other nodes that are not settled, and nodes that may have some of this one's. */
static uint64_t count_handed(struct machine *machine)
{
	size_t size = 0;
	char *nodes = files_names(machine, "/var/queue/handed", &size);
	uint64_t count = count_packages(machine, "/var/queue/peers", ":run.");
	char path[512];

	for (size_t i = 0; nodes != NULL && i < size; i += strlen(nodes + i) + 1) {
		snprintf(path, sizeof path, "/var/queue/handed/%s", nodes + i);
		count += count_packages(machine, path, "run.");
	}
	if (nodes != NULL)
		disk_list_free(nodes);
	return count;
}

uint64_t left_in_queue(struct machine *machine)
{
	return count_handed(machine) + count_below(machine, "/var/queue/todo", 2) +
	       count_below(machine, "/var/queue/mess", 1) +
	       count_below(machine, "/var/queue/info", 1) +
	       count_below(machine, "/var/queue/bounce", 1);
}
