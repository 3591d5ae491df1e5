// SPDX-License-Identifier: ISC
/* The database of messages in a file of SQLite. */
#include "record/sqlite/sqlite.h"
#include "record_contract.h"
#include "scratch.h"
#include "test.h"
#include <sqlite3.h>
#include <stdio.h>
#include <unistd.h>

static char folder[SCRATCH_SIZE];
static char path[SCRATCH_SIZE + 20];

static struct record *connect_to(void)
{
	return record_sqlite_new(path);
}

static void empty(void)
{
	static const char *const ends[] = {"", "-wal", "-shm", "-lock"};
	char file[SCRATCH_SIZE + 30];

	for (size_t i = 0; i < COUNT_OF(ends); i++) {
		snprintf(file, sizeof file, "%s%s", path, ends[i]);
		(void)unlink(file);
	}
}

/* As a connection of its own: that of the administrator of the contract. */
static void run(const char *sql)
{
	sqlite3 *database;
	char *error = NULL;

	if (sqlite3_open(path, &database) != SQLITE_OK ||
	    sqlite3_exec(database, sql, NULL, NULL, &error) != SQLITE_OK)
		fail_msg("%s: %s", sql, error != NULL ? error : sqlite3_errmsg(database));
	sqlite3_close(database);
}

int main(void)
{
	static const struct record_contract contract = {
		.connect = connect_to, .empty = empty, .run = run};
	int failed;

	if (scratch_make(folder) < 0)
		return 1;
	snprintf(path, sizeof path, "%s/record", folder);
	failed = record_contract_run("record_sqlite", &contract);
	scratch_remove(folder);
	return failed;
}
