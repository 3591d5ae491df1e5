// SPDX-License-Identifier: ISC
/*
 * filing/decode/server.h - decodes what the processes "mailbox" send. Does one message at a time;
 * if that takes more than DECODE_SECONDS_MAX of processor time, says so, and this process ends.
 */
#ifndef FILING_DECODE_SERVER_H
#define FILING_DECODE_SERVER_H

#include "base/attributes.h"
#include "ipc/token.h"
#include "os/loop.h"
#include <sys/types.h>

struct decode_server;

/* TOKENS are the caller's, and may change. -EAGAIN, -EPERM: no thread can be created. */
MUST_CHECK int decode_server_new(struct os_loop *loop, int listening,
				 const struct ipc_tokens *tokens,
				 struct decode_server **server_out);
/* Who may connect from now on. */
void decode_server_set_user(struct decode_server *server, uid_t user);
/* NULL is allowed. */
void decode_server_free(struct decode_server *server);

#endif
