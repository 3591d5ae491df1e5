// SPDX-License-Identifier: ISC
/*
 * tests/unit/filing/record/record_postgresql_scene.h - a played PostgreSQL server that has the
 * tables of messages, and time that passes only while somebody waits.
 */
#ifndef TESTS_UNIT_RECORD_POSTGRESQL_SCENE_H
#define TESTS_UNIT_RECORD_POSTGRESQL_SCENE_H

#include "filing/record/record.h"
#include "unit/played_postgresql.h"

/* How the database is, for who connects. */
struct record_postgresql_scene {
	bool is_read_only, is_latin, is_old;
	int64_t now_us;
	unsigned waits;
};

extern struct record_postgresql_scene record_postgresql_scene;

extern char record_postgresql_scene_conninfo[300];

/* Of a test. */
int record_postgresql_scene_set_up(void **state);
int record_postgresql_scene_tear_down(void **state);
#define PLAYED_TEST(name)                                                     \
	cmocka_unit_test_setup_teardown(name, record_postgresql_scene_set_up, \
					record_postgresql_scene_tear_down)

struct record *record_postgresql_scene_connect(void);
/* The server has seen all that its clients have done. */
void record_postgresql_scene_settle(void);
/* No tables, and nobody who is connected. */
void record_postgresql_scene_empty(void);
/* The so-manyth statement from now on fails; 0: none. */
void record_postgresql_scene_fail_at(int number);
bool record_postgresql_scene_has_failed(void);

#endif
