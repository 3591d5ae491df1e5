// SPDX-License-Identifier: ISC
/*
 * ipc/token.h - how a process proves to another that the supervisor has started it.
 *
 * A user id does not identify a process: several may share one, also with programs from elsewhere.
 * So the supervisor gives each process that has special rights a secret text, a new one at each
 * start, and tells it to the processes that check it.
 */
#ifndef IPC_TOKEN_H
#define IPC_TOKEN_H

#include "base/str.h"

enum {
	IPC_TOKEN_SIZE = 64, /* of the text, with its end */
	IPC_TOKENS_MAX = 32,
};

struct ipc_token {
	char program[16];
	char text[IPC_TOKEN_SIZE]; /* "PROGRAM-" and 32 hexadecimal digits */
};

/* A plain value. */
struct ipc_tokens {
	struct ipc_token items[IPC_TOKENS_MAX];
	size_t count;
};

/* Makes a new one for PROGRAM. */
void ipc_token_make(const char *program, struct ipc_token *token_out);
/* False: there is no room, or a text is too long. */
bool ipc_tokens_add(struct ipc_tokens *tokens, struct str program, struct str text);
/* PROGRAM's own; empty if there is none. */
struct str ipc_tokens_find(const struct ipc_tokens *tokens, const char *program);
/* Whether TEXT is a token of PROGRAM, in constant time. */
bool ipc_tokens_match(const struct ipc_tokens *tokens, const char *program, struct str text);

#endif
