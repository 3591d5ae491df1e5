// SPDX-License-Identifier: ISC
/*
 * tests/unit/directory/store/postgresql/fake_database.h - a database in memory in the place of
 * links to PostgreSQL: it understands the statements of the store, answers when a test wants it,
 * and fails or is lost as it says.
 */
#ifndef TESTS_UNIT_FAKE_DATABASE_H
#define TESTS_UNIT_FAKE_DATABASE_H

#include "directory/store/postgresql/internal.h"

enum fake_link { FAKE_READ, FAKE_CHANGE, FAKE_LINKS };

/* Nothing is in it, and both links are there. */
void fake_database_begin(void);
void fake_database_end(void);
/* Whether a request waits for its answer on LINK. */
bool fake_database_is_asked(enum fake_link link);
/* Answers the first request on LINK; it fails with ERROR and STATE instead, and nothing is done. */
void fake_database_answer(enum fake_link link);
void fake_database_fail(enum fake_link link, int error, const char *state);
/* The link is lost, with all that is asked on it; then it is there again. */
void fake_database_lose(enum fake_link link);
void fake_database_return(enum fake_link link);
/* Calls what was deferred. */
void fake_database_end_turn(void);

uint64_t fake_database_version(void);
/* Whether it has a change of KEY after VERSION. */
bool fake_database_has_changed(const struct directory_key *key, uint64_t version);
/* The store hears of it, as if it followed. */
void fake_database_follow(struct directory_store *store);
/* A row of addresses, which need not be right: KIND NULL is one without. */
void fake_database_spoil(const char *key, const char *kind);
/* The tables are others from now on. */
void fake_database_replace_tables(void);
/* How often a link was refused. */
unsigned fake_database_refusals(void);
/* Records in the statement that had most of them. */
size_t fake_database_largest(void);

#endif
