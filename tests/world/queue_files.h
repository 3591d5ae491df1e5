// SPDX-License-Identifier: ISC
/*
 * world/queue_files.h - data files of messages in the queue of a node, for judges.
 */
#ifndef WORLD_QUEUE_FILES_H
#define WORLD_QUEUE_FILES_H

#include "kernel.h"

/* Where the data file of message NUMBER is on MACHINE; false: nowhere. */
bool queue_file_find(struct machine *machine, uint64_t number, char *path, size_t size);
/* Which message of the ledger it is: what it says in its header, or in that of the message which it
 * reports. UINT64_MAX: that is not known. */
uint64_t queue_file_message(struct machine *machine, uint64_t number);

#endif
