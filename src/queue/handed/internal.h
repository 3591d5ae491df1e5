// SPDX-License-Identifier: ISC
/*
 * queue/handed/internal.h - the names in handed/, as "queue" keeps them in memory.
 */
#ifndef QUEUE_HANDED_INTERNAL_H
#define QUEUE_HANDED_INTERNAL_H

#include "base/table.h"
#include "queue/handed.h"
#include "queue/internal.h"

struct handed_node {
	char name[MAIL_NODE_MAX + 1];
	uint64_t epoch; /* of the run file; 0: there is none */
	uint64_t run;
	uint64_t old_epoch; /* of the one before it, which goes when the newer one is durable */
	uint64_t old_run;
	bool is_run_durable;
	bool is_new;       /* its directory was made for that run, and is not durable either */
	unsigned failures; /* queue_spare_epoch() when the run was made */
	uint64_t durable;  /* what queue_intake_durable() must reach before NODE is greeted */
	size_t undone;     /* names of commits that failed */
	bool is_undoing;   /* the removal of theirs in todo/ is awaited */
	struct queue_handed_name *names; /* by name */
	UT_hash_handle hh;
};

struct queue_handed {
	struct handed_node *nodes; /* by name */
	struct queue_handed_name *by_number;
	bool is_synced; /* all of the filesystem was or will be, since the start */
};

/* table.c */
/* NULL: there is none. */
struct handed_node *handed_node_find(const struct queue_intake *intake, struct str name);
/* Found or added; NULL: there are too many. */
struct handed_node *handed_node_add(struct queue_intake *intake, struct str name);
struct queue_handed_name *handed_name_find(const struct handed_node *node, struct str name);
struct queue_handed_name *handed_name_add(struct queue_intake *intake, struct handed_node *node,
					  struct str name, uint64_t number,
					  enum queue_handed_state state);

#endif
