// SPDX-License-Identifier: ISC
/* world/queue_folder.h - the folders of a node's queue, in which a message has names. */
#ifndef WORLD_QUEUE_FOLDER_H
#define WORLD_QUEUE_FOLDER_H

#include <stdbool.h>

enum queue_folder {
	PID,
	TODO,
	INTD,
	MESS,
	INFO,
	LOCAL,
	REMOTE,
	BOUNCE,
	PLACES,
	ELSEWHERE = PLACES
};

/* Where the names in the folder at PATH belong: "/var/queue/todo/arrive/7" is part 7 of TODO. */
enum queue_folder queue_folder(const char *path, unsigned *part_out);
const char *queue_folder_name(enum queue_folder folder);
/* Whether names in PATH matter: it is of the queue, or leads to it. */
bool queue_folder_is_followed(const char *path);

#endif
