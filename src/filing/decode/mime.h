// SPDX-License-Identifier: ISC
/*
 * filing/decode/mime.h - finds what is in a message, by GMime: only for the process that does
 * nothing else (program/decode.c). It may die over a message, or take any time and memory: who asks
 * has limits.
 */
#ifndef FILING_DECODE_MIME_H
#define FILING_DECODE_MIME_H

#include "base/arena.h"
#include "base/attributes.h"
#include "filing/decode/message.h"
#include "ipc/content.h"

/* Once, before the sandbox: loads the charsets that can be converted. */
void decode_mime_begin(void);

/* Texts are in ARENA. Contents of parts are read in pieces; headers are in memory. */
void decode_mime(const struct ipc_content *content, struct arena *arena,
		 struct decode_message *out);

#endif
