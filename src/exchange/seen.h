// SPDX-License-Identifier: ISC
/*
 * exchange/seen.h - which keys a file has, in 16 bytes each: a hash of 96 bits by a secret of
 * the process, and the line. That two keys have the same is so unlikely (a million of them: one in
 * 10^17) that it counts as never.
 */
#ifndef EXCHANGE_SEEN_H
#define EXCHANGE_SEEN_H

#include "directory/record.h"

struct exchange_seen;

struct exchange_seen *exchange_seen_new(void);
/* The line in which KEY was added; 0: it was not, and is now, with LINE. */
unsigned exchange_seen_add(struct exchange_seen *seen, const struct directory_key *key,
			   unsigned line);
/* The line in which KEY was added; 0: it was not. */
unsigned exchange_seen_line(const struct exchange_seen *seen, const struct directory_key *key);
/* How many there are of TABLE. */
size_t exchange_seen_count(const struct exchange_seen *seen, enum directory_table table);
/* NULL is allowed. */
void exchange_seen_free(struct exchange_seen *seen);

#endif
