// SPDX-License-Identifier: ISC
/*
 * decode/client.h - has messages decoded by the process "decode", which has neither files nor
 * network, in order; some wait there, the others here.
 */
#ifndef DECODE_CLIENT_H
#define DECODE_CLIENT_H

#include "base/arena.h"
#include "decode/message.h"
#include "ipc/content.h"
#include "os/loop.h"

struct decode_client;
struct decode_question;

/* MESSAGE: never NULL, valid during the call, copy what is kept. If it could not be decoded
 * (the process died over it, or took more than its time), it is empty but for its problem. */
typedef void decode_done(void *context, const struct decode_message *message);

/* Connects to PATH, presents TOKEN (copied), and reconnects when the connection is lost. */
struct decode_client *decode_client_new(struct os_loop *loop, const char *path, struct str token);
/* No questions may be left; not from within DONE. NULL is allowed. */
void decode_client_free(struct decode_client *client);

/* CONTENT must be valid until the answer; in memory it has at most DECODE_BY_VALUE_MAX bytes
 * (decode/protocol.h). DONE is called once, never before this returns. A question during which the
 * connection was lost is asked once more, alone, then answered with a problem: no message may keep
 * others from being decoded. So is one that is not answered within a minute. Without a connection
 * questions wait. */
struct decode_question *decode_client_ask(struct decode_client *client,
					  const struct ipc_content *content, decode_done *done,
					  void *context);
/* DONE will not be called. */
void decode_client_cancel(struct decode_question *question);

#endif
