// SPDX-License-Identifier: ISC
/* The database of messages in PostgreSQL, with a played server: the contract. */
#include "record_contract.h"
#include "record_postgresql_scene.h"
#include "record_tables.h"
#include "test.h"

int main(void)
{
	const struct record_contract contract = {.connect = record_postgresql_scene_connect,
						 .empty = record_postgresql_scene_empty,
						 .run = record_tables_run_sql,
						 .left = record_postgresql_scene_settle,
						 .is_played = true};
	int failed;

	if (record_postgresql_scene_set_up(NULL) != 0)
		return 1;
	failed = record_contract_run(&contract);
	return failed + (record_postgresql_scene_tear_down(NULL) != 0);
}
