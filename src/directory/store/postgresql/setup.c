// SPDX-License-Identifier: ISC
/* Prepares a new connection: identifies the database, and checks tables, statements and version. */
#include "directory/store/postgresql/internal.h"
#include "log/event.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* All statements are short, so the server should abort those that hang. The planner is misled by
 * tables that were just filled, and by lists of keys: an index is always right here, and with the
 * penalty for the alternatives it would start JIT compilation. */
static const char about_begin[] =
	" set_config('statement_timeout', '4000', false),"
	" set_config('lock_timeout', '4000', false),"
	" set_config('idle_in_transaction_session_timeout', '10000', false),"
	" set_config('plan_cache_mode', 'force_generic_plan', false),"
	" set_config('enable_seqscan', 'off', false),"
	" set_config('enable_bitmapscan', 'off', false),"
	" set_config('enable_hashjoin', 'off', false),"
	" set_config('enable_mergejoin', 'off', false),"
	" set_config('jit', 'off', false),"
	" pg_is_in_recovery(), to_regclass('directory_data') IS NOT NULL,"
	" current_setting('server_version_num')::integer >= 130000,"
	" (SELECT pg_encoding_to_char(encoding) = 'UTF8' FROM pg_database"
	"  WHERE datname = current_database()),"
	" current_setting('default_transaction_read_only') = 'on', ";
enum {
	ABOUT_STANDBY = 10,
	ABOUT_TABLES,
	ABOUT_NEW_ENOUGH,
	ABOUT_UTF8,
	ABOUT_READ_ONLY,
	ABOUT_COMPLETE, /* a restore creates the triggers last, after all rows */
};

static const char version_begin[] =
	"SELECT identity, schema, version,"
	" coalesce((SELECT min(version) FROM change), 0),"
	" (SELECT " POSTGRESQL_MARK " FROM change WHERE version = meta.version),"
	" (SELECT " POSTGRESQL_MARK " FROM change WHERE version = $1::bigint), ";

static void write_shape(const struct directory_schema *schemas, struct buffer *out)
{
	buffer_append_string(out, "concat_ws(' ', ");
	postgresql_tables_write(schemas, out);
	buffer_append_string(out,
			     ", to_regclass('directory_data')::oid, to_regclass('change')::oid)");
}

/* What is read by one request is of one version, although it takes several statements. */
static void write_about(const struct postgresql_setup *setup, struct buffer *out)
{
	const struct directory_schema *schemas = setup->schemas;

	buffer_append_format(out,
			     "SELECT set_config('default_transaction_isolation', '%s', false),",
			     setup->may_change ? "read committed" : "repeatable read");
	buffer_append_string(out, about_begin);
	buffer_append_string(out, "(SELECT count(*) FROM pg_trigger WHERE NOT tgisinternal"
				  " AND tgrelid = ANY (tables)) >= ");
	postgresql_trigger_count_write(schemas, out);
	buffer_append_string(out,
			     " OR EXISTS (SELECT FROM pg_class"
			     " WHERE oid = ANY (tables) AND relkind <> 'r') FROM (SELECT ARRAY[");
	postgresql_tables_write(schemas, out);
	buffer_append_string(out, "] AS tables) AS ours");
	buffer_append_byte(out, '\0');
}

/* The shape is asked for once the tables are known: a statement amid which they are created may see
 * some of them and not others. */
static void write_version(const struct directory_schema *schemas, struct buffer *out)
{
	buffer_append_string(out, version_begin);
	write_shape(schemas, out);
	buffer_append_string(out, " FROM meta");
	buffer_append_byte(out, '\0');
}

static bool is_true(const PGresult *result, int column)
{
	return *postgresql_link_value(result, 0, column) == 't';
}

static uint64_t number_in_column(const PGresult *result, int column)
{
	return strtoull(postgresql_link_value(result, 0, column), NULL, 10);
}

static void copy_at(const PGresult *result, int column, char *out, size_t size)
{
	snprintf(out, size, "%s", postgresql_link_value(result, 0, column));
}

static void refuse_postgresql_database(struct postgresql_setup *setup,
				       const struct postgresql_failure *failure, const char *what)
{
	char reason[600];

	if (failure->is_lost)
		return; /* the link has noticed, or will at once */
	snprintf(reason, sizeof reason, "%s%s%s", what, *what != '\0' ? ": " : "", failure->text);
	postgresql_link_refuse(setup->link, reason);
}

