// SPDX-License-Identifier: ISC
/* filing/record/internal.h - shared by the operations that are the same for all backends. */
#ifndef FILING_RECORD_INTERNAL_H
#define FILING_RECORD_INTERNAL_H

#include "filing/record/sql.h"

/* Runs CALL with its statement and values: 0 or -errno. */
MUST_CHECK int record_run(struct record_sql *sql, struct record_call *call);

/* A call of STATEMENT with the array VALUES. */
#define RECORD_CALL(STATEMENT, VALUES)                                                 \
	((struct record_call){.statement = (STATEMENT),                                \
			      .values = (VALUES),                                      \
			      .columns = sizeof(VALUES) / sizeof(struct record_value), \
			      .rows = 1})

/* Rows of a statement at once: what a server answers to so many must not fill what is between. */
enum { RECORD_BATCH = 64 };

/* A statement for some of a group. */
struct record_subset {
	struct record_sql *sql;
	struct record_call call; /* with ROW and CONTEXT, if there are results */
	struct record_value *values;
	size_t *which; /* of the group: for each of COUNT */
	size_t count;
	bool wants_outcomes;
	struct record_outcome *outcomes; /* out: of each of COUNT */
	size_t done;                     /* by runs before the present one */
};

/* For at most MOST of them; in SQL's arena. */
void record_subset_begin(struct record_subset *subset, struct record_sql *sql,
			 enum record_statement statement, size_t columns, size_t most);
/* The values, to be set, of one more, for WHICH of the group. */
struct record_value *record_subset_add(struct record_subset *subset, size_t which);
/* 0 or -errno. */
MUST_CHECK int record_subset_run(struct record_subset *subset);

/* While a row is taken: WHICH it is for. */
static inline size_t record_subset_at(const struct record_subset *subset)
{
	return subset->which[subset->done + subset->call.at];
}

/* Makes the mailboxes of ATTEMPTS that have none in NUMBERS: 0 or -errno. */
MUST_CHECK int record_mailboxes_make(struct record_sql *sql, struct record_attempt **attempts,
				     size_t count, int64_t *numbers);

/* A copy of VALUE's text, until the next operation. */
struct str record_keep(struct record_sql *sql, const struct record_value *value);
enum record_state record_state_of(const struct record_value *value);

static inline struct record_sql *record_sql_of(struct record *record)
{
	return (struct record_sql *)record;
}

#endif
