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
/* Whether the disk has changed something of the message that NUMBER is now. */
bool queue_file_is_damaged(const struct machine *machine, uint64_t number);
/* The same, or of one that had NUMBER and lost a name: what it has left stays until the next start.
 */
bool queue_file_is_torn(const struct machine *machine, uint64_t number);

#endif
