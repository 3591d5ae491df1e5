// SPDX-License-Identifier: ISC
/*
 * deliver/list/copy.h - a message as the members of a list get it.
 */
#ifndef DELIVER_LIST_COPY_H
#define DELIVER_LIST_COPY_H

#include "base/attributes.h"
#include "base/buffer.h"
#include "ipc/content.h"

enum { LIST_COPY_BLOCK = 65536 };

/* Whether the header of CONTENT, as far as it is in the first block, shows that the message has
 * been through LIST: then CHAIN is the path since, "LIST > OTHER > LIST". 0, 1 or -errno. The
 * first block is enough, unless a single round of the loop adds more than a block of header. */
MUST_CHECK int list_copy_find_loop(const struct ipc_content *content, struct str list,
				   struct buffer *chain);

/* The line to prepend, in ASCII: no host has to support SMTPUTF8 because of it. */
void list_copy_head(struct str list, struct buffer *out);

#endif
