// SPDX-License-Identifier: ISC
/*
 * directory/expand/internal.h - between the parts of the expander.
 *
 * An expansion is a graph: a node is an address, its children are what it stands for.
 * Nodes are found out first, each by a few records of the store, many nodes with one
 * question (expand.c asks, node.c decides); then the graph is walked from the root in the
 * order of targets (walk.c), which finds loops and makes the results.
 */
#ifndef DIRECTORY_EXPAND_INTERNAL_H
#define DIRECTORY_EXPAND_INTERNAL_H

#include "base/table.h"
#include "directory/expand/expand.h"

enum { EXPAND_NODES_MAX = 4 * DIRECTORY_TARGETS_MAX };

enum expand_domain_kind { EXPAND_LOCAL, EXPAND_RELAY };

struct expand_domain {
	enum expand_domain_kind kind;
	struct str service;                     /* of its mailboxes; may be empty */
	const struct config_domain *configured; /* NULL: the domain is the store's */
};

enum expand_wish { /* the record that a node needs next */
		   EXPAND_DONE,
		   EXPAND_WANTS_DOMAIN,
		   EXPAND_WANTS_ADDRESS,       /* itself */
		   EXPAND_WANTS_USERS_ADDRESS, /* without its extension */
		   EXPAND_WANTS_CATCH_ALL,     /* @DOMAIN */
		   EXPAND_WANTS_USER,
		   EXPAND_WANTS_SERVER,
};

/* Whether the postmaster of this host is meant, should the domain be none of ours. */
enum expand_host {
	EXPAND_NO_HOST,
	EXPAND_HOST,         /* its name was tried */
	EXPAND_HOST_DEFAULT, /* its default domain, too */
};

struct expand_node {
	struct str address;   /* in its one form, once its domain is known to be ours */
	struct str shown;     /* as results name it */
	struct str local;     /* of address */
	struct str user;      /* local without extension */
	struct str extension; /* from the delimiter on; empty: none */
	struct str domain;    /* in its one form; empty: it has none */
	struct str told;      /* what the service is told, while user and server are asked for */
	struct str wanted;    /* name of that user or server */
	struct expand_domain facts;
	enum expand_wish wish;
	struct directory_key key; /* of what it wants */
	unsigned depth;           /* steps from the root, the fewest */
	enum expand_host host;
	bool is_walked, is_on_path;
	bool is_end; /* it has a route, and no children */
	struct directory_route route;
	struct expand_node **children;
	size_t child_count;
	struct expand_node *next; /* in a queue */
	UT_hash_handle hh;
};

struct expand_queue {
	struct expand_node *first;
	struct expand_node **end;
};

struct expansion {
	struct directory_expander *expander; /* it and the next stay when one is used again */
	struct arena *arena;
	struct buffer scratch;
	struct str address; /* that was asked for */
	struct expand_node *root;
	struct expand_node *nodes; /* by address, once there is more than the root */
	size_t node_count;
	struct expand_queue fresh;   /* nothing was found out of them yet */
	struct expand_queue pending; /* they wait for records */
	struct expand_queue asked;   /* they were asked for, in that order */
	bool is_waiting;             /* the store was asked */
	bool is_running;             /* whoever asks it also goes on */
	bool is_stale;               /* the configuration has changed: begin again */
	bool is_too_big;
	bool is_kept;  /* may_keep */
	bool is_mixed; /* some of it was seen before a change, some after */
	unsigned attempts;
	int error;
	uint64_t version;
	struct directory_key dependencies[DIRECTORY_DEPENDENCIES_MAX];
	size_t dependency_count; /* over its bound: there are more */
	struct directory_route *routes;
	size_t route_count;
	directory_expanded *expanded;
	void *context;
	struct expansion *prev, *next;
};

struct expand_cache;

struct directory_expander {
	struct directory_store *store; /* may be NULL */
	const struct config *config;
	struct expand_cache *cache;
	struct expansion *under_way;
	struct expansion *spare; /* to be used again */
	size_t spare_count;
};

