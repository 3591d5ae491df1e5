// SPDX-License-Identifier: ISC
#include "queue_folder.h"
#include <stdlib.h>
#include <string.h>

#define ROOT "/var/queue"

/* How many folders there are between a place and its names, the last of which is the part. */
static const struct {
	const char *name;
	unsigned depth;
} places[PLACES] = {{"pid", 0},  {"todo", 2},  {"intd", 1},   {"mess", 1},
		    {"info", 1}, {"local", 2}, {"remote", 1}, {"bounce", 1}};

static unsigned depth_of(const char *path)
{
	unsigned depth = 0;

	for (; *path != '\0'; path++)
		depth += *path == '/';
	return depth;
}

enum queue_folder queue_folder(const char *path, unsigned *part_out)
{
	*part_out = 0;
	if (strncmp(path, ROOT "/", sizeof ROOT) != 0)
		return ELSEWHERE;
	path += sizeof ROOT;
	for (unsigned i = 0; i < PLACES; i++) {
		size_t length = strlen(places[i].name);

		if (strncmp(path, places[i].name, length) != 0 ||
		    (path[length] != '/' && path[length] != '\0') ||
		    depth_of(path) != places[i].depth)
			continue;
		if (places[i].depth > 0)
			*part_out = (unsigned)atoi(strrchr(path, '/') + 1);
		return (enum queue_folder)i;
	}
	return ELSEWHERE;
}

const char *queue_folder_name(enum queue_folder folder)
{
	return places[folder].name;
}

bool queue_folder_is_followed(const char *path)
{
	return strcmp(path, "/var") == 0 || strncmp(path, ROOT, sizeof ROOT - 1) == 0;
}
