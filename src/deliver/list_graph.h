// SPDX-License-Identifier: ISC
/*
 * deliver/list_graph.h - the lists that mail to a list reaches: itself, the lists among its
 * members, those among theirs, each once.
 *
 * They are found out before anything is sent, so that a member of several has the mail once, and
 * so that what leads too far defers as a whole: more than DIRECTORY_DEPTH_MAX steps, or more than
 * DIRECTORY_TARGETS_MAX lists (4.4.6). A list that leads back to itself, or that the message has
 * been through, is not followed again; the log names the way.
 *
 * A member is a list where the directory says that its address becomes lists and nothing else. One
 * that becomes a list and more is a member like others: its mail is mapped when it comes to it.
 */
#ifndef DELIVER_LIST_GRAPH_H
#define DELIVER_LIST_GRAPH_H

#include "base/table.h"
#include "deliver/helper.h"
#include "directory/lookup/lookup.h"

struct list_node {
	struct str address;
	struct str sender;              /* of its messages */
	struct str head;                /* the lines in front: the way to it, the latest first */
	const struct list_node *parent; /* by which it was found first; NULL: the list itself */
	unsigned depth;
	UT_hash_handle hh; /* by address; in the order in which they were found */
};

struct list_graph_member; /* of a page: asked for */
struct list_graph_name;   /* in a set */

struct list_graph {
	struct directory *directory;
	const struct deliver_helper_job *job;
	struct arena *arena;
	struct arena *page_arena;     /* until the next page */
	struct directory_target list; /* as the directory has the list itself */
	struct list_node *nodes;
	struct list_node *node;          /* whose members are being looked at */
	struct list_graph_name *nested;  /* members that are lists */
	struct list_graph_name *foreign; /* domains that are not ours */
	struct buffer after;             /* the last member that was listed */
	bool is_last;                    /* page of the node */
	struct directory_request route;  /* of the list itself */
	struct directory_members_request page;
	struct list_graph_member *members; /* owned */
	size_t member_count;
	size_t pending;              /* of them */
	struct mail_verdict verdict; /* why it ends; class OK: not yet */
	const char *trigger;
	/* All lists are known, and VERDICT is NULL; or why the mail is not sent on, and TRIGGER as
	 * deliver_helper_report()'s. */
	void (*done)(void *context, const struct mail_verdict *verdict, const char *trigger);
	void *context;
};

/* What DONE needs is set; it may be called before this returns. */
void list_graph_start(struct list_graph *graph, struct str list);
/* Stops whatever is under way. */
void list_graph_clear(struct list_graph *graph);
/* Whether MEMBER is one of the lists, which have nodes of their own. */
bool list_graph_is_list(const struct list_graph *graph, struct str member);

#endif