/* address.c: parts of an address that is in its one form */

/* Fills local, user, extension from address. An extension begins with the first of DELIMITERS,
 * which is not in front. */
void expand_address_split(struct arena *arena, const char *delimiters, struct expand_node *node);
/* EXTENSION as services get it: with a '+' in front, whatever its delimiter was. They cut an
 * address there, and what they cut is never part of a name that has a record. */
struct str expand_address_plus(struct arena *arena, struct str extension);
/* NODE's address as its service gets it, when it was found without EXTENSION; which may be empty.
 */
struct str expand_address_told(struct arena *arena, const struct expand_node *node,
			       struct str extension);
/* ADDRESS with EXTENSION, which may be empty; empty when that is no address. */
struct str expand_address_extend(struct arena *arena, struct str address, struct str extension);
/* LOCAL@DOMAIN */
struct str expand_address_join(struct arena *arena, struct str local, struct str domain);
bool expand_is_postmaster(struct str user);

/* domain.c: whose a node's domain is */

/* The root for what was asked. */
struct expand_node *expand_node_root(struct expansion *expansion, struct str address);
/* Takes what the configuration says of the domain, if it has it: whether it does. */
bool expand_node_configure(struct expansion *expansion, struct expand_node *node);
/* Goes on with the store's record of the domain, NULL: there is none. */
void expand_node_take_domain(struct expansion *expansion, struct expand_node *node,
			     const struct directory_record *record);

/* node.c: what a node becomes */

/* Fills the key of what NODE wants now. */
void expand_node_wish(struct expansion *expansion, struct expand_node *node);
/* Goes on with that record, NULL: there is none. */
void expand_node_take(struct expansion *expansion, struct expand_node *node,
		      const struct directory_record *record);

/* route.c: nodes that end; texts must live as long as the expansion */

void expand_refuse(struct expansion *expansion, struct expand_node *node, const char *status,
		   const char *format, ...) PRINTF_LIKE(4, 5);
void expand_end(struct expand_node *node, struct directory_route route);
/* LOCAL, where there is such a service and the address can be told it. */
void expand_deliver(struct expansion *expansion, struct expand_node *node, struct str service,
		    struct str address, bool is_program);
/* LOCAL at SERVER, where the service may deliver to SERVER as well; where that is
 * empty, as expand_deliver(). */
void expand_deliver_at(struct expansion *expansion, struct expand_node *node, struct str service,
		       struct str server, struct str address);

/* expand.c */

/* Whether what was found out so far depends on KEY; not said of what is not to be kept anyway. */
bool expand_depends(const struct expansion *expansion, const struct directory_key *key);
void expand_free(struct expansion *expansion); /* which has ended */

/* graph.c */

void expand_queue_empty(struct expand_queue *queue);
void expand_queue_append(struct expand_queue *queue, struct expand_node *node);
/* The first; there is one. */
struct expand_node *expand_queue_take(struct expand_queue *queue);
/* What becomes of ADDRESS, in its one form, is NODE's next child. */
void expand_add_child(struct expansion *expansion, struct expand_node *node, struct str address);
/* The next child of NODE, known to nobody else; whoever calls gives it a route. */
struct expand_node *expand_add_leaf(struct expansion *expansion, struct expand_node *node);

/* walk.c */

/* Fills routes. */
void expand_walk(struct expansion *expansion);

/* cache.c: what domains are, and their catch-alls, as long as that is true */

struct expand_cache *expand_cache_new(void);
void expand_cache_free(struct expand_cache *cache);
void expand_cache_empty(struct expand_cache *cache);
void expand_cache_forget(struct expand_cache *cache, const struct directory_key *key);
/* Keeps RECORD (NULL: there is none) of table domain, or of an address @DOMAIN. */
void expand_cache_keep(struct expand_cache *cache, const struct directory_key *key,
		       const struct directory_record *record);
/* False: not known. Valid until the cache changes. */
bool expand_cache_find(struct expand_cache *cache, const struct directory_key *key,
		       const struct directory_record **record_out);

#endif
