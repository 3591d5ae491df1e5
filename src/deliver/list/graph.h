// SPDX-License-Identifier: ISC
/*
 * deliver/list/graph.h - the lists that mail to a list reaches: itself, the lists among its
 * members, those among theirs, each once.
 *
 * All of them are found before anything is sent, so that a member of several gets the mail once,
 * and so that the mail is deferred as a whole if there are too many: more than DIRECTORY_DEPTH_MAX
 * levels, or more than DIRECTORY_TARGETS_MAX lists (4.4.6). A list that leads back to itself, or
 * that the message has been through, is not expanded again; the log names the loop.
 *
 * A member is a list if the directory says that its address maps to lists and nothing else. An
 * address that maps to a list and to something else is an ordinary member: it is mapped when its
 * mail is delivered.
 */
#ifndef DELIVER_LIST_GRAPH_H
#define DELIVER_LIST_GRAPH_H

#include "base/table.h"
#include "deliver/helper.h"
#include "directory/lookup/lookup.h"

struct list_node {
	struct str address;
	struct str sender;              /* of its messages */
	struct str head;                /* the lines to prepend: the path to it, the latest first */
	const struct list_node *parent; /* the list in which it was found first; NULL: the list
					 * itself */
	unsigned depth;
	UT_hash_handle hh; /* by address; in the order of discovery */
};

struct list_graph_member; /* of a page: being asked about */
struct list_graph_name;   /* in a set */

struct list_graph {
	struct directory *directory;
	const struct deliver_helper_job *job;
	struct hash_key key; /* of marks */
	struct str via;      /* the address that leads to the list itself; empty: none */
	struct arena *arena;
	struct arena *page_arena;     /* until the next page */
	struct directory_target list; /* the directory's target for the list itself */
	struct list_node *nodes;
	struct list_node *node;          /* the node whose members are being read */
	struct list_graph_name *nested;  /* members that are lists */
	struct list_graph_name *foreign; /* domains that are not local */
	struct buffer after;             /* the last member that was read */
	bool is_last;                    /* the current page is the last of the node */
	struct directory_request route;  /* of the list itself */
	struct directory_members_request page;
	struct list_graph_member *members; /* owned */
	size_t member_count;
	size_t pending;              /* questions without an answer */
	struct mail_verdict verdict; /* why it fails; class OK: it has not */
	const char *trigger;
	/* All lists are known, and VERDICT is NULL; or why the mail is not sent on, with TRIGGER
	 * as for deliver_helper_report(). */
	void (*done)(void *context, const struct mail_verdict *verdict, const char *trigger);
	void *context;
};

/* Set everything that DONE needs before: it may be called from inside. */
void list_graph_start(struct list_graph *graph, struct str list);
/* Stops whatever is in progress. */
void list_graph_clear(struct list_graph *graph);
/* Whether MEMBER is one of the lists, which have nodes of their own. */
bool list_graph_is_list(const struct list_graph *graph, struct str member);

#endif
