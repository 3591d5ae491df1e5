// SPDX-License-Identifier: ISC
/* How a new connection to PostgreSQL is prepared, or refused: all that a database may say of
 * itself, against a plain description. Results are made here. */
#include "directory/store/postgresql/internal.h"
#include "log_lines.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
	struct postgresql_setup setup;
	struct postgresql_store store;
	struct postgresql_request *request; /* that was asked */
	unsigned queries, prepared, migrations;
	bool is_shape_prepared, is_repeatable;
	char seen[24], refused[600];
	unsigned refusals, ready;
	struct postgresql_about about;
} world;

const char postgresql_schema[] = "the schema";

void postgresql_link_query(struct postgresql_link *link, const char *sql,
			   const struct postgresql_parameter *parameters, size_t count)
{
	assert_ptr_equal(link, &world);
	world.queries++;
	world.migrations += sql == postgresql_schema;
	if (strncmp(sql, "SELECT set_config", 17) == 0)
		world.is_repeatable = strstr(sql, "repeatable read") != NULL;
	if (count > 0)
		snprintf(world.seen, sizeof world.seen, "%s", parameters[0].text);
}

void postgresql_link_prepare(struct postgresql_link *link, struct str name, struct str sql)
{
	assert_ptr_equal(link, &world);
	assert_true(sql.length > 10);
	world.prepared++;
	world.is_shape_prepared |= str_equal(name, STR(POSTGRESQL_SHAPE_STATEMENT));
}

void postgresql_link_end(struct postgresql_link *link, struct postgresql_request *request)
{
	assert_ptr_equal(link, &world);
	assert_null(world.request);
	world.request = request;
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
	assert_ptr_equal(link, &world);
	world.refusals++;
	snprintf(world.refused, sizeof world.refused, "%s", reason != NULL ? reason : "(nothing)");
}

const char *postgresql_link_label(const struct postgresql_link *link)
{
	assert_ptr_equal(link, &world);
	return "label";
}

static void note_ready(void *context, const struct postgresql_about *about)
{
	assert_ptr_equal(context, &world);
	world.ready++;
	world.about = *about;
}

/* --- answers --- */

static PGresult *result_of(const char *const *values, int count)
{
	static char name[] = "column";
	PGresAttDesc attributes[20];
	PGresult *result = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);

	memset(attributes, 0, sizeof attributes);
	for (size_t i = 0; i < COUNT_OF(attributes); i++)
		attributes[i].name = name;
	assert_int_not_equal(PQsetResultAttrs(result, 16, attributes), 0);
	for (int i = 0; i < count; i++) {
		char copy[60];

		snprintf(copy, sizeof copy, "%s", values[i]);
		assert_int_not_equal(PQsetvalue(result, 0, i, copy, (int)strlen(copy)), 0);
	}
	return result;
}

/* Answers what was asked with a row of VALUES, or fails with ERROR. */
static void answer(const char *const *values, int count, const char *error, bool is_lost)
{
	struct postgresql_failure failure = {.error = -EIO, .is_lost = is_lost};
	struct postgresql_request *request = world.request;
	PGresult *result = result_of(values, count);

	assert_non_null(request);
	if (error == NULL && request->result != NULL)
		request->result(request, 0, result);
	PQclear(result);
	world.request = NULL;
	if (error == NULL && request->failure.error != 0)
		failure = request->failure;
	else if (error != NULL)
		snprintf(failure.text, sizeof failure.text, "%s", error);
	request->done(request, error != NULL || request->failure.error != 0 ? &failure : NULL);
}

/* Bits: standby, tables, new enough, UTF-8, read only, complete. */
static void answer_about(unsigned bits)
{
	const char *values[16];

	for (size_t i = 0; i < COUNT_OF(values); i++)
		values[i] = "x";
	for (size_t i = 0; i < 6; i++)
		values[10 + i] = (bits >> i & 1) != 0 ? "t" : "f";
	answer(values, 16, NULL, false);
}

