// SPDX-License-Identifier: ISC
/* What SQLite asks of its system when it begins, and finds in its own "os_unix.c" else. */
#include "disk_sqlite.h"
#include <sqlite3.h>

int sqlite3_os_init(void)
{
	return world_sqlite_begin();
}

int sqlite3_os_end(void)
{
	world_sqlite_end();
	return SQLITE_OK;
}
