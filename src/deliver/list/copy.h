// SPDX-License-Identifier: ISC
/*
 * deliver/list/copy.h - a message as the members of a list get it.
 */
#ifndef DELIVER_LIST_COPY_H
#define DELIVER_LIST_COPY_H

#include "base/attributes.h"
#include "base/buffer.h"
#include "base/hash.h"
#include "ipc/content.h"

enum { LIST_COPY_BLOCK = 65536 };

/* Whether the header of CONTENT, as far as it is in the first block, shows by a mark
 * (header/loop.h) that the message has been through LIST, to which VIA leads ("": nothing does):
 * then CHAIN is the path since, as the fields Delivered-To have it, "LIST > OTHER > LIST". 0, 1 or
 * -errno. The first block is enough, unless a single round of the loop adds more than a block of
 * header. */
MUST_CHECK int list_copy_find_loop(const struct ipc_content *content, struct hash_key key,
				   struct str list, struct str via, struct buffer *chain);

/* The lines to prepend, in ASCII: no host has to support SMTPUTF8 because of them. */
void list_copy_head(struct hash_key key, struct str list, struct str via, struct buffer *out);

#endif
