// SPDX-License-Identifier: ISC
/* tests/unit/filing/record/record_contract.h - what every database of messages has to do
 * (filing/record/record.h). */
#ifndef TESTS_UNIT_RECORD_CONTRACT_H
#define TESTS_UNIT_RECORD_CONTRACT_H

#include "filing/record/record.h"

enum { RECORD_CONTRACT_TIMEOUT_MS = 3000 }; /* of each call to a server */

/* What is possible only with a server. */
struct record_contract_server {
	/* Ends all connections of the backend, and waits for that. */
	void (*lose_connections)(void);
	/* An administrator's SQL is begun, and waits for somebody; it is ended. */
	void (*send)(const char *sql);
	void (*receive)(void);
	/* The server stops in the middle of what it does, and goes on. */
	void (*freeze)(bool is_frozen);
	/* Connections that are made from now on find a database that is read-only, or one that has
	 * too many of them. */
	void (*set_read_only)(bool is_read_only);
	void (*set_full)(bool is_full);
	/* Until it is ended, whoever writes to "attempt" gets a serialization failure. NULL: the
	 * database has none. */
	void (*set_unserializable)(bool is_unserializable);
};

/* A backend under test. */
struct record_contract {
	/* A new connection to the same database. */
	struct record *(*connect)(void);
	/* Removes all of its tables. */
	void (*empty)(void);
	/* Runs SQL, as an administrator. */
	void (*run)(const char *sql);
	const struct record_contract_server *server; /* NULL: there is none */
	/* After each test, when its connections are closed. NULL: nothing is to be done. */
	void (*left)(void);
	/* The server is played in this process: no other one can be its client. */
	bool is_played;
	/* A folder on the filesystem of the database, which can be filled up. NULL: there is none.
	 */
	const char *disk;
};

/* Runs all tests; returns how many failed. */
int record_contract_run(const struct record_contract *contract);
/* Those of one subject. */
int record_contract_messages(void);
int record_contract_filing(void);
int record_contract_group(void);
int record_contract_bounds(void);
int record_contract_model(void);
int record_contract_race(void);
int record_contract_server(void);

#endif
