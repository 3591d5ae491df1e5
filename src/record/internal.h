// SPDX-License-Identifier: ISC
/* record/internal.h - shared by the operations that are the same for all backends. */
#ifndef RECORD_INTERNAL_H
#define RECORD_INTERNAL_H

#include "record/sql.h"

/* Runs CALL with its statement and values: 0 or -errno. */
MUST_CHECK int record_run(struct record_sql *sql, struct record_call *call);

/* A call of STATEMENT with the array VALUES. */
#define RECORD_CALL(STATEMENT, VALUES)                                                 \
	((struct record_call){.statement = (STATEMENT),                                \
			      .values = (VALUES),                                      \
			      .columns = sizeof(VALUES) / sizeof(struct record_value), \
			      .rows = 1})

/* A copy of VALUE's text, until the next operation. */
struct str record_keep(struct record_sql *sql, const struct record_value *value);
enum record_state record_state_of(const struct record_value *value);

static inline struct record_sql *record_sql_of(struct record *record)
{
	return (struct record_sql *)record;
}

#endif
