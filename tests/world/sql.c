// SPDX-License-Identifier: ISC
/* sql FILE STATEMENTS - what sqlite3(1) is to an operator: carries out STATEMENTS in the database
 * FILE, prints the first column of what they find, and says why when that fails. */
#include <sqlite3.h>
#include <stdio.h>

enum { PATIENCE_MS = 5000 };

static int print(void *context, int count, char **values, char **names)
{
	(void)context;
	(void)count;
	(void)names;
	puts(values[0] != NULL ? values[0] : "");
	return 0;
}

int main(int argc, char **argv)
{
	sqlite3 *database = NULL;
	int error;

	if (argc != 3)
		return 2;
	error = sqlite3_open_v2(argv[1], &database, SQLITE_OPEN_READWRITE, NULL);
	if (error == SQLITE_OK)
		error = sqlite3_busy_timeout(database, PATIENCE_MS);
	if (error == SQLITE_OK)
		error = sqlite3_exec(database, argv[2], print, NULL, NULL);
	if (error != SQLITE_OK)
		fprintf(stderr, "sql: %s: %s\n", argv[1], sqlite3_errmsg(database));
	(void)sqlite3_close(database);
	return error == SQLITE_OK ? 0 : 1;
}
