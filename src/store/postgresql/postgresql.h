// SPDX-License-Identifier: ISC
/*
 * store/postgresql/postgresql.h - the directory's records in PostgreSQL databases that replicate
 * each other.
 *
 * Two connections are held. One reads: from the first database that answers, a standby
 * too, where its data are not older than what was seen before. The other changes: in the
 * one that is not a standby. Changes are heard of by NOTIFY, at a standby by asking ten
 * times a second; the table "change" says which, so none is lost with a connection. When
 * the connection is lost what was asked waits for the next one, for a moment
 * (STORE_POSTGRESQL_GRACE_US); then nothing is up.
 *
 * The tables are made, and later brought to a new version, where the role may
 * (postgresql_schema.sql says what they are). A change is answered when the connection that reads
 * has seen it, or a second after it is durable.
 *
 * Names of hosts are asked of the DNS and /etc/hosts, without blocking; the files that say how are
 * read by store_postgresql_new(). Files of the conninfo (sslcert, sslkey, sslrootcert,
 * sslcrl, passfile) are read at each connection.
 */
#ifndef STORE_POSTGRESQL_POSTGRESQL_H
#define STORE_POSTGRESQL_POSTGRESQL_H

#include "os/loop.h"
#include "store/store.h"

enum {
	STORE_POSTGRESQL_PATIENCE_US = 5000000, /* without an answer a connection is lost */
	STORE_POSTGRESQL_GRACE_US = 2000000,
};

/* DATABASES: libpq's connection strings, both forms (PostgreSQL's manual, section 34.1.1);
 * copied. "service" is not read. -EINVAL when one is malformed, and then it is logged; nothing
 * is connected yet. */
MUST_CHECK int store_postgresql_new(struct os_loop *loop, const char *const *databases,
				    size_t count, struct directory_store **store_out);
/* What a standby says is used for TTL_US after it was last certain to be in line with its primary;
 * then the store is down, and other databases are tried. For ever at first. */
void store_postgresql_set_ttl(struct directory_store *store, int64_t ttl_us);

#endif
