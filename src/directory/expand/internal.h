// SPDX-License-Identifier: ISC
/*
 * directory/expand/internal.h - shared by the parts of the expander.
 *
 * An expansion is a graph: a node is an address, its children are the addresses it leads to.
 * First the graph is built: each node needs a few records of the store, and one question asks for
 * those of many nodes (expand.c asks, node.c decides). Then walk.c walks it from the root, in the
 * order of targets, detects loops and makes the routes.
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
	const struct config_domain *configured; /* NULL: a domain of the store */
};

enum expand_wish { /* the record that a node needs next */
		   EXPAND_DONE,
		   EXPAND_WANTS_DOMAIN,
		   EXPAND_WANTS_ADDRESS,       /* the address itself */
		   EXPAND_WANTS_USERS_ADDRESS, /* the address without its extension */
		   EXPAND_WANTS_CATCH_ALL,     /* @DOMAIN */
		   EXPAND_WANTS_USER,
		   EXPAND_WANTS_SERVER,
};

/* Whether it is a postmaster that may be this host's, if the domain is not ours. */
enum expand_host {
	EXPAND_NO_HOST,
	EXPAND_HOST,         /* the host's name was tried */
	EXPAND_HOST_DEFAULT, /* the default domain, too */
};

struct expand_node {
	struct str address;   /* canonical, once its domain is known to be ours */
	struct str shown;     /* as results show it */
	struct str local;     /* of address */
	struct str user;      /* local without extension */
	struct str extension; /* from the delimiter on; empty: none */
	struct str domain;    /* canonical; empty: it has none */
	struct str told;      /* the address for the service, while user and server are looked up */
	struct str wanted;    /* name of that user or server */
	struct expand_domain facts;
	enum expand_wish wish;
	struct directory_key key; /* of the record it needs */
	unsigned depth;           /* steps from the root, by the shortest path */
	enum expand_host host;
	bool is_walked, is_on_path;
	bool is_end; /* a leaf, with a route */
	struct directory_route route;
	struct expand_node **children;
	size_t child_count;
	struct expand_node *next; /* in a queue; then on the path of the walk */
	UT_hash_handle hh;
};

struct expand_queue {
	struct expand_node *first;
	struct expand_node **end;
};

struct expansion {
	struct directory_expander *expander; /* this and the next are kept for reuse */
	struct arena *arena;
	struct buffer scratch;
	struct str address; /* asked for */
	struct expand_node *root;
	struct expand_node *nodes; /* by address, if there are more than the root */
	size_t node_count;
	struct expand_queue fresh;   /* not processed yet */
	struct expand_queue pending; /* need records */
	struct expand_queue asked;   /* their records were asked for, in this order */
	bool is_waiting;             /* for the store */
	bool is_running;             /* its loop is active: answers must not start another one */
	bool is_stale;               /* the configuration has changed: start over */
	bool is_too_big;
	bool is_kept;  /* may_keep */
	bool is_mixed; /* read partly before and partly after a change */
	unsigned attempts;
	int error;
	uint64_t version;
	uint64_t read_version; /* of the data that were read last */
	struct directory_key dependencies[DIRECTORY_DEPENDENCIES_MAX];
	size_t dependency_count; /* may exceed the bound: then the rest is not recorded */
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
	struct expansion *spare; /* for reuse */
	size_t spare_count;
};

/* address.c: parts of an address in canonical form */

/* Sets local, user and extension from address. An extension begins with the first of DELIMITERS
 * that is not the first character. */
void expand_address_split(struct arena *arena, const char *delimiters, struct expand_node *node);
/* MAILBOX as its service gets it: with EXTENSION, which may be empty, after a '+', whatever its
 * delimiter was, because services split addresses there. Where '+' is not among DELIMITERS, those
 * in the name itself are escaped (mail/localpart.h). Empty if the result is not a valid address. */
struct str expand_address_mailbox(struct arena *arena, const char *delimiters, struct str mailbox,
				  struct str extension);
/* The same for NODE's own address, which was found without EXTENSION. */
struct str expand_address_told(struct arena *arena, const char *delimiters,
			       const struct expand_node *node, struct str extension);
/* ADDRESS with EXTENSION, which may be empty; empty if the result is not a valid address. */
struct str expand_address_extend(struct arena *arena, struct str address, struct str extension);
/* LOCAL@DOMAIN */
struct str expand_address_join(struct arena *arena, struct str local, struct str domain);
bool expand_is_postmaster(struct str user);

/* domain.c: the domain of a node */

/* Creates the root, for the address asked for. */
struct expand_node *expand_node_root(struct expansion *expansion, struct str address);
/* Applies the configuration of the domain; false if the configuration does not have it. */
bool expand_node_configure(struct expansion *expansion, struct expand_node *node);
/* Continues with the store's record of the domain; NULL: there is none. */
void expand_node_take_domain(struct expansion *expansion, struct expand_node *node,
			     const struct directory_record *record);

/* node.c: the decisions about a node */

/* Sets the key of the record that NODE needs now. */
void expand_node_wish(struct expansion *expansion, struct expand_node *node);
/* Continues with that record; NULL: there is none. */
void expand_node_take(struct expansion *expansion, struct expand_node *node,
		      const struct directory_record *record);

/* route.c: ends nodes with a route; texts must live as long as the expansion */

void expand_refuse(struct expansion *expansion, struct expand_node *node, const char *status,
		   const char *format, ...) PRINTF_LIKE(4, 5);
void expand_end(struct expand_node *node, struct directory_route route);
/* A LOCAL route, if the service exists and accepts the address. */
void expand_deliver(struct expansion *expansion, struct expand_node *node, struct str service,
		    struct str address, bool is_program);
/* A LOCAL route at SERVER, if the service lists SERVER; if SERVER is empty, as expand_deliver().
 */
void expand_deliver_at(struct expansion *expansion, struct expand_node *node, struct str service,
		       struct str server, struct str address);

/* expand.c */

/* Whether the result so far depends on KEY; not reliable if it must not be cached anyway. */
bool expand_depends(const struct expansion *expansion, const struct directory_key *key);
void expand_free(struct expansion *expansion); /* must have ended */

/* graph.c */

void expand_queue_empty(struct expand_queue *queue);
void expand_queue_append(struct expand_queue *queue, struct expand_node *node);
/* Takes the first node; the queue must not be empty. */
struct expand_node *expand_queue_take(struct expand_queue *queue);
/* Adds ADDRESS, in canonical form, as NODE's next child. */
void expand_add_child(struct expansion *expansion, struct expand_node *node, struct str address);
/* Adds the next child of NODE without an address, to which the caller must give a route. */
struct expand_node *expand_add_leaf(struct expansion *expansion, struct expand_node *node);

/* walk.c */

/* Makes the routes. */
void expand_walk(struct expansion *expansion);

/* cache.c: domains, and their catch-alls, until they change */

struct expand_cache *expand_cache_new(void);
void expand_cache_free(struct expand_cache *cache);
void expand_cache_empty(struct expand_cache *cache);
void expand_cache_forget(struct expand_cache *cache, const struct directory_key *key);
/* Caches RECORD (NULL: there is none) of a domain, or of an address @DOMAIN. */
void expand_cache_keep(struct expand_cache *cache, const struct directory_key *key,
		       const struct directory_record *record);
/* False: not cached. Valid until the cache changes. */
bool expand_cache_find(struct expand_cache *cache, const struct directory_key *key,
		       const struct directory_record **record_out);

#endif
