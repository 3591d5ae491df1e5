// SPDX-License-Identifier: ISC
/*
 * ipc/content.h - a message's content, as a helper receives it: in memory, or as a file.
 *
 * Small content comes by value, so that a suspended helper has no descriptor of a file that might
 * be reused for another message (queue/message.h).
 */
#ifndef IPC_CONTENT_H
#define IPC_CONTENT_H

#include "base/attributes.h"
#include "base/str.h"

/* A plain value; its creator owns what it refers to. */
struct ipc_content {
	struct str head;  /* comes first, and is not in what follows; mostly empty */
	struct str bytes; /* all the rest, if FILE is -1 */
	int file;         /* open for reading; only read at offsets */
	uint64_t size;    /* bytes, with the head */
};

/* Puts HEAD, which must live as long, in front. There is no head yet. */
void ipc_content_prepend(struct ipc_content *content, struct str head);

/* Returns up to BLOCK_SIZE bytes from OFFSET on, read into BLOCK or as a view of memory: fewer
 * only at the end. 0 or -errno; -EIO: the file is shorter than SIZE. */
MUST_CHECK int ipc_content_read(const struct ipc_content *content, uint64_t offset, char *block,
				size_t block_size, struct str *part_out);

#endif
