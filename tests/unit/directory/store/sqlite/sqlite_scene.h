// SPDX-License-Identifier: ISC
/*
 * tests/unit/directory/store/sqlite/sqlite_scene.h - an SQLite store in a scratch directory, with
 * somebody who writes down what it says.
 *
 * Records are texts as in memory_store.h. What was heard since scene_expect() is joined by "; ":
 * a record that was got, or "none"; keys that were listed, those of malformed ones behind them with
 * a "!"; "new VERSION TABLE KEY"; "changed ERROR EXISTED VERSION"; "reset", "up", "down"; an
 * error's number.
 */
#ifndef TESTS_UNIT_SQLITE_SCENE_H
#define TESTS_UNIT_SQLITE_SCENE_H

#include "directory/store/store.h"
#include "os/loop.h"
#include "scratch.h"
#include "test.h"

struct sqlite_scene {
	char directory[SCRATCH_SIZE];
	char path[SCRATCH_SIZE + 16];
	struct os_loop *loop;
	struct directory_store *store;
	struct buffer heard;
	size_t answers; /* to changes */
	char separator; /* between keys of a list */
	bool is_waiting;
	bool is_followed, is_known; /* the directory's main store */
};

/* A new one, empty; what it says at first has been heard. */
void scene_open(struct sqlite_scene *scene);
/* The same, but it has said nothing yet. */
void scene_open_quietly(struct sqlite_scene *scene);
void scene_reopen(struct sqlite_scene *scene);
/* The same where the store was freed. */
void scene_restart(struct sqlite_scene *scene);
void scene_close(struct sqlite_scene *scene);

/* A call with one change; with two. */
/* If the record has not changed since that version. */
void scene_edit(struct sqlite_scene *scene, uint64_t since, const char *record);
void scene_put(struct sqlite_scene *scene, const char *record);
void scene_put_both(struct sqlite_scene *scene, const char *first, const char *second);
void scene_remove(struct sqlite_scene *scene, const char *table_and_key);
void scene_get(struct sqlite_scene *scene, const char *table_and_key);
void scene_list(struct sqlite_scene *scene, enum directory_table table, const char *prefix,
		const char *after, size_t limit, char separator);
void scene_missed(struct sqlite_scene *scene, uint64_t version, size_t limit);

/* A record of each kind and table. */
extern const char *const scene_samples[];
extern const size_t scene_sample_count;
void scene_put_samples(struct sqlite_scene *scene); /* all, heard */

/* A turn of the loop. */
void scene_turn(struct sqlite_scene *scene);
/* Turns until something is heard; fails after ten seconds. */
void scene_wait(struct sqlite_scene *scene);

/* By another connection to the same file. */
void scene_sql(struct sqlite_scene *scene, const char *sql);
/* A constraint refuses it, for a reason that begins so. */
void scene_refuses_sql(struct sqlite_scene *scene, const char *sql, const char *reason);
/* From now on nothing is refused. */
void scene_drop_checks(struct sqlite_scene *scene);
int scene_count(struct sqlite_scene *scene, const char *sql);

/* Fails unless HEARD, or anything where that is NULL, was heard; forgets it. */
void scene_expect(struct sqlite_scene *scene, const char *heard);
/* The same after a turn; of a record that is got; of what was missed since VERSION. */
void scene_expect_turn(struct sqlite_scene *scene, const char *heard);
void scene_expect_got(struct sqlite_scene *scene, const char *table_and_key, const char *heard);
void scene_expect_missed(struct sqlite_scene *scene, uint64_t version, size_t limit,
			 const char *heard);
/* The same of "new", without versions, sorted and each once. */
void scene_expect_keys(struct sqlite_scene *scene, const char *keys);

#endif
