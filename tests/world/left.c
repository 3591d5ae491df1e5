// SPDX-License-Identifier: ISC
/* Who looks into the queue of a node for what is not done yet. */
#include "files.h"
#include "mail.h"
#include <string.h>

enum { TOLD_MAX = 20 };

static unsigned told;

/* One more file that is left. */
static uint64_t count_file(const struct machine *machine, const char *path, bool is_told)
{
	if (is_told && told++ < TOLD_MAX)
		world_log("left", "%s: %s", machine->name, path);
	return 1;
}

/* Names of files in the folder PATH, which has DEPTH levels of folders more, but for those that
 * begin with SKIPPED. */
static uint64_t count_below(struct machine *machine, const char *path, unsigned depth,
			    const char *skipped, bool is_told)
{
	size_t size = 0;
	char *names = files_names(machine, path, &size);
	char file[512];
	uint64_t count = 0;

	for (size_t i = 0; names != NULL && i < size; i += strlen(names + i) + 1) {
		snprintf(file, sizeof file, "%s/%s", path, names + i);
		if (depth > 0)
			count += count_below(machine, file, depth - 1, skipped, is_told);
		else if (strncmp(names + i, skipped, strlen(skipped)) != 0)
			count += count_file(machine, file, is_told);
	}
	if (names != NULL)
		disk_list_free(names);
	return count;
}

static uint64_t count_left(struct machine *machine, bool is_told)
{
	static const struct {
		const char *path;
		unsigned depth;
		const char *skipped;
	} folders[] = {
		{"/var/queue/todo", 2, "/"},      {"/var/queue/mess", 1, "/"},
		{"/var/queue/info", 1, "/"},      {"/var/queue/bounce", 1, "/"},
		{"/var/queue/handed", 1, "run."}, {"/var/queue/peers", 0, ":run."},
	};
	uint64_t count = 0;

	for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
		count += count_below(machine, folders[i].path, folders[i].depth, folders[i].skipped,
				     is_told);
	return count;
}

uint64_t left_in_queue(struct machine *machine)
{
	return count_left(machine, false);
}

void left_tell(struct machine *machine)
{
	told = 0;
	(void)count_left(machine, true);
}
