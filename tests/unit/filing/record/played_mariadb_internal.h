// SPDX-License-Identifier: ISC
/* tests/unit/filing/record/played_mariadb_internal.h - shared by the parts of a played MariaDB
 * server: connections (played_mariadb.c), what is done on them (played_mariadb_run.c), and locks.
 */
#ifndef TESTS_UNIT_PLAYED_MARIADB_INTERNAL_H
#define TESTS_UNIT_PLAYED_MARIADB_INTERNAL_H

#include "record_tables.h"
#include <mysql.h>

struct played_mariadb_error {
	unsigned number;
	char words[200];
};

struct played_mariadb_statement;

struct played_mariadb_connection {
	MYSQL mysql; /* first */
	struct played_mariadb_error error;
	int socket, server; /* its ends; SERVER is -1 once the server has closed it */
	int (*wait)(my_socket socket, my_bool for_reading, int timeout_ms);
	sqlite3 *tables;
	struct played_mariadb_statement *statements;
};

int played_mariadb_fail(struct played_mariadb_error *error, unsigned number, const char *words);
/* A call that needs the server: 0, or not 0 and ERROR. IS_DONE_ONLY_OUT: the caller does it, and
 * then played_mariadb_lose_after(). */
int played_mariadb_call(struct played_mariadb_connection *connection, const char *words,
			struct played_mariadb_error *error, bool *is_done_only_out);
int played_mariadb_lose_after(struct played_mariadb_connection *connection,
			      struct played_mariadb_error *error);

/* played_mariadb_run.c */
int played_mariadb_run_text(struct played_mariadb_connection *connection, struct str text);
/* Its statements are of no connection from now on. */
void played_mariadb_close_statements(struct played_mariadb_connection *connection);

/* played_mariadb_lock.c: NULL: nobody has it */
const void *played_mariadb_owner_of_lock(const char *name);
/* Whether OWNER has it now. */
bool played_mariadb_take_lock(const char *name, const void *owner);
void played_mariadb_release_lock(const char *name);
void played_mariadb_release_locks(const void *owner);

#endif
