// SPDX-License-Identifier: ISC
/*
 * filing/record/postgresql/postgresql.h - messages recorded in PostgreSQL; locks are advisory locks
 * of the transaction (pg_try_advisory_xact_lock).
 */
#ifndef FILING_RECORD_POSTGRESQL_POSTGRESQL_H
#define FILING_RECORD_POSTGRESQL_POSTGRESQL_H

#include "filing/record/record.h"

/* CONNINFO as for libpq, copied; it may name several hosts, which are tried in order, each for its
 * share of the time; the first that can be written is taken. No call waits for the server for
 * longer than TIMEOUT_MS; but looking up a name is not limited: that is the system's resolver
 * ("hostaddr" needs none). */
struct record *record_postgresql_new(const char *conninfo, unsigned timeout_ms);

#endif
