// SPDX-License-Identifier: ISC
/*
 * ipc/server.h - the side of a process that others of the node ask: who may connect, how many
 * connections each user has, and how much a client may leave unread.
 *
 * Each user's connections are counted by themselves, so that those of one do not shut out another.
 * The connections of a user may together leave IPC_SERVER_BEHIND_MAX times as much unread as one of
 * them; with more, those that have left something are refused, and new ones. Whoever is refused is
 * logged (ipc_refused). Messages with descriptors are refused, too, unless the kind takes them.
 */
#ifndef IPC_SERVER_H
#define IPC_SERVER_H

#include "base/attributes.h"
#include "ipc/channel.h"
#include <sys/types.h>

struct ipc_server;

enum { IPC_SERVER_USERS_MAX = 8, IPC_SERVER_BEHIND_MAX = 32 };

struct ipc_server_kind {
	size_t clients_max; /* connections of each user */
	size_t backlog_max; /* bytes that a client has not read: its next message is refused then */
	/* A client has connected. Returns what the others get as CLIENT. May send. */
	void *(*connected)(void *context, struct ipc_channel *channel);
	/* False: MESSAGE is malformed. This ends the connection, as ipc_channel_refuse() does. Must
	 * not close the channel. MESSAGE is valid during the call. */
	bool (*message)(void *client, struct ipc_channel *channel,
			const struct ipc_message *message);
	/* Called once for each client, before its channel is closed: it has disconnected or was
	 * refused, or the server is freed. NULL: nothing to do. */
	void (*lost)(void *client);
	bool takes_descriptors; /* any number, valid while the message is */
};

/* LISTENING is not owned; KIND must outlive the server. Nobody may connect before
 * ipc_server_set_users(). */
struct ipc_server *ipc_server_new(struct os_loop *loop, int listening,
				  const struct ipc_server_kind *kind, void *context);
/* Who may connect from now on: at most IPC_SERVER_USERS_MAX; (uid_t)-1 is nobody. Those who are
 * connected stay. */
void ipc_server_set_users(struct ipc_server *server, const uid_t *users, size_t count);
/* Instead of the kind's. */
void ipc_server_set_backlog_max(struct ipc_server *server, size_t bytes);
/* Calls CALL with each client; it may send. A client who has left too much unread is
 * disconnected instead, so that news alone cannot pile up either. */
void ipc_server_each(struct ipc_server *server,
		     void (*call)(void *client, struct ipc_channel *channel));
/* Ends all connections. NULL is allowed. */
void ipc_server_free(struct ipc_server *server);

#endif
