// SPDX-License-Identifier: ISC
/*
 * directory/client/nodes.h - a live copy of the directory's table "node", for those who hand mail
 * over to other nodes or take it from them.
 *
 * The table is listed at the start, and again whenever the directory pushes a change of it. While
 * the directory does not answer, or cannot read its data, the last copy stays in force. The server
 * must give this user the role "nodes" or "list" (directory/server/server.h).
 */
#ifndef DIRECTORY_CLIENT_NODES_H
#define DIRECTORY_CLIENT_NODES_H

#include "base/attributes.h"
#include "base/str.h"
#include "directory/wire/frame.h"
#include "os/loop.h"

struct directory_nodes;

/* The first so many in the order of their names: what one list of the directory has. */
enum { DIRECTORY_NODES_MAX = DIRECTORY_LIST_MAX };

enum directory_node_state {
	DIRECTORY_NODE_ACTIVE,   /* the default */
	DIRECTORY_NODE_DRAINING, /* takes nothing new, and hands over what it has */
	DIRECTORY_NODE_AWAY,     /* neither takes anything nor hands anything over */
};

struct directory_node {
	const char *name;    /* in canonical form: it may be a file's name (record/key.h) */
	const char *address; /* HOST:PORT (mail/server.h) */
	const char *const *groups;
	size_t group_count;
	unsigned weight; /* 1 to DIRECTORY_NODE_WEIGHT_MAX */
	/* A state that is unknown here counts as DRAINING: a later version may have more. */
	enum directory_node_state state;
};

struct directory_nodes_handler {
	/* The copy differs from what it was, or is the first, which may be empty. */
	void (*changed)(void *context);
};

/* SERVER: "unix:PATH", the directory's socket on this machine. CHANGED is called from the loop
 * only, never from here. HANDLER must outlive the copy. */
struct directory_nodes *directory_nodes_new(struct os_loop *loop, const char *server,
					    const struct directory_nodes_handler *handler,
					    void *context);
/* Of the directory's data, as this process knows them (directory/client/client.h): their identity,
 * empty before the first answer, and the number of their last change. */
struct str directory_nodes_identity(const struct directory_nodes *nodes);
uint64_t directory_nodes_version(const struct directory_nodes *nodes);
/* Whether the directory answers now. */
bool directory_nodes_is_up(const struct directory_nodes *nodes);
/* Whether a list has been read at least once; before that there are no nodes. */
bool directory_nodes_is_known(const struct directory_nodes *nodes);
/* Nodes are valid until CHANGED is called next. NULL: there is no such node. */
const struct directory_node *directory_nodes_find(const struct directory_nodes *nodes,
						  struct str name);
size_t directory_nodes_count(const struct directory_nodes *nodes);
/* By POSITION from 0, in the order of their names. */
const struct directory_node *directory_nodes_at(const struct directory_nodes *nodes,
						size_t position);
bool directory_node_is_in(const struct directory_node *node, struct str group);
/* NULL is allowed. */
void directory_nodes_free(struct directory_nodes *nodes);

#endif
