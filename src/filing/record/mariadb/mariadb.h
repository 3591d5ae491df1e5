// SPDX-License-Identifier: ISC
/*
 * filing/record/mariadb/mariadb.h - messages recorded in MariaDB (10.5 or newer); locks are those
 * of GET_LOCK(), which belong to the connection: they are released after commit and after rollback,
 * and a release that does not say 1 means that the turn was lost.
 */
#ifndef FILING_RECORD_MARIADB_MARIADB_H
#define FILING_RECORD_MARIADB_MARIADB_H

#include "filing/record/record.h"
#include <stdint.h>

/* Copied. Several HOSTS (separated by commas, each a name or address, with ":PORT" if it is not
 * 3306) are tried in order, each for its share of the time; one that is read-only is passed over.
 * Looking up a name is not limited: that is the system's resolver. A server that loses commits with
 * the power (innodb_flush_log_at_trx_commit) is refused. None is sent the password itself, but by
 * TLS or a UNIX socket (caching_sha2_password); otherwise only proofs of it (mysql_native_password,
 * ed25519). */
struct record_mariadb_settings {
	const char *hosts; /* "": by SOCKET */
	const char *socket;
	const char *database;
	const char *user;
	const char *password_file; /* its first line; "": none */
	const char *authority;     /* PEM file, TLS is then demanded; "": none */
	const char *certificate;   /* likewise, that is presented by TLS; "": none */
	const char *key;           /* of that */
	unsigned timeout_ms;       /* for each call, and to connect */
};

/* Loads what connecting may need beside the library itself: for processes that cannot once they are
 * in their sandbox. */
void record_mariadb_prepare(void);

/* The first call must have returned before another thread makes one (libmariadb begins). */
struct record *record_mariadb_new(const struct record_mariadb_settings *settings);

#endif