static void answer_version(const char *identity, const char *schema)
{
	const char *const values[] = {identity, schema, "77", "5", "newest", "seen", "shape"};

	answer(values, 7, NULL, false);
}

static void begin_setup(bool may_change, bool is_known)
{
	const char *missed = world.setup.missed;

	buffer_clear(&log_lines);
	memset(&world, 0, sizeof world);
	for (unsigned table = DIRECTORY_NO_TABLE + 1; table < DIRECTORY_LISTED_TABLES; table++)
		world.store.schemas[table] = directory_schema_of(table);
	world.setup.missed = missed;
	world.setup.may_change = may_change;
	world.setup.ready = note_ready;
	world.setup.context = &world;
	world.store.base.is_known = is_known;
	postgresql_setup_begin(&world.setup, (struct postgresql_link *)(void *)&world, &world.store,
			       66);
	assert_int_equal(world.is_repeatable, !may_change);
}

static int set_up(void **state)
{
	(void)state;
	memset(&world, 0, sizeof world);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	buffer_clear(&log_lines);
	return 0;
}

/* --- tests --- */

enum {
	STANDBY = 1,
	TABLES = 2,
	NEW_ENOUGH = 4,
	UTF8 = 8,
	READ_ONLY = 16,
	COMPLETE = 32,
	FINE = TABLES | NEW_ENOUGH | UTF8 | COMPLETE
};

static const char gone[] = "its tables are gone";
static const char restored[] = "its tables lack triggers: they are being restored";

/* Why it is refused; "": it is not. */
static const char *plain_refusal(unsigned bits, bool may_change, bool is_known)
{
	if ((bits & NEW_ENOUGH) == 0)
		return "PostgreSQL 13 or newer is needed";
	if ((bits & UTF8) == 0)
		return "its encoding is not UTF8";
	if (may_change && (bits & READ_ONLY) != 0)
		return "default_transaction_read_only is on";
	if (may_change && (bits & STANDBY) != 0)
		return "(nothing)";
	if ((bits & TABLES) == 0 && is_known)
		return gone;
	if ((bits & COMPLETE) == 0 && is_known)
		return restored;
	if ((bits & TABLES) == 0 && !may_change)
		return "it has no tables of Stagepost yet";
	return "";
}

static void all_that_a_database_may_be(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 256; n++) {
		bool may_change = (n & 64) != 0, is_known = (n & 128) != 0;
		const char *refusal = plain_refusal(n & 63, may_change, is_known);
		char line[120];

		world.setup.missed = NULL;
		begin_setup(may_change, is_known);
		answer_about(n & 63);
		assert_string_equal(world.refused, refusal);
		assert_int_equal(world.setup.about.is_standby && world.refusals == 0,
				 (n & STANDBY) != 0 && *refusal == '\0');
		if (refusal == gone || refusal == restored) {
			snprintf(line, sizeof line, "STORE_HELD database=label reason=%s\n",
				 refusal);
			check_log(line);
			assert_string_equal(world.setup.missed, refusal);
			begin_setup(may_change, is_known); /* logged once */
			answer_about(n & 63);
			check_log("");
		}
		if (*refusal != '\0')
			continue;
		assert_int_equal(world.migrations, (n & TABLES) == 0);
		assert_non_null(world.request);
	}
	begin_setup(false, false);
	answer(NULL, 0, NULL, false);
	assert_string_equal(world.refused, "it does not say what it is");
	begin_setup(false, false);
	answer(NULL, 0, "broken", false);
	assert_string_equal(world.refused, "broken");
	begin_setup(false, false);
	answer(NULL, 0, "broken", true);
	assert_int_equal(world.refusals, 0);
}

