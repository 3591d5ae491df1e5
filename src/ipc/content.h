// SPDX-License-Identifier: ISC
/*
 * ipc/content.h - a message's content, as a helper receives it: in memory, or as a file.
 *
 * Small content comes by value, so that a suspended helper has no descriptor of a file that might
 * be reused for another message (queue/message.h).
 *
 * A disk may give back other bytes than it was given, at any time. "send" has compared small
 * content with its checksum (queue/control/checksum.h) when it read it; the bytes of a file are
 * read here, and are compared here: in each pass over them, before it yields the last ones. Whoever
 * sends or files a message passes over it, and ends without the dot, the rename or the end of
 * input.
 */
#ifndef IPC_CONTENT_H
#define IPC_CONTENT_H

#include "base/attributes.h"
#include "base/str.h"

/* A plain value; its creator owns what it refers to. */
struct ipc_content {
	struct str head;   /* comes first, and is not in what follows; mostly empty */
	struct str bytes;  /* all the rest, if FILE is -1 */
	int file;          /* open for reading; only read at offsets */
	uint64_t size;     /* bytes, with the head */
	bool has_checksum; /* of the bytes in FILE, as they were queued */
	uint32_t checksum; /* base/checksum.h; without the head */
};

/* How far somebody has read a content from its beginning: zeros at first, and to begin again. */
struct ipc_content_pass {
	uint64_t position;
	uint32_t checksum; /* of what was read, without the head */
};

/* Puts HEAD, which must live as long, in front. There is no head yet. */
void ipc_content_prepend(struct ipc_content *content, struct str head);

/* Returns up to BLOCK_SIZE bytes from OFFSET on, read into BLOCK or as a view of memory: fewer
 * only at the end. 0 or -errno; -EIO: the file is shorter than SIZE. */
MUST_CHECK int ipc_content_read(const struct ipc_content *content, uint64_t offset, char *block,
				size_t block_size, struct str *part_out);

/* The same with what PASS comes to next. -EBADMSG instead of the last bytes: all that the pass has
 * read is not what was queued, and must not be taken for it. */
MUST_CHECK int ipc_content_next(const struct ipc_content *content, struct ipc_content_pass *pass,
				char *block, size_t block_size, struct str *part_out);
bool ipc_content_is_passed(const struct ipc_content *content, const struct ipc_content_pass *pass);

#endif
