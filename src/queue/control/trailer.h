// SPDX-License-Identifier: ISC
/*
 * queue/control/trailer.h - the envelope after the data.
 *
 * A queued message is one file: its data, then the text of the control file (in format 2 with the
 * sum record of both, queue/control/checksum.h), then a line of known length, "at: " and the offset
 * where the text begins. So one file is created, written and named instead of two, and most
 * messages are gone before they need a separate control file.
 */
#ifndef QUEUE_CONTROL_TRAILER_H
#define QUEUE_CONTROL_TRAILER_H

#include "base/attributes.h"
#include "base/buffer.h"

enum { QUEUE_TRAILER_LINE = sizeof "at: 00000000000000000000\n" - 1 }; /* bytes of that line */

/* Appends to DATA, which has OFFSET bytes, the rest of the file. */
void queue_trailer_append(struct buffer *data, uint64_t offset, struct str text);
/* Writes TEXT after OFFSET bytes of data; *END_OUT is the end of the file, at which the caller
 * must truncate it. */
MUST_CHECK int queue_trailer_write(int file, uint64_t offset, struct str text, uint64_t *end_out);
/* Whether LINE, QUEUE_TRAILER_LINE bytes, is the last one of a file; the offset in it. */
bool queue_trailer_parse(struct str line, uint64_t *offset_out);
/* Appends the text to TEXT. -ENODATA: the file has no trailer; -EFBIG. */
MUST_CHECK int queue_trailer_read(int file, struct buffer *text, uint64_t *offset_out);
/* The CRC-32C of the data, the first SIZE bytes of FILE. -EBADMSG: it has fewer; -EIO. */
MUST_CHECK int queue_trailer_checksum(int file, uint64_t size, uint32_t *checksum_out);

#endif