static void a_version_is_prepared_for(void **state)
{
	(void)state;
	for (unsigned may_change = 0; may_change < 2; may_change++) {
		world.setup.missed = "before";
		begin_setup(may_change, true);
		answer_about(FINE);
		assert_string_equal(world.seen, "66");
		assert_int_equal(world.is_shape_prepared, !may_change);
		/* reading: get and list of each table, and lists of what is computed */
		assert_true(world.prepared > 5);
		answer_version("id", "6");
		assert_int_equal(world.ready, 1);
		assert_null(world.setup.missed);
		assert_string_equal(world.about.identity, "id");
		assert_int_equal(world.about.version, 77);
		assert_int_equal(world.about.oldest, 5);
		assert_string_equal(world.about.newest_mark, "newest");
		assert_string_equal(world.about.seen_mark, "seen");
		assert_string_equal(world.setup.shape, "shape");
		assert_int_equal(world.refusals, 0);
	}
}

static void schemas_are_of_this_or_another_time(void **state)
{
	static const struct {
		const char *identity, *schema, *refused;
		bool may_change, is_known, migrates, is_ready;
	} rows[] = {
		{"id", "7", "its tables were made by a newer Stagepost", true, false, false, false},
		{"id", "5", "", true, false, true, false},
		{"id", "5", "its tables are old", false, false, false, false},
		{"", "6", "directory_data has no row", true, false, false, false},
		{"", "6", "directory_data has no row", true, true, false, false},
		{"id", "6", "", true, true, false, true},
		{"id", "0", "", true, false, false, true},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		world.setup.missed = NULL;
		begin_setup(rows[i].may_change, rows[i].is_known);
		answer_about(FINE);
		answer_version(rows[i].identity, rows[i].schema);
		assert_string_equal(world.refused, rows[i].refused);
		assert_int_equal(world.migrations, rows[i].migrates);
		assert_int_equal(world.ready, rows[i].is_ready);
		assert_int_equal(log_lines.length > 0, i == 4); /* it is held */
		world.request = NULL;
	}
	begin_setup(true, false);
	answer_about(FINE);
	answer(NULL, 0, "no right", false);
	assert_string_equal(world.refused, "the tables cannot be used: no right");
	begin_setup(true, false);
	answer_about(FINE);
	answer(NULL, 0, "gone", true);
	assert_int_equal(world.refusals, 0);
}

static void tables_are_made(void **state)
{
	(void)state;
	begin_setup(true, false);
	answer_about(FINE & ~TABLES);
	assert_int_equal(world.migrations, 1);
	answer(NULL, 0, NULL, false);
	check_log("STORE_MADE database=label schema=6\n");
	answer_version("id", "6");
	assert_int_equal(world.ready, 1);
	begin_setup(true, false);
	answer_about(FINE & ~TABLES);
	answer(NULL, 0, "permission denied", false);
	assert_string_equal(
		world.refused,
		"its tables are not there or old, and cannot be made by this role; their "
		"owner may run postgresql_schema.sql: permission denied");
	check_log("");
}

static void older_data_are_refused(void **state)
{
	static const struct {
		const char *identity;
		uint64_t version;
		bool is_refused;
	} rows[] = {{"one", 9, true}, {"one", 10, false}, {"one", 11, false}, {"two", 1, false}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct postgresql_about about = {.version = rows[i].version};

		begin_setup(false, false);
		world.request = NULL;
		snprintf(about.identity, sizeof about.identity, "%s", rows[i].identity);
		snprintf(world.store.base.identity, sizeof world.store.base.identity, "one");
		world.store.base.version = 10;
		assert_int_equal(postgresql_setup_refuses_older(&world.setup, &world.store, &about),
				 rows[i].is_refused);
		assert_string_equal(world.refused,
				    rows[i].is_refused ? "its data are older than what was seen: "
							 "version 9, not 10"
						       : "");
	}
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(all_that_a_database_may_be),
		CASE(a_version_is_prepared_for),
		CASE(schemas_are_of_this_or_another_time),
		CASE(tables_are_made),
		CASE(older_data_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
