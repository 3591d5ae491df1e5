// SPDX-License-Identifier: ISC
/* world/queue_place.h - the folders of a node's queue, in which a message has names. */
#ifndef WORLD_QUEUE_PLACE_H
#define WORLD_QUEUE_PLACE_H

#include <stdbool.h>

enum queue_place { PID, TODO, INTD, MESS, INFO, LOCAL, REMOTE, BOUNCE, PLACES, ELSEWHERE = PLACES };

/* Where the names in the folder at PATH belong: "/var/queue/todo/arrive/7" is part 7 of TODO. */
enum queue_place queue_place(const char *path, unsigned *part_out);
const char *queue_place_name(enum queue_place place);
/* Whether names in PATH matter: it is of the queue, or leads to it. */
bool queue_place_is_followed(const char *path);

#endif
