// SPDX-License-Identifier: ISC
/*
 * ipc/content.h - a message's content, as a helper is given it: in memory, or a file.
 *
 * What is small comes by value, so that a helper that stands still keeps nothing that could
 * become another message's (queue/message.h).
 */
#ifndef IPC_CONTENT_H
#define IPC_CONTENT_H

#include "base/attributes.h"
#include "base/str.h"

/* A plain value; whoever made it owns what it refers to. */
struct ipc_content {
	struct str bytes; /* all of it, where FILE is -1 */
	int file;         /* open for reading; only read at offsets */
	uint64_t size;    /* bytes */
};

/* Up to BLOCK_SIZE bytes from OFFSET on, in BLOCK or where they are in memory: fewer only at the
 * end, and none after it. 0 or -errno; -EIO: the file is shorter than SIZE. */
MUST_CHECK int ipc_content_read(const struct ipc_content *content, uint64_t offset, char *block,
				size_t block_size, struct str *part_out);

#endif
