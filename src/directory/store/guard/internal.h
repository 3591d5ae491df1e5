// SPDX-License-Identifier: ISC
/* directory/store/guard/internal.h - shared by the parts of directory/store/guard/guard.h. */
#ifndef DIRECTORY_STORE_GUARD_INTERNAL_H
#define DIRECTORY_STORE_GUARD_INTERNAL_H

#include "directory/store/guard/guard.h"

/* A pending get. */
struct guard_get {
	struct guard *guard;
	directory_got *got;
	void *context;
	size_t count;
	struct guard_get *next; /* in the list of unused ones */
};

struct guard {
	struct directory_store base;
	struct directory_store *inner;
	struct os_loop *loop;
	struct os_timer *timer; /* for the next count */
	struct guard_get *unused;
	int file;
	char *place;
	struct store_guard_memory seen;
	uint64_t counted;  /* the last result */
	bool may_lower;    /* ten minutes are over: a lower number is accepted, if not held */
	uint64_t changed;  /* domains and addresses since the last count */
	uint64_t removed;  /* of these, through this store */
	uint64_t removing; /* of these, not answered yet */
	bool is_counting;  /* a count is pending */
	bool must_recount; /* the pending count may be of before a change */
	bool was_counted;  /* since INNER came up or was replaced */
	bool was_told;     /* the handler knows whether this store is up */
	bool is_held;
	bool is_unsynced; /* a power failure may take away what was remembered last */
	bool is_freed;    /* when the last answer has come */
	size_t under_way; /* pending gets, counts and changes */
	char reason[200]; /* why it is held */
};

/* memory.c: writes what GUARD has seen to its file. */
void guard_remember(struct guard *guard);
/* memory.c: makes durable what was written. */
void guard_remember_durably(struct guard *guard);

/* ask.c: the operations of the store. */
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
/* After a pending answer has come. */
void guard_answered(struct guard *guard);
/* Copies INNER's fields. */
void guard_mirror(struct guard *guard);
/* Whether "no such record" may be answered. */
bool guard_is_certain(const struct guard *guard);
void guard_free_now(struct guard *guard);

#endif
