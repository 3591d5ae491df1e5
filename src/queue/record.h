// SPDX-License-Identifier: ISC
/*
 * queue/record.h - what the writer and the reader of control files agree on.
 */
#ifndef QUEUE_RECORD_H
#define QUEUE_RECORD_H

#include "queue/control.h"

/* No byte below 0x20, no 0x7f. */
bool queue_text_is_clean(struct str text);
/* The same, without spaces, not empty. */
bool queue_word_is_clean(struct str word);
/* Where the '>' is that ends the address at the start of TEXT: not one in a
 * quoted string. -1: nowhere. */
ptrdiff_t queue_address_end(struct str text);

#endif
