// SPDX-License-Identifier: ISC
/* directory/store/postgresql/batch.h - shared by the parts that make changes. */
#ifndef DIRECTORY_STORE_POSTGRESQL_BATCH_H
#define DIRECTORY_STORE_POSTGRESQL_BATCH_H

#include "base/table.h"
#include "directory/store/postgresql/internal.h"

struct postgresql_edit { /* one call of change */
	struct arena *arena;
	struct directory_change *changes;
	bool *existed;
	size_t count;
	directory_changed *changed;
	void *context;
	int64_t since_us; /* when it was asked; later: when it became durable */
	uint64_t version;
	struct postgresql_edit *next, *prev;
};

struct postgresql_item { /* a key, and its last change */
	const struct directory_change *change;
	bool existed;
	UT_hash_handle hh;
};

struct postgresql_batch {
	struct postgresql_request request;
	struct postgresql_store *store;
	struct arena *arena;
	struct postgresql_edit *edits;
	struct postgresql_item *items[DIRECTORY_TABLES];
	size_t conditions;            /* of the edits */
	enum directory_table *tables; /* of each statement that returns keys; DIRECTORY_NO_TABLE */
	unsigned statements;
	uint64_t version;
};

/* Not if EDIT has a condition on a key that the batch changes: conditions come before all changes.
 */
bool postgresql_batch_may_add(const struct postgresql_batch *batch,
			      const struct postgresql_edit *edit);
/* Whether FAILURE is that the condition of its only edit is not met. */
bool postgresql_batch_is_stale(const struct postgresql_batch *batch,
			       const struct postgresql_failure *failure);
/* Adds the changes of EDIT, which stays in batch->edits. */
void postgresql_batch_add(struct postgresql_batch *batch, const struct postgresql_edit *edit);
/* Sends it on the writer's link; batch->request.done is called at the end. */
void postgresql_batch_send(struct postgresql_batch *batch);
/* After success: sets the results of the edits. */
void postgresql_batch_set_existed(struct postgresql_batch *batch);
/* Does not free EDITS. */
void postgresql_batch_free(struct postgresql_batch *batch);

#endif
