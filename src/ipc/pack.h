// SPDX-License-Identifier: ISC
/*
 * ipc/pack.h - typed fields in the body of a message between processes.
 *
 * Numbers are little-endian; a string is a 32-bit length and its bytes. The
 * reader's error is sticky: read everything, then ask unpack_is_whole() once.
 */
#ifndef IPC_PACK_H
#define IPC_PACK_H

#include "base/buffer.h"

void pack_u32(struct buffer *out, uint32_t value);
void pack_u64(struct buffer *out, uint64_t value);
void pack_str(struct buffer *out, struct str value);

struct unpack {
	struct str rest;
	bool failed;
};

/* 0, or the empty string, after a field was missing. Strings are views. */
uint32_t unpack_u32(struct unpack *unpack);
uint64_t unpack_u64(struct unpack *unpack);
struct str unpack_str(struct unpack *unpack);
/* Whether every field was there and nothing follows. */
bool unpack_is_whole(const struct unpack *unpack);

#endif
