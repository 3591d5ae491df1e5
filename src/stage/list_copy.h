// SPDX-License-Identifier: ISC
/*
 * stage/list_copy.h - a message as the members of a list get it.
 */
#ifndef STAGE_LIST_COPY_H
#define STAGE_LIST_COPY_H

#include "base/attributes.h"
#include "base/buffer.h"

enum { LIST_COPY_BLOCK = 65536 };

/* Whether the header of FILE, as far as it stands in the first block, says that the message
 * has been through LIST: then CHAIN is the way since, "LIST > OTHER > LIST". 0, 1 or -errno.
 * Loops that are longer have less than a block of Delivered-To lines between, or never end
 * here: the list would be known. */
MUST_CHECK int list_copy_find_loop(int file, struct str list, struct buffer *chain);

/* The line in front. */
void list_copy_head(struct str list, struct buffer *out);

/* Copies up to COUNT bytes at OFFSET of FROM to OFFSET + HEAD of TO: how many, or -errno (-EIO
 * at the end of FROM). */
MUST_CHECK int64_t list_copy_bytes(int from, int to, uint64_t offset, uint64_t head,
				   uint64_t count);

#endif
