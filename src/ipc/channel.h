// SPDX-License-Identifier: ISC
/*
 * ipc/channel.h - messages between the processes of a node.
 *
 * One SOCK_SEQPACKET packet is one message: a header (version, type, tag) and a body, at most
 * IPC_BODY_MAX bytes, and up to IPC_DESCRIPTORS_MAX descriptors. Sending never blocks: what the
 * socket does not accept is kept, and ipc_channel_backlog() tells the sender to slow down. A packet
 * of another version or over the limit ends the connection.
 */
#ifndef IPC_CHANNEL_H
#define IPC_CHANNEL_H

#include "base/buffer.h"
#include "os/loop.h"
#include <sys/types.h>

enum {
	IPC_VERSION = 1,
	IPC_BODY_MAX = 60 * 1024,
	IPC_DESCRIPTORS_MAX = 16,
};

struct ipc_message {
	uint16_t type; /* defined by the protocol */
	uint32_t tag;  /* chosen by the sender of a request, repeated in the answer */
	struct str body;
	int descriptors[IPC_DESCRIPTORS_MAX]; /* set to -1 what you take over; the rest is closed */
	size_t descriptor_count;
};

struct ipc_channel;

struct ipc_channel_handler {
	/* May close the channel. MESSAGE is valid during the call. */
	void (*message)(void *context, struct ipc_channel *channel, struct ipc_message *message);
	/* The peer disconnected or broke the rules; the handler must close the channel. */
	void (*lost)(void *context, struct ipc_channel *channel);
};

/* Takes over SOCKET. */
struct ipc_channel *ipc_channel_new(struct os_loop *loop, int socket,
				    const struct ipc_channel_handler *handler, void *context);
/* NULL is allowed. Unsent messages are dropped. */
void ipc_channel_close(struct ipc_channel *channel);

/* Sends a message; descriptors are duplicated by the kernel, or by this function when the
 * message has to wait. A BODY over the limit is a broken invariant. */
void ipc_channel_send(struct ipc_channel *channel, uint16_t type, uint32_t tag, struct str body,
		      const int *descriptors, size_t descriptor_count);
/* Names the peer for the log; NAME must outlive the channel. Without it, the user who connected
 * is logged. */
void ipc_channel_set_peer(struct ipc_channel *channel, const char *name);
/* Who connected. */
uid_t ipc_channel_user(const struct ipc_channel *channel);
/* What passes through is secret from now on: it is erased from this process's memory as soon as it
 * is sent, or handled. */
void ipc_channel_set_secret(struct ipc_channel *channel);
/* The message of TYPE that the handler was just given is malformed: logs that and ends the
 * connection, which lost() reports. No more messages come from it. */
void ipc_channel_refuse(struct ipc_channel *channel, uint16_t type);
/* Only logs, for a caller that closes the channel itself. */
void ipc_channel_log_refused(const struct ipc_channel *channel, uint16_t type);
/* Bytes of memory for what waits to be sent. */
size_t ipc_channel_backlog(const struct ipc_channel *channel);
/* Receives at once what has come, unless reading is stopped: the peer has ended. Not to be called
 * by the handler; lost() may be called. */
void ipc_channel_receive(struct ipc_channel *channel);
/* Stops or resumes reading. */
void ipc_channel_pause(struct ipc_channel *channel, bool paused);

/* A channel that reconnects when it is lost. HANDLER's lost() is called after each loss (channel
 * is NULL there); connected() after each success. */
struct ipc_client;

struct ipc_client_handler {
	void (*connected)(void *context);
	void (*message)(void *context, struct ipc_message *message);
	void (*lost)(void *context);
};

struct ipc_client *ipc_client_new(struct os_loop *loop, const char *path,
				  const struct ipc_client_handler *handler, void *context);
/* The same over SOCKET, a connection to PATH, which is taken over. When it is lost, there is none
 * any more. connected() is not called. */
struct ipc_client *ipc_client_new_connected(struct os_loop *loop, int socket, const char *path,
					    const struct ipc_client_handler *handler,
					    void *context);
void ipc_client_free(struct ipc_client *client);
/* NULL while there is no connection. */
struct ipc_channel *ipc_client_channel(struct ipc_client *client);
/* Calls CALL once, after the next success to connect. */
void ipc_client_when_connected(struct ipc_client *client, void (*call)(void *context),
			       void *context);

#endif
