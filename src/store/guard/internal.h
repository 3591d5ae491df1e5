// SPDX-License-Identifier: ISC
/* store/guard/internal.h - between the parts of store/guard/guard.h. */
#ifndef STORE_GUARD_INTERNAL_H
#define STORE_GUARD_INTERNAL_H

#include "store/guard/guard.h"

struct guard_get;

struct guard {
	struct directory_store base;
	struct directory_store *inner;
	struct os_loop *loop;
	struct os_timer *timer; /* counts now and then */
	struct guard_get *unused;
	int file;
	char *place;
	struct store_guard_memory seen;
	uint64_t counted;  /* when that was done last */
	bool may_lower;    /* ten minutes are over: fewer are taken as they are, if not held */
	uint64_t changed;  /* keys of domains and addresses, since they were counted */
	uint64_t removed;  /* of them through this store */
	uint64_t removing; /* the same, not answered yet */
	bool is_counting;  /* an answer is to come */
	bool must_recount; /* it may be of before a change */
	bool was_counted;  /* since INNER came up or was replaced */
	bool was_told;     /* the handler, whether this is up */
	bool is_held;
	bool is_freed;    /* by its last answer */
	size_t under_way; /* gets, counts and changes */
	char reason[200]; /* why it is held */
};

/* memory.c: writes what GUARD has seen. */
void guard_remember(struct guard *guard);

/* ask.c: the operations of a store. */
extern const struct directory_store_operations guard_operations;
/* Something that was under way is answered. */
void guard_answered(struct guard *guard);

/* guard.c */
/* INNER's fields as its own. */
void guard_mirror(struct guard *guard);
/* Whether "there is none" may be said. */
bool guard_is_certain(const struct guard *guard);
void guard_accept(struct directory_store *base);
void guard_free(struct directory_store *base);
void guard_free_now(struct guard *guard);

#endif
