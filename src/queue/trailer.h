// SPDX-License-Identifier: ISC
/*
 * queue/trailer.h - the envelope after the data.
 *
 * A message that is queued is one file: its data, then the text of the control
 * file, then a line of known length, "at: " and where the text begins. One file
 * is made, written out and named where there were two, and most messages are
 * gone before they need a control file of their own.
 */
#ifndef QUEUE_TRAILER_H
#define QUEUE_TRAILER_H

#include "base/attributes.h"
#include "base/buffer.h"

/* Appends to DATA, OFFSET bytes, what follows them in the file. */
void queue_trailer_append(struct buffer *data, uint64_t offset, struct str text);
/* Writes TEXT after OFFSET bytes of data; *END_OUT is where the file
 * ends then, once it is cut. */
MUST_CHECK int queue_trailer_write(int file, uint64_t offset, struct str text, uint64_t *end_out);
/* Appends the text to TEXT. -ENODATA: the file does not end with one; -EFBIG. */
MUST_CHECK int queue_trailer_read(int file, struct buffer *text, uint64_t *offset_out);

#endif
