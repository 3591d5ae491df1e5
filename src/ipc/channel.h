// SPDX-License-Identifier: ISC
/*
 * ipc/channel.h - messages between the processes of a node.
 *
 * One SOCK_SEQPACKET packet is one message: a header (version, type, tag) and a
 * body, at most IPC_BODY_MAX bytes, and up to IPC_DESCRIPTORS_MAX descriptors. Sending
 * never waits: what the socket does not take is kept; ipc_channel_backlog()
 * lets the sender hold back. A packet of another version or over the bound ends
 * the connection.
 */
#ifndef IPC_CHANNEL_H
#define IPC_CHANNEL_H

#include "base/buffer.h"
#include "os/loop.h"

enum {
	IPC_VERSION = 1,
	IPC_BODY_MAX = 60 * 1024,
	IPC_DESCRIPTORS_MAX = 16,
};

struct ipc_message {
	uint16_t type; /* of the protocol spoken */
	uint32_t tag;  /* chosen by who asks, repeated in the answer */
	struct str body;
	int descriptors[IPC_DESCRIPTORS_MAX]; /* set to -1 what is taken over; the rest is closed */
	size_t descriptor_count;
};

struct ipc_channel;

struct ipc_channel_handler {
	/* May close the channel. MESSAGE is valid during the call. */
	void (*message)(void *context, struct ipc_channel *channel, struct ipc_message *message);
	/* The peer is gone or broke the rules; the handler closes the channel. */
	void (*lost)(void *context, struct ipc_channel *channel);
};

/* Takes over SOCKET. */
struct ipc_channel *ipc_channel_new(struct os_loop *loop, int socket,
				    const struct ipc_channel_handler *handler, void *context);
/* NULL is allowed. Unsent messages are dropped. */
void ipc_channel_close(struct ipc_channel *channel);

/* Sends a message; descriptors are duplicated by the kernel, or by this function
 * when the message has to wait. A BODY over the bound is a broken invariant. */
void ipc_channel_send(struct ipc_channel *channel, uint16_t type, uint32_t tag, struct str body,
		      const int *descriptors, size_t descriptor_count);
/* Who is at the other end, for the log; NAME lives longer than the channel. Without it, that is
 * the user who connected. */
void ipc_channel_set_peer(struct ipc_channel *channel, const char *name);
/* The message of TYPE that the handler has just been given is malformed: logs that and
 * ends the connection, of which lost() is told. Nothing more comes from it. */
void ipc_channel_refuse(struct ipc_channel *channel, uint16_t type);
/* The first half of that, for who closes the channel himself. */
void ipc_channel_log_refused(const struct ipc_channel *channel, uint16_t type);
/* Bytes that wait to be sent. */
size_t ipc_channel_backlog(const struct ipc_channel *channel);
/* Stops or goes on reading. */
void ipc_channel_pause(struct ipc_channel *channel, bool paused);

/* A channel that is made again when it is lost. HANDLER's lost() is told of each
 * loss (channel is NULL there); connected() of each success. */
struct ipc_client;

struct ipc_client_handler {
	void (*connected)(void *context);
	void (*message)(void *context, struct ipc_message *message);
	void (*lost)(void *context);
};

struct ipc_client *ipc_client_new(struct os_loop *loop, const char *path,
				  const struct ipc_client_handler *handler, void *context);
void ipc_client_free(struct ipc_client *client);
/* NULL while there is no connection. */
struct ipc_channel *ipc_client_channel(struct ipc_client *client);

#endif
