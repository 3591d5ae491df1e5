// SPDX-License-Identifier: ISC
/*
 * tests/once/witness.h - sees for certain whether two are in the section of one message (the second
 * transaction of filing/copy.h) at once.
 *
 * In PostgreSQL and MariaDB by a connection of its own and rows of once_section. Who enters inserts
 * a row (committed at once), locks it in the transaction of the section, and then looks at the rows
 * of the same name: one that has not left and is locked is another one's who is inside. Of two who
 * enter at once, the one who looks later sees the other. A row is marked as left in the section's
 * own transaction, so at the very moment when its lock is released; the lock on the row of one who
 * died goes with his transaction. SQLite has one writer: there it is a lock in a file beside the
 * record, released just before the transaction ends.
 */
#ifndef ONCE_WITNESS_H
#define ONCE_WITNESS_H

#include "config/config.h"
#include "filing/record/sql.h"

struct witness;

/* RECORD is the section's, SECOND another connection to the same database, which becomes the
 * witness's. Both are borrowed. */
struct witness *witness_new(const struct config *config, struct record *record,
			    struct record *second);
void witness_free(struct witness *witness);

/* Within the section's transaction. 0; -ENOTCONN: it cannot see, so nobody may go on. Says on
 * standard error if another one is inside, and notes it in once_overlap. */
MUST_CHECK int witness_enter(struct witness *witness, const struct lock_name *name);
/* As the last thing before that transaction is committed. */
MUST_CHECK int witness_leave(struct witness *witness);
/* The transaction is over. */
void witness_forget(struct witness *witness);

#endif
