// SPDX-License-Identifier: ISC
/* tests/unit/directory/store/postgresql/follow_scene.h - a store that follows a database, whose
 * answers a test makes. */
#ifndef TESTS_UNIT_POSTGRESQL_FOLLOW_SCENE_H
#define TESTS_UNIT_POSTGRESQL_FOLLOW_SCENE_H

#include "directory/store/postgresql/internal.h"
#include "fake_loop.h"
#include "log_lines.h"
#include "os/clock.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a database says of itself. */
struct about {
	const char *identity; /* NULL: it has no row */
	uint64_t version;
	bool is_standby, has_replayed;
	const char *mark, *silence; /* NULL: it does not say */
};

static struct {
	struct postgresql_store store;
	/* what is asked */
	unsigned listens, polls;
	struct postgresql_request *polling;
	char since[24], statements[2][30];
	size_t statement_count;
	/* what was done */
	unsigned followed, stale, resets, changed, seen;
	size_t keys;
	uint64_t first, last;
	char refused[80], moved[80], doubted[80];
	bool is_writer_there;
} world;

/* --- in the place of links --- */

void postgresql_link_query(struct postgresql_link *link, const char *sql,
			   const struct postgresql_parameter *parameters, size_t count)
{
	assert_ptr_equal(link, world.store.reader.link);
	assert_true(world.statement_count < COUNT_OF(world.statements));
	snprintf(world.statements[world.statement_count++], sizeof world.statements[0], "%s", sql);
	if (count > 0)
		snprintf(world.since, sizeof world.since, "%s", parameters[0].text);
}

void postgresql_link_end(struct postgresql_link *link, struct postgresql_request *request)
{
	assert_ptr_equal(link, world.store.reader.link);
	if (world.statement_count == 1) {
		assert_string_equal(world.statements[0], "LISTEN stagepost_directory");
		world.listens++;
		request->done(request, NULL);
	} else {
		assert_int_equal(world.statement_count, 2);
		assert_null(world.polling);
		world.polling = request;
		world.polls++;
	}
	world.statement_count = 0;
}

void postgresql_link_doubt(struct postgresql_request *request, const char *text)
{
	assert_ptr_equal(request, world.polling);
	snprintf(world.doubted, sizeof world.doubted, "%s", text);
}

const char *postgresql_link_value(const PGresult *result, int row, int column)
{
	return PQgetvalue(result, row, column);
}

size_t postgresql_link_length(const PGresult *result, int row, int column)
{
	return (size_t)PQgetlength(result, row, column);
}

void postgresql_link_refuse(struct postgresql_link *link, const char *reason)
{
	assert_ptr_equal(link, world.store.reader.link);
	snprintf(world.refused, sizeof world.refused, "%s", reason);
}

void postgresql_link_move(struct postgresql_link *link, size_t position, const char *reason)
{
	assert_ptr_equal(link, world.store.reader.link);
	assert_int_equal(position, 4);
	snprintf(world.moved, sizeof world.moved, "%s", reason);
}

bool postgresql_link_is_accepted(const struct postgresql_link *link)
{
	assert_ptr_equal(link, world.store.writer.link);
	return world.is_writer_there;
}

size_t postgresql_link_position(const struct postgresql_link *link)
{
	assert_ptr_equal(link, world.store.writer.link);
	return 4;
}

const char *postgresql_link_label(const struct postgresql_link *link)
{
	assert_ptr_equal(link, world.store.reader.link);
	return "label";
}

void postgresql_writer_seen(struct postgresql_store *store)
{
	assert_ptr_equal(store, &world.store);
	world.seen++;
}

/* --- what is reported --- */

static void note_followed(struct postgresql_store *store)
{
	assert_ptr_equal(store, &world.store);
	world.followed++;
}

static void note_stale(struct postgresql_store *store)
{
	assert_ptr_equal(store, &world.store);
	world.stale++;
}

static void note_changed(void *context, const struct directory_key *keys, const uint64_t *versions,
			 size_t count)
{
	(void)context;
	assert_true(count > 0);
	assert_int_equal(keys[0].table, DIRECTORY_USER);
	world.changed++;
	world.keys = count;
	world.first = versions[0];
	world.last = versions[count - 1];
}

static void note_reset(void *context)
{
	(void)context;
	world.resets++;
}

/* --- the scene --- */

