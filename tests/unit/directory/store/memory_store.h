// SPDX-License-Identifier: ISC
/*
 * tests/unit/directory/store/memory_store.h - a store (directory/store/store.h) in memory, that
 * answers at once, or late, or not at all.
 *
 * Records are written "TABLE KEY|NAME VALUE|NAME VALUE", in their one form or not.
 */
#ifndef TESTS_UNIT_MEMORY_STORE_H
#define TESTS_UNIT_MEMORY_STORE_H

#include "directory/store/store.h"
#include "os/loop.h"

struct memory_store {
	struct directory_store base;
	int error;     /* not 0: what every question is answered from now on, -ENOTCONN */
	bool is_late;  /* questions wait for memory_store_answer() */
	size_t gets;   /* keys that were asked for */
	size_t listed; /* records in answers to lists */
	size_t begins; /* calls of begin; of end: the same */
	size_t ends;
	struct memory_store_private *private;
};

/* With a LOOP, which may be NULL, late questions are answered at the end of its turn. It is up. */
struct memory_store *memory_store_new(struct os_loop *loop);
/* By base.operations->free() too. With nothing waiting. */
void memory_store_free(struct memory_store *store);

/* One change, and the handler, where there is one, is told. Panics where the record is bad. */
void memory_store_put(struct memory_store *store, const char *record);
/* The same; false where it is bad. */
bool memory_store_try_put(struct memory_store *store, const char *record);
void memory_store_remove(struct memory_store *store, const char *table_and_key);

/* Answers the first question that waits; false: none does. */
bool memory_store_answer(struct memory_store *store);
/* All, and those that are asked meanwhile: how many there were. */
size_t memory_store_answer_all(struct memory_store *store);

/* Other data: another identity, nothing in it; the handler hears reset. */
void memory_store_replace(struct memory_store *store, const char *identity);
/* Sets base.is_up and ERROR (0 or -ENOTCONN); the handler hears of it. */
void memory_store_set_up(struct memory_store *store, bool is_up);

#endif
