// SPDX-License-Identifier: ISC
/*
 * filing/record/postgresql/internal.h - a connection, shared by its parts:
 *
 *   connect.c     makes it, with the first host whose database can be written
 *   error.c       what its errors mean
 *   run.c         statements and results
 *   postgresql.c  transactions and locks
 */
#ifndef FILING_RECORD_POSTGRESQL_INTERNAL_H
#define FILING_RECORD_POSTGRESQL_INTERNAL_H

#include "filing/record/sql.h"
#include <libpq-fe.h>

struct record_postgresql {
	struct record_sql sql;
	char *conninfo;
	unsigned timeout_ms;
	unsigned call_ms;   /* of that, for a call */
	int64_t until_us;   /* monotonic: the end of the present call */
	PGconn *connection; /* NULL: there is none */
	bool is_open;       /* a transaction there */
	bool is_prepared[RECORD_STATEMENTS];
};

/* connect.c */
int record_postgresql_connect(struct record_sql *sql);

/* error.c */
void record_postgresql_close(struct record_postgresql *postgresql);

/* record_sql_fail() for these: */

/* RESULT's, which closes the connection if the server has or will. */
int record_postgresql_fail(struct record_postgresql *postgresql, const PGresult *result);
/* The connection was lost, or it was waited for too long (ERROR); closes it. */
int record_postgresql_lost(struct record_postgresql *postgresql, int error);
/* TEXT is of a failed attempt to connect, and may have an SQLSTATE. */
int record_postgresql_refused(struct record_postgresql *postgresql, const char *text);

/* run.c */

/* A call may take its time from now on. */
void record_postgresql_start(struct record_postgresql *postgresql);
/* Waits until the socket is ready, at most until the end of the call: 0, -ETIMEDOUT. */
MUST_CHECK int record_postgresql_wait(struct record_postgresql *postgresql, bool for_writing);
int record_postgresql_run(struct record_sql *sql, struct record_call *call);
/* Runs a statement that is used once, in the dialect of PostgreSQL. */
int record_postgresql_text(struct record_postgresql *postgresql, const char *text,
			   const struct record_value *values, size_t count, record_row *row,
			   void *context);

#endif
