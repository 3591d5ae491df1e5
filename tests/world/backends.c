// SPDX-License-Identifier: ISC
/* Databases and stores on servers, which no settings of the world name: their libraries would call
 * the system themselves. */
#include "base/panic.h"
#include "mailstore/imap.h"
#include "record/mariadb/mariadb.h"
#include "record/postgresql/postgresql.h"

struct record *record_postgresql_new(const char *conninfo, unsigned timeout_ms)
{
	(void)conninfo;
	(void)timeout_ms;
	panic("no PostgreSQL in the world");
}

void record_mariadb_prepare(void)
{
}

struct record *record_mariadb_new(const struct record_mariadb_settings *settings)
{
	(void)settings;
	panic("no MariaDB in the world");
}

struct mailstore *mailstore_imap_new(const struct mailstore_imap_settings *settings)
{
	(void)settings;
	panic("no IMAP in the world");
}
