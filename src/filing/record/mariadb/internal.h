// SPDX-License-Identifier: ISC
/*
 * filing/record/mariadb/internal.h - a connection, shared by its parts:
 *
 *   connect.c  makes it, with the first host whose database can be written
 *   wait.c     how long its calls may take
 *   error.c    what its errors mean
 *   run.c      statements and results
 *   lock.c     locks of the connection
 *   mariadb.c  transactions
 */
#ifndef FILING_RECORD_MARIADB_INTERNAL_H
#define FILING_RECORD_MARIADB_INTERNAL_H

#include "filing/record/sql.h"
#include <mysql.h>

struct record_mariadb_lock {
	struct lock_name name;
	struct record_mariadb_lock *next;
};

struct record_mariadb {
	struct record_sql sql;
	struct arena *memory; /* of the settings */
	const char *hosts, *socket, *database, *user, *password_file;
	const char *authority, *certificate, *key;
	unsigned timeout_ms;
	MYSQL *connection;                         /* NULL: there is none */
	bool is_open;                              /* a transaction there */
	bool is_connecting;                        /* all calls share their time */
	MYSQL_STMT *statements[RECORD_STATEMENTS]; /* or NULL */
	struct record_mariadb_lock *locks;
	struct arena *lock_memory;
};

/* connect.c */

/* Ways to log in that are files beside the library; then NULL. */
extern const char *const record_mariadb_plugins[];
int record_mariadb_connect(struct record_sql *sql);

/* error.c */
void record_mariadb_close(struct record_mariadb *mariadb);
/* record_sql_fail() for an error number and words of the server or client; closes the connection
 * if it was lost. */
int record_mariadb_fail(struct record_mariadb *mariadb, unsigned number, const char *text);

/* wait.c */

/* From now on each wait of the connection, which is new, ends with the time of the present call;
 * until record_mariadb_connected(), which must follow, what the library waits for by itself, too.
 * -EAGAIN, -EPERM: no thread can be created. */
int record_mariadb_limit(struct record_mariadb *mariadb);
/* It has connected, or failed and is closed: the library has undone by now what a wait set. */
void record_mariadb_connected(struct record_mariadb *mariadb);
/* A call may take its time from now on; while it is connecting, it goes on with what is left. */
void record_mariadb_start(const struct record_mariadb *mariadb);
/* Connecting to one of HOSTS may take its share, with all that is asked until is_connecting ends.
 */
void record_mariadb_start_connecting(struct record_mariadb *mariadb, size_t hosts);

/* run.c */
int record_mariadb_run(struct record_sql *sql, struct record_call *call);
/* Opens a transaction unless there is one. */
int record_mariadb_open(struct record_mariadb *mariadb);
/* A text without parameters and results. */
int record_mariadb_text(struct record_mariadb *mariadb, const char *text);
/* A text that is used once, with parameters. */
int record_mariadb_ask(struct record_mariadb *mariadb, const char *text,
		       const struct record_value *values, size_t count, record_row *row,
		       void *context);

/* lock.c */
int record_mariadb_lock(struct record *record, struct record_turn *turns, size_t count);
/* Whether the connection still has all of them. */
int record_mariadb_lock_check(struct record_mariadb *mariadb);
/* Releases all: 0, or -ENOTCONN: one was not there any more. */
int record_mariadb_lock_release(struct record_mariadb *mariadb);
int record_mariadb_holder(struct record *record, const struct lock_name *name, struct arena *arena,
			  struct str *holder_out);

static inline struct record_mariadb *record_mariadb_of(struct record *record)
{
	return (struct record_mariadb *)(void *)record;
}

#endif
