// SPDX-License-Identifier: ISC
/* world/rot_files.h - files of queued messages, of which one is chosen. */
#ifndef WORLD_ROT_FILES_H
#define WORLD_ROT_FILES_H

#include "kernel.h"
#include "queue_folder.h"

enum { ROT_PATH = 128, ROT_PLACES = 7 };

struct rot_file {
	enum queue_folder folder;
	char path[ROT_PATH];
	uint64_t number; /* of its message */
	char id[48];
	uint64_t message; /* of the ledger; UINT64_MAX: not known */
	char *text;
	size_t size;
};

/* The one with INDEX, below ROT_PLACES, of those where messages have names after S3. */
enum queue_folder rot_file_place(uint64_t index);
/* One in PLACE of the queue of NODE, as BELOW decides, 0 to BOUND - 1; false: none is there whose
 * message is known. To be cleared. */
bool rot_file_choose(struct machine *node, enum queue_folder folder,
		     uint64_t (*below)(uint64_t bound), struct rot_file *file_out);
void rot_file_clear(struct rot_file *file);

#endif
