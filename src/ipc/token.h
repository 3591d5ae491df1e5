// SPDX-License-Identifier: ISC
/*
 * ipc/token.h - by what a process shows another that the supervisor has started it.
 *
 * A user is no identity: processes may share one, and with programs that others wrote. So the
 * supervisor gives each process that is believed more than others a text that nobody can guess,
 * another one at each start, and tells it those who are to believe it.
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

/* A new one for PROGRAM. */
void ipc_token_make(const char *program, struct ipc_token *token_out);
/* False: there is no room, or a text is too long. */
bool ipc_tokens_add(struct ipc_tokens *tokens, struct str program, struct str text);
/* PROGRAM's own; empty when there is none. */
struct str ipc_tokens_find(const struct ipc_tokens *tokens, const char *program);
/* Whether TEXT is a token of PROGRAM's: how long that takes tells nothing about it. */
bool ipc_tokens_match(const struct ipc_tokens *tokens, const char *program, struct str text);

#endif
