// SPDX-License-Identifier: ISC
/* tests/unit/record_contract.h - what every database of messages has to do (record/record.h). */
#ifndef TESTS_UNIT_RECORD_CONTRACT_H
#define TESTS_UNIT_RECORD_CONTRACT_H

#include "record/record.h"

/* A backend under test. */
struct record_contract {
	/* A new connection to the same database. */
	struct record *(*connect)(void);
	/* Removes all of its tables. */
	void (*empty)(void);
	/* Loses all connections to the server, by force. NULL: there is no server. */
	void (*lose_connections)(void);
};

/* Runs all tests; returns how many failed. */
int record_contract_run(const char *name, const struct record_contract *contract);

#endif
