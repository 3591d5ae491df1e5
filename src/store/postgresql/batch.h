// SPDX-License-Identifier: ISC
/* store/postgresql/batch.h - between the parts that make changes. */
#ifndef STORE_POSTGRESQL_BATCH_H
#define STORE_POSTGRESQL_BATCH_H

#include "base/table.h"
#include "store/postgresql/internal.h"

struct postgresql_edit { /* what one call asked for */
	struct arena *arena;
	struct directory_change *changes;
	bool *existed;
	size_t count;
	directory_changed *changed;
	void *context;
	int64_t since_us; /* asked; then: durable */
	uint64_t version;
	struct postgresql_edit *next, *prev;
};

struct postgresql_item { /* a key, and what becomes of it in the end */
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
	enum directory_table *tables; /* of each statement that tells keys; DIRECTORY_NO_TABLE */
	unsigned statements;
	uint64_t version;
};

/* Takes the changes of EDIT into account, which stays in batch->edits. */
void postgresql_batch_add(struct postgresql_batch *batch, const struct postgresql_edit *edit);
/* On the link of the writer; batch->request.done hears of the end. */
void postgresql_batch_send(struct postgresql_batch *batch);
/* After it succeeded: what the edits are told. */
void postgresql_batch_set_existed(struct postgresql_batch *batch);
/* EDITS are not freed. */
void postgresql_batch_free(struct postgresql_batch *batch);

#endif
