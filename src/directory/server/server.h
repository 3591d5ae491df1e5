// SPDX-License-Identifier: ISC
/*
 * directory/server/server.h - the server's side of directory/wire/frame.h: connections with
 * their roles, answers, and notifications.
 *
 * For each connection a filter of fixed size remembers which keys its client may have cached;
 * a "new" is sent to clients whose filter has the key. A filter forgets older keys as the TTL
 * passes; for one TTL after "since", a client is assumed to have cached everything.
 */
#ifndef DIRECTORY_SERVER_SERVER_H
#define DIRECTORY_SERVER_SERVER_H

#include "directory/expand/expand.h"
#include "directory/wire/frame.h"
#include "directory/wire/transport.h"
#include "os/loop.h"

enum directory_role {
	DIRECTORY_ROLE_READ = 1 << 0,    /* get what one knows the key of, without passwords */
	DIRECTORY_ROLE_SECRET = 1 << 1,  /* also passwords of active users; watch users */
	DIRECTORY_ROLE_CHANGE = 1 << 2,  /* put, del; with SECRET also every password */
	DIRECTORY_ROLE_LIST = 1 << 3,    /* learn which keys there are: list, watch, since */
	DIRECTORY_ROLE_MEMBERS = 1 << 4, /* list the members, and memberships, of an address */
	DIRECTORY_ROLE_NODES = 1 << 5,   /* list and watch nodes, but nothing else */
};

struct directory_server;

struct directory_server_counts {
	uint64_t connections, questions, answers_none, errors, pushes, resets, changes;
};

/* Sets the handler of STORE. STORE and CONFIG must outlive the server. */
struct directory_server *directory_server_new(struct os_loop *loop, struct directory_store *store,
					      const struct config *config);
void directory_server_configure(struct directory_server *server, const struct config *config);
/* A new client. PEER is for the log ("uid 1001", "CN=mx1.example.org"); copied. Consumes TRANSPORT
 * even if there are too many connections. */
void directory_server_accept(struct directory_server *server,
			     const struct directory_transport *transport, unsigned roles,
			     const char *peer);
const struct directory_server_counts *
directory_server_counts(const struct directory_server *server);
/* HANDLER, the socketmap's, is notified of the store's events after the server; NULL: none. */
void directory_server_tell(struct directory_server *server,
			   const struct directory_store_handler *handler, void *context);
/* Accepts no more questions; pending ones are still answered. */
void directory_server_stop(struct directory_server *server);
/* Whether all questions have been answered and all answers sent. */
bool directory_server_is_idle(const struct directory_server *server);
/* Closes all connections. */
void directory_server_free(struct directory_server *server);

#endif
