// SPDX-License-Identifier: ISC
/*
 * record/mariadb/mariadb.h - messages recorded in MariaDB or MySQL; locks are those of GET_LOCK(),
 * which belong to the connection: they are released after commit and after rollback, and a release
 * that does not say 1 means that the turn was lost.
 */
#ifndef RECORD_MARIADB_MARIADB_H
#define RECORD_MARIADB_MARIADB_H

#include "record/record.h"
#include <stdint.h>

/* Copied. Several HOSTS (separated by commas, each a name or address, with ":PORT" if it is not
 * 3306) are tried in order; one that is read-only is passed over. */
struct record_mariadb_settings {
	const char *hosts; /* "": by SOCKET */
	const char *socket;
	const char *database;
	const char *user;
	const char *password_file; /* its first line; "": none */
	const char *authority;     /* PEM file, TLS is then demanded; "": none */
	unsigned timeout_ms;       /* for each call */
};

struct record *record_mariadb_new(const struct record_mariadb_settings *settings);

#endif
