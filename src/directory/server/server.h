// SPDX-License-Identifier: ISC
/*
 * directory/server/server.h - the directory's side of directory/wire/frame.h: connections with
 * their roles, answers, and the pushes.
 *
 * For each connection it remembers, in a filter of fixed size, which keys its client may
 * hold; "new" goes to those whose filter says so. A filter is forgotten by halves as the TTL
 * passes; after "since", for one TTL, a client may hold anything.
 */
#ifndef DIRECTORY_SERVER_SERVER_H
#define DIRECTORY_SERVER_SERVER_H

#include "directory/expand/expand.h"
#include "directory/wire/frame.h"
#include "directory/wire/transport.h"
#include "os/loop.h"

enum directory_role {
	DIRECTORY_ROLE_READ = 1 << 0,   /* get, list, but for passwords */
	DIRECTORY_ROLE_SECRET = 1 << 1, /* passwords too, of users who are active */
	DIRECTORY_ROLE_CHANGE = 1 << 2, /* put, del; with SECRET every password */
};

struct directory_server;

struct directory_server_counts {
	uint64_t connections, questions, answers_none, errors, pushes, resets, changes;
};

/* Takes the handler of STORE. STORE and CONFIG outlive the server. */
struct directory_server *directory_server_new(struct os_loop *loop, struct directory_store *store,
					      const struct config *config);
void directory_server_configure(struct directory_server *server, const struct config *config);
/* A client has come. PEER is for the log ("uid 1001", "CN=mx1.example.org"); copied. Consumes
 * what is in TRANSPORT also when there are too many connections. */
void directory_server_accept(struct directory_server *server,
			     const struct directory_transport *transport, unsigned roles,
			     const char *peer);
const struct directory_server_counts *
directory_server_counts(const struct directory_server *server);
/* Who else hears what the store tells (the socketmap), after the server; NULL: nobody. */
void directory_server_tell(struct directory_server *server,
			   const struct directory_store_handler *handler, void *context);
/* From now on no question is taken: what is under way is still answered. */
void directory_server_stop(struct directory_server *server);
/* Whether nothing is under way: all that was asked has been answered, and the answers sent. */
bool directory_server_is_idle(const struct directory_server *server);
/* Closes all connections. */
void directory_server_free(struct directory_server *server);

#endif
