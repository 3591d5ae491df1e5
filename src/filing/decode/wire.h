// SPDX-License-Identifier: ISC
/*
 * filing/decode/wire.h - a decoded message as bytes, from a process that is not trusted: it has
 * read the message.
 */
#ifndef FILING_DECODE_WIRE_H
#define FILING_DECODE_WIRE_H

#include "base/arena.h"
#include "base/attributes.h"
#include "base/buffer.h"
#include "filing/decode/message.h"

/* More than any message within the limits of filing/decode/message.h needs. */
enum { DECODE_WIRE_MAX = 8 << 20 };

void decode_wire_append(struct buffer *out, const struct decode_message *message);

/* All of BYTES; what it refers to is copied into ARENA. False, and nothing: it is malformed, or
 * breaks a promise of filing/decode/message.h: limits, texts, addresses. */
MUST_CHECK bool decode_wire_read(struct str bytes, struct arena *arena,
				 struct decode_message *message_out);

#endif
