// SPDX-License-Identifier: ISC
/* directory/store/postgresql/round.h - shared by the parts that read. */
#ifndef DIRECTORY_STORE_POSTGRESQL_ROUND_H
#define DIRECTORY_STORE_POSTGRESQL_ROUND_H

#include "base/table.h"
#include "directory/store/postgresql/internal.h"

enum {
	/* statements in a round of gets, which has fewer keys than two batches */
	POSTGRESQL_GETS_MAX = DIRECTORY_TABLES + 2 * DIRECTORY_BATCH_MAX / POSTGRESQL_RECORDS_MAX,
};

enum postgresql_read_kind { POSTGRESQL_READ_GET, POSTGRESQL_READ_LIST, POSTGRESQL_READ_MISSED };

struct postgresql_read {
	enum postgresql_read_kind kind;
	union {
		directory_got *got;
		directory_listed *listed;
		directory_missed *missed;
	} answer;
	void *context;
	enum directory_table table; /* list */
	struct str prefix, after;
	size_t limit;
	struct arena *arena; /* of the list so far; NULL: empty */
	struct directory_record *records;
	size_t record_count;
	struct directory_malformed *malformed;
	size_t malformed_count;
	uint64_t version; /* missed */
	struct postgresql_read *next, *prev;
	size_t count; /* get */
	struct directory_key keys[];
};

struct postgresql_slot { /* a distinct key of a round */
	const struct directory_record *record;
	bool is_bad; /* it has rows, but they are malformed */
	UT_hash_handle hh;
};

struct postgresql_round {
	struct postgresql_request request;
	struct postgresql_store *store;
	struct arena *arena;
	struct postgresql_read *reads;
	size_t key_count;
	struct postgresql_slot *slots[DIRECTORY_TABLES];
	enum directory_table tables[POSTGRESQL_GETS_MAX]; /* of each statement */
	unsigned statement_count;
	uint64_t version; /* of the data; 0: unknown */
	bool is_replaced; /* the tables were recreated */
	bool is_short;    /* a list that has not ended: it is long, or has malformed records */
	/* missed */
	struct directory_key *keys;
	uint64_t *versions;
	size_t count;
	bool is_stale;
};

/* As many gets from the reader's queue as fit. */
void postgresql_round_send_gets(struct postgresql_round *round);
/* The list in round->reads. */
void postgresql_round_send_list(struct postgresql_round *round);
void postgresql_round_send_missed(struct postgresql_round *round);
/* Does not free READ; ERROR as in store.h. */
void postgresql_round_answer(struct postgresql_round *round, struct postgresql_read *read);
void postgresql_read_fail(struct postgresql_read *read, int error);
void postgresql_read_free(struct postgresql_read *read);
/* Does not free READS. */
void postgresql_round_free(struct postgresql_round *round);

#endif
