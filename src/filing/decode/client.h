// SPDX-License-Identifier: ISC
/*
 * filing/decode/client.h - has messages decoded by the processes "decode", which have neither files
 * nor network, in order; some wait there, the others here.
 *
 * What is decoded only decorates a message, so every question is answered, and soon, whatever these
 * processes do: with a problem, if the message was not decoded. Patience is for all of them
 * together, so what one message does to one process does not delay the messages behind it:
 *
 *  - a message over which a process dies twice is a problem; the second time it is asked alone.
 * What was asked behind it is asked again, and not blamed. So is what was asked behind a cancelled
 * one.
 *  - a process that says that it takes too long (DECODE_LAST) ends: the message is a problem.
 *  - what was asked behind a message that takes more than a second is asked of the other process,
 * if that has time; what takes so long gets nothing else to do.
 *  - a process that says nothing about a message for three seconds is to be replaced; the message
 * is a problem. It gets no questions until its successor is connected.
 *  - while no process has answered anything for five seconds, all that waits is a problem.
 *  - nothing waits longer than fifteen seconds.
 *
 * These times are turns of this process's loop, so that one that was stopped blames nobody.
 */
#ifndef FILING_DECODE_CLIENT_H
#define FILING_DECODE_CLIENT_H

#include "base/arena.h"
#include "filing/decode/message.h"
#include "ipc/content.h"
#include "os/loop.h"

struct decode_client;
struct decode_question;

/* MESSAGE: never NULL, valid during the call, copy what is kept. If it could not be decoded, it is
 * empty but for its problem. */
typedef void decode_done(void *context, const struct decode_message *message);

/* Connects to the sockets in the directory RUN (filing/decode/protocol.h), presents TOKEN (copied),
 * and reconnects when a connection is lost. REPLACE is called with the name of a socket whose
 * process should be replaced by another one; NULL: none can be. */
struct decode_client *decode_client_new(struct os_loop *loop, const char *run, struct str token,
					void (*replace)(const char *socket));
/* No questions may be left; not from within DONE. NULL is allowed. */
void decode_client_free(struct decode_client *client);

/* CONTENT must be valid until the answer; in memory it has at most DECODE_BY_VALUE_MAX bytes
 * (filing/decode/protocol.h). DONE is called once, never before this returns. */
struct decode_question *decode_client_ask(struct decode_client *client,
					  const struct ipc_content *content, decode_done *done,
					  void *context);
/* DONE will not be called. */
void decode_client_cancel(struct decode_question *question);

#endif
