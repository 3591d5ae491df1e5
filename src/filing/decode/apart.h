// SPDX-License-Identifier: ISC
/*
 * filing/decode/apart.h - has one message decoded by a process of its own, for a command that runs
 * without the daemon: the same program as the process "decode", in a sandbox without files and
 * network, killed when it takes too long.
 */
#ifndef FILING_DECODE_APART_H
#define FILING_DECODE_APART_H

#include "base/arena.h"
#include "filing/decode/message.h"
#include "ipc/content.h"

enum {
	DECODE_APART_MAX = 128 << 20, /* bytes of a content; of a larger one, nothing is decoded */
	DECODE_APART_SECONDS = 10,
};

/* PROGRAM: the path of the executable "decode". Blocks; SIGPIPE must be ignored, and SIGCHLD not.
 * Texts are in ARENA. What fails, for whatever reason, is said in MESSAGE_OUT's problem. */
void decode_apart(const char *program, const struct ipc_content *content, struct arena *arena,
		  struct decode_message *message_out);

#endif
