// SPDX-License-Identifier: ISC
/* store/guard/internal.h - between the parts of store/guard/guard.h. */
#ifndef STORE_GUARD_INTERNAL_H
#define STORE_GUARD_INTERNAL_H

#include "store/guard/guard.h"

/* A get that is under way. */
struct guard_get {
	struct guard *guard;
	directory_got *got;
	void *context;
	size_t count;
	struct guard_get *next; /* of the unused ones */
};

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

/* ask.c: operations of a store. */
void guard_get(struct directory_store *base, const struct directory_key *keys, size_t count,
	       directory_got *got, void *context);
void guard_list(struct directory_store *base, enum directory_table table, struct str prefix,
		struct str after, size_t limit, directory_listed *listed, void *context);
void guard_change(struct directory_store *base, const struct directory_change *changes,
		  size_t count, directory_changed *changed, void *context);
void guard_missed(struct directory_store *base, uint64_t version, size_t limit,
		  directory_missed *missed, void *context);
void guard_begin(struct directory_store *base);
void guard_end(struct directory_store *base);
const char *guard_followed(struct directory_store *base);

/* state.c */
/* Something that was under way is answered. */
void guard_answered(struct guard *guard);
/* INNER's fields as its own. */
void guard_mirror(struct guard *guard);
/* Whether "there is none" may be said. */
bool guard_is_certain(const struct guard *guard);
void guard_free_now(struct guard *guard);

#endif