/* ---- versions and statements ---- */

static void on_version(struct postgresql_request *request, unsigned statement,
		       const PGresult *result)
{
	struct postgresql_setup *setup = request->context;

	if (statement != 0 || PQntuples(result) != 1)
		return;
	copy_at(result, 0, setup->about.identity, sizeof setup->about.identity);
	setup->schema = number_in_column(result, 1);
	setup->about.version = number_in_column(result, 2);
	setup->about.oldest = number_in_column(result, 3);
	copy_at(result, 4, setup->about.newest_mark, sizeof setup->about.newest_mark);
	copy_at(result, 5, setup->about.seen_mark, sizeof setup->about.seen_mark);
	copy_at(result, 6, setup->shape, sizeof setup->shape);
}

static void migrate_postgresql_schema(struct postgresql_setup *setup);

/* The tables may be being restored; none are created unless the operator accepts that. */
static void hold_for_missing_tables(struct postgresql_setup *setup, const char *reason)
{
	if (setup->missed == NULL)
		log_event(EVENT_STORE_HELD,
			  log_string(database, postgresql_link_label(setup->link)),
			  log_string(reason, reason));
	setup->missed = reason;
	postgresql_link_refuse(setup->link, reason);
}

static void version_done(struct postgresql_request *request,
			 const struct postgresql_failure *failure)
{
	struct postgresql_setup *setup = request->context;

	if (failure != NULL && failure->is_lost)
		return;
	if (setup->schema > POSTGRESQL_SCHEMA)
		postgresql_link_refuse(setup->link, "its tables were made by a newer Stagepost");
	else if (setup->schema > 0 && setup->schema < POSTGRESQL_SCHEMA)
		migrate_postgresql_schema(setup);
	else if (failure != NULL)
		refuse_postgresql_database(setup, failure, "the tables cannot be used");
	else if (setup->about.identity[0] == '\0' && setup->must_find)
		hold_for_missing_tables(setup, "directory_data has no row");
	else if (setup->about.identity[0] == '\0')
		postgresql_link_refuse(setup->link, "directory_data has no row");
	else {
		setup->missed = NULL;
		setup->ready(setup->context, &setup->about);
	}
}

static void prepare_all(struct postgresql_setup *setup)
{
	static const enum postgresql_statement reading = POSTGRESQL_LIST;

	for (unsigned table = DIRECTORY_NO_TABLE + 1; table < DIRECTORY_LISTED_TABLES; table++) {
		for (unsigned statement = 0; statement < POSTGRESQL_STATEMENTS; statement++) {
			struct buffer sql CLEANUP(buffer_clear) = {0};
			char name[40];

			if ((table < DIRECTORY_TABLES || statement == POSTGRESQL_LIST) &&
			    setup->may_change == (statement > reading) &&
			    postgresql_statement_sql(statement, &setup->schemas[table], &sql))
				postgresql_link_prepare(
					setup->link,
					str_from(postgresql_statement_name(statement, table, name)),
					buffer_view(&sql));
		}
	}
}

static void prepare_shape(struct postgresql_setup *setup)
{
	struct buffer sql CLEANUP(buffer_clear) = {0};

	buffer_append_string(&sql, "SELECT ");
	write_shape(setup->schemas, &sql);
	buffer_append_string(&sql, ", (SELECT version FROM meta)");
	postgresql_link_prepare(setup->link, STR(POSTGRESQL_SHAPE_STATEMENT), buffer_view(&sql));
}

static void ask_version(struct postgresql_setup *setup)
{
	char seen[24];
	const struct postgresql_parameter parameter = {.text = seen};
	struct buffer version CLEANUP(buffer_clear) = {0};

	snprintf(seen, sizeof seen, "%llu", (unsigned long long)setup->seen);
	setup->schema = 0;
	setup->request = (struct postgresql_request){
		.result = on_version, .done = version_done, .context = setup};
	write_version(setup->schemas, &version);
	postgresql_link_query(setup->link, buffer_data(&version), &parameter, 1);
	prepare_all(setup);
	if (!setup->may_change)
		prepare_shape(setup);
	postgresql_link_end(setup->link, &setup->request);
}

