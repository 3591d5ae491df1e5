// SPDX-License-Identifier: ISC
/*
 * deliver/list_copy.h - a message as the members of a list get it.
 */
#ifndef DELIVER_LIST_COPY_H
#define DELIVER_LIST_COPY_H

#include "base/attributes.h"
#include "base/buffer.h"
#include "ipc/content.h"

enum { LIST_COPY_BLOCK = 65536 };

/* Whether the header of CONTENT, as far as it stands in the first block, says that the message
 * has been through LIST: then CHAIN is the way since, "LIST > OTHER > LIST". 0, 1 or -errno.
 * Loops that are longer have less than a block of Delivered-To lines between, or never end
 * here: the list would be known. */
MUST_CHECK int list_copy_find_loop(const struct ipc_content *content, struct str list,
				   struct buffer *chain);

/* The line in front. */
void list_copy_head(struct str list, struct buffer *out);

#endif
