// SPDX-License-Identifier: ISC
/*
 * directory/store/postgresql/postgresql.h - the directory's records in PostgreSQL databases that
 * replicate each other.
 *
 * Two connections are open. One reads, from the first database that answers, which may be a standby
 * if its data are not older than what was seen before. The other one writes, to the database that
 * is not a standby. Changes are reported by NOTIFY, or on a standby by polling ten times a second;
 * the table "change" lists them, so that none is lost with a connection. When the reading
 * connection is lost, pending questions wait for the next one, for a moment
 * (STORE_POSTGRESQL_GRACE_US); then the store is down.
 *
 * The tables are created, and later upgraded, if the role has the right to do so
 * (postgresql_schema.sql describes them). A change is answered when the reading connection has seen
 * it, or a second after it is durable.
 *
 * Host names are looked up in the DNS and /etc/hosts, without blocking; the resolver's
 * configuration is read by store_postgresql_new(). Files of the conninfo (sslcert, sslkey,
 * sslrootcert, sslcrl, passfile) are read for each connection.
 */
#ifndef DIRECTORY_STORE_POSTGRESQL_POSTGRESQL_H
#define DIRECTORY_STORE_POSTGRESQL_POSTGRESQL_H

#include "directory/store/store.h"
#include "os/loop.h"

enum {
	STORE_POSTGRESQL_PATIENCE_US = 5000000, /* without an answer, the connection is lost */
	STORE_POSTGRESQL_GRACE_US = 2000000,
};

/* DATABASES: libpq's connection strings, of both kinds (PostgreSQL's manual, section 34.1.1);
 * copied. "service" is not supported. -EINVAL, and logged, if one is malformed. Does not connect
 * yet. */
MUST_CHECK int store_postgresql_new(struct os_loop *loop, const char *const *databases,
				    size_t count, struct directory_store **store_out);
/* A standby's answers are used for TTL_US after it was last known to be in sync with its primary;
 * then the store is down, and other databases are tried. By default for ever. */
void store_postgresql_set_ttl(struct directory_store *store, int64_t ttl_us);

#endif