static inline void begin_following(void)
{
	static const struct postgresql_follow_handler handler = {note_followed, note_stale};
	static const struct directory_store_handler user = {.changed = note_changed,
							    .reset = note_reset};

	memset(&world, 0, sizeof world);
	world.store.reader.link = (struct postgresql_link *)(void *)&world.polls;
	world.store.writer.link = (struct postgresql_link *)(void *)&world.seen;
	world.store.base.handler = &user;
	world.store.base.version = 10;
	world.store.databases.count = 2;
	world.store.ttl_us = 5 * SECOND_US;
	snprintf(world.store.base.identity, sizeof world.store.base.identity, "one");
	snprintf(world.store.follower.mark, sizeof world.store.follower.mark, "mark 10");
	postgresql_follow_prepare(&world.store, &handler);
}

static inline void start_on(bool is_standby)
{
	struct postgresql_about about = {.is_standby = is_standby,
					 .version = 10,
					 .oldest = 1,
					 .identity = "one",
					 .seen_mark = "mark 10"};

	postgresql_follow_start(&world.store, &about);
	assert_int_equal(world.polls, 1);
	assert_int_equal(world.resets, 0);
}

static inline void end_following(void)
{
	if (world.polling != NULL) {
		const struct postgresql_failure lost = {.error = -ENOTCONN, .is_lost = true};
		struct postgresql_request *request = world.polling;

		world.polling = NULL;
		request->done(request, &lost);
	}
	postgresql_follow_stop(&world.store);
	os_timer_free(world.store.follower.timer);
	buffer_clear(&log_lines);
}

static inline PGresult *result_of(int columns)
{
	static char name[] = "column";
	PGresAttDesc attributes[8] = {{.name = name}, {.name = name}, {.name = name},
				      {.name = name}, {.name = name}, {.name = name},
				      {.name = name}, {.name = name}};
	PGresult *result = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);

	assert_int_not_equal(PQsetResultAttrs(result, columns, attributes), 0);
	return result;
}

static inline void set_value(PGresult *result, int row, int column, const char *value)
{
	char copy[80];

	snprintf(copy, sizeof copy, "%s", value != NULL ? value : "");
	assert_int_not_equal(PQsetvalue(result, row, column, value != NULL ? copy : NULL,
					value != NULL ? (int)strlen(copy) : -1),
			     0);
}

static inline void set_number(PGresult *result, int row, int column, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof text, "%llu", (unsigned long long)number);
	set_value(result, row, column, text);
}

/* COUNT changes of users from FIRST on, or of TABLE. */
static inline PGresult *changes_of(uint64_t first, size_t count, const char *table)
{
	PGresult *result = result_of(4);

	for (size_t i = 0; i < count; i++) {
		char mark[40];

		snprintf(mark, sizeof mark, "mark %llu", (unsigned long long)(first + i));
		set_number(result, (int)i, 0, first + i);
		set_value(result, (int)i, 1, table);
		set_value(result, (int)i, 2, "ann");
		set_value(result, (int)i, 3, mark);
	}
	return result;
}

static inline PGresult *state_of(const struct about *about)
{
	PGresult *result = result_of(6);

	if (about->identity == NULL)
		return result;
	set_value(result, 0, 0, about->identity);
	set_number(result, 0, 1, about->version);
	set_value(result, 0, 2, about->is_standby ? "t" : "f");
	set_value(result, 0, 3, about->mark);
	set_value(result, 0, 4, about->has_replayed ? "t" : "f");
	set_value(result, 0, 5, about->silence);
	return result;
}

static inline void answer_poll(PGresult *changes, const struct about *about)
{
	struct postgresql_request *request = world.polling;
	PGresult *state = state_of(about);

	assert_non_null(request);
	request->result(request, 0, changes);
	request->result(request, 1, state);
	world.polling = NULL;
	request->done(request, NULL);
	PQclear(changes);
	PQclear(state);
}

static inline void answer_nothing(const struct about *about)
{
	answer_poll(changes_of(0, 0, ""), about);
}

static inline int set_up(void **state)
{
	(void)state;
	fake_begin(1);
	fake_advance(100 * SECOND_US);
	begin_following();
	return 0;
}

static inline int tear_down(void **state)
{
	(void)state;
	end_following();
	return fake_timers() > 0 ? -1 : 0;
}

static inline void begin_again(void)
{
	end_following();
	begin_following();
}

#endif
