// SPDX-License-Identifier: ISC
/* The database of messages in MariaDB, with a played server: the contract. */
#include "played_mariadb.h"
#include "record_contract.h"
#include "record_tables.h"
#include "test.h"

int main(void)
{
	const struct record_contract contract = {.connect = played_mariadb_connect,
						 .empty = played_mariadb_empty,
						 .run = record_tables_run_sql,
						 .is_played = true};
	int failed;

	if (played_mariadb_set_up(NULL) != 0)
		return 1;
	failed = record_contract_run(&contract);
	return failed + (played_mariadb_tear_down(NULL) != 0);
}
