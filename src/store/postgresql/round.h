// SPDX-License-Identifier: ISC
/* store/postgresql/round.h - between the parts that read. */
#ifndef STORE_POSTGRESQL_ROUND_H
#define STORE_POSTGRESQL_ROUND_H

#include "base/table.h"
#include "store/postgresql/internal.h"

enum {
	/* statements of a round of gets: its keys are fewer than two batches */
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
	struct arena *arena; /* of what was listed so far; NULL: nothing */
	struct directory_record *records;
	size_t record_count;
	struct directory_malformed *malformed;
	size_t malformed_count;
	uint64_t version; /* missed */
	struct postgresql_read *next, *prev;
	size_t count; /* get */
	struct directory_key keys[];
};

struct postgresql_slot { /* a key of a round, asked for once */
	const struct directory_record *record;
	bool is_bad; /* there are rows of it, and they are no record */
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
	bool is_replaced; /* the tables are others */
	bool is_short;    /* a list that is not at its end: it is long, or has bad records */
	/* missed */
	struct directory_key *keys;
	uint64_t *versions;
	size_t count;
	bool is_stale;
};

/* From the reader's queue: as many gets as fit. */
void postgresql_round_send_gets(struct postgresql_round *round);
/* What stands in round->reads. */
void postgresql_round_send_list(struct postgresql_round *round);
void postgresql_round_send_missed(struct postgresql_round *round);
/* READ stays; ERROR as in store.h. */
void postgresql_round_answer(struct postgresql_round *round, struct postgresql_read *read);
void postgresql_read_fail(struct postgresql_read *read, int error);
void postgresql_read_free(struct postgresql_read *read);
/* READS are not freed. */
void postgresql_round_free(struct postgresql_round *round);

#endif
