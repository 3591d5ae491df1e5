// SPDX-License-Identifier: ISC
/*
 * tests/unit/filing/record/played_mariadb.h - a MariaDB server behind the functions of libmariadb
 * that a record calls: it has the tables of messages and the locks, and time passes only while
 * somebody waits.
 */
#ifndef TESTS_UNIT_PLAYED_MARIADB_H
#define TESTS_UNIT_PLAYED_MARIADB_H

#include "base/buffer.h"
#include "filing/record/mariadb/mariadb.h"
#include "filing/record/record.h"

enum played_mariadb_fault {
	PLAYED_MARIADB_FINE,
	PLAYED_MARIADB_REFUSES,       /* with FAULT_NUMBER */
	PLAYED_MARIADB_LOSES,         /* the connection, instead of doing it */
	PLAYED_MARIADB_DOES_IT_LOSES, /* and does not say so */
	PLAYED_MARIADB_IS_SILENT,     /* from then on: nothing is done any more */
};

struct played_mariadb {
	/* how it is */
	bool is_read_only, is_silent;
	int flush;              /* innodb_flush_log_at_trx_commit */
	unsigned refuses_login; /* an error number; 0: it does not */
	const char *host;       /* the only one at which it can be reached; NULL: any */
	bool lock_fails;        /* GET_LOCK() is NULL */
	bool has_limits;        /* threads for limits of time can be had */
	/* The call of this number from now on, 1 the next one; 0: none. One of the same words
	 * as one of the two before it counts with that, and the first of them fails. */
	unsigned fails_at;
	enum played_mariadb_fault fault;
	unsigned fault_number;
	const char *fault_words;
	/* what was done */
	unsigned calls, opened, open, waits, limits;
	int64_t now_us, limit_us; /* until when the last limit was to be */
	struct buffer options;    /* of the last connection: "NUMBER=VALUE\n" */
	struct buffer place;      /* how it was connected to */
	struct buffer heard;      /* texts, each a line */
	struct buffer plugins;    /* that were loaded, each a line */
};

extern struct played_mariadb played_mariadb;

int played_mariadb_set_up(void **state);
int played_mariadb_tear_down(void **state);
#define PLAYED_TEST(name) \
	cmocka_unit_test_setup_teardown(name, played_mariadb_set_up, played_mariadb_tear_down)

/* Of a socket, and no password; a test may change them. */
extern struct record_mariadb_settings played_mariadb_settings;
struct record *played_mariadb_connect(void);
/* No tables, and nobody who is connected. */
void played_mariadb_empty(void);
void played_mariadb_fail_at(int number);
bool played_mariadb_has_failed(void);
/* The server closes all connections. */
void played_mariadb_lose_all(void);
/* All locks are anybody's. */
void played_mariadb_lose_locks(void);
/* Another one, who is no client of ours, has all locks. */
void played_mariadb_steal_locks(void);

#endif