/* ---- tables ---- */

static void on_postgresql_schema_migrated(struct postgresql_request *request,
					  const struct postgresql_failure *failure)
{
	struct postgresql_setup *setup = request->context;

	if (failure != NULL) {
		refuse_postgresql_database(
			setup, failure,
			"its tables are not there or old, and cannot be made by this role; their "
			"owner may run postgresql_schema.sql");
		return;
	}
	log_event(EVENT_STORE_MADE, log_string(database, postgresql_link_label(setup->link)),
		  log_number(schema, POSTGRESQL_SCHEMA));
	ask_version(setup);
}

/* Does nothing if another process was faster. */
static void migrate_postgresql_schema(struct postgresql_setup *setup)
{
	if (!setup->may_change) {
		postgresql_link_refuse(setup->link, setup->schema == 0
							    ? "it has no tables of Stagepost yet"
							    : "its tables are old");
		return;
	}
	setup->request = (struct postgresql_request){.done = on_postgresql_schema_migrated,
						     .context = setup};
	postgresql_link_query(setup->link, postgresql_schema, NULL, 0);
	postgresql_link_end(setup->link, &setup->request);
}

/* ---- the database ---- */

static const char *why_not(const struct postgresql_setup *setup, const PGresult *result)
{
	if (PQntuples(result) != 1)
		return "it does not say what it is";
	if (!is_true(result, ABOUT_NEW_ENOUGH))
		return "PostgreSQL 13 or newer is needed";
	if (!is_true(result, ABOUT_UTF8))
		return "its encoding is not UTF8";
	if (setup->may_change && is_true(result, ABOUT_READ_ONLY))
		return "default_transaction_read_only is on";
	return NULL;
}

static void on_about(struct postgresql_request *request, unsigned statement, const PGresult *result)
{
	struct postgresql_setup *setup = request->context;
	const char *reason = why_not(setup, result);

	(void)statement;
	if (reason != NULL) {
		request->failure.error = -EIO;
		snprintf(request->failure.text, sizeof request->failure.text, "%s", reason);
		return;
	}
	setup->about.is_standby = is_true(result, ABOUT_STANDBY);
	setup->has_tables = is_true(result, ABOUT_TABLES);
	setup->is_complete = is_true(result, ABOUT_COMPLETE);
}

static void about_done(struct postgresql_request *request, const struct postgresql_failure *failure)
{
	struct postgresql_setup *setup = request->context;

	if (failure != NULL)
		refuse_postgresql_database(setup, failure, "");
	else if (setup->may_change && setup->about.is_standby)
		postgresql_link_refuse(setup->link, NULL);
	else if (!setup->has_tables && setup->must_find)
		hold_for_missing_tables(setup, "its tables are gone");
	else if (setup->has_tables && setup->must_find && !setup->is_complete)
		hold_for_missing_tables(setup, "its tables lack triggers: they are being restored");
	else if (!setup->has_tables)
		migrate_postgresql_schema(setup);
	else
		ask_version(setup);
}

void postgresql_setup_begin(struct postgresql_setup *setup, struct postgresql_link *link,
			    const struct postgresql_store *store, uint64_t seen)
{
	struct buffer about CLEANUP(buffer_clear) = {0};

	setup->must_find = store->base.is_known;
	setup->schemas = store->schemas;
	setup->link = link;
	setup->seen = seen;
	setup->schema = 0;
	setup->about = (struct postgresql_about){0};
	setup->request = (struct postgresql_request){
		.result = on_about, .done = about_done, .context = setup};
	write_about(setup, &about);
	postgresql_link_query(link, buffer_data(&about), NULL, 0);
	postgresql_link_end(link, &setup->request);
}

bool postgresql_setup_refuses_older(struct postgresql_setup *setup,
				    const struct postgresql_store *store,
				    const struct postgresql_about *about)
{
	char reason[120];

	if (strcmp(store->base.identity, about->identity) != 0 ||
	    about->version >= store->base.version)
		return false;
	snprintf(reason, sizeof reason,
		 "its data are older than what was seen: version %llu, not %llu",
		 (unsigned long long)about->version, (unsigned long long)store->base.version);
	postgresql_link_refuse(setup->link, reason);
	return true;
}
