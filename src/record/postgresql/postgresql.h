// SPDX-License-Identifier: ISC
/*
 * record/postgresql/postgresql.h - messages recorded in PostgreSQL; locks are advisory locks of the
 * transaction (pg_try_advisory_xact_lock).
 */
#ifndef RECORD_POSTGRESQL_POSTGRESQL_H
#define RECORD_POSTGRESQL_POSTGRESQL_H

#include "record/record.h"

/* CONNINFO as for libpq, copied; it may name several hosts, of which the one that can be written is
 * taken. No call waits for the server for longer than TIMEOUT_MS. */
struct record *record_postgresql_new(const char *conninfo, unsigned timeout_ms);

#endif
